/*
 * The product's own kinds against the simulated cloud, in process: real
 * requests, signatures and answers; only the socket is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/domain/capability.h"
#include "core/json/tree.h"
#include "core/op/walk.h"
#include "tests/cloud/cloud.h"
#include "tests/faults/harness.h"

enum { LAG_MS = 25 * 1000, SEND_MS = 200, MODELS_MAX = 512 };

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

struct lab {
	struct cloud *cloud;
	char models[MODELS_MAX];
	int mutations;
	json_t *arrived; /* [{op, step, key, changed}] of mutations that arrived */
};

static struct lab *lab(struct harness *h)
{
	return h->world_state;
}

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
}

/* --- the gate ---------------------------------------------------------- */

/* What the request asks for, whatever its token. */
static const char *key_of(struct harness *h, const json_t *entry)
{
	json_t *in = json_own(&h->run, json_copy(json_at(entry, "input")));

	json_object_del(in, "ClientRequestToken");
	json_object_del(in, "clientRequestToken");
	return arena_printf(&h->run, "%s:%s %s",
			    json_str_or(entry, "service", "kubernetes"),
			    json_str_or(entry, "op", ""), json_digest(&h->run, in));
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

	lab(h)->mutations++;
	json_push(lab(h)->arrived,
		  json_pack("{s:s, s:s, s:s, s:b}", "op", g->i->op, "step",
			    g->i->step->name, "key", key_of(h, line), "changed",
			    json_len_at(line, "effects") > 0));
	harness_point(h, "after-send", g->i->step);
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

	clock_manual_advance(&h->clock, SEND_MS);
	answered = inner->send(inner, a, req, ret, e);
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
	g->helm = (struct helm){.timeout_ms = h->cfg.call_timeout_ms};
	i->r.aws = &g->aws;
	i->r.kube = &g->kube;
	i->r.helm = &g->helm;
}

/* --- faults ------------------------------------------------------------ */

static const char *const faults[] = {"none", "lose_answer", "lose_request", "throttle"};

static const char *name_of_fault(int fault)
{
	return faults[fault];
}

static void set_fault(struct harness *h, int nth, int fault)
{
	json_array_clear(lab(h)->arrived);
	lab(h)->mutations = 0;
	if (nth)
		cloud_add_fault(lab(h)->cloud,
				json_packf(&h->run, "{s:b, s:i, s:i, s:s}", "mutating", 1,
					   "skip", nth - 1, "times", 1, "fault",
					   faults[fault]));
}

static void set_random(struct harness *h, unsigned permille)
{
	for (size_t f = 1; permille && f < sizeof(faults) / sizeof(*faults); f++)
		cloud_add_fault(lab(h)->cloud,
				json_packf(&h->run, "{s:f, s:i, s:s}", "probability",
					   permille / 3000.0, "times", 1000, "fault",
					   faults[f]));
}

static int mutations(struct harness *h)
{
	return lab(h)->mutations;
}

static bool happened(struct harness *h, const char *op, const char *step,
		     const char *item)
{
	size_t i;
	const json_t *row;

	(void)item;
	json_array_foreach(lab(h)->arrived, i, row)
		if (streq(json_str_at(row, "op"), op) &&
		    streq(json_str_at(row, "step"), step) &&
		    json_bool_or(row, "changed", false))
			return true;
	return false;
}

/* --- end state and invariants ------------------------------------------ */

static void describe(struct harness *h, struct buf *out)
{
	const char *table;
	json_t *rows;

	json_object_foreach((json_t *)(uintptr_t)cloud_state(lab(h)->cloud), table, rows)
		/* How often something was reported or asked is timing, not state. */
		if (json_object_size(rows) > 0 && !strstr(table, "event") &&
		    !strstr(table, "token"))
			buf_printf(out, "%s: %zu\n", table, json_object_size(rows));
}

/* I1, I2: each mutation has an intent; none has its effect twice. */
static void check_effects(struct harness *h)
{
	json_t *seen = json_own(&h->run, json_object());
	const struct db_rows rows = harness_query(
		h,
		"select f.op_id || ' ' || f.step as key from effect f join operation o on o.id = "
		"f.op_id where o.root_id = $1",
		h->op);
	size_t i;
	const json_t *row;

	json_array_foreach(lab(h)->arrived, i, row) {
		const char *at = arena_printf(&h->run, "%s %s", json_str_at(row, "op"),
					      json_str_at(row, "step"));
		const char *key =
			arena_printf(&h->run, "%s %s", at, json_str_at(row, "key"));
		bool intended = false;

		for (int n = 0; n < rows.n && !intended; n++)
			intended = streq(db_text(&rows, n, "key"), at);
		if (!intended)
			harness_blame(h, "I1: %s arrived without an intent", key);
		if (!json_bool_or(row, "changed", false))
			continue;
		if (json_object_get(seen, key))
			harness_blame(h, "I2: two effects of %s", key);
		json_object_set_new(seen, key, json_true());
	}
}

/* I3, I8: what carries our tag is owned, itself or by its stack. */
static void check_owned(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h, "select id, arn from resource where op_id = $1 and state <> 'gone'",
		h->op);
	const char *table, *id;
	json_t *objects, *o;

	json_object_foreach((json_t *)(uintptr_t)cloud_state(lab(h)->cloud), table,
			    objects)
		json_object_foreach(objects, id, o) {
			const char *text = json_text(&h->run, o);
			bool owned = strstr(text, "aws:cloudformation:stack-") != NULL;

			if (!strstr(text, h->op) || strstr(table, "event") ||
			    strstr(table, "token"))
				continue;
			for (int n = 0; n < rows.n && !owned; n++)
				owned = strstr(text, db_text(&rows, n, "id")) ||
					streq(db_text(&rows, n, "id"), id);
			if (!owned)
				harness_blame(h, "%s: %s %s is owned by no row",
					      h->cancelled ? "I8" : "I3", table, id);
		}
}

static void check(struct harness *h)
{
	check_effects(h);
	check_owned(h);
}

#define CONTROL_PLANE                                                                    \
	.kind = "create_eks_control_plane", .input = "{\"kubernetes_version\": \"1.33\"}"

static const struct scenario control_plane = {CONTROL_PLANE};

static const struct scenario scenarios[] = {
	{CONTROL_PLANE},
	{.kind = "delete_cluster", .before = &control_plane},
	{.kind = NULL},
};

const struct fault_world cloud_world = {
	.name = "cloud",
	.scenarios = scenarios,
	.kinds = kinds,
	.lag_ms = LAG_MS,
	.reset = reset,
	.close = close_lab,
	.attach = attach,
	.exchange = exchange,
	.set_fault = set_fault,
	.set_random = set_random,
	.mutations = mutations,
	.happened = happened,
	.describe = describe,
	.check = check,
	.n_faults = sizeof(faults) / sizeof(*faults),
	.fault_name = name_of_fault,
};
