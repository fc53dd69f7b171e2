/*
 * The product's own kinds against the simulated cloud, in process: real
 * requests, signatures and answers; only the socket is missing.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/domain/capability.h"
#include "core/json/tree.h"
#include "core/op/walk.h"
#include "tests/cloud/cloud.h"
#include "tests/faults/chart.h"
#include "tests/faults/cloud_lab.h"

enum { LAG_MS = 25 * 1000, SEND_MS = 200 };

static const char account[] = "123456789012";
static const char region[] = "us-west-2";
static const char role[] = "arn:aws:iam::123456789012:role/instantstart";

/* Requests of one runner pass here on their way. */
struct gate {
	struct transport transport;
	struct instance *i;
	const struct exchange *x; /* under way, if it mutates */
	struct aws aws;
	struct kube kube;
	struct helm helm;
};

/* The build's file of API models: beside the programs, a folder or two up. */
static void find_models(char *ret)
{
	const ssize_t n = readlink("/proc/self/exe", ret, MODELS_MAX - 1);
	char path[MODELS_MAX];

	ret[n > 0 ? n : 0] = '\0';
	for (char *slash = strrchr(ret, '/'); slash; slash = strrchr(ret, '/')) {
		*slash = '\0';
		if (snprintf(path, sizeof(path), "%s/cloud-models.json", ret) >=
		    MODELS_MAX)
			return;
		if (access(path, R_OK) == 0) {
			str_copy(ret, MODELS_MAX, path);
			return;
		}
	}
}

static void close_lab(struct harness *h)
{
	cloud_free(lab(h)->cloud);
	json_decref(lab(h)->arrived);
	json_decref(lab(h)->wanted);
	lab(h)->wanted = NULL;
}

/*
 * An account that may use what the scenarios ask for; and what is young is missed by
 * reads of its name, too.
 */
static void grant(struct harness *h)
{
	cloud_configure(lab(h)->cloud,
			json_packf(&h->run, "{s:{s:i}, s:{s:i, s:i, s:i}}", "quota",
				   "L-4C3F99F6", 8, "hidden_ms", "iam", LAG_MS, "ec2",
				   LAG_MS, "s3", LAG_MS));
}

static void reset(struct harness *h)
{
	struct cloud_options o = {
		.clock = &h->clock.clock,
		.seed = 7,
		.account = account,
		.region = region,
		.access_key = "AKIAFAULTSEXAMPLE",
		.secret_key = "a-secret-of-the-tests",
		.caller_arn = role,
		.list_lag_ms = LAG_MS,
		.speed = 1,
		.kube_base_url = "https://127.0.0.1:4567",
		.kube_ca_pem = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
	};

	if (!h->world_state) {
		h->world_state = arena_new(&h->arena, struct lab);
		find_models(lab(h)->models);
		h->where.charts = chart_pins(&h->arena);
	} else {
		close_lab(h);
	}
	o.models = lab(h)->models;
	lab(h)->cloud = cloud_new(&o);
	if (!lab(h)->cloud) {
		fprintf(stderr, "faults: no API models in %s\n", lab(h)->models);
		exit(2);
	}
	lab(h)->arrived = json_array();
	lab(h)->mutations = 0;
	grant(h);
}

static void *save(struct harness *h)
{
	return json_pack("{s:o, s:o, s:o*}", "cloud", cloud_save(lab(h)->cloud),
			 "arrived", json_deep_copy(lab(h)->arrived), "wanted",
			 lab(h)->wanted ? json_deep_copy(lab(h)->wanted) : NULL);
}

static void restore(struct harness *h, const struct stage *s)
{
	cloud_restore(lab(h)->cloud, json_object_get(s->world, "cloud"));
	json_array_clear(lab(h)->arrived);
	json_array_extend(lab(h)->arrived, json_object_get(s->world, "arrived"));
	json_decref(lab(h)->wanted);
	lab(h)->wanted = json_deep_copy(json_object_get(s->world, "wanted"));
	lab(h)->mutations = 0;
}

static void drop(void *saved)
{
	json_decref(saved);
}

/* A process that died has lost its tokens. */
static void forget(struct instance *i)
{
	const struct kube_target t = {.cluster_name = i->h->target};

	kube_token_drop(i->r.kube, &t);
}

/* --- the gate ---------------------------------------------------------- */

/* What the request asks for, whatever its token. */
static const char *key_of(struct harness *h, const json_t *entry)
{
	json_t *in = json_own(&h->run, json_copy(json_at(entry, "input")));

	json_object_del(in, "ClientRequestToken");
	json_object_del(in, "clientRequestToken");
	return arena_printf(&h->run, "%s:%s %s %s",
			    json_str_or(entry, "service", "kubernetes"),
			    json_str_or(entry, "op", ""),
			    json_str_or(entry, "target", ""), json_digest(&h->run, in));
}

/*
 * The ledger's line of the runner's own mutation. Lines before and after it are
 * of the cloud's own doing: a stack that moves on, for one.
 */
static const json_t *own_line(struct gate *g, size_t first)
{
	const json_t *ledger = cloud_ledger(lab(g->i->h)->cloud);
	const json_t *found = NULL;

	if (!g->x)
		return NULL;
	for (size_t n = first; n < json_array_size(ledger); n++) {
		const json_t *line = json_array_get(ledger, n);

		if (g->x->via == VIA_AWS ? streq(json_str_at(line, "op"),
						 aws_op_name(aws_op(g->x->aws)))
					 : streq(json_str_at(line, "via"), "kube"))
			found = line;
	}
	return found;
}

static void note_arrival(struct gate *g, const json_t *line)
{
	struct harness *h = g->i->h;

	json_push(lab(h)->arrived,
		  json_pack("{s:s, s:s, s:s, s:b, s:O, s:I}", "op", g->i->op, "step",
			    g->i->step->name, "key", key_of(h, line), "helm",
			    g->x->via == VIA_HELM, "effects", json_at(line, "effects"),
			    "at", (json_int_t)json_int_or(line, "seq", 0)));
	harness_point(h, "after-send", g->i->step);
}

/* Of what Helm asks, and of a signed-in call's own preparations, the writes. */
static bool mutates(const struct exchange *x, const struct http_request *req)
{
	return x->via == VIA_AWS || !streq(req->method, "GET");
}

/* The mutation has come and gone: from now on everything is refused. */
static void shut(struct harness *h)
{
	if (!lab(h)->shut_at || lab(h)->mutations < lab(h)->shut_at)
		return;
	lab(h)->shut_at = 0;
	cloud_add_fault(lab(h)->cloud,
			json_packf(&h->run, "{s:i, s:s, s:i, s:s, s:s}", "times", 1000000,
				   "fault", "error", "status", 403, "code",
				   "AccessDeniedException", "message",
				   "User is not authorized to perform this action"));
}

static bool pass(struct transport *t, struct arena *a, const struct http_request *req,
		 struct http_answer *ret, struct err *e)
{
	struct gate *g = (struct gate *)(void *)t;
	struct harness *h = g->i->h;
	struct transport *inner = cloud_transport(lab(h)->cloud);
	const size_t before = json_array_size(cloud_ledger(lab(h)->cloud));
	const json_t *line;
	bool answered;

	/* Also what never arrives counts: it is what faults are aimed at. */
	lab(h)->mutations += g->x && mutates(g->x, req);
	clock_manual_advance(&h->clock, SEND_MS);
	if (lab(h)->watch && g->x)
		lab(h)->watch(h, false);
	answered = inner->send(inner, a, req, ret, e);
	if (lab(h)->watch && g->x)
		lab(h)->watch(h, true);
	shut(h);
	harness_sync(g->i);
	line = own_line(g, before);
	if (line)
		note_arrival(g, line);
	return answered;
}

/* The real clients; the gate is told what the request is for. */
static void exchange(struct runner *r, const struct exchange *x, const char *token,
		     struct arena *a, struct answer *ret)
{
	struct instance *i = r->exchange_ctx;
	struct gate *g = (struct gate *)(void *)r->aws->net;
	const struct exchange *before = g->x;

	g->x = exchange_mutates(x) ? x : NULL;
	i->r.exchange = NULL;
	runner_exchange(&i->r, x, token, a, ret);
	i->r.exchange = exchange;
	g->x = before;
}

static void run_helm(struct helm *helm, const struct kube_target *t, const char *token,
		     const struct helm_request *r, struct arena *a,
		     struct helm_result *ret)
{
	struct gate *g =
		(struct gate *)(void *)((char *)helm - offsetof(struct gate, helm));

	(void)token;
	chart_run(&g->kube, &g->i->h->clock.clock, t, r, a, ret);
}

static const char *lookup(void *ctx, const char *name)
{
	(void)ctx;
	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return "AKIAFAULTSEXAMPLE";
	return streq(name, "AWS_SECRET_ACCESS_KEY") ? "a-secret-of-the-tests" : NULL;
}

static void attach(struct harness *h, struct instance *i)
{
	struct gate *g = arena_new(&h->arena, struct gate);

	g->transport.send = pass;
	g->i = i;
	g->aws = (struct aws){
		.net = &g->transport,
		.credentials = aws_credentials_new(&h->arena, &g->transport,
						   &h->clock.clock, region, lookup, NULL),
		.clock = &h->clock.clock,
		.rng = &h->rng.rng,
		.region = region,
		.timeout_ms = h->cfg.call_timeout_ms,
		.lookup = lookup,
	};
	kube_init(&g->kube, &h->arena, &g->transport, &g->aws, h->cfg.call_timeout_ms);
	g->helm = (struct helm){.timeout_ms = h->cfg.call_timeout_ms, .run = run_helm};
	i->r.aws = &g->aws;
	i->r.kube = &g->kube;
	i->r.helm = &g->helm;
}

/* --- faults ------------------------------------------------------------ */

static const char *const faults[] = {
	"none",   "lose_answer",       "lose_request",    "throttle",
	"refuse", "taken_then_failed", "lost_then_failed"};
enum { N_LOSSES = 4, REFUSE = N_LOSSES, TAKEN_FAILED, LOST_FAILED };

/* The n-th mutation is refused in the n-th of these ways. */
static const struct refusal {
	int status;
	const char *code, *message;
} refusals[] = {
	{403, "AccessDeniedException", "User is not authorized to perform this action"},
	{400, "ValidationException", "1 validation error detected"},
	{400, "LimitExceededException", "You have reached the limit"},
	{409, "ConflictException", "The resource is being changed"},
};
enum { N_REFUSALS = sizeof(refusals) / sizeof(refusals[0]) };

static const char *name_of_fault(int fault)
{
	return faults[fault];
}

static void refuse(struct harness *h, int nth)
{
	const struct refusal *r = &refusals[h->fault_nth % N_REFUSALS];

	cloud_add_fault(lab(h)->cloud,
			json_packf(&h->run, "{s:b, s:i, s:i, s:s, s:i, s:s, s:s}",
				   "mutating", 1, "skip", nth - 1, "times", 1, "fault",
				   "error", "status", r->status, "code", r->code,
				   "message", r->message));
}

/* "nodes": the instances that there are. */
static void fill(struct harness *h, json_t *input)
{
	json_t *nodes = json_object_get(input, "nodes"), *node;
	const char *id;

	if (!nodes)
		return;
	json_array_clear(nodes);
	json_object_foreach(cloud_table(lab(h)->cloud, "sagemaker.node"), id, node)
		json_push(nodes, json_string(json_str_or(node, "InstanceId", "")));
}

static void begun(struct harness *h)
{
	json_array_clear(lab(h)->arrived);
	lab(h)->mutations = 0;
	json_decref(lab(h)->wanted);
	lab(h)->wanted = cloud_wanted(h);
}

/* Requests to its Kubernetes API never arrive. */
static void silence(struct harness *h)
{
	static const char *const verbs[] = {"get", "list", "create", "apply", "delete"};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		cloud_add_fault(lab(h)->cloud,
				json_packf(&h->run, "{s:s, s:i, s:s}", "kube", verbs[i],
					   "times", 1000000, "fault", "lose_request"));
}

static void set_fault(struct harness *h, int nth, int fault)
{
	if (h->scenario->silent)
		silence(h);
	lab(h)->shut_at = nth && fault > REFUSE ? lab(h)->mutations + nth : 0;
	if (nth && fault == REFUSE)
		refuse(h, nth);
	else if (nth)
		cloud_add_fault(lab(h)->cloud,
				json_packf(&h->run, "{s:b, s:i, s:i, s:s}", "mutating", 1,
					   "skip", nth - 1, "times", 1, "fault",
					   fault == TAKEN_FAILED  ? "lose_answer"
					   : fault == LOST_FAILED ? "lose_request"
								  : faults[fault]));
}

static void mend(struct harness *h)
{
	cloud_clear_faults(lab(h)->cloud);
	set_fault(h, 0, 0);
}

static void set_random(struct harness *h, unsigned permille)
{
	for (size_t f = 1; permille && f < N_LOSSES; f++)
		cloud_add_fault(lab(h)->cloud,
				json_packf(&h->run, "{s:f, s:i, s:s}", "probability",
					   permille / 3000.0, "times", 1000, "fault",
					   faults[f]));
}

static int mutations(struct harness *h)
{
	return lab(h)->mutations;
}

const struct fault_world cloud_world = {
	.name = "cloud",
	.scenarios = cloud_scenarios,
	.kinds = kinds,
	.lag_ms = LAG_MS,
	.reset = reset,
	.close = close_lab,
	.save = save,
	.restore = restore,
	.drop = drop,
	.forget = forget,
	.attach = attach,
	.exchange = exchange,
	.fill = fill,
	.begun = begun,
	.set_fault = set_fault,
	.mend = mend,
	.set_random = set_random,
	.mutations = mutations,
	.happened = cloud_happened,
	.others = cloud_others,
	.wanted = cloud_wanted_text,
	.describe = cloud_describe,
	.check = cloud_check,
	.n_faults = sizeof(faults) / sizeof(*faults),
	.fault_name = name_of_fault,
	.first_refusal = REFUSE,
	.first_of_tries = TAKEN_FAILED,
};
