/* Bodies and media types. */
#include <string.h>

#include "tests/cloud/cloudformation/template.h"
#include "tests/cloud/kube/server.h"

enum { BODY_MAX = 3 * 1024 * 1024 };

/* https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources
 */
bool ks_acceptable(struct ks_req *q)
{
	const char *accept = ks_header(q, "accept");
	struct str rest = str_of(accept);

	if (!accept || !*accept)
		return true;
	while (rest.p) {
		struct str one = str_cut(&rest, ',');
		const struct str type = str_trim(str_cut(&one, ';'));

		if (str_is(type, "application/json") || str_is(type, "*/*") ||
		    str_is(type, "application/*"))
			return true;
		/* Our JSON passes for the protobuf of a built-in kind: clients look
		 * at the answer's type. */
		if (str_is(type, "application/vnd.kubernetes.protobuf") &&
		    !(q->kind && q->kind->schema))
			return true;
	}
	return ks_fail(q, 406, "NotAcceptable",
		       "406: Not Acceptable\n\nAvailable representations: "
		       "application/json, application/yaml");
}

static bool is_patch(const struct ks_req *q)
{
	return streq(q->raw->method, "PATCH");
}

static const char *patch_types(const struct ks_req *q)
{
	return q->kind->schema
		       ? "application/json-patch+json, application/merge-patch+json, "
			 "application/apply-patch+yaml"
		       : "application/json-patch+json, application/merge-patch+json, "
			 "application/strategic-merge-patch+json, "
			 "application/apply-patch+yaml";
}

static bool is_known(struct ks_req *q, const char *type)
{
	struct str rest = str_of(patch_types(q));

	while (is_patch(q) && rest.p) {
		if (str_is(str_trim(str_cut(&rest, ',')), type))
			return true;
	}
	if (is_patch(q))
		return false;
	return streq(type, "application/json") || streq(type, "application/yaml") ||
	       strstr(type, "protobuf");
}

static bool unknown_format(struct ks_req *q)
{
	return ks_fail(
		q, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types "
		"include: %s",
		is_patch(q) ? patch_types(q)
			    : "application/json, application/yaml, "
			      "application/vnd.kubernetes.protobuf");
}

static bool not_readable(struct ks_req *q, const char *why)
{
	if (is_patch(q))
		return ks_fail(q, 400, "BadRequest", "error decoding patch: %s", why);
	if (streq(q->raw->method, "DELETE"))
		return ks_fail(q, 400, "BadRequest",
			       "couldn't get version/kind; json parse error: %s", why);
	return ks_fail(q, 400, "BadRequest",
		       "the object provided is unrecognized (must be of type %s): "
		       "couldn't get version/kind; json parse error: %s",
		       q->kind->kind, why);
}

/* The first place where a member of that name stands. */
static const char *path_of(struct arena *a, const json_t *tree, const char *key,
			   const char *at)
{
	const char *name = NULL;
	const json_t *v = NULL;
	const char *found = NULL;
	size_t i = 0;

	json_object_foreach((json_t *)(uintptr_t)tree, name, v) {
		const char *here = *at ? arena_printf(a, "%s.%s", at, name) : name;

		if (streq(name, key))
			return here;
		found = path_of(a, v, key, here);
		if (found)
			return found;
	}
	json_array_foreach(tree, i, v) {
		found = path_of(a, v, key, arena_printf(a, "%s[%zu]", at, i));
		if (found)
			return found;
	}
	return NULL;
}

/* A member twice is a warning, or with strict validation an error. */
static json_t *read_json(struct ks_req *q, struct str text)
{
	json_error_t problem;
	const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
	json_t *tree =
		json_loadb(text.p, text.n, flags | JSON_REJECT_DUPLICATES, &problem);
	const char *key = NULL;

	if (tree)
		return json_own(q->a, tree);
	tree = json_loadb(text.p, text.n, flags, NULL);
	if (!tree)
		return NULL;
	json_own(q->a, tree);
	key = strchr(problem.text, '"');
	key = key ? arena_strndup(q->a, key + 1, strcspn(key + 1, "\"")) : "";
	q->twice = path_of(q->a, tree, key, "");
	return tree;
}

static bool read_text(struct ks_req *q, bool yaml)
{
	const struct str text = {q->raw->body, q->raw->body_len};
	const char *problem = NULL;

	q->body = read_json(q, text);
	if (q->body)
		return true;
	if (!yaml)
		return not_readable(q, text.n == 0
					       ? "unexpected end of JSON input (<empty>)"
					       : "unexpected end of JSON input");
	q->body = cfn_yaml_parse(q->a, str_dup(q->a, text), &problem);
	return q->body || ks_fail(q, 400, "BadRequest",
				  "error decoding YAML: error converting YAML to JSON: "
				  "yaml: mapping values are not allowed in this context");
}

bool ks_read_body(struct ks_req *q)
{
	const char *given = ks_header(q, "content-type");
	const char *type = given ? arena_strndup(q->a, given, strcspn(given, "; "))
				 : "application/json";
	const bool reads = streq(q->raw->method, "GET") ||
			   streq(q->raw->method, "HEAD") ||
			   streq(q->raw->method, "OPTIONS");
	const bool optional = streq(q->raw->method, "DELETE");

	if (reads || (optional && q->raw->body_len == 0))
		return true;
	if (q->raw->body_len > BODY_MAX)
		return ks_fail(q, 413, "RequestEntityTooLarge",
			       "Request entity too large: limit is %d", BODY_MAX);
	if (!is_known(q, type))
		return unknown_format(q);
	if (strstr(type, "protobuf")) {
		q->body = ks_proto_decode(q->a,
					  (struct str){q->raw->body, q->raw->body_len});
		return q->body || unknown_format(q);
	}
	return read_text(q, strstr(type, "yaml") != NULL);
}
