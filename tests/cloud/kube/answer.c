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

bool ks_answer(struct ks_req *q, int status, const json_t *tree)
{
	struct buf b;

	buf_init(&b, q->a, BODY_MAX);
	json_write_to(&b, tree);
	return ks_answer_text(q, status, "application/json", buf_cstr(&b));
}

void ks_warn(struct ks_req *q, const char *text)
{
	header(q->res, "Warning", arena_printf(q->a, "299 - \"%s\"", text));
}

json_t *ks_status(struct arena *a, int code, const char *reason, const char *message,
		  const struct ks_kind *kind, const char *name, json_t *causes)
{
	json_t *s = json_packf(a, "{s:s,s:s,s:{},s:s,s:s,s:s,s:i}", "kind", "Status",
			       "apiVersion", "v1", "metadata", "status", "Failure",
			       "message", message, "reason", reason, "code", code);
	json_t *details = json_object();

	if (kind) {
		json_put_str(details, "kind", kind->plural);
		if (*kind->group)
			json_put_str(details, "group", kind->group);
		json_put_str(details, "name", name);
	}
	if (causes && json_array_size(causes) > 0)
		json_put(details, "causes", json_incref(causes));
	json_put(s, "details", details);
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
	va_list ap;
	const char *message = NULL;

	va_start(ap, fmt);
	message = arena_vprintf(q->a, fmt, ap);
	va_end(ap);
	return ks_answer(
		q, status,
		ks_status(q->a, status, reason, message, q->kind, q->name, NULL));
}

bool ks_fail_causes(struct ks_req *q, int status, const char *reason, json_t *causes,
		    const char *fmt, ...)
{
	va_list ap;
	const char *message = NULL;

	va_start(ap, fmt);
	message = arena_vprintf(q->a, fmt, ap);
	va_end(ap);
	return ks_answer(
		q, status,
		ks_status(q->a, status, reason, message, q->kind, q->name, causes));
}

static const char *qualified(struct ks_req *q)
{
	if (!*q->kind->group)
		return q->kind->plural;
	return arena_printf(q->a, "%s.%s", q->kind->plural, q->kind->group);
}

bool ks_not_found(struct ks_req *q)
{
	if (!q->kind)
		return ks_fail(q, 404, "NotFound",
			       "the server could not find the requested resource");
	return ks_fail(q, 404, "NotFound", "%s \"%s\" not found", qualified(q), q->name);
}

bool ks_invalid(struct ks_req *q, const char *name, json_t *causes)
{
	const char *all = "";
	const json_t *cause = NULL;
	const char *kind = *q->kind->group ? arena_printf(q->a, "%s.%s", q->kind->kind,
							  q->kind->group)
					   : q->kind->kind;
	size_t i = 0;

	json_array_foreach(causes, i, cause) {
		all = arena_printf(q->a, "%s%s%s: %s", all, i ? ", " : "",
				   json_str_or(cause, "field", ""),
				   json_str_or(cause, "message", ""));
	}
	if (json_array_size(causes) > 1)
		all = arena_printf(q->a, "[%s]", all);
	return ks_fail_causes(q, 422, "Invalid", causes, "%s \"%s\" is invalid: %s", kind,
			      name ? name : "", all);
}
