#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

enum { SEGMENTS_MAX = 12 };

const char *ks_query(const struct ks_req *q, const char *name)
{
	return json_string_value(json_object_get(q->query, name));
}

const char *ks_header(const struct ks_req *q, const char *name)
{
	for (size_t i = 0; i < q->raw->n_headers; i++) {
		if (strcasecmp(q->raw->header[i].name, name) == 0)
			return q->raw->header[i].value;
	}
	return NULL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char *unescape(struct arena *a, struct str s, bool plus)
{
	char *out = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%' && i + 2 < s.n && hex_digit(s.p[i + 1]) >= 0 &&
		    hex_digit(s.p[i + 2]) >= 0) {
			out[n++] = (char)(hex_digit(s.p[i + 1]) * 16 +
					  hex_digit(s.p[i + 2]));
			i += 2;
		} else {
			out[n++] = plus && s.p[i] == '+' ? ' ' : s.p[i];
		}
	}
	return out;
}

static json_t *parse_query(struct arena *a, struct str text)
{
	json_t *query = json_new_object(a);

	while (text.p && text.n > 0) {
		struct str value = str_cut(&text, '&');
		const struct str name = str_cut(&value, '=');
		const char *v = value.p ? unescape(a, value, true) : "";

		if (str_is_utf8(str_of(v)))
			json_object_set_new(query, unescape(a, name, true),
					    json_string(v));
	}
	return query;
}

static size_t split(struct arena *a, const char *path, const char **seg)
{
	struct str rest = str_of(path);
	size_t n = 0;

	while (rest.p && n < SEGMENTS_MAX) {
		const struct str piece = str_cut(&rest, '/');

		if (piece.n > 0)
			seg[n++] = unescape(a, piece, false);
	}
	return n;
}

/* namespaces/NS/PLURAL/…, unless the resource is namespaces itself. */
static void resolve(struct ks_req *q, const char *group, const char *version,
		    const char **seg, size_t n)
{
	if (n >= 3 && streq(seg[0], "namespaces")) {
		const struct ks_kind *kind =
			ks_kind_find(&q->k, q->a, group, version, seg[2]);

		if (kind && kind->namespaced) {
			q->kind = kind;
			q->ns = seg[1];
			q->name = n > 3 ? seg[3] : NULL;
			q->sub = n > 4 ? seg[4] : NULL;
			return;
		}
		if (*group)
			return;
	}
	q->kind = n > 0 ? ks_kind_find(&q->k, q->a, group, version, seg[0]) : NULL;
	q->name = n > 1 ? seg[1] : NULL;
	q->sub = n > 2 ? seg[2] : NULL;
}

/* The first word of User-Agent names a manager that did not name itself. */
static const char *manager_of(struct ks_req *q)
{
	const char *given = ks_query(q, "fieldManager");
	const char *agent = ks_header(q, "user-agent");
	size_t n = 0;

	if (given && *given)
		return given;
	if (!agent)
		return "unknown";
	n = strcspn(agent, "/ ");
	return arena_strndup(q->a, agent, n < 128 ? n : 128);
}

static bool is_read(const struct ks_req *q)
{
	return streq(q->raw->method, "GET");
}

static void dispatch_read(struct ks_req *q)
{
	const char *watch = ks_query(q, "watch");

	if (watch && (streq(watch, "0") || streq(watch, "false")))
		watch = NULL;
	if (q->name && !watch)
		ks_serve_get(q);
	else if (watch)
		ks_serve_watch(q);
	else
		ks_serve_list(q);
}

/* Namespaces are not deleted by the dozen. */
static bool may_empty(const struct ks_req *q)
{
	return !streq(q->kind->kind, "Namespace") && (!q->kind->namespaced || q->ns);
}

static void dispatch_object(struct ks_req *q)
{
	const char *method = q->raw->method;

	if (is_read(q))
		dispatch_read(q);
	else if (streq(method, "POST") && !q->name && (q->ns || !q->kind->namespaced))
		ks_serve_create(q);
	else if (streq(method, "PUT") && q->name)
		ks_serve_update(q);
	else if (streq(method, "PATCH") && q->name)
		ks_serve_patch(q);
	else if (streq(method, "DELETE") && q->name && !q->sub)
		ks_serve_delete(q);
	else if (streq(method, "DELETE") && !q->name && may_empty(q))
		ks_serve_delete_collection(q);
	else
		ks_no_such_method(q);
}

static void dispatch(struct ks_req *q)
{
	q->manager = manager_of(q);
	q->dry_run = streq(ks_query(q, "dryRun"), "All") ||
		     streq(json_str_at(q->body, "dryRun.0"), "All");
	if (q->kind->has & KS_NO_STORE)
		ks_serve_review(q);
	else if (q->sub && !streq(q->sub, "status"))
		ks_serve_sub(q);
	else if (q->sub && !(q->kind->has & KS_STATUS))
		ks_no_such_resource(q);
	else
		dispatch_object(q);
}

/* --- faults and the ledger ------------------------------------------------------ */

static bool mutates(const struct ks_req *q)
{
	return !is_read(q) && !streq(q->raw->method, "HEAD") &&
	       !streq(q->raw->method, "OPTIONS") && !(q->kind->has & KS_NO_STORE);
}

/* "apply persistentvolumes", as fault rules and the product name it. */
static const char *call_name(const struct ks_req *q)
{
	const char *type = ks_header(q, "content-type");
	const char *verb = ks_verb(q);

	if (streq(verb, "patch") && type &&
	    str_starts(type, "application/apply-patch+yaml"))
		verb = "apply";
	return arena_printf(q->a, "%s %s%s%s", verb, q->kind->plural, q->sub ? "/" : "",
			    q->sub ? q->sub : "");
}

static const char *outcome_of(struct ks_req *q)
{
	struct err e;
	const json_t *status = NULL;

	if (q->res->status < 400)
		return "ok";
	status = json_parse(q->a, (struct str){q->res->body, q->res->body_len}, &e);
	return json_str_or(status, "reason", "error");
}

/* Secrets are secret in the ledger too. */
static const json_t *ledger_input(struct ks_req *q)
{
	json_t *in = NULL;

	if (!json_is_object(q->body) || !streq(q->kind->plural, "secrets"))
		return q->body;
	in = json_own(q->a, json_copy(q->body));
	json_object_del(in, "data");
	json_object_del(in, "stringData");
	return in;
}

static void dispatch_recorded(struct ks_req *q)
{
	const char *name = call_name(q);
	const bool changes = mutates(q);
	const json_t *rule = cloud_take_fault(q->k.cloud, NULL, NULL, name, changes);
	const bool lost = streq(json_str_at(rule, "fault"), "lose_answer");
	json_t *entry = NULL;

	if (rule && ks_fault_before(q, rule))
		return;
	if (changes && !streq(ks_query(q, "dryRun"), "All"))
		entry = cloud_ledger_open(q->k.cloud, "kube", "kubernetes", name, q->user,
					  NULL, ledger_input(q));
	dispatch(q);
	if (entry) {
		json_put_str(entry, "target",
			     arena_printf(q->a, "%s/%s/%s", q->k.name, q->ns ? q->ns : "",
					  q->name ? q->name : ""));
		json_put_bool(entry, "answer_lost", lost);
		cloud_ledger_close(q->k.cloud, outcome_of(q));
	}
	if (lost)
		q->res->fate = FATE_LOSE_ANSWER;
	/* What was written has its consequences before the next request. */
	if (changes)
		cloud_kube_advance(q->k.cloud, q->k.now_ms);
}

/* The old form of a watch: /api/v1/watch/namespaces/…. */
static size_t without_watch(struct ks_req *q, const char **seg, size_t n, size_t at)
{
	if (n <= at + 1 || !streq(seg[at], "watch"))
		return n;
	for (size_t i = at; i + 1 < n; i++)
		seg[i] = seg[i + 1];
	json_object_set_new((json_t *)(uintptr_t)q->query, "watch", json_string("true"));
	return n - 1;
}

static void serve_nothing(struct ks_req *q)
{
	if (ks_authorize(q))
		ks_answer_text(q, 404, "text/plain; charset=utf-8",
			       "404 page not found\n");
}

static bool group_served(struct ks_req *q, const char *group, const char *version)
{
	size_t n = 0;
	const struct ks_kind *v = ks_kinds_served(&q->k, q->a, &n);

	for (size_t i = 0; i < n; i++) {
		if (streq(v[i].group, group) && streq(v[i].version, version))
			return true;
	}
	return false;
}

static void serve_resource(struct ks_req *q)
{
	const char *seg[SEGMENTS_MAX] = {0};
	size_t n = split(q->a, q->path, seg);
	const bool core = n >= 3 && streq(seg[0], "api");
	const bool named = n >= 4 && streq(seg[0], "apis");
	const size_t at = core ? 2 : 3;

	if (!core && !named) {
		serve_nothing(q);
		return;
	}
	n = without_watch(q, seg, n, at);
	if (!group_served(q, core ? "" : seg[1], seg[at - 1])) {
		serve_nothing(q);
		return;
	}
	resolve(q, core ? "" : seg[1], seg[at - 1], seg + at, n - at);
	if (!q->kind) {
		if (ks_authorize(q))
			ks_no_such_resource(q);
		return;
	}
	if (ks_authorize(q) && ks_acceptable(q) && ks_read_body(q) &&
	    ((q->kind->has & KS_NO_STORE) || ks_check_options(q)))
		dispatch_recorded(q);
}

static void serve_plain(struct ks_req *q)
{
	if (streq(q->path, "/version"))
		ks_answer(q, 200,
			  json_packf(q->a, "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}",
				     "major", "1", "minor", "35", "gitVersion",
				     "v1.35.2-eks-1234567", "gitCommit",
				     "0000000000000000000000000000000000000000",
				     "gitTreeState", "clean", "buildDate",
				     "2026-01-01T00:00:00Z", "goVersion", "go1.25.0",
				     "compiler", "gc", "platform", "linux/amd64"));
	else
		ks_answer_text(q, 200, "text/plain; charset=utf-8", "ok");
}

static bool is_health(const char *path)
{
	return streq(path, "/healthz") || streq(path, "/readyz") || streq(path, "/livez");
}

void cloud_kube_handle(struct cloud *c, struct arena *a, const struct cloud_request *req,
		       struct cloud_response *ret)
{
	struct str rest = str_of(req->target + strlen("/k8s/"));
	const struct str target = str_cut(&rest, '?');
	const char *id_end = memchr(target.p, '/', target.n);
	const size_t id_n = id_end ? (size_t)(id_end - target.p) : target.n;
	struct ks_req q = {.a = a, .raw = req, .res = ret};

	memset(ret, 0, sizeof(*ret));
	q.path = id_end ? arena_strndup(a, id_end, target.n - id_n) : "/";
	q.query = parse_query(a, rest.p ? rest : STR(""));
	q.k.cloud = c;
	if (!ks_by_id(c, arena_strndup(a, target.p, id_n), &q.k)) {
		ks_fail(&q, 404, "NotFound", "no API server of that name");
		return;
	}
	if (is_health(q.path)) {
		/* Anybody may ask; who says who he is must be right. */
		if (!ks_header(&q, "authorization") || ks_authorize(&q))
			serve_plain(&q);
		return;
	}
	if (streq(q.path, "/version")) {
		if (ks_authorize(&q))
			serve_plain(&q);
		return;
	}
	if (str_starts(q.path, "/openapi/")) {
		if (ks_authorize(&q))
			ks_openapi(&q);
		return;
	}
	if (ks_aggregate(&q) || ks_discover(&q))
		return;
	serve_resource(&q);
}
