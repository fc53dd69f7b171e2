/*
 * Our Kubernetes client and Helm, led from outside: one JSON line in, one line out.
 *
 *   kube_real ENDPOINT CA-FILE CLUSTER [HELM]
 *
 *   {"do": "apply", "api": "v1", "plural": "secrets", "ns", "name", "body", …}
 *                       one call: {"ok", "status", "code", "message", "errc",
 *                       "ambiguous", "out" | "text"}; members as struct kube_request
 *   {"do": "list_all"}  kube_list_all()
 *   {"do": "watch", "until": N}    {"changes": [[type, name, version]…], "end",
 *                       "resource_version", "reason", "status"}
 *   {"do": "follow", "until": N}   a log: {"lines": […], "status"}
 *   {"do": "helm", "verb", "release", "ns", "chart", "values", "revision"}
 *   {"do": "release", "ns", "release"}   what its Secrets say
 *   {"do": "component", "name", "region", "cluster", "vpc"}   what we would install:
 *                       {"release", "ns", "intercepts", "guarded_by", "values", "lacks"}
 * "mirror" of a helm run is INSTANTSTART_IMAGE_MIRROR.
 *
 * Region and keys come from the standard variables of the environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/aws/partition.h"
#include "core/base/config.h"
#include "core/base/str.h"
#include "core/domain/dependency/component.h"
#include "core/json/tree.h"
#include "core/kube/helm.h"
#include "core/kube/watch.h"

enum { LINE_SIZE = 8 * 1024 * 1024, TIMEOUT_MS = 30 * 1000, HELM_MS = 120 * 1000 };

struct driver {
	struct aws aws;
	struct kube kube;
	struct kube_target target;
	struct helm helm;
};

/* Counts what a stream brings, and ends it at `until`. */
struct seen {
	json_t *list;
	size_t until;
};

static void print(struct arena *a, const json_t *line)
{
	printf("%s\n", json_text(a, line));
	fflush(stdout);
}

static bool verb_of(const char *name, enum kube_verb *ret)
{
	for (int v = KUBE_GET; v <= KUBE_RAW; v++)
		if (streq(name, kube_verb_name((enum kube_verb)v))) {
			*ret = (enum kube_verb)v;
			return true;
		}
	return false;
}

static struct kube_request request_of(const json_t *q)
{
	return (struct kube_request){
		.api = json_str_or(q, "api", "v1"),
		.plural = json_str_at(q, "plural"),
		.ns = json_str_at(q, "ns"),
		.name = json_str_at(q, "name"),
		.subresource = json_str_at(q, "subresource"),
		.body = json_object_get(q, "body"),
		.label_selector = json_str_at(q, "label_selector"),
		.field_selector = json_str_at(q, "field_selector"),
		.continue_ = json_str_at(q, "continue"),
		.resource_version = json_str_at(q, "resource_version"),
		.limit = json_int_or(q, "limit", 0),
		.force = json_bool_or(q, "force", false),
		.dry_run = json_bool_or(q, "dry_run", false),
		.orphan = json_bool_or(q, "orphan", false),
		.watch_seconds = json_int_or(q, "watch_seconds", 0),
		.container = json_str_at(q, "container"),
		.tail_lines = json_int_or(q, "tail_lines", 0),
		.limit_bytes = json_int_or(q, "limit_bytes", 0),
		.previous = json_bool_or(q, "previous", false),
		.follow = json_bool_or(q, "follow", false),
		.timestamps = json_bool_or(q, "timestamps", false),
		.since_time = json_str_at(q, "since_time"),
	};
}

static void print_result(struct arena *a, const struct kube_request *r,
			 const struct kube_result *res)
{
	struct err e = {0};

	if (!res->ok)
		kube_err(r, res, &e);
	print(a,
	      json_packf(a, "{s:b,s:i,s:s?,s:s?,s:s,s:b,s:I,s:s?,s:s?,s:O?,s:s?}", "ok",
			 res->ok, "status", res->status, "code", res->code, "message",
			 res->message, "errc", errc_info(res->errc)->slug, "ambiguous",
			 res->ambiguous, "retry_after_s", (json_int_t)res->retry_after_s,
			 "detail", res->ok ? NULL : e.detail, "audit_id", res->audit_id,
			 "out", res->out, "text", res->text));
}

static bool on_change(void *ctx, enum kube_change change, const json_t *object)
{
	static const char *const names[] = {"ADDED", "MODIFIED", "DELETED"};
	struct seen *s = ctx;

	json_array_append_new(
		s->list, json_pack("[s,s,s]", names[change],
				   json_str_or(object, "metadata.name", ""),
				   json_str_or(object, "metadata.resourceVersion", "")));
	return json_array_size(s->list) < s->until;
}

static bool on_line(void *ctx, const char *p, size_t n, bool cut)
{
	struct seen *s = ctx;

	json_array_append_new(s->list, cut ? json_string("(cut)") : json_stringn(p, n));
	return json_array_size(s->list) < s->until;
}

/* As instantstart-live sends it; gives the HTTP status, 0 for none. */
static int stream(struct driver *d, const struct kube_request *r,
		  bool (*on_data)(void *ctx, const char *p, size_t n), void *ctx,
		  struct arena *a)
{
	struct http_request req;
	struct http_answer ans = {0};
	struct secret token;
	struct err e;

	if (!kube_token(&d->kube, &d->target, a, &token, &e) ||
	    !kube_build(&d->target, r, token, a, &req, &e))
		return 0;
	req.on_data = on_data;
	req.on_data_ctx = ctx;
	if (!d->kube.net->send(d->kube.net, a, &req, &ans, &e))
		return ans.status;
	return ans.status;
}

static void watch(struct driver *d, const json_t *q, struct arena *a)
{
	static const char *const ends[] = {"resume", "relist", "refused"};
	struct kube_request r = request_of(q);
	struct seen s = {json_new_list(a), (size_t)json_int_or(q, "until", 1)};
	struct kube_watch w;

	r.verb = KUBE_WATCH;
	kube_watch_init(&w, a, on_change, &s);
	kube_watch_start(&w, r.resource_version);
	const int status = stream(d, &r, kube_watch_feed, &w, a);
	const enum kube_watch_end end = kube_watch_finish(&w, status);

	print(a, json_packf(a, "{s:O,s:s,s:s,s:s,s:i}", "changes", s.list, "end",
			    ends[end], "resource_version", w.resource_version, "reason",
			    w.reason, "status", status));
	kube_watch_free(&w);
}

static void follow(struct driver *d, const json_t *q, struct arena *a)
{
	struct kube_request r = request_of(q);
	struct seen s = {json_new_list(a), (size_t)json_int_or(q, "until", 1)};
	struct kube_lines lines;

	r.verb = KUBE_LOG;
	r.follow = true;
	kube_lines_init(&lines, a, LINE_SIZE, on_line, &s);
	const int status = stream(d, &r, kube_lines_feed, &lines, a);

	if (json_array_size(s.list) < s.until)
		kube_lines_end(&lines);
	print(a, json_packf(a, "{s:O,s:i}", "lines", s.list, "status", status));
}

static void helm(struct driver *d, const json_t *q, struct arena *a)
{
	const char *verb = json_str_or(q, "verb", "");
	const struct helm_request r = {
		.verb = streq(verb, "uninstall")  ? HELM_UNINSTALL
			: streq(verb, "rollback") ? HELM_ROLLBACK
						  : HELM_UPGRADE_INSTALL,
		.release = json_str_at(q, "release"),
		.ns = json_str_at(q, "ns"),
		.chart = json_str_at(q, "chart"),
		.values = json_object_get(q, "values"),
		.revision = json_int_or(q, "revision", 0),
		.labels = json_str_at(q, "labels"),
	};
	struct helm_result res;

	d->helm.timeout_ms = json_int_or(q, "timeout_ms", HELM_MS);
	d->helm.image_mirror = json_str_at(q, "mirror");
	helm_call(&d->helm, &d->kube, &d->target, &r, a, &res);
	print(a, json_packf(a, "{s:b,s:b,s:i,s:s?,s:s}", "ok", res.ok, "ambiguous",
			    res.ambiguous, "exit_code", res.exit_code, "output",
			    res.output, "errc", errc_info(res.errc)->slug));
}

static void release(struct driver *d, const json_t *q, struct arena *a)
{
	const struct kube_request r = {
		.verb = KUBE_LIST,
		.api = "v1",
		.plural = "secrets",
		.ns = json_str_at(q, "ns"),
		.label_selector = arena_printf(a, "owner=helm,name=%s",
					       json_str_or(q, "release", "")),
	};
	struct kube_result res;
	int64_t revision = 0, modified_s = 0;
	const char *status;

	kube_list_all(&d->kube, &d->target, &r, a, &res);
	if (!res.ok) {
		print_result(a, &r, &res);
		return;
	}
	status = helm_release_status(res.out, &revision, &modified_s);
	print(a,
	      json_packf(a, "{s:s?,s:I,s:I,s:I,s:s?,s:s?}", "status", status, "revision",
			 (json_int_t)revision, "modified_s", (json_int_t)modified_s,
			 "deployed", (json_int_t)helm_release_deployed(res.out),
			 "chart_version", helm_release_chart_version(res.out, a), "label",
			 helm_release_label(res.out, json_str_or(q, "label", "?"))));
}

static void component(const json_t *q, struct arena *a)
{
	const struct component *k = component_find(json_str_or(q, "name", ""));
	const char *region = json_str_or(q, "region", "us-west-2");
	const struct where where = {.region = region,
				    .partition = aws_partition_of(region)->id};
	const struct config cfg = {.image_mirror = json_str_at(q, "mirror")};
	struct step_ctx c = {.arena = a,
			     .where = &where,
			     .cfg = &cfg,
			     .target = json_str_or(q, "cluster", "client")};

	if (!k) {
		print(a, json_packf(a, "{s:b,s:s}", "ok", 0, "message", "no such one"));
		return;
	}
	c.input = json_new_object(a);
	c.seen = json_new_object(a);
	c.data = json_packf(a, "{s:{s:s,s:s}}", "eks", "name", c.target, "vpc_id",
			    json_str_or(q, "vpc", "vpc-1"));
	print(a, json_packf(a, "{s:s?,s:s,s:s?,s:s?,s:O?,s:s?}", "release", k->release,
			    "ns", k->ns, "intercepts", k->intercepts, "guarded_by",
			    k->guarded_by, "values", k->values ? k->values(&c) : NULL,
			    "lacks", k->lacks ? k->lacks(&c) : NULL));
}

static void serve(struct driver *d, const json_t *q, struct arena *a)
{
	const char *what = json_str_or(q, "do", "");
	struct kube_request r = request_of(q);
	struct kube_result res;

	if (streq(what, "watch") && json_object_get(q, "until"))
		watch(d, q, a);
	else if (streq(what, "follow"))
		follow(d, q, a);
	else if (streq(what, "helm"))
		helm(d, q, a);
	else if (streq(what, "release"))
		release(d, q, a);
	else if (streq(what, "component"))
		component(q, a);
	else if (streq(what, "list_all")) {
		kube_list_all(&d->kube, &d->target, &r, a, &res);
		r.verb = KUBE_LIST;
		print_result(a, &r, &res);
	} else if (verb_of(what, &r.verb)) {
		kube_call(&d->kube, &d->target, &r, a, &res);
		print_result(a, &r, &res);
	} else {
		print(a, json_packf(a, "{s:b,s:s}", "ok", 0, "message", "no such verb"));
	}
}

static const char *read_file(struct arena *a, const char *path)
{
	char *text = arena_alloc(a, 65536);
	FILE *in = fopen(path, "r");
	size_t n = in ? fread(text, 1, 65535, in) : 0;

	if (in)
		fclose(in);
	text[n] = '\0';
	return n > 0 ? text : NULL;
}

int main(int argc, char **argv)
{
	struct arena process, a;
	struct driver d = {0};
	struct err e = {0};

	if (argc < 4)
		return 2;
	json_init();
	arena_init(&process, 4 * LINE_SIZE);
	arena_init(&a, 0);
	struct transport *net = net_curl_new(&process, NULL, &e);
	const char *region = config_from_env(NULL, "AWS_REGION");

	d.target = (struct kube_target){argv[1], read_file(&process, argv[2]), argv[3]};
	if (!net || !region || !d.target.ca_pem) {
		fprintf(stderr, "kube_real: %s\n",
			net ? "no AWS_REGION or no CA file" : e.detail);
		return 1;
	}
	d.aws = (struct aws){
		.net = net,
		.credentials = aws_credentials_new(&process, net, clock_system(), region,
						   config_from_env, NULL),
		.clock = clock_system(),
		.rng = rng_system(),
		.region = region,
		.timeout_ms = TIMEOUT_MS,
		.lookup = config_from_env,
	};
	kube_init(&d.kube, &process, net, &d.aws, TIMEOUT_MS);
	d.helm = (struct helm){.binary = argc > 4 ? argv[4] : "", .tmp_dir = "/tmp"};

	char *line = arena_alloc(&process, LINE_SIZE);

	while (fgets(line, LINE_SIZE, stdin)) {
		json_t *q = json_parse(&a, str_of(line), &e);

		serve(&d, q, &a);
		arena_reset(&a);
	}
	return 0;
}
