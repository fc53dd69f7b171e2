/* A capability as an MCP tool: schemas, annotations, what tells completion. */
#include <string.h>

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
			   " Returns an operation; wait for its end by %s wait_seconds.",
			   cap->done_by ? cap->done_by : "get_operation");
	if (cap->flags & CAP_STAKES)
		buf_adds(
			&b,
			" Refused with the plan if anything would be lost: show at_stake, "
			"then send its confirm.");
	else if (cap->effect == CAP_DESTROY || cap->effect == CAP_SPEND)
		buf_printf(&b, " %s: confirm must equal %s. Review dry_run=plan first.",
			   cap->effect == CAP_SPEND ? "Spends money" : "Cannot be undone",
			   cap->target ? cap->target : cap->name);
	if (cap->flags & CAP_UNDO)
		buf_printf(&b, " With undo, confirm must equal %s.", cap->target);
	return buf_cstr(&b);
}

static void drop_word(json_t *words, const char *word)
{
	for (size_t i = json_array_size(words); i-- > 0;)
		if (streq(json_string_value(json_array_get(words, i)), word))
			json_array_remove(words, i);
}

/*
 * A schema as every client takes it: one type a member. Clients map schemas to
 * dialects without null, so an answer by MCP leaves such members out.
 */
static void plain(json_t *schema)
{
	json_t *required = json_object_get(schema, "required");
	json_t *words = json_object_get(schema, "enum");
	json_t *items = json_object_get(schema, "items");
	const json_t *type = json_object_get(schema, "type");
	const char *name;
	json_t *member;

	json_object_foreach(json_object_get(schema, "properties"), name, member) {
		if (json_is_array(json_object_get(member, "type")))
			drop_word(required, name);
		plain(member);
	}
	drop_word(words, NULL);
	if (required && json_array_size(required) == 0)
		json_object_del(schema, "required");
	if (json_is_array(type))
		json_object_set(schema, "type", json_array_get(type, 0));
	if (items)
		plain(items);
}

/* A member by its type alone; a new reference. */
static json_t *outline(const json_t *schema)
{
	json_t *out = json_object();

	json_object_set(out, "type", json_object_get(schema, "type"));
	if (json_object_get(schema, "enum"))
		json_object_set(out, "enum", json_object_get(schema, "enum"));
	if (json_object_get(schema, "items"))
		json_object_set_new(out, "items",
				    outline(json_object_get(schema, "items")));
	return out;
}

/*
 * What a change answers is either its own answer or, with dry_run, a plan. One
 * open object takes both: clients reject an answer that does not fit the
 * schema, and combinators are what many of them break on. It is an outline:
 * all of them answer an operation, and get_operation describes that in full.
 */
static json_t *output(const struct capability *cap, struct arena *a)
{
	json_t *schema = capability_output_schema(cap, a);
	json_t *properties, *outlines, *member;
	const char *name;

	plain(schema);
	if (!capability_mutates(cap))
		return schema;
	properties = json_object_get(schema, "properties");
	member = field_schema(plan_out, a);
	plain(member);
	json_object_update_missing(properties, json_object_get(member, "properties"));
	outlines = json_object();
	json_object_foreach(properties, name, member)
		json_object_set_new(outlines, name, outline(member));
	return json_packf(a, "{s:s,s:o,s:b}", "type", "object", "properties", outlines,
			  "additionalProperties", true);
}

struct str tool_text(const struct capability *cap, struct arena *a)
{
	const bool reads = cap->effect == CAP_READ;
	json_t *annotations = json_packf(
		a, "{s:s,s:b,s:b,s:b,s:b}", "title", cap->title, "readOnlyHint", reads,
		"destructiveHint",
		cap->effect == CAP_DESTROY || cap->flags & (CAP_UNDO | CAP_STAKES),
		"idempotentHint", reads || cap->flags & CAP_IDEMPOTENT, "openWorldHint",
		(cap->flags & (CAP_LONG | CAP_CLOUD)) != 0);
	json_t *tool =
		json_packf(a, "{s:s,s:s,s:s,s:O,s:O,s:O}", "name", cap->name, "title",
			   cap->title, "description", description(cap, a), "inputSchema",
			   capability_tool_schema(cap, a), "outputSchema", output(cap, a),
			   "annotations", annotations);

	return str_of(json_text(a, tool));
}
