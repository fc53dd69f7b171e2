#include "tests/cloud/cloudformation/stack.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/json/tree.h"

/* What CloudFormation repeats by itself before it gives up. */
enum { RETRY_MS = 5000, RETRY_FOR_MS = 120 * 1000, REASON_MAX = 4096 };

bool cfn_phase(const json_t *res, const char *phase)
{
	return streq(json_str_at(res, "phase"), phase);
}

void cfn_set_phase(json_t *res, const char *phase)
{
	json_object_set_new(res, "phase", json_string(phase));
}

static json_t *event(struct cfn_work *w, const char *logical, const char *physical,
		     const char *type)
{
	json_t *e = json_object();
	json_t *list = json_object_get(w->stack, "_events");

	json_put_str(e, "StackId", json_str_at(w->stack, "StackId"));
	json_put_str(e, "StackName", json_str_at(w->stack, "StackName"));
	json_put_str(e, "EventId",
		     arena_printf(w->arena, "%s-%s", logical,
				  cloud_id(w->cloud, w->arena, "", 32)));
	json_object_set_new(e, "Timestamp", cloud_seconds(w->now_ms));
	json_put_str(e, "LogicalResourceId", logical);
	json_put_str(e, "PhysicalResourceId", physical);
	json_put_str(e, "ResourceType", type);
	json_put_str(e, "ClientRequestToken", json_str_at(w->stack, "_token"));
	json_push(list, e);
	return e;
}

void cfn_stack_status(struct cfn_work *w, const char *status, const char *reason)
{
	const char *id = json_str_at(w->stack, "StackId");
	json_t *e = event(w, json_str_at(w->stack, "StackName"), id,
			  "AWS::CloudFormation::Stack");

	json_put_str(e, "ResourceStatus", status);
	json_put_str(e, "ResourceStatusReason", reason);
	json_put_str(w->stack, "StackStatus", status);
	if (reason)
		json_put_str(w->stack, "StackStatusReason", reason);
	else
		json_drop(w->stack, "StackStatusReason");
}

void cfn_resource_status(struct cfn_work *w, const char *id, json_t *res,
			 const char *status, const char *reason)
{
	json_t *e =
		event(w, id, json_str_or(res, "physical", ""), json_str_at(res, "type"));
	const json_t *props = json_object_get(res, "props");

	json_put_str(e, "ResourceStatus", status);
	json_put_str(e, "ResourceStatusReason", reason);
	if (props)
		json_put_str(e, "ResourceProperties", json_text(w->arena, props));
	json_put_str(res, "status", status);
	if (reason)
		json_put_str(res, "reason", reason);
	else
		json_drop(res, "reason");
	json_put_int(res, "at_ms", w->now_ms);
}

static json_t *zone_names(struct cloud *c, struct arena *a)
{
	json_t *list = json_new_list(a), *out = NULL, *z;
	const char *code, *message;
	size_t i;

	if (cloud_invoke(c, a, "ec2", "DescribeAvailabilityZones", json_new_object(a),
			 NULL, &out, &code, &message))
		json_array_foreach(json_object_get(out, "AvailabilityZones"), i, z)
			json_array_append(list, json_object_get(z, "ZoneName"));
	return list;
}

struct cfn_scope cfn_stack_scope(struct cfn_work *w)
{
	const struct cloud_options *o = cloud_opts(w->cloud);

	return (struct cfn_scope){
		.arena = w->arena,
		.template = json_object_get(w->stack, "_template"),
		.params = json_object_get(w->stack, "_params"),
		.conditions = json_object_get(w->stack, "_conditions"),
		.resources = json_object_get(w->stack, "_resources"),
		.stack_name = json_str_or(w->stack, "StackName", ""),
		.stack_id = json_str_or(w->stack, "StackId", ""),
		.account = o->account,
		.region = o->region,
		.zones = zone_names(w->cloud, w->arena),
	};
}

void cfn_stack_plan(struct cfn_work *w, struct cfn_scope *s)
{
	json_t *out = json_object();
	const char *id;
	json_t *def;

	json_object_foreach(json_object_get(s->template, "Resources"), id, def)
		if (cfn_included(s, def))
			json_object_set_new(out, id,
					    json_pack("{s:s,s:s,s:O,s:I}", "type",
						      json_str_or(def, "Type", ""),
						      "phase", "todo", "deps",
						      cfn_depends(s, def), "at_ms",
						      (json_int_t)w->now_ms));
	json_object_set_new(w->stack, "_resources", out);
}

/* Own tags win over the stack's. */
static json_t *unit_tags(struct cfn_work *w, const char *id, const json_t *res)
{
	json_t *own = json_at(res, "props.Tags");
	json_t *tags = json_own(w->arena, own ? json_deep_copy(own) : json_array());
	size_t i;
	json_t *t;

	json_array_foreach(json_object_get(w->stack, "Tags"), i, t)
		if (!json_find(tags, "Key", json_str_or(t, "Key", "")))
			json_array_append(tags, t);
	json_push(tags, json_pack("{s:s,s:s}", "Key", "aws:cloudformation:stack-name",
				  "Value", json_str_or(w->stack, "StackName", "")));
	json_push(tags, json_pack("{s:s,s:s}", "Key", "aws:cloudformation:stack-id",
				  "Value", json_str_or(w->stack, "StackId", "")));
	json_push(tags, json_pack("{s:s,s:s}", "Key", "aws:cloudformation:logical-id",
				  "Value", id));
	return tags;
}

void cfn_unit_init(struct cfn_work *w, struct cfn_unit *u, const char *id, json_t *res)
{
	*u = (struct cfn_unit){
		.cloud = w->cloud,
		.arena = w->arena,
		.logical_id = id,
		.stack_name = json_str_or(w->stack, "StackName", ""),
		.caller = json_str_or(w->stack, "_caller", ""),
		.props = json_object_get(res, "props"),
		.tags = unit_tags(w, id, res),
		.state = res,
	};
}

static const char *handler_code(const char *code)
{
	if (cfn_is_missing(code))
		return "NotFound";
	if (strstr(code, "AlreadyExists") || strstr(code, "InUse") ||
	    strstr(code, "Duplicate"))
		return "AlreadyExists";
	if (strstr(code, "Limit") || strstr(code, "Exceeded"))
		return "ServiceLimitExceeded";
	if (strstr(code, "AccessDenied") || strstr(code, "Unauthorized"))
		return "AccessDenied";
	if (strstr(code, "Invalid") || strstr(code, "Validation"))
		return "InvalidRequest";
	return streq(code, "NotStabilized") ? code : "GeneralServiceException";
}

/* In the words of CloudFormation's resource handlers. */
const char *cfn_failure(struct cfn_unit *u)
{
	const char *service = streq(u->service, "ec2")   ? "Ec2"
			      : streq(u->service, "eks") ? "Eks"
							 : "Iam";
	const char *code = u->code ? u->code : "InternalFailure";

	return arena_printf(
		u->arena,
		"Resource handler returned message: \"%s (Service: %s, Status Code: "
		"400, Error Code: %s)\" (RequestToken: %s, HandlerErrorCode: %s)",
		u->message ? u->message : code, service, code,
		cloud_id(u->cloud, u->arena, "", 32), handler_code(code));
}

const char *cfn_phase_list(struct cfn_work *w, const char *phase)
{
	struct buf b;
	const char *id;
	json_t *res;

	buf_init(&b, w->arena, REASON_MAX);
	json_object_foreach(json_object_get(w->stack, "_resources"), id, res)
		if (cfn_phase(res, phase))
			buf_printf(&b, "%s%s", b.len ? ", " : "[", id);
	return b.len ? arena_printf(w->arena, "%s]", buf_cstr(&b)) : NULL;
}

/* --- create -------------------------------------------------------------- */

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

void cfn_stack_advance(struct cfn_work *w)
{
	const char *status = json_str_or(w->stack, "StackStatus", "");

	if (streq(status, "CREATE_IN_PROGRESS"))
		create_advance(w);
	status = json_str_or(w->stack, "StackStatus", "");
	if (streq(status, "DELETE_IN_PROGRESS") || streq(status, "ROLLBACK_IN_PROGRESS"))
		cfn_stack_remove_step(w);
}
