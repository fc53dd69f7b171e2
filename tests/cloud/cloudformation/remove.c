#include "tests/cloud/cloudformation/stack.h"

#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"

/* How long a refusal that others can lift is repeated. */
enum {
	RETRY_MS = 10 * 1000,
	BLOCKED_FOR_MS = 5 * 60 * 1000,
	BUSY_FOR_MS = 40 * 60 * 1000
};

void cfn_stack_start_delete(struct cfn_work *w, const char *status, const char *reason)
{
	const char *id;
	json_t *res;

	json_object_foreach(json_object_get(w->stack, "_resources"), id, res) {
		json_object_del(res, "due_ms");
		json_object_del(res, "give_up_ms");
		if (!json_object_get(res, "physical"))
			cfn_set_phase(res, "gone");
		else if (cfn_phase(res, "stuck"))
			cfn_set_phase(res, "made");
	}
	cfn_stack_status(w, status, reason);
}

static bool removable(const json_t *res)
{
	return cfn_phase(res, "made") || cfn_phase(res, "making") ||
	       cfn_phase(res, "failed");
}

/* Whether something that is still there was made from this one. */
static bool in_use(struct cfn_work *w, const char *wanted)
{
	const char *id;
	json_t *res, *d;
	size_t i;

	json_object_foreach(json_object_get(w->stack, "_resources"), id, res) {
		if (cfn_phase(res, "gone"))
			continue;
		json_array_foreach(json_object_get(res, "deps"), i, d)
			if (streq(json_string_value(d), wanted))
				return true;
	}
	return false;
}

static bool is_retained(struct cfn_work *w, const char *id, const json_t *res)
{
	const json_t *def = json_object_get(
		json_object_get(json_object_get(w->stack, "_template"), "Resources"), id);
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(w->stack, "_retain"), i, v)
		if (streq(json_string_value(v), id))
			return true;
	return streq(json_str_at(def, "DeletionPolicy"), "Retain") &&
	       !cfn_phase(res, "failed");
}

static void gone(struct cfn_work *w, const char *id, json_t *res, const char *status)
{
	cfn_set_phase(res, "gone");
	cfn_resource_status(w, id, res, status, NULL);
}

/* 0: not worth repeating. */
static int64_t patience_ms(const char *code)
{
	if (streq(code, "DependencyViolation") || streq(code, "DeleteConflict"))
		return BLOCKED_FOR_MS;
	if (strstr(code, "InUse") || streq(code, "IncorrectState") ||
	    streq(code, "AuthFailure"))
		return BUSY_FOR_MS;
	return 0;
}

static void refused(struct cfn_work *w, struct cfn_unit *u, json_t *res)
{
	int64_t patience = patience_ms(u->code ? u->code : "");

	if (patience && !json_object_get(res, "give_up_ms"))
		json_put_int(res, "give_up_ms", w->now_ms + cloud_ms(w->cloud, patience));
	if (patience && w->now_ms < json_int_or(res, "give_up_ms", 0)) {
		json_put_int(res, "due_ms", w->now_ms + cloud_ms(w->cloud, RETRY_MS));
		return;
	}
	if (streq(json_str_at(w->stack, "DeletionMode"), "FORCE_DELETE_STACK")) {
		gone(w, u->logical_id, res, "DELETE_SKIPPED");
		return;
	}
	cfn_set_phase(res, "stuck");
	cfn_resource_status(w, u->logical_id, res, "DELETE_FAILED", cfn_failure(u));
}

static void begin(struct cfn_work *w, const char *id, json_t *res)
{
	const struct cfn_type *type = cfn_type_find(json_str_or(res, "type", ""));
	struct cfn_unit u;

	if (is_retained(w, id, res)) {
		gone(w, id, res, "DELETE_SKIPPED");
		return;
	}
	if (!streq(json_str_at(res, "status"), "DELETE_IN_PROGRESS"))
		cfn_resource_status(w, id, res, "DELETE_IN_PROGRESS", NULL);
	cfn_unit_init(w, &u, id, res);
	if (type->remove(&u)) {
		cfn_set_phase(res, "removing");
		json_put_int(res, "due_ms",
			     w->now_ms + cloud_ms(w->cloud, type->delete_s * 1000));
	} else if (cfn_is_missing(u.code)) {
		gone(w, id, res, "DELETE_COMPLETE");
	} else {
		refused(w, &u, res);
	}
}

static void poll_gone(struct cfn_work *w, const char *id, json_t *res)
{
	const struct cfn_type *type = cfn_type_find(json_str_or(res, "type", ""));
	struct cfn_unit u;
	enum cfn_progress p = CFN_DONE;

	cfn_unit_init(w, &u, id, res);
	if (type->gone)
		p = type->gone(&u);
	if (p == CFN_DONE)
		gone(w, id, res, "DELETE_COMPLETE");
	if (p == CFN_FAILED)
		refused(w, &u, res);
}

/* true when one went, so that those it held may go too. */
static bool step(struct cfn_work *w)
{
	bool moved = false;
	const char *id;
	json_t *res;

	json_object_foreach(json_object_get(w->stack, "_resources"), id, res) {
		if (w->now_ms < json_int_or(res, "due_ms", 0))
			continue;
		if (removable(res) && !in_use(w, id))
			begin(w, id, res);
		else if (cfn_phase(res, "removing"))
			poll_gone(w, id, res);
		else
			continue;
		moved = moved || cfn_phase(res, "gone");
	}
	return moved;
}

/* What is left waits for nothing but something stuck. */
static bool finished(struct cfn_work *w)
{
	const char *id;
	json_t *res;

	json_object_foreach(json_object_get(w->stack, "_resources"), id, res)
		if (cfn_phase(res, "removing") || (removable(res) && !in_use(w, id)))
			return false;
	return true;
}

void cfn_stack_remove_step(struct cfn_work *w)
{
	bool rollback =
		streq(json_str_at(w->stack, "StackStatus"), "ROLLBACK_IN_PROGRESS");
	const char *stuck;

	while (step(w))
		;
	if (!finished(w))
		return;
	stuck = cfn_phase_list(w, "stuck");
	if (stuck) {
		cfn_stack_status(
			w, rollback ? "ROLLBACK_FAILED" : "DELETE_FAILED",
			arena_printf(w->arena,
				     "The following resource(s) failed to delete: %s. ",
				     stuck));
		return;
	}
	if (!rollback)
		json_object_set_new(w->stack, "DeletionTime", cloud_seconds(w->now_ms));
	cfn_stack_status(w, rollback ? "ROLLBACK_COMPLETE" : "DELETE_COMPLETE", NULL);
}
