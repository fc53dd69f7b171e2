#include "tests/cloud/cloudformation/stack.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/json/tree.h"

enum { REASON_MAX = 4096 };

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
		.key = json_str_at(w->stack, "_key"),
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
