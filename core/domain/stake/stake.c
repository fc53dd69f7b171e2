#include "core/domain/stake/stake.h"

#include "core/base/listing.h"
#include "core/domain/stake/reference.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static const struct stake_spec *spec_of(const struct step_ctx *c)
{
	return c->step->arg;
}

/* --- the one question --------------------------------------------------------------- */

bool stake_read(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	for (const struct reference *r = references; r->type; r++)
		if (json_find(things, "type", r->type) && r->read(c, x, things))
			return true;
	return false;
}

static json_t *row_of(struct step_ctx *c, const json_t *thing, const json_t *pods)
{
	const char *type = json_str_or(thing, "type", "?");
	json_t *row =
		json_packf(c->arena, "{s:s, s:s*}", type, json_str_or(thing, "name", "?"),
			   "group", json_str_at(thing, "group"));
	bool any = false;

	for (const struct reference *r = references; r->type; r++) {
		json_t *list;

		if (!streq(r->type, type))
			continue;
		list = json_array();
		r->find(c, thing, pods, list);
		any |= json_array_size(list) > 0;
		if (json_array_size(list) > 0)
			json_object_set(row, r->name, list);
		json_decref(list);
	}
	return any ? row : NULL;
}

json_t *stake_rows(struct step_ctx *c, const json_t *things)
{
	json_t *rows = json_new_list(c->arena), *v;
	const json_t *pods = stake_pods(c, reference_nodes(c, things));
	size_t i;

	json_array_foreach(things, i, v) {
		json_t *row = row_of(c, v, pods);

		if (row)
			json_array_append(rows, row);
	}
	return rows;
}

/* --- the word ------------------------------------------------------------------------
 */

/* What a row is about, "type/name"; NULL: nothing that can be confirmed. */
static const char *about(const struct step_ctx *c, const json_t *row)
{
	for (const struct reference *r = references; r->type; r++) {
		const char *name = json_string_value(json_object_get(row, r->type));

		if (name)
			return arena_printf(c->arena, "%s/%s", r->type, name);
	}
	return NULL;
}

/* The rows that were confirmed, by what they are about: there may be thousands. NULL:
 * nothing is asked. */
static json_t *confirmed_rows(const struct step_ctx *c)
{
	const json_t *list = json_at(c->input, "confirmed");
	json_t *ret, *row;
	size_t i;

	if (c->planning || !list)
		return NULL;
	ret = json_new_object(c->arena);
	json_array_foreach(list, i, row) {
		const char *key = about(c, row);

		if (key && !json_object_get(ret, key))
			json_object_set(ret, key, row);
	}
	return ret;
}

/* The first text of the row that nobody has confirmed, and of which list; NULL: none. */
static const char *unconfirmed(const struct step_ctx *c, const json_t *confirmed,
			       const json_t *row, const char **ret_list)
{
	const char *name = about(c, row);
	const json_t *known = name ? json_object_get(confirmed, name) : NULL;
	const char *key;
	json_t *list, *v;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)row, key, list)
		json_array_foreach(list, i, v)
			if (!texts_have(json_object_get(known, key),
					json_string_value(v))) {
				*ret_list = key;
				return json_string_value(v);
			}
	return NULL;
}

/* Of all rows together: a cluster has hundreds of nodes, and a person one look. */
static void warn(struct step_ctx *c, const json_t *rows, const char *what)
{
	json_t *sums = json_new_object(c->arena), *row, *list;
	const char *key;
	size_t i;

	json_array_foreach(rows, i, row)
		json_object_foreach(row, key, list)
			if (json_array_size(list) > 0) {
				json_t *sum = json_object_get(sums, key);

				if (!sum)
					json_object_set_new(sums, key,
							    json_deep_copy(list));
				else
					json_array_extend(sum, list);
			}
	json_object_foreach(sums, key, list) {
		struct listing names = listing_new(c->arena, ", ", LISTING_SHORT);

		json_array_foreach(list, i, row)
			listing_add(&names, "%s", json_string_value(row));
		step_warn(c, "lost with %s: %zu %s: %s", what, names.n, key,
			  listing_text(&names));
	}
}

bool stake_settle(struct step_ctx *c, const json_t *rows, const char *what)
{
	const json_t *confirmed = confirmed_rows(c);
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row) {
		const char *list = NULL, *text = NULL;
		struct err *e;

		if (confirmed)
			text = unconfirmed(c, confirmed, row, &list);
		if (text) {
			e = step_fail(c, ERR_LOSS_NOT_CONFIRMED,
				      "%s (%s) would be lost with %s and was not "
				      "confirmed",
				      text, list, what);
			err_fix(e,
				"Nothing was changed. Request a new plan, then send the "
				"request with its confirm value.");
			return false;
		}
		step_stake(c, json_incref(row));
	}
	warn(c, rows, what);
	return true;
}

/* --- a step of its own -------------------------------------------------------------- */

bool stake_observe(struct step_ctx *c, struct exchange *x)
{
	const struct stake_spec *s = spec_of(c);
	const json_t *things;

	if (s->observe && s->observe(c, x))
		return true;
	things = s->things(c);
	return things && c->verdict.kind == VERDICT_NONE && stake_read(c, x, things);
}

void stake_plan(struct step_ctx *c, struct exchange *x)
{
	const struct stake_spec *s = spec_of(c);
	const json_t *things = s->things(c);

	(void)x;
	if (things && c->verdict.kind == VERDICT_NONE)
		(void)stake_settle(c, stake_rows(c, things), s->what);
}
