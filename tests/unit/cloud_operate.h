/*
 * cloud_operate.h - operations on the simulated cloud, without a journal.
 *
 * Steps are walked as the runner walks them, with real requests by the product's own
 * clients, on the lab's clock: hundreds of operations a minute. What needs a journal
 * (intents, leases, crashes in the middle of a call) is tests/faults' business.
 */
#ifndef INSTANTSTART_TESTS_UNIT_CLOUD_OPERATE_H
#define INSTANTSTART_TESTS_UNIT_CLOUD_OPERATE_H

#include "core/aws/credentials.h"
#include "core/aws/partition.h"
#include "core/domain/capability.h"
#include "core/op/runner.h"
#include "core/op/walk.h"
#include "tests/unit/cloud_lab.h"

/* Two hours of health checks, with a walk over all components every half minute. */
enum { OPERATE_CLAIMS = 20000, OPERATE_WAIT_MS = 10000 };

struct operate {
	struct lab *l;
	struct runner r;
	struct aws aws;
	struct kube kube;
	struct config cfg;
	struct where where;
	struct rng_seeded rng;
	struct arena arena; /* of one operation */
	/* Counted: mutations sent. With stop_at the run ends before that one. */
	int mutations, stop_at;
	bool stopped;
	int claims;
	const char *failed; /* detail, fix; NULL: it went well */
	json_t *result;
	const char *log; /* "step: sentence" of every mutation */
};

static inline const char *operate_lookup(void *ctx, const char *name)
{
	(void)ctx;
	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return "AKIALABEXAMPLE";
	return streq(name, "AWS_SECRET_ACCESS_KEY") ? "a-secret-of-the-lab" : NULL;
}

static inline void operate_init_in(struct operate *o, struct lab *l, const char *region)
{
	struct transport *net = cloud_transport(l->cloud);

	*o = (struct operate){.l = l};
	rng_seeded_init(&o->rng, 1);
	o->cfg.poll_scale_percent = 100;
	o->cfg.call_timeout_ms = 5000;
	o->cfg.lease_ms = 60000;
	o->cfg.kubernetes_newest = "1.33";
	o->where = (struct where){
		.account = "111122223333",
		.installation = "here",
		.region = region,
		.partition = aws_partition_of(region)->id,
		.caller_arn =
			arena_printf(&l->arena, "arn:%s:iam::111122223333:user/operator",
				     aws_partition_of(region)->id),
	};
	o->aws = (struct aws){
		.net = net,
		.credentials = aws_credentials_new(&l->arena, net, &l->clock.clock,
						   region, operate_lookup, NULL),
		.clock = &l->clock.clock,
		.rng = &o->rng.rng,
		.region = region,
		.timeout_ms = 5000,
		.lookup = operate_lookup,
	};
	kube_init(&o->kube, &l->arena, net, &o->aws, 5000);
	o->r = (struct runner){.aws = &o->aws,
			       .kube = &o->kube,
			       .cfg = &o->cfg,
			       .where = &o->where,
			       .clock = &l->clock.clock,
			       .rng = &o->rng.rng,
			       .kinds = kinds};
	arena_init(&o->arena, 0);
}

static inline void operate_init(struct operate *o, struct lab *l)
{
	operate_init_in(o, l, "us-west-2");
}

static inline void operate_free(struct operate *o)
{
	arena_free(&o->arena);
}

static inline void operate_send(struct operate *o, const struct exchange *x,
				struct answer *ret)
{
	static int n;

	runner_exchange(&o->r, x, arena_printf(&o->arena, "token-%d", ++n), &o->arena,
			ret);
}

static inline void operate_observe(struct operate *o, struct step_ctx *c)
{
	while (c->step->observe && c->verdict.kind == VERDICT_NONE) {
		struct exchange x = {.via = VIA_NONE};
		struct answer ans;

		if (!c->step->observe(c, &x) || x.via == VIA_NONE)
			return;
		operate_send(o, &x, &ans);
		walk_take(c, &ans);
	}
}

/* One claim of a step; false: stopped before its mutation. */
static inline bool operate_claim(struct operate *o, struct step_ctx *c)
{
	struct exchange x = {.via = VIA_NONE};
	struct answer ans;

	c->seen = json_new_object(&o->arena);
	c->reads = 0;
	c->item = NULL;
	c->verdict = (struct verdict){.kind = VERDICT_NONE};
	c->now_ms = o->l->clock.clock.wall_ms(&o->l->clock.clock);
	operate_observe(o, c);
	if (c->verdict.kind == VERDICT_NONE && c->step->plan)
		c->step->plan(c, &x);
	if (c->verdict.kind != VERDICT_NONE || x.via == VIA_NONE)
		return true;
	if (++o->mutations == o->stop_at) {
		o->stopped = true;
		return false;
	}
	o->log = arena_printf(&o->arena, "%s%s: %s\n", o->log ? o->log : "",
			      c->step->name, x.what ? x.what : "?");
	operate_send(o, &x, &ans);
	if (c->step->absorb)
		c->step->absorb(c, &ans);
	return true;
}

static inline bool operate_level(struct operate *o, const struct kind *k,
				 const json_t *input);

/* A stage is walked here and now. */
static inline bool operate_stage(struct operate *o, struct step_ctx *c)
{
	struct spawn sp = {0};
	json_t *before = o->result;

	c->verdict = (struct verdict){.kind = VERDICT_NONE};
	if (!c->step->spawn(c, &sp))
		return true;
	if (!operate_level(o, kind_find(kinds, sp.kind), sp.input))
		return false;
	step_save(c, c->step->name, json_incref(o->result));
	o->result = before;
	return true;
}

static inline bool operate_level(struct operate *o, const struct kind *k,
				 const json_t *input)
{
	struct arena *a = &o->arena;
	struct step_ctx c = {.arena = a,
			     .cfg = &o->cfg,
			     .where = &o->where,
			     .op_id = "op_1",
			     .root_id = "op_1",
			     .target = "demo",
			     .input = input,
			     .data = json_new_object(a),
			     .resources = json_new_list(a),
			     .catalog = json_new_list(a),
			     .events = json_new_list(a),
			     .step = k->steps};

	c.step_since_ms = o->l->clock.clock.wall_ms(&o->l->clock.clock);
	while (c.step && c.step->name) {
		const struct step *was = c.step;

		if (++o->claims > OPERATE_CLAIMS) {
			o->failed = arena_printf(a, "%s has no end: %s", was->name,
						 c.verdict.waiting_for
							 ? c.verdict.waiting_for
							 : c.verdict.error.detail);
			return false;
		}
		if (c.step->spawn ? !operate_stage(o, &c) : !operate_claim(o, &c))
			return false;
		if (c.verdict.kind == VERDICT_FAIL && was->on_fail)
			was->on_fail(&c);
		if (c.verdict.kind == VERDICT_DONE) {
			o->result = json_own(a, json_incref(c.verdict.result));
			return true;
		}
		if (c.verdict.kind == VERDICT_FAIL || c.verdict.kind == VERDICT_HOLD) {
			o->failed =
				arena_printf(a, "%s: %s / %s", was->name,
					     c.verdict.error.detail, c.verdict.error.fix);
			return false;
		}
		if (c.verdict.kind == VERDICT_WAIT || c.verdict.kind == VERDICT_RETRY) {
			lab_wait(o->l, OPERATE_WAIT_MS);
			continue;
		}
		c.step = c.verdict.kind == VERDICT_ADVANCE && c.verdict.step
				 ? kind_step(k, c.verdict.step)
				 : kind_step_after(k, c.step);
		c.step_since_ms = o->l->clock.clock.wall_ms(&o->l->clock.clock);
	}
	return true;
}

/* One operation to its end, its failure or, with stop_at, to that mutation. */
static inline bool operate(struct operate *o, const char *kind, const json_t *input,
			   int stop_at)
{
	const json_t *mine;

	arena_reset(&o->arena);
	mine = json_own(&o->arena, json_deep_copy(input));
	o->mutations = o->claims = 0;
	o->stop_at = stop_at;
	o->stopped = false;
	o->failed = o->log = NULL;
	o->result = NULL;
	return operate_level(o, kind_find(kinds, kind), mine);
}

#endif
