#include "tests/faults/chart.h"

#include <string.h>
#include <zlib.h>

#include <openssl/evp.h>

#include "core/json/tree.h"

enum { ASK_TRIES = 5, GONE_TRIES = 20 };

struct chart {
	const char *component, *release, *path, *version;
	const char *objects; /* [[plural, object]] in the order of installation */
};

#define META(name, ns) "\"metadata\": {\"name\": \"" name "\", \"namespace\": \"" ns "\"}"
#define GLOBAL(name)   "\"metadata\": {\"name\": \"" name "\"}"
#define POD(name)                                                                        \
	"\"selector\": {\"matchLabels\": {\"app\": \"" name "\"}}, \"template\": "       \
	"{\"metadata\": {\"labels\": {\"app\": \"" name "\"}}, \"spec\": "               \
	"{\"containers\": [{\"name\": \"main\", \"image\": \"example.com/" name          \
	":1\"}]}}"
#define ACCOUNT(name, ns)                                                                     \
	"[\"serviceaccounts\", {\"apiVersion\": \"v1\", \"kind\": \"ServiceAccount\", " META( \
		name, ns) "}]"
#define DEPLOYMENT(name, ns, replicas)                                                     \
	"[\"deployments\", {\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\", " META( \
		name, ns) ", \"spec\": {\"replicas\": " replicas ", " POD(name) "}}]"

static const struct chart charts[] = {
	{"hyperpod", "hyperpod-dependencies", "/charts/hyperpod-helm-chart", "0.1.0",
	 "[[\"namespaces\", {\"apiVersion\": \"v1\", \"kind\": \"Namespace\", " GLOBAL("aws-hyperpod") "}], " ACCOUNT(
		 "deep-health-check",
		 "aws-hyperpod") ", [\"clusterroles\", {\"apiVersion\": \"rbac.authorization.k8s.io/v1\", "
				 "\"kind\": \"ClusterRole\", " GLOBAL(
					 "job-auditor-role") ", \"rules\": [{\"apiGroups\": [\"batch\"], \"resources\": [\"jobs\"], "
							     "\"verbs\": [\"get\"]}]}], "
							     "[\"daemonsets\", {\"apiVersion\": \"apps/v1\", \"kind\": \"DaemonSet\", " META(
								     "health-monitoring-agent",
								     "aws-hyperpod") ", \"spec\": {" POD("health-monitoring-agent") "}}]]"},
	{"load_balancers", "aws-load-balancer-controller",
	 "/charts/aws-load-balancer-controller", "1.13.4",
	 "[" ACCOUNT(
		 "aws-load-balancer-controller",
		 "kube-system") ", [\"ingressclasses\", {\"apiVersion\": \"networking.k8s.io/v1\", "
				"\"kind\": \"IngressClass\", " GLOBAL("alb") ", \"spec\": {\"controller\": \"ingress.k8s.aws/alb\"}}], " DEPLOYMENT(
					"aws-load-balancer-controller", "kube-system",
					"2") "]"},
	{"kuberay", "kuberay-operator", "/charts/kuberay-operator", "1.4.2",
	 "[" ACCOUNT("kuberay-operator", "kuberay-operator") ", " DEPLOYMENT(
		 "kuberay-operator", "kuberay-operator", "1") "]"},
};

json_t *chart_pins(struct arena *a)
{
	json_t *list = json_new_list(a);

	for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++)
		json_push(list, json_pack("{s:s, s:s, s:s}", "component",
					  charts[i].component, "chart", charts[i].path,
					  "version", charts[i].version));
	return list;
}

/* --- one run ----------------------------------------------------------- */

struct run {
	struct kube *k;
	struct clock *clock;
	const struct kube_target *t;
	const struct helm_request *r;
	struct arena *a;
	struct helm_result *ret;
	json_t *secrets; /* the release's, as found */
	bool begun;      /* what stops it now stops it midway */
};

static bool fail(struct run *u, enum errc errc, const char *text)
{
	*u->ret = (struct helm_result){.exit_code = 1,
				       .errc = errc,
				       .ambiguous = errc == ERR_AMBIGUOUS,
				       .output = arena_strdup(u->a, text)};
	return false;
}

/* `except`: a refusal that the caller takes for an answer. */
static bool ask(struct run *u, const struct kube_request *q, const char *except,
		struct kube_result *ret)
{
	for (int i = 0; i < ASK_TRIES; i++) {
		*ret = (struct kube_result){0};
		kube_call(u->k, u->t, q, u->a, ret);
		if (ret->ok || (except && streq(ret->code, except)))
			return true;
		/* As client-go: only what was refused for the moment is repeated. */
		if (ret->errc != ERR_CLOUD_THROTTLED)
			break;
	}
	return fail(u,
		    ret->ambiguous || (u->begun && ret->errc == ERR_CLOUD_UNREACHABLE)
			    ? ERR_AMBIGUOUS
			    : ret->errc,
		    ret->message ? ret->message : "no answer");
}

static int64_t now_s(const struct run *u)
{
	return u->clock->wall_ms(u->clock) / 1000;
}

/* --- the release's Secret ---------------------------------------------- */

static const char *encode(struct arena *a, const void *p, size_t n)
{
	char *out = arena_alloc(a, (n + 2) / 3 * 4 + 1);

	EVP_EncodeBlock((unsigned char *)out, p, (int)n);
	return out;
}

/* Helm's own base64 of gzip, and that of every Secret around it. */
static const char *payload(struct run *u, const struct chart *c)
{
	const char *json = arena_printf(
		u->a,
		"{\"name\": \"%s\", \"chart\": {\"metadata\": {\"version\": \"%s\"}}}",
		u->r->release, c->version);
	unsigned char *zipped = arena_alloc(u->a, 512);
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)json,
		      .avail_in = (uInt)strlen(json),
		      .next_out = zipped,
		      .avail_out = 512};
	const char *once;

	deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	deflate(&z, Z_FINISH);
	once = encode(u->a, zipped, 512 - z.avail_out);
	deflateEnd(&z);
	return encode(u->a, once, strlen(once));
}

static const char *secret_name(const struct run *u, int64_t revision)
{
	return arena_printf(u->a, "sh.helm.release.v1.%s.v%lld", u->r->release,
			    (long long)revision);
}

static struct kube_request secrets(const struct run *u, enum kube_verb verb,
				   const char *name)
{
	return (struct kube_request){.verb = verb,
				     .api = "v1",
				     .plural = "secrets",
				     .ns = u->r->ns,
				     .name = name};
}

static bool read_release(struct run *u)
{
	struct kube_request q = secrets(u, KUBE_LIST, NULL);
	struct kube_result res;

	q.label_selector = arena_printf(u->a, "owner=helm,name=%s", u->r->release);
	if (!ask(u, &q, NULL, &res))
		return false;
	u->secrets = res.out;
	return true;
}

/* What Helm does not write itself stays on every later record of the release. */
static void keep_labels(const struct run *u, json_t *labels)
{
	size_t i;
	json_t *secret, *value;
	const char *key;

	json_array_foreach(json_at(u->secrets, "items"), i, secret)
		json_object_foreach(json_at(secret, "metadata.labels"), key, value)
			if (strchr(key, '/'))
				json_object_set(labels, key, value);
}

/* --labels a=b,c=d: on the record from its beginning. */
static void add_labels(const struct run *u, json_t *labels)
{
	struct str rest = str_of(u->r->labels ? u->r->labels : "");

	while (rest.p && rest.n) {
		struct str value = str_cut(&rest, ',');
		const char *key = str_dup(u->a, str_cut(&value, '='));

		json_object_set_new(labels, key, json_string(str_dup(u->a, value)));
	}
}

static bool record(struct run *u, const struct chart *c, int64_t revision,
		   const char *status)
{
	struct kube_request q = secrets(u, KUBE_CREATE, NULL);
	struct kube_result res;

	q.body = json_packf(
		u->a,
		"{s:s, s:s, s:s, s:{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}, s:{s:s}}",
		"apiVersion", "v1", "kind", "Secret", "type", "helm.sh/release.v1",
		"metadata", "name", secret_name(u, revision), "namespace", u->r->ns,
		"labels", "owner", "helm", "name", u->r->release, "status", status,
		"version", arena_printf(u->a, "%lld", (long long)revision), "createdAt",
		arena_printf(u->a, "%lld", (long long)now_s(u)), "data", "release",
		payload(u, c));
	keep_labels(u, json_at(q.body, "metadata.labels"));
	add_labels(u, json_at(q.body, "metadata.labels"));
	u->begun = true;
	return ask(u, &q, NULL, &res);
}

static bool mark(struct run *u, int64_t revision, const char *status)
{
	struct kube_request q = secrets(u, KUBE_MERGE_PATCH, secret_name(u, revision));
	struct kube_result res;

	q.body = json_packf(u->a, "{s:{s:{s:s, s:s}}}", "metadata", "labels", "status",
			    status, "modifiedAt",
			    arena_printf(u->a, "%lld", (long long)now_s(u)));
	return ask(u, &q, "NotFound", &res);
}

/* --- objects ----------------------------------------------------------- */

static struct kube_request object_request(const json_t *row, enum kube_verb verb)
{
	const json_t *o = json_array_get(row, 1);

	return (struct kube_request){
		.verb = verb,
		.api = json_str_at(o, "apiVersion"),
		.plural = json_string_value(json_array_get(row, 0)),
		.ns = json_str_at(o, "metadata.namespace"),
		.name = verb == KUBE_CREATE ? NULL : json_str_at(o, "metadata.name"),
		.body = verb == KUBE_CREATE || verb == KUBE_MERGE_PATCH ? o : NULL,
	};
}

/* One that is on its way out is waited for; else it is brought into line. */
static bool put_object(struct run *u, json_t *row)
{
	struct kube_request create = object_request(row, KUBE_CREATE);
	struct kube_request get = object_request(row, KUBE_GET);
	struct kube_request patch = object_request(row, KUBE_MERGE_PATCH);
	struct kube_result res;

	json_put(json_array_get(row, 1), "metadata.labels",
		 json_pack("{s:s, s:s}", "app.kubernetes.io/instance", u->r->release,
			   "app.kubernetes.io/managed-by", "Helm"));
	json_put(json_array_get(row, 1), "metadata.annotations",
		 json_pack("{s:s, s:s}", "meta.helm.sh/release-name", u->r->release,
			   "meta.helm.sh/release-namespace", u->r->ns));
	/* Its name has dots: no path. */
	for (int i = 0; i < GONE_TRIES; i++) {
		if (!ask(u, &create, "AlreadyExists", &res))
			return false;
		if (res.ok)
			return true;
		if (!ask(u, &get, "NotFound", &res))
			return false;
		if (res.ok && !json_at(res.out, "metadata.deletionTimestamp"))
			return ask(u, &patch, NULL, &res);
	}
	return fail(u, ERR_CLOUD_CONFLICT, "object is being deleted");
}

static bool make_namespace(struct run *u)
{
	struct kube_request q = {
		.verb = KUBE_CREATE, .api = "v1", .plural = "namespaces"};
	struct kube_result res;

	q.body = json_packf(u->a, "{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind",
			    "Namespace", "metadata", "name", u->r->ns);
	return ask(u, &q, "AlreadyExists", &res);
}

static json_t *objects_of(struct run *u, const struct chart *c)
{
	struct err e;

	return json_parse(u->a, str_of(c->objects), &e);
}

/* --- verbs ------------------------------------------------------------- */

static bool upgrade(struct run *u, const struct chart *c, int64_t last,
		    const char *status)
{
	const int64_t revision = last + 1;
	size_t i;
	json_t *row;

	if (status && str_starts(status, "pending-"))
		return fail(
			u, ERR_CLOUD_CONFLICT,
			"another operation (install/upgrade/rollback) is in progress");
	if (!make_namespace(u) ||
	    !record(u, c, revision, last ? "pending-upgrade" : "pending-install"))
		return false;
	json_array_foreach(objects_of(u, c), i, row) {
		if (!put_object(u, row)) {
			const struct helm_result why = *u->ret;

			(void)mark(u, revision, "failed");
			*u->ret = why;
			return false;
		}
	}
	if (last && !mark(u, last, "superseded"))
		return false;
	return mark(u, revision, "deployed");
}

static bool uninstall(struct run *u, const struct chart *c, int64_t last)
{
	const json_t *objects = objects_of(u, c);
	struct kube_request q;
	struct kube_result res;

	if (last == 0)
		return true;
	u->begun = true;
	if (!mark(u, last, "uninstalling"))
		return false;
	for (size_t i = json_array_size(objects); i-- > 0;) {
		q = object_request(json_array_get(objects, i), KUBE_DELETE);
		if (!ask(u, &q, "NotFound", &res))
			return false;
	}
	for (int64_t v = last; v > 0; v--) {
		q = secrets(u, KUBE_DELETE, secret_name(u, v));
		if (!ask(u, &q, "NotFound", &res))
			return false;
	}
	return true;
}

/* What it would install, as manifest_objects() lists it. */
static json_t *rendered(struct run *u, const struct chart *c)
{
	json_t *list = json_new_list(u->a), *row;
	size_t i;

	json_array_foreach(objects_of(u, c), i, row) {
		const json_t *o = json_array_get(row, 1);

		json_push(list,
			  json_pack("{s:O, s:O, s:O, s:s*, s:O}", "api",
				    json_at(o, "apiVersion"), "kind", json_at(o, "kind"),
				    "plural", json_array_get(row, 0), "namespace",
				    json_str_at(o, "metadata.namespace"), "name",
				    json_at(o, "metadata.name")));
	}
	return json_packf(u->a, "{s:O, s:i}", "objects", list, "unread", 0);
}

static const struct chart *find_chart(const char *release)
{
	for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++)
		if (streq(release, charts[i].release))
			return &charts[i];
	return NULL;
}

void chart_run(struct kube *k, struct clock *clock, const struct kube_target *t,
	       const struct helm_request *r, struct arena *a, struct helm_result *ret)
{
	struct run u = {.k = k, .clock = clock, .t = t, .r = r, .a = a, .ret = ret};
	const struct chart *c = find_chart(r->release);
	int64_t last = 0, modified;
	const char *status;
	bool done;

	*ret = (struct helm_result){0};
	if (!c) {
		fail(&u, ERR_DEPENDENCY_FAILED, "no such chart");
		return;
	}
	if (r->verb == HELM_TEMPLATE) {
		*ret = (struct helm_result){
			.ok = true, .output = "", .out = rendered(&u, c)};
		return;
	}
	if (!read_release(&u))
		return;
	status = helm_release_status(u.secrets, &last, &modified);
	if (r->verb == HELM_UPGRADE_INSTALL)
		done = upgrade(&u, c, last, status);
	else if (r->verb == HELM_UNINSTALL)
		done = uninstall(&u, c, last);
	else /* To what was there before: for these charts the same objects. */
		done = upgrade(&u, c, last, NULL);
	if (done)
		*ret = (struct helm_result){.ok = true, .output = ""};
}
