/* Resources made in dependency order, retried while ids and roles spread. */
#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloudformation/stack.h"

/* What CloudFormation repeats by itself before it gives up. */
enum { RETRY_MS = 5000, RETRY_FOR_MS = 120 * 1000 };

static bool deps_made(struct cfn_work *w, const json_t *res)
{
	const json_t *all = json_object_get(w->stack, "_resources");
	size_t i;
	json_t *d;

	json_array_foreach(json_object_get(res, "deps"), i, d)
		if (!cfn_phase(json_object_get(all, json_string_value(d)), "made"))
			return false;
	return true;
}

static void resource_failed(struct cfn_work *w, const char *id, json_t *res,
			    const char *reason)
{
	cfn_set_phase(res, "failed");
	cfn_resource_status(w, id, res, "CREATE_FAILED", reason);
}

/* A fresh id may be unknown for a while, a fresh role not yet assumable. */
static bool worth_retrying(const struct cfn_unit *u, const json_t *res, int64_t now_ms)
{
	bool propagation = cfn_is_missing(u->code) ||
			   (u->message && (strstr(u->message, "could not be assumed") ||
					   strstr(u->message, "does not exist")));

	return propagation && !json_object_get(res, "physical") &&
	       now_ms < json_int_or(res, "give_up_ms", 0);
}

static bool resolve_props(struct cfn_work *w, const char *id, json_t *res)
{
	struct cfn_scope s = cfn_stack_scope(w);
	const json_t *def = json_object_get(json_object_get(s.template, "Resources"), id);
	json_t *props = json_object_get(def, "Properties");

	props = props ? cfn_resolve(&s, props) : json_new_object(w->arena);
	if (!props) {
		resource_failed(w, id, res, s.error);
		return false;
	}
	json_object_set(res, "props", props);
	return true;
}

static void begin(struct cfn_work *w, const char *id, json_t *res)
{
	const struct cfn_type *type = cfn_type_find(json_str_or(res, "type", ""));
	const json_t *injected =
		json_object_get(cloud_settings(w->cloud), "stack_failure");
	const char *failure = json_string_value(json_object_get(injected, id));
	struct cfn_unit u;

	if (!json_object_get(res, "status")) {
		if (!resolve_props(w, id, res))
			return;
		cfn_resource_status(w, id, res, "CREATE_IN_PROGRESS", NULL);
		json_put_int(res, "give_up_ms",
			     w->now_ms + cloud_ms(w->cloud, RETRY_FOR_MS) +
				     2 * cloud_opts(w->cloud)->list_lag_ms);
	}
	if (failure) {
		resource_failed(w, id, res, failure);
		return;
	}
	cfn_unit_init(w, &u, id, res);
	if (!type->create(&u)) {
		if (worth_retrying(&u, res, w->now_ms))
			json_put_int(res, "due_ms",
				     w->now_ms + cloud_ms(w->cloud, RETRY_MS));
		else
			resource_failed(w, id, res, cfn_failure(&u));
		return;
	}
	cfn_stamp(&u);
	cfn_set_phase(res, "making");
	json_put_int(res, "due_ms",
		     w->now_ms + cloud_ms(w->cloud, type->create_s * 1000));
	cfn_resource_status(w, id, res, "CREATE_IN_PROGRESS",
			    "Resource creation Initiated");
}

static void poll_made(struct cfn_work *w, const char *id, json_t *res)
{
	const struct cfn_type *type = cfn_type_find(json_str_or(res, "type", ""));
	struct cfn_unit u;
	enum cfn_progress p = CFN_DONE;

	cfn_unit_init(w, &u, id, res);
	if (type->ready)
		p = type->ready(&u);
	if (p == CFN_FAILED)
		resource_failed(w, id, res, cfn_failure(&u));
	if (p != CFN_DONE)
		return;
	cfn_set_phase(res, "made");
	cfn_resource_status(w, id, res, "CREATE_COMPLETE", NULL);
}

/* One look at every resource; true when one moved on. */
static bool create_step(struct cfn_work *w)
{
	bool moved = false;
	const char *id;
	json_t *res;

	json_object_foreach(json_object_get(w->stack, "_resources"), id, res) {
		if (w->now_ms < json_int_or(res, "due_ms", 0))
			continue;
		if (cfn_phase(res, "todo") && deps_made(w, res))
			begin(w, id, res);
		else if (cfn_phase(res, "making"))
			poll_made(w, id, res);
		else
			continue;
		if (cfn_phase(res, "failed"))
			return false;
		moved = moved || cfn_phase(res, "made");
	}
	return moved;
}

static void create_failed(struct cfn_work *w, const char *failed)
{
	const char *why = json_str_or(w->stack, "_on_failure", "ROLLBACK");
	const char *id, *reason;
	json_t *res;

	json_object_foreach(json_object_get(w->stack, "_resources"), id, res)
		if (cfn_phase(res, "making") ||
		    (cfn_phase(res, "todo") && json_object_get(res, "status")))
			resource_failed(w, id, res, "Resource creation cancelled");
	reason = arena_printf(w->arena,
			      "The following resource(s) failed to create: %s. ", failed);
	if (streq(why, "DO_NOTHING"))
		cfn_stack_status(w, "CREATE_FAILED", reason);
	else
		cfn_stack_start_delete(
			w,
			streq(why, "DELETE") ? "DELETE_IN_PROGRESS"
					     : "ROLLBACK_IN_PROGRESS",
			arena_printf(w->arena, "%s%s requested by user.", reason,
				     streq(why, "DELETE") ? "Delete" : "Rollback"));
}

static void set_outputs(struct cfn_work *w)
{
	struct cfn_scope s = cfn_stack_scope(w);
	json_t *out = json_array(), *def;
	const char *key;

	json_object_foreach(json_object_get(s.template, "Outputs"), key, def) {
		json_t *value = cfn_included(&s, def)
					? cfn_resolve(&s, json_object_get(def, "Value"))
					: NULL;
		json_t *o;

		if (!value)
			continue;
		o = json_pack("{s:s,s:O}", "OutputKey", key, "OutputValue", value);
		json_put_str(o, "Description", json_str_at(def, "Description"));
		json_push(out, o);
	}
	json_object_set_new(w->stack, "Outputs", out);
}

static bool all_in(struct cfn_work *w, const char *phase)
{
	const char *id;
	json_t *res;

	json_object_foreach(json_object_get(w->stack, "_resources"), id, res)
		if (!cfn_phase(res, phase))
			return false;
	return true;
}

static void create_advance(struct cfn_work *w)
{
	int64_t deadline = json_int_or(w->stack, "_deadline_ms", 0);
	const char *failed;

	while (create_step(w))
		;
	failed = cfn_phase_list(w, "failed");
	if (failed) {
		create_failed(w, failed);
	} else if (all_in(w, "made")) {
		set_outputs(w);
		cfn_stack_status(w, "CREATE_COMPLETE", NULL);
	} else if (deadline && w->now_ms >= deadline) {
		cfn_stack_start_delete(
			w, "ROLLBACK_IN_PROGRESS",
			"Stack creation time exceeded the specified timeout. "
			"Rollback requested by user.");
	}
}

static void update_advance(struct cfn_work *w)
{
	const char *id;
	json_t *res;

	if (w->now_ms < json_int_or(w->stack, "_update_due_ms", 0))
		return;
	json_object_foreach(json_object_get(w->stack, "_resources"), id, res) {
		struct cfn_unit u;

		cfn_unit_init(w, &u, id, res);
		if (cfn_retag(&u))
			cfn_resource_status(w, id, res, "UPDATE_COMPLETE", NULL);
	}
	cfn_stack_status(w, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", NULL);
	cfn_stack_status(w, "UPDATE_COMPLETE", NULL);
}

void cfn_stack_advance(struct cfn_work *w)
{
	const char *status = json_str_or(w->stack, "StackStatus", "");

	if (streq(status, "UPDATE_IN_PROGRESS"))
		update_advance(w);
	if (streq(status, "CREATE_IN_PROGRESS"))
		create_advance(w);
	status = json_str_or(w->stack, "StackStatus", "");
	if (streq(status, "DELETE_IN_PROGRESS") || streq(status, "ROLLBACK_IN_PROGRESS"))
		cfn_stack_remove_step(w);
}
