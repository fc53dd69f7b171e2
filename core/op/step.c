/* What steps call: verdicts, persisted data, resources, catalog. */
#include <stdarg.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/op/kind.h"
#include "core/op/refusal.h"

static struct verdict *decide(struct step_ctx *c, enum verdict_kind kind)
{
	c->verdict = (struct verdict){.kind = kind};
	return &c->verdict;
}

void step_advance(struct step_ctx *c)
{
	decide(c, VERDICT_ADVANCE);
}

void step_goto(struct step_ctx *c, const char *step)
{
	decide(c, VERDICT_ADVANCE)->step = step;
}

void step_wait(struct step_ctx *c, int64_t seconds, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	decide(c, VERDICT_WAIT);
	c->verdict.due_ms = seconds * 1000;
	c->verdict.waiting_for = text;
}

void step_retry(struct step_ctx *c, enum errc code, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	decide(c, VERDICT_RETRY);
	err_set(&c->verdict.error, code, "%s", text);
}

struct err *step_fail(struct step_ctx *c, enum errc code, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	decide(c, VERDICT_FAIL);
	err_set(&c->verdict.error, code, "%s", text);
	return &c->verdict.error;
}

struct err *step_fail_with(struct step_ctx *c, json_t *result, enum errc code,
			   const char *fmt, ...)
{
	va_list ap;
	const char *text;
	struct err *e;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	e = step_fail(c, code, "%s", text);
	c->verdict.result = json_own(c->arena, result);
	return e;
}

void step_certain(struct step_ctx *c)
{
	c->verdict.certain = true;
}

void step_unread(struct step_ctx *c)
{
	c->verdict.unread = true;
}

struct err *step_fail_answer(struct step_ctx *c, const struct answer *a, const char *fmt,
			     ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	decide(c, VERDICT_FAIL);
	err_set(&c->verdict.error, a->errc ? a->errc : ERR_CLOUD_REFUSED, "%s", text);
	refusal_explain(c, a, &c->verdict.error);
	return &c->verdict.error;
}

void step_done(struct step_ctx *c, json_t *result)
{
	decide(c, VERDICT_DONE)->result =
		json_own(c->arena, result ? result : json_object());
}

void step_hold(struct step_ctx *c, const char *question, json_t *evidence,
	       json_t *choices)
{
	json_t *q = json_new_object(c->arena);

	json_put_str(q, "question", question);
	json_put(q, "evidence", evidence ? json_incref(evidence) : json_object());
	json_put(q, "choices", choices ? choices : json_array());
	decide(c, VERDICT_HOLD)->question = q;
}

/* --- data -------------------------------------------------------------- */

void step_save(struct step_ctx *c, const char *path, json_t *value)
{
	json_put(c->data, path, value);
}

void step_save_str(struct step_ctx *c, const char *path, const char *value)
{
	json_put_str(c->data, path, value);
}

const char *step_get(const struct step_ctx *c, const char *path)
{
	const char *value = json_str_at(c->data, path);

	return !value && c->planning ? STEP_UNKNOWN : value;
}

const char *step_input(const struct step_ctx *c, const char *path)
{
	return json_str_at(c->input, path);
}

bool step_is_unknown(const char *value)
{
	return value && strstr(value, STEP_UNKNOWN) != NULL;
}

/* --- tries and time ----------------------------------------------------- */

int64_t step_count(const struct step_ctx *c, const char *path)
{
	const json_t *row = json_at(c->data, path);

	return json_int_or(row, "try", -1) == c->try ? json_int_or(row, "n", 0) : 0;
}

void step_counted(struct step_ctx *c, const char *path)
{
	const int64_t n = step_count(c, path) + 1;

	step_save(c, path,
		  json_pack("{s:I, s:I}", "try", (json_int_t)c->try, "n", (json_int_t)n));
}

void step_count_forget(struct step_ctx *c, const char *path)
{
	json_drop(c->data, path);
}

int64_t step_waited_ms(const struct step_ctx *c)
{
	const int64_t ms = c->now_ms - c->step_since_ms - c->blind_ms;

	return ms > 0 ? ms : 0;
}

/* --- what is applied at settle ----------------------------------------- */

static void put_or_null(json_t *o, const char *name, const char *z)
{
	json_object_set_new(o, name, z ? json_string(z) : json_null());
}

void step_gone(struct step_ctx *c, const char *object)
{
	c->gone = object;
}

static json_t *resource_row(const char *type, const char *id, const char *arn,
			    const char *state)
{
	json_t *row = json_object();

	put_or_null(row, "type", type);
	put_or_null(row, "id", id);
	put_or_null(row, "arn", arn);
	put_or_null(row, "state", state);
	return row;
}

void step_own(struct step_ctx *c, const char *type, const char *id, const char *arn,
	      const char *state)
{
	json_push(c->resources, resource_row(type, id, arn, state));
}

void step_promise(struct step_ctx *c, const char *type, const char *id, const char *state)
{
	if (!c->promised)
		c->promised = json_new_list(c->arena);
	json_push(c->promised, resource_row(type, id, NULL, state));
}

static void catalog_row(struct step_ctx *c, const char *kind, const char *name,
			json_t *desired, json_t *observed)
{
	json_t *row = json_object();

	put_or_null(row, "kind", kind);
	put_or_null(row, "name", name);
	json_object_set_new(row, "desired", desired ? desired : json_null());
	json_object_set_new(row, "observed", observed ? observed : json_null());
	json_push(c->catalog, row);
}

void step_catalog(struct step_ctx *c, const char *kind, const char *name, json_t *desired,
		  json_t *observed)
{
	if (desired || observed)
		catalog_row(c, kind, name, desired, observed);
	else
		step_fail(c, ERR_INTERNAL, "the catalog row %s of kind %s has no content",
			  name, kind);
}

void step_uncatalog(struct step_ctx *c, const char *kind, const char *name)
{
	catalog_row(c, kind, name, NULL, NULL);
}

void step_event(struct step_ctx *c, const char *what, json_t *data)
{
	json_t *row = json_object();

	put_or_null(row, "what", what);
	json_object_set_new(row, "data", data ? data : json_object());
	json_push(c->events, row);
}

static void stake_key(struct step_ctx *c, const json_t *row)
{
	json_object_set_new(c->stake_set, json_text(c->arena, row), json_true());
}

/* Said once: a later step that asks again finds the same, thousands of rows perhaps. */
static bool is_at_stake(struct step_ctx *c, const json_t *row)
{
	size_t i;
	json_t *there;

	if (!c->stake_set) {
		c->stake_set = json_new_object(c->arena);
		json_array_foreach(c->at_stake, i, there)
			stake_key(c, there);
	}
	return json_object_get(c->stake_set, json_text(c->arena, row)) != NULL;
}

void step_stake(struct step_ctx *c, json_t *row)
{
	if (c->at_stake && !is_at_stake(c, row)) {
		stake_key(c, row);
		json_push(c->at_stake, row);
	} else {
		json_decref(row);
	}
}

void step_warn(struct step_ctx *c, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	step_event(c, "warning", json_pack("{s:s}", "text", text));
}

void step_not_known(struct step_ctx *c, const char *check, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	step_warn(c, "not known: %s", text);
	step_event(c, "not_known", json_pack("{s:s, s:s}", "check", check, "why", text));
}

/* --- what the plan makes first --------------------------------------------------- */

/* Tags name a cluster on everything; they are no identity. */
static bool is_tag_member(const char *key)
{
	return streq(key, "Tags") || streq(key, "tags") ||
	       streq(key, "TagSpecifications");
}

static bool names(const json_t *tree, const char *text)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(tree))
		return streq(json_string_value(tree), text);
	json_object_foreach((json_t *)(uintptr_t)tree, key, value)
		if (!is_tag_member(key) && names(value, text))
			return true;
	json_array_foreach(tree, i, value)
		if (names(value, text))
			return true;
	return false;
}

static bool row_makes(const json_t *row, const char *by, const char *text)
{
	if (streq(json_str_at(row, "action"), "wait"))
		return strstr(json_str_or(row, "what", ""), text) != NULL;
	return (!by || streq(json_str_at(row, "call"), by)) &&
	       names(json_at(row, "request"), text);
}

bool step_is_coming(const struct step_ctx *c, const char *by, const char *name)
{
	size_t i;
	json_t *row;

	json_array_foreach(c->planned, i, row)
		if (name && row_makes(row, by, name))
			return true;
	return false;
}

bool step_all_coming(const json_t *planned, const json_t *in)
{
	const char *key;
	json_t *value, *row;
	size_t i;

	if (json_is_string(in)) {
		json_array_foreach(planned, i, row)
			if (row_makes(row, NULL, json_string_value(in)))
				return true;
		return false;
	}
	json_object_foreach((json_t *)(uintptr_t)in, key, value)
		if (!step_all_coming(planned, value))
			return false;
	json_array_foreach(in, i, value)
		if (!step_all_coming(planned, value))
			return false;
	return true;
}
