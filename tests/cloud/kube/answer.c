#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

enum { BODY_MAX = 48 * 1024 * 1024 };

static void header(struct cloud_response *r, const char *name, const char *value)
{
	if (r->n_headers < sizeof(r->header) / sizeof(r->header[0]))
		r->header[r->n_headers++] = (struct http_header){name, value};
}

bool ks_answer_text(struct ks_req *q, int status, const char *type, const char *text)
{
	q->res->fate = FATE_ANSWER;
	q->res->status = status;
	q->res->body = text;
	q->res->body_len = strlen(text);
	header(q->res, "Content-Type", type);
	header(q->res, "Audit-Id", cloud_id(q->k.cloud, q->a, "", 32));
	header(q->res, "Cache-Control", "no-cache, private");
	return false;
}

static int to_buf(const char *text, size_t n, void *b)
{
	buf_add(b, text, n);
	return 0;
}

bool ks_answer(struct ks_req *q, int status, const json_t *tree)
{
	const char *pretty = ks_query(q, "pretty");
	struct buf b;

	buf_init(&b, q->a, BODY_MAX);
	if (pretty && !streq(pretty, "false") && !streq(pretty, "0"))
		json_dump_callback(tree, to_buf, &b, JSON_INDENT(2));
	else
		json_write_to(&b, tree);
	return ks_answer_text(q, status, "application/json", buf_cstr(&b));
}

/* https://datatracker.ietf.org/doc/html/rfc7234#section-5.5 */
void ks_warn(struct ks_req *q, const char *text)
{
	char *quoted = arena_alloc(q->a, strlen(text) * 2 + 1);
	size_t n = 0;

	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			quoted[n++] = '\\';
		quoted[n++] = *p;
	}
	quoted[n] = '\0';
	header(q->res, "Warning", arena_printf(q->a, "299 - \"%s\"", quoted));
}

json_t *ks_status(struct arena *a, int code, const char *reason, const char *message,
		  const struct ks_kind *kind, const char *name, json_t *causes)
{
	json_t *s = json_packf(a, "{s:s,s:s,s:{},s:s,s:s,s:i}", "kind", "Status",
			       "apiVersion", "v1", "metadata", "status", "Failure",
			       "message", message, "code", code);
	json_t *details = json_object();

	if (reason && *reason)
		json_put_str(s, "reason", reason);
	if (kind && *kind->group)
		json_put_str(details, "group", kind->group);
	if (kind && name)
		json_put_str(details, "name", name);
	if (kind && (!streq(reason, "Invalid") || *kind->kind))
		/* A refused object is named by its kind, one that is missing by its
		 * resource. */
		json_put_str(details, "kind",
			     streq(reason, "Invalid") ? kind->kind : kind->plural);
	if (causes && json_array_size(causes) > 0)
		json_put(details, "causes", json_incref(causes));
	if (json_object_size(details) > 0)
		json_put(s, "details", json_incref(details));
	json_decref(details);
	return s;
}

void ks_add_cause(json_t *causes, const char *reason, const char *field,
		  const char *message)
{
	json_array_append_new(causes, json_pack("{s:s,s:s,s:s}", "reason", reason,
						"message", message, "field", field));
}

bool ks_fail(struct ks_req *q, int status, const char *reason, const char *fmt, ...)
{
	/* Only these are about an object; the others are about the request. */
	const bool named = streq(reason, "AlreadyExists") || streq(reason, "Conflict") ||
			   streq(reason, "Forbidden");
	va_list ap;
	const char *message = NULL;

	va_start(ap, fmt);
	message = arena_vprintf(q->a, fmt, ap);
	va_end(ap);
	return ks_answer(q, status,
			 ks_status(q->a, status, reason, message, named ? q->kind : NULL,
				   q->name, NULL));
}

/* The causes say what it is about; only of a namespace's end the object is named. */
bool ks_fail_causes(struct ks_req *q, int status, const char *reason, json_t *causes,
		    const char *fmt, ...)
{
	const bool named = streq(reason, "Forbidden");
	va_list ap;
	const char *message = NULL;

	va_start(ap, fmt);
	message = arena_vprintf(q->a, fmt, ap);
	va_end(ap);
	return ks_answer(q, status,
			 ks_status(q->a, status, reason, message, named ? q->kind : NULL,
				   q->name, causes));
}

const char *ks_qualified(struct arena *a, const struct ks_kind *kind)
{
	if (!*kind->group)
		return kind->plural;
	return arena_printf(a, "%s.%s", kind->plural, kind->group);
}

bool ks_no_such_resource(struct ks_req *q)
{
	return ks_fail(q, 404, "NotFound",
		       "the server could not find the requested resource");
}

bool ks_no_such_method(struct ks_req *q)
{
	return ks_fail(q, 405, "MethodNotAllowed",
		       "the server does not allow this method on the requested resource");
}

bool ks_not_found(struct ks_req *q)
{
	const char *message = NULL;

	if (!q->kind)
		return ks_no_such_resource(q);
	message = arena_printf(q->a, "%s \"%s\" not found", ks_qualified(q->a, q->kind),
			       q->name);
	return ks_answer(
		q, 404,
		ks_status(q->a, 404, "NotFound", message, q->kind, q->name, NULL));
}

static const char *all_causes(struct arena *a, const json_t *causes)
{
	const char *all = "";
	const json_t *cause = NULL;
	size_t i = 0;

	json_array_foreach(causes, i, cause) {
		all = arena_printf(a, "%s%s%s: %s", all, i ? ", " : "",
				   json_str_or(cause, "field", ""),
				   json_str_or(cause, "message", ""));
	}
	return json_array_size(causes) > 1 ? arena_printf(a, "[%s]", all) : all;
}

bool ks_invalid_as(struct ks_req *q, const char *group, const char *kind,
		   const char *name, json_t *causes)
{
	const struct ks_kind what = {.group = group, .kind = kind};
	const char *message = arena_printf(q->a, "%s%s%s \"%s\" is invalid: %s", kind,
					   *group ? "." : "", group, name ? name : "",
					   all_causes(q->a, causes));

	return ks_answer(q, 422,
			 ks_status(q->a, 422, "Invalid", message, &what,
				   name && *name ? name : NULL, causes));
}

bool ks_invalid(struct ks_req *q, const char *name, json_t *causes)
{
	return ks_invalid_as(q, q->kind->group, q->kind->kind, name, causes);
}

bool ks_conflict_as(struct ks_req *q, const char *kind, const char *why)
{
	const struct ks_kind what = {.group = q->kind->group, .plural = kind};
	const char *message = arena_printf(
		q->a, "Operation cannot be fulfilled on %s%s%s \"%s\": %s", kind,
		*q->kind->group ? "." : "", q->kind->group, q->name, why);

	return ks_answer(q, 409,
			 ks_status(q->a, 409, "Conflict", message, &what, q->name, NULL));
}

bool ks_bad_options(struct ks_req *q, const char *what, json_t *causes)
{
	const struct ks_kind kind = {.group = "meta.k8s.io", .kind = what};
	const char *message = arena_printf(q->a, "%s.meta.k8s.io \"\" is invalid: %s",
					   what, all_causes(q->a, causes));

	return ks_answer(q, 422,
			 ks_status(q->a, 422, "Invalid", message, &kind, NULL, causes));
}

bool ks_bad_patch(struct ks_req *q, const char *why)
{
	json_t *causes = json_new_list(q->a);
	const char *message =
		arena_printf(q->a, " \"\" is invalid: patch: Invalid value: %s", why);

	ks_add_cause(causes, "FieldValueInvalid", "patch",
		     arena_printf(q->a, "Invalid value: %s", why));
	return ks_answer(q, 422,
			 ks_status(q->a, 422, "Invalid", message, NULL, NULL, causes));
}
