#include "core/domain/step/absent.h"

#include "core/json/tree.h"

enum { LOOK_S = 3 };

const json_t *ledger_rows(const struct step_ctx *c)
{
	return c->ledger ? c->ledger : json_at(c->input, "owned");
}

static bool is_row(const json_t *row, const char *type, const char *id)
{
	return streq(json_str_at(row, "type"), type) &&
	       (!id || streq(json_str_at(row, "id"), id));
}

static const json_t *row_in(const json_t *rows, const char *type, const char *id)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
		if (is_row(row, type, id))
			return row;
	return NULL;
}

const json_t *ledger_row(const struct step_ctx *c, const char *type, const char *id)
{
	return row_in(ledger_rows(c), type, id);
}

/* What is not in the ledger, an undo tells of: input.young. */
static int64_t young_for_ms(const struct step_ctx *c, const json_t *rows,
			    const char *type, const char *id)
{
	int64_t most = 0;
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row) {
		const int64_t left = json_int_or(row, "made_ms", 0) +
				     c->cfg->visibility_ms - c->now_ms;

		if (is_row(row, type, id) && json_at(row, "made_ms") &&
		    !streq(json_str_at(row, "state"), "adopted") && left > most)
			most = left;
	}
	return most;
}

bool is_young(const struct step_ctx *c, const char *type, const char *id)
{
	return young_for_ms(c, ledger_rows(c), type, id) > 0 ||
	       young_for_ms(c, json_at(c->input, "young"), type, id) > 0;
}

bool is_absent(struct step_ctx *c, const char *type, const char *id, const char *what)
{
	if (c->planning || !is_young(c, type, id))
		return true;
	step_wait(c, LOOK_S,
		  "AWS to show %s, which is new, or to confirm that it does not exist",
		  what);
	return false;
}

static const char *first_sighting(const struct step_ctx *c, const char *type)
{
	return arena_printf(c->arena, "_gone.%s", type);
}

bool is_absent_twice(struct step_ctx *c, const char *type, const char *id,
		     int64_t spacing_s, const char *what)
{
	const char *path = first_sighting(c, type);
	const int64_t first = json_int_or(c->data, path, 0);

	if (!is_absent(c, type, id, what))
		return false;
	if (c->planning)
		return true;
	if (first == 0)
		step_save(c, path, json_integer(c->now_ms));
	if (first != 0 &&
	    c->now_ms - first >= spacing_s * 1000 * c->cfg->poll_scale_percent / 100)
		return true;
	step_wait(c, spacing_s, "a second check that %s was deleted", what);
	return false;
}

void is_there(struct step_ctx *c, const char *type)
{
	const char *path = first_sighting(c, type);

	if (json_at(c->data, path))
		json_drop(c->data, path);
}

bool removal_is_done(struct step_ctx *c, const struct answer *a)
{
	size_t i;
	json_t *row;

	json_array_foreach(c->promised, i, row) {
		const char *type = json_str_or(row, "type", "");
		const char *id = json_str_or(row, "id", "");

		if (a->errc == ERR_CLOUD_NOT_FOUND && !a->ok &&
		    !is_absent(c, type, id, id))
			return false;
	}
	json_array_foreach(c->promised, i, row)
		step_own(c, json_str_or(row, "type", ""), json_str_or(row, "id", ""),
			 NULL, json_str_or(row, "state", "gone"));
	return true;
}
