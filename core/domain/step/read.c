#include "core/domain/step/read.h"

#include <stdarg.h>
#include <string.h>

#include "core/domain/step/eks_access.h"
#include "core/json/tree.h"
#include "core/op/refusal.h"

/*
 * c->seen.<key> = {op, paged, in, ok, missing, code, message, out, text, next};
 * c->seen._reading names the one whose answer is awaited. A read is entered
 * when it is built, so that one which the planner skips is not built again.
 */
static json_t *entry_of(const struct step_ctx *c, const char *key)
{
	return json_object_get(c->seen, key);
}

/* True when the read must be made (again, for its next page). */
static bool wants(struct step_ctx *c, const char *key, json_t **ret_entry)
{
	json_t *entry = entry_of(c, key);

	if (entry && !json_object_get(entry, "next"))
		return false;
	if (!entry) {
		entry = json_object();
		json_object_set_new(c->seen, key, entry);
	}
	json_object_set_new(c->seen, "_reading", json_string(key));
	*ret_entry = entry;
	return true;
}

static bool read_op(struct step_ctx *c, struct exchange *x, const char *key,
		    enum aws_op_id op, json_t *in, bool paged)
{
	json_t *entry;
	json_t *next;

	if (!wants(c, key, &entry))
		return false;
	next = json_object_get(entry, "next");
	if (next)
		in = json_own(c->arena, json_incref(next));
	else if (!in)
		in = json_new_object(c->arena);
	json_object_del(entry, "next");
	json_put_int(entry, "op", (int64_t)op);
	json_put_bool(entry, "paged", paged);
	json_put(entry, "in", json_incref(in));
	exchange_aws(x, op, in);
	return true;
}

bool read_aws(struct step_ctx *c, struct exchange *x, const char *key, enum aws_op_id op,
	      json_t *in)
{
	return read_op(c, x, key, op, in, false);
}

bool read_all(struct step_ctx *c, struct exchange *x, const char *key, enum aws_op_id op,
	      json_t *in)
{
	return read_op(c, x, key, op, in, true);
}

bool read_kube(struct step_ctx *c, struct exchange *x, const char *key,
	       const struct kube_request *r)
{
	struct kube_request page = *r;
	struct kube_target target;
	json_t *entry;

	if (!wants(c, key, &entry))
		return false;
	page.continue_ = json_str_at(entry, "next");
	if (page.continue_)
		page.continue_ = arena_strdup(c->arena, page.continue_);
	json_object_del(entry, "next");
	eks_target(c, &target);
	exchange_kube(x, &target, &page);
	return true;
}

bool read_helm(struct step_ctx *c, struct exchange *x, const char *key,
	       const struct helm_request *r)
{
	struct kube_target target;
	json_t *entry;

	if (!wants(c, key, &entry))
		return false;
	eks_target(c, &target);
	exchange_helm(x, &target, r);
	return true;
}

bool read_each(struct step_ctx *c, struct exchange *x, const struct read_each *how,
	       const json_t *list)
{
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item) {
		const char *name = json_str_or(item, how->name, "");
		const char *at = arena_printf(c->arena, "%s.%s", how->into, name);

		if (json_at(c->data, at))
			continue;
		if (read_aws(c, x, name, how->op,
			     json_packf(c->arena, "{s:s}", how->name, name)))
			return true;
		step_save(c, at, how->keep(c, name));
	}
	return false;
}

static void join_items(json_t *all, const json_t *page)
{
	json_t *items = json_at(all, "items");
	json_t *more = json_at(page, "items");

	if (items && more)
		json_array_extend(items, more);
}

/* First page: takes the tree over; later pages: appends their items. */
static void keep_out(struct step_ctx *c, json_t *entry, const struct answer *a)
{
	json_t *all = json_object_get(entry, "out");
	enum aws_op_id op = (enum aws_op_id)json_int_or(entry, "op", 0);

	if (!all)
		json_object_set_new(entry, "out", json_incref(a->out));
	else if (a->via == VIA_AWS)
		aws_join_page(aws_op(op), all, a->out);
	else
		join_items(all, a->out);

	if (a->via == VIA_AWS && json_bool_or(entry, "paged", false)) {
		json_t *next =
			aws_next_page(aws_op(op), json_at(entry, "in"), a->out, c->arena);
		if (next)
			json_object_set_new(entry, "next", json_incref(next));
	}
	if (a->via == VIA_KUBE && json_str_or(a->out, "metadata.continue", "")[0])
		json_put_str(entry, "next", json_str_at(a->out, "metadata.continue"));
}

void read_seen(struct step_ctx *c, const struct answer *a)
{
	const char *key = json_str_at(c->seen, "_reading");
	json_t *entry = key ? entry_of(c, key) : NULL;

	if (!entry)
		return;
	json_put_bool(entry, "ok", a->ok);
	json_put_bool(entry, "missing", !a->ok && a->errc == ERR_CLOUD_NOT_FOUND);
	json_put_str(entry, "code", a->ok ? "" : a->code ? a->code : "");
	json_put_str(entry, "message", a->message ? a->message : "");
	json_put_str(entry, "text", a->text);
	json_put_str(entry, "call", a->call);
	json_put_int(entry, "status", a->status);
	json_put_int(entry, "errc", (int64_t)a->errc);
	json_put_str(entry, "request_id", a->request_id);
	json_put_str(entry, "bucket_region", a->bucket_region);
	if (a->ok && a->out)
		keep_out(c, entry, a);
	else /* half a list is no list */
		json_object_del(entry, "out");
}

json_t *saw(const struct step_ctx *c, const char *key)
{
	return json_object_get(entry_of(c, key), "out");
}

const char *saw_text(const struct step_ctx *c, const char *key)
{
	return json_str_at(entry_of(c, key), "text");
}

bool saw_ok(const struct step_ctx *c, const char *key)
{
	return json_bool_or(entry_of(c, key), "ok", false);
}

bool saw_missing(const struct step_ctx *c, const char *key)
{
	return json_bool_or(entry_of(c, key), "missing", false);
}

const char *saw_code(const struct step_ctx *c, const char *key)
{
	return json_str_or(entry_of(c, key), "code", "");
}

const char *saw_message(const struct step_ctx *c, const char *key)
{
	return json_str_or(entry_of(c, key), "message", "");
}

bool saw_refused(const struct step_ctx *c, const char *key)
{
	return json_at(entry_of(c, key), "ok") && !saw_ok(c, key) && !saw_missing(c, key);
}

bool saw_denied(const struct step_ctx *c, const char *key)
{
	return json_int_or(entry_of(c, key), "errc", 0) == ERR_CLOUD_DENIED;
}

/* The answer as it was, but for its tree. */
static struct answer answer_of(const struct step_ctx *c, const char *key)
{
	const json_t *entry = entry_of(c, key);
	const char *call = json_str_or(entry, "call", "");

	return (struct answer){
		.via = str_starts(call, "kubernetes:") ? VIA_KUBE : VIA_AWS,
		.call = call,
		.ok = saw_ok(c, key),
		.status = (int)json_int_or(entry, "status", 0),
		.code = saw_code(c, key),
		.message = saw_message(c, key),
		.request_id = json_str_or(entry, "request_id", ""),
		.bucket_region = json_str_at(entry, "bucket_region"),
		.errc = (enum errc)json_int_or(entry, "errc", 0),
	};
}

const char *saw_why(const struct step_ctx *c, const char *key)
{
	const struct answer a = answer_of(c, key);

	return refusal_text(c->arena, &a);
}

struct err *step_fail_saw(struct step_ctx *c, const char *key, const char *fmt, ...)
{
	const struct answer a = answer_of(c, key);
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	return step_fail_answer(c, &a, "%s", text);
}
