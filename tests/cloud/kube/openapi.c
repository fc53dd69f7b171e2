#include <string.h>

#include "tests/cloud/kube/server.h"

/*
 * OpenAPI v3 of each group version: enough for kubectl to see that the server
 * validates fields, to explain kinds and to merge by key. v2 is served without a
 * definition: clients that look there (kubectl and helm, for a List) find nothing to
 * check by themselves, and the server checks.
 */

#define VERSION "v1.35.2"

static json_t *index_of(struct ks_req *q)
{
	size_t n = 0;
	const struct ks_kind *v = ks_kinds_served(&q->k, q->a, &n);
	json_t *paths = json_object();

	for (size_t i = 0; i < n; i++) {
		const char *name = *v[i].group
					   ? arena_printf(q->a, "apis/%s/%s", v[i].group,
							  v[i].version)
					   : arena_printf(q->a, "api/%s", v[i].version);

		json_object_set_new(
			paths, name,
			json_pack("{s:s}", "serverRelativeURL",
				  arena_printf(q->a, "/k8s/%s/openapi/v3/%s",
					       json_str_or(q->k.root, "id", ""), name)));
	}
	return json_packf(q->a, "{s:o}", "paths", paths);
}

static json_t *parameter(const char *name)
{
	return json_pack("{s:s,s:s,s:{s:s}}", "name", name, "in", "query", "schema",
			 "type", "string");
}

static json_t *operation(const struct ks_kind *kind, const char *action)
{
	return json_pack("{s:[o,o,o],s:s,s:{s:s,s:s,s:s},s:{s:{s:s}}}", "parameters",
			 parameter("dryRun"), parameter("fieldManager"),
			 parameter("fieldValidation"), "x-kubernetes-action", action,
			 "x-kubernetes-group-version-kind", "group", kind->group,
			 "version", kind->version, "kind", kind->kind, "responses", "200",
			 "description", "OK");
}

static void add_paths(struct ks_req *q, const struct ks_kind *kind, json_t *paths)
{
	const char *base = *kind->group ? arena_printf(q->a, "/apis/%s/%s", kind->group,
						       kind->version)
					: arena_printf(q->a, "/api/%s", kind->version);
	const char *all = kind->namespaced
				  ? arena_printf(q->a, "%s/namespaces/{namespace}/%s",
						 base, kind->plural)
				  : arena_printf(q->a, "%s/%s", base, kind->plural);

	json_object_set_new(paths, all,
			    json_pack("{s:o}", "post", operation(kind, "post")));
	json_object_set_new(paths, arena_printf(q->a, "%s/{name}", all),
			    json_pack("{s:o,s:o,s:o}", "get", operation(kind, "get"),
				      "put", operation(kind, "put"), "patch",
				      operation(kind, "patch")));
}

static void add_schema(struct ks_req *q, const struct ks_kind *kind, json_t *schemas)
{
	const char *built_in =
		kind->type ? arena_printf(q->a, "io.k8s.api.%s", kind->type) : NULL;
	json_t *schema = kind->schema ? json_deep_copy(kind->schema)
			 : built_in && json_object_get(schemas, built_in)
				 ? json_deep_copy(json_object_get(schemas, built_in))
				 : json_pack("{s:s,s:b}", "type", "object",
					     "x-kubernetes-preserve-unknown-fields", 1);

	if (!json_object_get(schema, "properties"))
		json_object_set_new(schema, "properties", json_object());
	json_object_set_new(json_object_get(schema, "properties"), "apiVersion",
			    json_pack("{s:s}", "type", "string"));
	json_object_set_new(json_object_get(schema, "properties"), "kind",
			    json_pack("{s:s}", "type", "string"));
	json_object_set_new(
		json_object_get(schema, "properties"), "metadata",
		json_pack("{s:s}", "$ref", "#/components/schemas/io.k8s.api.ObjectMeta"));
	json_object_set_new(schema, "x-kubernetes-group-version-kind",
			    json_pack("[{s:s,s:s,s:s}]", "group", kind->group, "version",
				      kind->version, "kind", kind->kind));
	json_object_set_new(schemas,
			    arena_printf(q->a, "served.%s.%s.%s", kind->group,
					 kind->version, kind->kind),
			    schema);
}

static bool one_version(struct ks_req *q, const char *name)
{
	size_t n = 0;
	const struct ks_kind *v = ks_kinds_served(&q->k, q->a, &n);
	json_t *paths = json_new_object(q->a);
	json_t *schemas = ks_type_schemas(q->a);

	for (size_t i = 0; i < n; i++) {
		const char *here = *v[i].group
					   ? arena_printf(q->a, "apis/%s/%s", v[i].group,
							  v[i].version)
					   : arena_printf(q->a, "api/%s", v[i].version);

		if (!streq(here, name))
			continue;
		add_paths(q, &v[i], paths);
		add_schema(q, &v[i], schemas);
	}
	if (json_object_size(paths) == 0)
		return ks_fail(q, 404, "NotFound",
			       "the server could not find the requested resource");
	return ks_answer(q, 200,
			 json_packf(q->a, "{s:s,s:{s:s,s:s},s:O,s:{s:O}}", "openapi",
				    "3.0.0", "info", "title", "Kubernetes", "version",
				    VERSION, "paths", paths, "components", "schemas",
				    schemas));
}

/* As JSON, or as the message openapi.v2.Document: swagger = 1, info = 2. */
static bool version_2(struct ks_req *q, const char *accept)
{
	/* Asked for with "@v1.0", which is no legal type to answer. */
	static const char type[] =
		"application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

	if (accept && strstr(accept, "protobuf"))
		return ks_answer_text(q, 200, type,
				      "\x0a\x03"
				      "2.0"
				      "\x12\x15\x0a\x0a"
				      "Kubernetes"
				      "\x12\x07" VERSION);
	return ks_answer(q, 200,
			 json_packf(q->a, "{s:s,s:{s:s,s:s},s:{}}", "swagger", "2.0",
				    "info", "title", "Kubernetes", "version", VERSION,
				    "paths"));
}

bool ks_openapi(struct ks_req *q)
{
	const char *accept = ks_header(q, "accept");

	if (streq(q->path, "/openapi/v2"))
		return version_2(q, accept);

	if (streq(q->path, "/openapi/v3"))
		return ks_answer(q, 200, index_of(q));
	if (accept && strstr(accept, "protobuf") && !strstr(accept, "json"))
		return ks_fail(
			q, 406, "NotAcceptable",
			"only the following media types are accepted: application/json");
	if (str_starts(q->path, "/openapi/v3/"))
		return one_version(q, q->path + strlen("/openapi/v3/"));
	return ks_fail(q, 404, "NotFound",
		       "the server could not find the requested resource");
}
