/* Schemas of capabilities, as programs and models read them. */
#include <string.h>

#include "core/domain/capability.h"
#include "core/json/tree.h"

static const struct field none[] = {FIELD_END};

/* --- a tool's input ------------------------------------------------------ */

enum { PATTERN_READ = 36 }; /* characters of a pattern that tell more than they take */

/*
 * As a model reads it in every conversation: without lengths, which it cannot count, and
 * without long patterns, of which the sentence says more. A refusal names both.
 */
static void lean(json_t *schema)
{
	static const char *const bounds[] = {
		"minLength",     "maxLength",     "minItems",   "maxItems",
		"minProperties", "maxProperties", "uniqueItems"};
	const char *pattern = json_string_value(json_object_get(schema, "pattern"));
	const char *name;
	json_t *member;

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		json_object_del(schema, bounds[i]);
	if (pattern && strlen(pattern) > PATTERN_READ)
		json_object_del(schema, "pattern");
	json_object_foreach(json_object_get(schema, "properties"), name, member)
		lean(member);
	if (json_object_get(schema, "items"))
		lean(json_object_get(schema, "items"));
	if (json_is_object(json_object_get(schema, "additionalProperties")))
		lean(json_object_get(schema, "additionalProperties"));
}

json_t *capability_tool_schema(const struct capability *cap, struct arena *a)
{
	const struct field *const parts[] = {cap->in ? cap->in : none,
					     capability_options(cap)};
	json_t *schema = NULL, *properties;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		json_t *part = field_schema(parts[i], a);

		if (schema)
			json_object_update(json_object_get(schema, "properties"),
					   json_object_get(part, "properties"));
		else
			schema = part;
	}
	lean(schema);
	/* The options are the same in every tool: their words say it. */
	properties = json_object_get(schema, "properties");
	for (const struct field *f = capability_options(cap); f->name; f++)
		json_object_del(json_object_get(properties, f->name), "pattern");
	return schema;
}

/* --- answers ------------------------------------------------------------- */

json_t *capability_output_schema(const struct capability *cap, struct arena *a)
{
	return field_schema(cap->out ? cap->out : none, a);
}

static const struct field plan_step_out[] = {
	OUT("step", FIELD_STR, .doc = "Name of the step."),
	OUT("phase", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Phase that the step belongs to."),
	OUT("title", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Title of the step."),
	OUT("action", FIELD_STR, .doc = "call, none, wait, stage or not_known."),
	OUT("what", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Description of the change."),
	{.name = NULL}};

const struct field plan_out[] = {
	OUT("kind", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Kind of operation that the step starts."),
	OUT("target", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Target of the operation."),
	{.name = "steps",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY | FIELD_OPEN,
	 .fields = plan_step_out,
	 .doc = "Steps in order of execution."},
	OUT("resources", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Objects that are created or removed."),
	OUT("checks", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Values that were checked, such as quotas and addresses."),
	OUT("warnings", FIELD_STRS, .doc = "Warnings to review before you continue."),
	OUT("plan_digest", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Send as plan_digest to run exactly this plan."),
	OUT("at_stake", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "What would be lost or interrupted: the first 50 rows."),
	OUT("confirm", FIELD_STR,
	    .doc = "Send as confirm to accept exactly these losses, those not shown "
		   "included."),
	OUT("counts", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Number of all rows of each list that is shown in part, such as "
		   "{\"at_stake\": 5000}."),
	OUT("incomplete", FIELD_STR,
	    .doc = "checks: some checks could not be made. rest: the plan ends early and "
		   "cannot be run by its digest. Not set: complete."),
	OUT("not_known", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Steps whose source did not answer, with the reason."),
	FIELD_END};
