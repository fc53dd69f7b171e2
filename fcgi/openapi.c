/* The OpenAPI 3.1 document of the capability table. */
#include <string.h>

#include "core/domain/operation_out.h"
#include "core/json/tree.h"
#include "fcgi/documents.h"

#define REF(name) json_pack("{s:s}", "$ref", "#/components/schemas/" name)

static bool has_body(const struct capability *cap)
{
	return streq(cap->method, "POST") || streq(cap->method, "PUT") ||
	       streq(cap->method, "PATCH");
}

static bool in_query(const struct capability *cap, const struct field *f)
{
	return !(f->flags & FIELD_PATH) && (!has_body(cap) || f->flags & FIELD_QUERY);
}

/* The schema of one member, as field_schema() gives it inside its object. */
static json_t *schema_of(const struct field *f, struct arena *a)
{
	struct field one[2] = {*f, {.name = NULL}};

	return json_object_get(json_object_get(field_schema(one, a), "properties"),
			       f->name);
}

static void add_parameter(json_t *list, const struct field *f, const char *in,
			  const char *name, struct arena *a)
{
	const bool path = streq(in, "path");

	json_push(list,
		  json_pack("{s:s,s:s,s:b,s:s,s:O}", "name", name, "in", in, "required",
			    path || f->flags & FIELD_REQUIRED, "description",
			    f->doc ? f->doc : "", "schema", schema_of(f, a)));
}

static json_t *parameters(const struct capability *cap, struct arena *a)
{
	json_t *list = json_array();

	for (const struct field *f = cap->in; f && f->name; f++) {
		if (f->flags & FIELD_PATH)
			add_parameter(list, f, "path", f->name, a);
		else if (in_query(cap, f))
			add_parameter(list, f, "query",
				      cap->flags & CAP_WAITS &&
						      streq(f->name, "wait_seconds")
					      ? "wait"
					      : f->name,
				      a);
	}
	for (const struct field *f = capability_options(cap); f->name; f++) {
		if (f->flags & FIELD_QUERY)
			add_parameter(list, f, "query", f->name, a);
		else
			add_parameter(list, f, "header", "Idempotency-Key", a);
	}
	return list;
}

static json_t *body(const struct capability *cap, struct arena *a)
{
	size_t n = 0, kept = 0;
	bool required = false;
	struct field *fields;

	while (cap->in && cap->in[n].name)
		n++;
	fields = arena_array(a, struct field, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (cap->in[i].flags & FIELD_PATH || in_query(cap, &cap->in[i]))
			continue;
		required |= cap->in[i].flags & FIELD_REQUIRED;
		fields[kept++] = cap->in[i];
	}
	if (kept == 0)
		return NULL;
	return json_pack("{s:b,s:{s:{s:O}}}", "required", required, "content",
			 "application/json", "schema", field_schema(fields, a));
}

static json_t *response(const char *what, json_t *schema)
{
	return json_pack("{s:s,s:{s:{s:o}}}", "description", what, "content",
			 "application/json", "schema", schema);
}

static json_t *problem_ref(void)
{
	return json_pack("{s:s}", "$ref", "#/components/responses/Problem");
}

static json_t *responses(const struct capability *cap, struct arena *a)
{
	const bool accepted = cap->out == operation_out && capability_mutates(cap);
	json_t *all = json_object();
	json_t *own = cap->out == operation_out
			      ? REF("Operation")
			      : json_incref(capability_output_schema(cap, a));

	if (cap->flags & CAP_TEXT) {
		json_object_set_new(all, "200",
				    json_pack("{s:s,s:{s:{s:{s:s}}}}", "description",
					      "Plain text.", "content", "text/plain",
					      "schema", "type", "string"));
		json_decref(own);
	} else if (accepted) {
		json_object_set_new(all, "202", response("The accepted operation.", own));
		json_object_set_new(
			all, "200",
			response("The plan, with dry_run=plan.", REF("Plan")));
	} else if (capability_mutates(cap)) {
		json_object_set_new(
			all, "200",
			response("The result, or the plan with dry_run=plan.",
				 json_pack("{s:[o,o]}", "anyOf", own, REF("Plan"))));
	} else {
		json_object_set_new(all, "200", response("The result.", own));
	}
	/* Refusals have this form whatever their status; so has a fault of ours. */
	json_object_set_new(all, "4XX", problem_ref());
	json_object_set_new(all, "default", problem_ref());
	return all;
}

static json_t *operation(const struct capability *cap, struct arena *a)
{
	json_t *content = has_body(cap) ? body(cap, a) : NULL;

	return json_pack("{s:s,s:s,s:s,s:[s],s:s,s:s,s:o,s:o*,s:o}", "operationId",
			 cap->name, "summary", cap->title, "description", cap->doc,
			 "tags", toolset_of(cap, a), "x-effect",
			 cap_effect_name(cap->effect), "x-role", role_name(cap->role),
			 "parameters", parameters(cap, a), "requestBody", content,
			 "responses", responses(cap, a));
}

static json_t *paths(const struct capability *const *table, struct arena *a)
{
	json_t *all = json_object();

	for (; *table; table++) {
		char method[8] = "";
		json_t *path = json_object_get(all, (*table)->path);

		if (!path) {
			path = json_object();
			json_object_set_new(all, (*table)->path, path);
		}
		for (size_t i = 0; (*table)->method[i] && i < sizeof(method) - 1; i++)
			method[i] = (char)((*table)->method[i] | 0x20);
		json_object_set_new(path, method, operation(*table, a));
	}
	return all;
}

static const char *const retry_words[] = {"never",         "backoff", "same-key",
					  "observe-first", "human",   NULL};

static const char *const codes[] = {
#define E(name, slug, http, rpc, retry, title) slug,
#include "core/base/errors.def"
#undef E
	NULL};

static const struct field cause_out[] = {
	OUT("source", FIELD_STR, .doc = "Source of the message."),
	OUT("code", FIELD_STR, .doc = "Error code from the source."),
	OUT("message", FIELD_STR, .doc = "Message from the source."),
	OUT("request_id", FIELD_STR, .doc = "Request ID from the source."), FIELD_END};

static const struct field violation_out[] = {
	OUT("field", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "JSON pointer."),
	OUT("detail", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What is wrong."),
	OUT("seen", FIELD_STR, .doc = "The rejected value."),
	OUT("expected", FIELD_STR, .doc = "What is accepted."), FIELD_END};

static const struct field problem_out[] = {
	OUT("type", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "URL that describes the problem type."),
	OUT("title", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Title of the problem type."),
	OUT("status", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "HTTP status."),
	OUT("detail", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Description of this problem."),
	OUT("instance", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "ID of this response."),
	OUT("code", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = codes,
	    .doc = "Last part of the type."),
	OUT("field", FIELD_STR, .doc = "JSON pointer to the rejected value."),
	OUT("seen", FIELD_STR, .doc = "The rejected value."),
	OUT("expected", FIELD_STR, .doc = "What is accepted."),
	OUT("fix", FIELD_STR, .doc = "How to resolve the problem."),
	OUT("retry", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = retry_words,
	    .doc = "Whether a retry is safe."),
	{.name = "cause",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_MANY,
	 .fields = cause_out,
	 .doc = "Messages from AWS, Kubernetes or the database, nearest first."},
	{.name = "errors",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_MANY,
	 .fields = violation_out,
	 .doc = "All violations."},
	OUT("plan", FIELD_ANY, .doc = "The current plan."),
	FIELD_END};

struct str openapi_text(const struct capability *const *table, struct arena *a)
{
	json_t *doc = json_packf(
		a,
		"{s:s,s:{s:s,s:s,s:s,s:{s:s,s:s}},s:[{s:s}],s:[{s:[]}],s:o,s:{s:{s:{s:s,s:s}},"
		"s:{s:o},s:{s:O,s:O,s:O}}}",
		"openapi", "3.1.0", "info", "title", "InstantStart", "version",
		INSTANTSTART_VERSION, "description",
		"SageMaker HyperPod on EKS. A change returns 202 with an operation. GET "
		"/operations/{id}?wait=25 waits for its end.",
		"license", "name", "Apache-2.0", "identifier", "Apache-2.0", "servers",
		"url", "/api/v1", "security", "token", "paths", paths(table, a),
		"components", "securitySchemes", "token", "type", "http", "scheme",
		"bearer", "responses", "Problem",
		json_pack("{s:s,s:{s:{s:o}}}", "description",
			  "What is wrong, and what to do.", "content",
			  "application/problem+json", "schema", REF("Problem")),
		"schemas", "Operation", field_schema(operation_out, a), "Plan",
		field_schema(plan_out, a), "Problem", field_schema(problem_out, a));

	return str_of(json_text(a, doc));
}
