#include "core/kube/kube.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/json/tree.h"

enum { LIST_CHUNK = 500, STREAM_SECONDS = 300, STREAM_GRACE_S = 30, CALL_MS = 60000 };

static const char *const content_types[] = {
	[KUBE_CREATE] = "application/json",
	[KUBE_APPLY] = "application/apply-patch+yaml", /* JSON is a subset of YAML */
	[KUBE_MERGE_PATCH] = "application/merge-patch+json",
	[KUBE_DELETE] = "application/json",
};

static const char *const methods[] = {
	[KUBE_GET] = "GET",       [KUBE_LIST] = "GET",  [KUBE_CREATE] = "POST",
	[KUBE_APPLY] = "PATCH",   [KUBE_LOG] = "GET",   [KUBE_MERGE_PATCH] = "PATCH",
	[KUBE_DELETE] = "DELETE", [KUBE_WATCH] = "GET", [KUBE_RAW] = "GET",
};

static const char *const verb_names[] = {
	[KUBE_GET] = "get",       [KUBE_LIST] = "list",   [KUBE_CREATE] = "create",
	[KUBE_APPLY] = "apply",   [KUBE_LOG] = "log",     [KUBE_MERGE_PATCH] = "patch",
	[KUBE_DELETE] = "delete", [KUBE_WATCH] = "watch", [KUBE_RAW] = "read",
};

const char *kube_verb_name(enum kube_verb verb)
{
	return verb_names[verb];
}

bool kube_verb_mutates(enum kube_verb verb)
{
	return verb == KUBE_CREATE || verb == KUBE_APPLY || verb == KUBE_MERGE_PATCH ||
	       verb == KUBE_DELETE;
}

static void escape(struct buf *b, const char *z)
{
	for (; *z; z++) {
		const unsigned char c = (unsigned char)*z;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || strchr("-._~", c))
			buf_addc(b, (char)c);
		else
			buf_printf(b, "%%%02X", c);
	}
}

/* A path segment is escaped, but one that walks the tree is a caller's bug or
 * a user's trick: refused. */
static bool add_segment(struct buf *b, const char *what, const char *z, struct err *e)
{
	if (!z || !*z || streq(z, ".") || streq(z, "..") || strchr(z, '/') ||
	    strlen(z) > 253)
		return err_set(e, ERR_INVALID_INPUT,
			       "%s \"%.64s\" cannot be part of a path", what, z ? z : "");
	buf_addc(b, '/');
	escape(b, z);
	return true;
}

static bool add_api(struct buf *b, const char *api, struct err *e)
{
	struct str rest = str_of(api);
	const struct str group = str_cut(&rest, '/');

	if (!rest.p) {
		buf_adds(b, "/api");
		return add_segment(b, "API version", api, e);
	}
	buf_adds(b, "/apis");
	/* A third part would stay in rest and be refused as a segment. */
	return add_segment(b, "API group", str_dup(b->arena, group), e) &&
	       add_segment(b, "API version", str_dup(b->arena, rest), e);
}

static bool takes_name(const struct kube_request *r)
{
	return (r->verb != KUBE_LIST && r->verb != KUBE_WATCH &&
		r->verb != KUBE_CREATE) ||
	       (r->verb == KUBE_CREATE && r->subresource);
}

static bool add_path(struct buf *b, const struct kube_request *r, struct err *e)
{
	if (r->verb == KUBE_RAW) {
		if (!r->name || r->name[0] != '/' || strstr(r->name, "..") ||
		    strpbrk(r->name, " \t\r\n"))
			return err_set(e, ERR_INVALID_INPUT, "not an absolute path");
		buf_adds(b, r->name);
		return true;
	}
	if (!add_api(b, r->verb == KUBE_LOG ? "v1" : r->api, e))
		return false;
	if (r->ns) {
		buf_adds(b, "/namespaces");
		if (!add_segment(b, "namespace", r->ns, e))
			return false;
	}
	if (!add_segment(b, "resource", r->verb == KUBE_LOG ? "pods" : r->plural, e))
		return false;
	if (takes_name(r) && !add_segment(b, "name", r->name, e))
		return false;
	if (r->verb == KUBE_LOG)
		buf_adds(b, "/log");
	else if (takes_name(r) && r->subresource)
		return add_segment(b, "subresource", r->subresource, e);
	return true;
}

struct query {
	struct buf *b;
	char sep;
};

static void add_param(struct query *q, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	buf_addc(q->b, q->sep);
	q->sep = '&';
	buf_adds(q->b, name);
	buf_addc(q->b, '=');
	escape(q->b, value);
}

static void add_number(struct query *q, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	if (value > 0)
		add_param(q, name, text);
}

static int64_t stream_seconds(const struct kube_request *r)
{
	return r->watch_seconds > 0 ? r->watch_seconds : STREAM_SECONDS;
}

static void add_write_query(struct query *q, const struct kube_request *r)
{
	if (r->verb != KUBE_DELETE) {
		add_param(q, "fieldManager", "instantstart");
		add_param(q, "fieldValidation", "Strict");
	}
	if (r->verb == KUBE_APPLY)
		add_param(q, "force", r->force ? "true" : "false");
	if (r->dry_run)
		add_param(q, "dryRun", "All");
}

static void add_log_query(struct query *q, const struct kube_request *r)
{
	add_param(q, "container", r->container);
	add_param(q, "follow", r->follow ? "true" : NULL);
	add_param(q, "previous", r->previous ? "true" : NULL);
	add_param(q, "timestamps", r->timestamps ? "true" : NULL);
	add_param(q, "sinceTime", r->since_time);
	add_number(q, "tailLines", r->tail_lines);
	add_number(q, "limitBytes", r->limit_bytes);
}

static void add_query(struct buf *b, const struct kube_request *r)
{
	struct query q = {b, '?'};

	if (kube_verb_mutates(r->verb)) {
		add_write_query(&q, r);
		return;
	}
	if (r->verb == KUBE_LOG) {
		add_log_query(&q, r);
		return;
	}
	if (r->verb != KUBE_LIST && r->verb != KUBE_WATCH)
		return;
	add_param(&q, "labelSelector", r->label_selector);
	add_param(&q, "fieldSelector", r->field_selector);
	if (r->verb == KUBE_LIST) {
		add_number(&q, "limit", r->limit > 0 ? r->limit : LIST_CHUNK);
		add_param(&q, "continue", r->continue_);
		return;
	}
	add_param(&q, "watch", "true");
	add_param(&q, "allowWatchBookmarks", "true");
	add_param(&q, "resourceVersion", r->resource_version);
	add_number(&q, "timeoutSeconds", stream_seconds(r));
}

/* DeleteOptions: what the caller gave (preconditions), and how dependents go. */
static const json_t *delete_options(const struct kube_request *r, struct arena *a)
{
	json_t *options = json_packf(a, "{s:s,s:s,s:s}", "kind", "DeleteOptions",
				     "apiVersion", "v1", "propagationPolicy",
				     r->orphan ? "Orphan" : "Foreground");

	if (r->body)
		json_merge_patch(options, r->body);
	return options;
}

static bool add_body(const struct kube_request *r, struct arena *a,
		     struct http_request *ret, struct err *e)
{
	const json_t *body = r->verb == KUBE_DELETE ? delete_options(r, a) : r->body;

	if (!kube_verb_mutates(r->verb))
		return true;
	if (!json_is_object(body))
		return err_set(e, ERR_INTERNAL, "kubernetes: %s without an object",
			       verb_names[r->verb]);
	http_add_header(ret, "Content-Type", content_types[r->verb]);
	ret->body = json_text(a, body);
	ret->body_len = strlen(ret->body);
	return true;
}

bool kube_build(const struct kube_target *t, const struct kube_request *r,
		struct secret token, struct arena *a, struct http_request *ret,
		struct err *e)
{
	struct buf url;

	*ret = (struct http_request){.method = methods[r->verb],
				     .ca_pem = t->ca_pem,
				     .on_data = r->on_data,
				     .on_data_ctx = r->on_data_ctx};
	buf_init(&url, a, 16384);
	buf_adds(&url, t->endpoint);
	if (!add_path(&url, r, e))
		return false;
	add_query(&url, r);
	if (url.overflow)
		return err_set(e, ERR_TOO_LARGE, "kubernetes: the address is too long");
	ret->url = buf_cstr(&url);
	ret->timeout_ms = r->verb == KUBE_WATCH || (r->verb == KUBE_LOG && r->follow)
				  ? (stream_seconds(r) + STREAM_GRACE_S) * 1000
				  : CALL_MS;
	http_add_header(ret, "Accept",
			r->verb == KUBE_LOG || r->verb == KUBE_RAW
				? "application/json, */*"
				: "application/json");
	http_add_header(ret, "User-Agent", "instantstart/" INSTANTSTART_VERSION);
	if (secret_reveal(token))
		ret->authorization =
			secret_of(arena_printf(a, "Bearer %s", secret_reveal(token)));
	return add_body(r, a, ret, e);
}
