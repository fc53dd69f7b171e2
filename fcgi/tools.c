/* A capability as an MCP tool: schemas, annotations, what tells completion. */
#include "core/base/limits.h"
#include "core/json/tree.h"
#include "fcgi/documents.h"

static const char *description(const struct capability *cap, struct arena *a)
{
	struct buf b;

	buf_init(&b, a, 2048);
	buf_adds(&b, cap->doc);
	if (cap->flags & CAP_LONG)
		buf_printf(&b,
			   " Answers at once with an operation; %s with its id and "
			   "wait_seconds tells when it has ended.",
			   cap->done_by ? cap->done_by : "get_operation");
	if (cap->effect == CAP_DESTROY || cap->effect == CAP_SPEND)
		buf_printf(&b, " %s: confirm must equal %s. Look at dry_run=plan first.",
			   cap->effect == CAP_SPEND ? "Spends money" : "Cannot be undone",
			   cap->target ? cap->target : cap->name);
	return buf_cstr(&b);
}

/*
 * What a change answers is either its own answer or, with dry_run, a plan. One
 * open object takes both: clients reject an answer that does not fit the
 * schema, and combinators are what many of them break on.
 */
static json_t *output(const struct capability *cap, struct arena *a)
{
	json_t *schema = capability_output_schema(cap, a);
	json_t *properties = json_object_get(schema, "properties");
	json_t *plan;

	if (!capability_mutates(cap))
		return schema;
	plan = json_object_get(field_schema(plan_out, a), "properties");
	json_object_update_missing(properties, plan);
	json_object_del(schema, "required");
	json_object_set_new(schema, "additionalProperties", json_true());
	return schema;
}

struct str tool_text(const struct capability *cap, struct arena *a)
{
	const bool reads = cap->effect == CAP_READ;
	json_t *annotations = json_packf(
		a, "{s:s,s:b,s:b,s:b,s:b}", "title", cap->title, "readOnlyHint", reads,
		"destructiveHint", cap->effect == CAP_DESTROY, "idempotentHint",
		reads || cap->flags & CAP_IDEMPOTENT, "openWorldHint",
		(cap->flags & (CAP_LONG | CAP_CLOUD)) != 0);
	json_t *tool =
		json_packf(a, "{s:s,s:s,s:s,s:O,s:O,s:O}", "name", cap->name, "title",
			   cap->title, "description", description(cap, a), "inputSchema",
			   capability_input_schema(cap, true, a), "outputSchema",
			   output(cap, a), "annotations", annotations);

	return str_of(json_text(a, tool));
}
