/* The dry run: real reads, no mutation, what is not known yet. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/op/walk.h"

/* --- a world that counts ----------------------------------------------- */

struct world {
	int reads;
	int mutations;
	bool exists;     /* what "look" looks for */
	enum errc fault; /* of reads */
	/* When set, a read is silent for so long before it ends. */
	struct clock_manual *clock;
	int64_t silent_ms;
};

static void answer(struct runner *r, const struct exchange *x, const char *token,
		   struct arena *a, struct answer *ret)
{
	struct world *w = r->exchange_ctx;

	(void)token;
	if (kube_verb_mutates(x->kube.verb)) {
		w->mutations++;
		return;
	}
	w->reads++;
	if (w->clock)
		clock_manual_advance(w->clock, w->silent_ms);
	ret->errc = w->fault ? w->fault : w->exists ? ERR_NONE : ERR_CLOUD_NOT_FOUND;
	ret->ok = ret->errc == ERR_NONE;
	ret->code = ret->ok ? "" : "Refused";
	ret->message = "because";
	ret->out = json_packf(a, "{s:s}", "id", "thing-1");
}

/* --- kinds ------------------------------------------------------------- */

static void ask(struct exchange *x, enum kube_verb verb, const char *name,
		const json_t *body)
{
	const struct kube_target t = {.endpoint = "https://k", .cluster_name = "demo"};
	const struct kube_request r = {.verb = verb,
				       .api = "v1",
				       .plural = "things",
				       .name = name,
				       .body = body};

	exchange_kube(x, &t, &r);
	x->what = "Make a thing";
}

static bool look(struct step_ctx *c, struct exchange *x)
{
	if (c->reads)
		return false;
	ask(x, KUBE_GET, c->target, NULL);
	return true;
}

static void save(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		step_save_str(c, "thing", json_str_at(a->out, "id"));
}

static void make(struct step_ctx *c, struct exchange *x)
{
	if (json_str_at(c->data, "thing"))
		step_advance(c);
	else
		ask(x, KUBE_CREATE, c->target,
		    json_packf(c->arena, "{s:s}", "name", c->target));
}

static bool look_for_made(struct step_ctx *c, struct exchange *x)
{
	if (c->reads)
		return false;
	ask(x, KUBE_GET, step_get(c, "thing"), NULL);
	return true;
}

static void vanish(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail(c, ERR_CLUSTER_FAILED, "it has vanished");
}

static void use(struct step_ctx *c, struct exchange *x)
{
	ask(x, KUBE_APPLY, "user",
	    json_packf(c->arena, "{s:s}", "thing", step_get(c, "thing")));
}

static void wait_always(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_wait(c, 10, "it to be ready");
}

static void back(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_goto(c, "make");
}

static bool nested(struct step_ctx *c, struct spawn *ret)
{
	*ret = (struct spawn){
		"leaf", c->target,
		json_packf(c->arena, "{s:s}", "thing", step_get(c, "thing"))};
	return step_input(c, "skip") == NULL;
}

static const struct step leaf_steps[] = {
	{.name = "make",
	 .phase = "p",
	 .title = "Make",
	 .effect = EFFECT_NAMED,
	 .observe = look,
	 .seen = save,
	 .plan = make},
	{.name = "ready",
	 .phase = "p",
	 .title = "Be there",
	 .observe = look_for_made,
	 .seen = vanish},
	{.name = "use",
	 .phase = "p",
	 .title = "Use",
	 .effect = EFFECT_CONVERGENT,
	 .plan = use},
	{.name = "wait", .phase = "q", .title = "Wait", .plan = wait_always},
	{.name = "back", .phase = "q", .title = "Back", .plan = back},
	{.name = NULL},
};
static const struct kind leaf = {.name = "leaf", .title = "A leaf", .steps = leaf_steps};

static const struct step pipe_steps[] = {
	{.name = "first", .phase = "first", .title = "First", .spawn = nested},
	{.name = NULL},
};
static const struct kind pipe_kind = {
	.name = "pipe", .title = "A pipe", .steps = pipe_steps};

/* Looks at many things, or at large ones: 300 of them, or 2 MB each. */
static bool look_at_many(struct step_ctx *c, struct exchange *x)
{
	if (c->reads >= 300)
		return false;
	ask(x, KUBE_GET, c->target, NULL);
	return true;
}

static void keep_nothing(struct step_ctx *c, const struct answer *a)
{
	(void)a;
	if (step_input(c, "fat"))
		(void)arena_alloc(c->arena, 2 << 20);
}

static void keep_cursor(struct step_ctx *c, const struct answer *a)
{
	(void)a;
	step_save(c, "cursor", json_integer(c->reads));
}

static const struct step many_steps[] = {
	{.name = "look",
	 .phase = "p",
	 .title = "Look at all",
	 .observe = look_at_many,
	 .seen = keep_nothing},
	{.name = "follow",
	 .phase = "p",
	 .title = "Look from the cursor on",
	 .observe = look_at_many,
	 .seen = keep_cursor},
	{.name = NULL},
};
static const struct kind many = {.name = "many", .title = "Many", .steps = many_steps};
/* What one row notes, a later one decides: here behind the row that is at stake. */
static void note(struct step_ctx *c)
{
	step_save_str(c, "noted", c->verdict.error.detail);
	step_advance(c);
}

static void decide_noted(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (json_str_at(c->data, "noted"))
		step_fail(c, ERR_NOT_FOUND, "%s", json_str_at(c->data, "noted"));
}

static const struct step noting_steps[] = {
	{.name = "look",
	 .phase = "p",
	 .title = "Look",
	 .observe = look,
	 .seen = vanish,
	 .on_fail = note},
	{.name = "stake", .phase = "p", .title = "What is lost", .stakes = true},
	{.name = "decide", .phase = "p", .title = "Decide", .plan = decide_noted},
	{.name = NULL},
};
static const struct kind noting = {
	.name = "noting", .title = "Noting", .steps = noting_steps};
static const struct kind *const kinds_here[] = {&leaf, &pipe_kind, &many, &noting, NULL};

/* --- tests ------------------------------------------------------------- */

typedef bool planning(struct runner *r, struct arena *a, const struct kind *k,
		      const char *target, const json_t *input, json_t **ret,
		      struct err *e);

static bool plan_by(planning *by, struct arena *a, struct world *w, const struct kind *k,
		    const json_t *input, json_t **ret, struct err *e)
{
	static const struct where where = {
		.account = "123456789012", .installation = "here", .region = "us-west-2"};
	static const struct config cfg = {.call_timeout_ms = 1000, .lease_ms = 10000};
	struct runner r = {
		.cfg = &cfg,
		.where = &where,
		.clock = clock_system(),
		.kinds = kinds_here,
		.exchange = answer,
		.exchange_ctx = w,
	};

	return by(&r, a, k, "demo", input, ret, e);
}

static bool plan(struct arena *a, struct world *w, const struct kind *k,
		 const json_t *input, json_t **ret, struct err *e)
{
	return plan_by(runner_plan, a, w, k, input, ret, e);
}

/* "step:action" of every row. */
static const char *outline(struct arena *a, const json_t *p)
{
	struct buf b;
	size_t i;
	const json_t *row;

	buf_init(&b, a, 4096);
	json_array_foreach(json_at(p, "steps"), i, row)
		buf_printf(&b, "%s%s:%s", i ? " " : "", json_str_at(row, "step"),
			   json_str_at(row, "action"));
	return buf_cstr(&b);
}

Test(plan, walks_without_sending)
{
	static const struct {
		const struct kind *kind;
		bool exists;
		bool skip;
		const char *outline;
	} cases[] = {
		{&leaf, false, false,
		 "make:call ready:wait use:call wait:wait back:none"},
		{&leaf, true, false, "make:none ready:none use:call wait:wait back:none"},
		{&pipe_kind, false, false,
		 "first:stage first/make:call first/ready:wait first/use:call first/wait:wait "
		 "first/back:none"},
		{&pipe_kind, false, true, ""},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w = {.exists = cases[i].exists};
		json_t *input = json_new_object(&a);
		json_t *p = NULL;
		struct err e = {0};

		if (cases[i].skip)
			json_put_str(input, "skip", "yes");
		cr_assert(plan(&a, &w, cases[i].kind, input, &p, &e), "%s", e.detail);
		cr_assert_str_eq(outline(&a, p), cases[i].outline);
		cr_assert_eq(w.mutations, 0);
	}
	arena_free(&a);
}

Test(plan, unknown_values_are_placeholders_and_not_read)
{
	struct world w = {.exists = false}, w2 = {.exists = true};
	struct arena a;
	json_t *p = NULL, *again = NULL, *other = NULL;
	const json_t *call;
	struct err e = {0};

	arena_init(&a, 0);
	cr_assert(plan(&a, &w, &leaf, NULL, &p, &e));
	cr_assert_eq(w.reads, 1, "a read of what is not known was sent");
	call = json_at(p, "steps.2");
	cr_assert_str_eq(json_str_at(call, "class"), "convergent");
	cr_assert_str_eq(json_str_at(call, "call"), "kubernetes:apply things");
	cr_assert_str_eq(json_str_at(call, "what"), "Make a thing");
	cr_assert_str_eq(json_str_at(call, "request.body.thing"), STEP_UNKNOWN);
	cr_assert(plan(&a, &w, &leaf, NULL, &again, &e));
	cr_assert(plan(&a, &w2, &leaf, NULL, &other, &e));
	/* The digest is of what would be sent: equal plans, equal digests. */
	cr_assert_str_eq(json_str_at(p, "plan_digest"),
			 json_str_at(again, "plan_digest"));
	cr_assert_str_neq(json_str_at(p, "plan_digest"),
			  json_str_at(other, "plan_digest"));
	cr_assert_str_eq(json_str_at(other, "steps.2.request.body.thing"), "thing-1");
	arena_free(&a);
}

Test(plan, fails_as_the_step_would)
{
	static const struct {
		enum errc fault;
		int reads; /* transient failures are tried again at once */
	} cases[] = {{ERR_CLOUD_DENIED, 1}, {ERR_CLOUD_THROTTLED, 3}};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w = {.fault = cases[i].fault};
		json_t *p = NULL;
		struct err e = {0};

		cr_assert_not(plan(&a, &w, &leaf, NULL, &p, &e));
		cr_assert_eq(e.code, cases[i].fault);
		cr_assert_str_eq(e.cause[0].source, "kubernetes:get things");
		cr_assert_str_eq(e.cause[0].message, "because");
		cr_assert_eq(w.reads, cases[i].reads);
	}
	arena_free(&a);
}

/* Others wait behind a plan: it does not ask again who has just been silent, and while
 * he is left alone the next one says so without asking. */
/* A look at what is lost does not go as far as the row that refuses. */
Test(plan, what_is_known_to_fail_is_refused_by_either_walk)
{
	planning *const both[] = {runner_plan, runner_stakes};
	struct arena a;

	arena_init(&a, 0);
	for (int i = 0; i < 4; i++) {
		struct world w = {.exists = i / 2};
		json_t *p = NULL;
		struct err e = {0};

		cr_expect_eq(plan_by(both[i % 2], &a, &w, &noting, json_new_object(&a),
				     &p, &e),
			     w.exists, "walk %d: %s", i, e.detail);
		cr_expect_str_eq(e.detail, w.exists ? "" : "it has vanished");
	}
	arena_free(&a);
}

Test(plan, who_is_silent_is_asked_once)
{
	static const struct where where = {
		.account = "123456789012", .installation = "here", .region = "us-west-2"};
	static const struct config cfg = {
		.call_timeout_ms = 20000, .lease_ms = 60000, .poll_scale_percent = 100};
	static struct budget budget;
	struct clock_manual clock;
	struct world w = {.fault = ERR_CLOUD_UNREACHABLE, .clock = &clock};
	struct runner r = {.cfg = &cfg,
			   .where = &where,
			   .clock = &clock.clock,
			   .kinds = kinds_here,
			   .exchange = answer,
			   .exchange_ctx = &w,
			   .budget = &budget};
	struct arena a;
	json_t *p = NULL;
	struct err e = {0};

	arena_init(&a, 0);
	clock_manual_init(&clock, 1000000);
	w.silent_ms = 8000;
	for (int i = 0; i < 5; i++) {
		cr_expect_not(runner_plan(&r, &a, &leaf, "demo", NULL, &p, &e));
		cr_expect_eq(e.code, ERR_CLOUD_UNREACHABLE);
		cr_expect_eq(w.reads, 1, "%d", w.reads);
		err_clear(&e);
	}
	/* A refusal that comes at once is worth another try; so is he, after a while. */
	clock_manual_advance(&clock, 60000);
	w.silent_ms = 10;
	cr_expect_not(runner_plan(&r, &a, &leaf, "demo", NULL, &p, &e));
	cr_expect_eq(w.reads, 4, "%d", w.reads);
	arena_free(&a);
}

static void count(struct step_ctx *c, const struct answer *a)
{
	(void)a;
	step_warn(c, "seen");
}

/* Also of a step that wants to see refusals: silence is none. */
Test(plan, what_is_no_answer_is_never_shown_to_a_step)
{
	static const struct step rows[] = {
		{.name = "curious", .sees_errors = true, .observe = look, .seen = count},
		{.name = NULL},
	};
	static const struct kind kind = {.name = "curious", .steps = rows};
	struct arena a;

	arena_init(&a, 0);
	for (int code = ERR_NONE + 1; code < ERR_COUNT_; code++) {
		struct world w = {.fault = (enum errc)code};
		const bool silent = backoff_is_transient((enum errc)code);
		json_t *p = NULL;
		struct err e = {0};
		const bool planned = plan(&a, &w, &kind, NULL, &p, &e);

		cr_expect_eq(planned, !silent, "%s", errc_info((enum errc)code)->slug);
		if (planned)
			cr_expect_eq(json_len_at(p, "warnings"), 1);
		else
			cr_expect(e.code == (enum errc)code && e.n_causes == 1);
	}
	arena_free(&a);
}

/* --- what a step says that it does not know -------------------------------------------
 */

static void does_not_know(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_not_known(c, "weather", "nobody told");
}

static void was_refused(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	err_fix(step_fail(c, ERR_CLOUD_DENIED, "it may not be read"), "Allow it.");
	step_unread(c);
}

Test(plan, what_a_step_does_not_know_makes_the_plan_incomplete)
{
	static const struct step sure[] = {{.name = "first", .observe = look},
					   {.name = NULL}};
	static const struct step unsure[] = {{.name = "first", .observe = look},
					     {.name = "sky", .plan = does_not_know},
					     {.name = "last", .observe = look},
					     {.name = NULL}};
	static const struct step refused[] = {{.name = "first", .observe = look},
					      {.name = "sky", .plan = was_refused},
					      {.name = "last", .observe = look},
					      {.name = NULL}};
	static const struct {
		const struct step *steps;
		const char *incomplete;
		size_t steps_shown;
	} rows[] = {{sure, NULL, 1}, {unsure, "checks", 3}, {refused, "rest", 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct kind kind = {.name = "weather", .steps = rows[i].steps};
		struct world w = {.exists = true};
		struct arena a;
		json_t *p = NULL;
		struct err e = {0};
		const char *said;

		arena_init(&a, 0);
		cr_assert(plan(&a, &w, &kind, NULL, &p, &e), "%s", e.detail);
		said = json_str_at(p, "incomplete");
		cr_expect(rows[i].incomplete ? streq(said, rows[i].incomplete) : !said,
			  "%s", said ? said : "complete");
		cr_expect_eq(json_len_at(p, "steps"), rows[i].steps_shown);
		cr_expect_eq(json_len_at(p, "not_known"), rows[i].incomplete ? 1 : 0);
		if (rows[i].incomplete)
			cr_expect_str_eq(json_str_or(p, "not_known.0.step", ""), "sky");
		if (rows[i].steps == refused)
			cr_expect_str_eq(json_str_or(p, "not_known.0.fix", ""),
					 "Allow it.");
		arena_free(&a);
	}
}

Test(plan, half_a_look_is_none_and_ends_no_process)
{
	struct arena a;

	for (int fat = 0; fat < 2; fat++) {
		struct world w = {.exists = true};
		json_t *input, *p = NULL;
		struct err e = {0};

		arena_init(&a, 0);
		input = json_new_object(&a);
		if (fat)
			json_put_str(input, "fat", "yes");
		cr_assert_not(plan(&a, &w, &many, input, &p, &e));
		cr_expect_eq(e.code, ERR_STATE_CONFLICT);
		cr_expect(strstr(e.detail, "Look at all"), "%s", e.detail);
		cr_expect_lt(w.reads, fat ? 40 : 129);
		arena_free(&a);
	}
}

Test(plan, what_fits_into_no_claim_is_not_tried_for_ever)
{
	static const struct config cfg = {.call_timeout_ms = 1000, .lease_ms = 60000};

	for (int i = 0; i < 2; i++) {
		struct world there = {.exists = true};
		struct runner r = {.cfg = &cfg,
				   .clock = clock_system(),
				   .exchange = answer,
				   .exchange_ctx = &there};
		struct arena a;
		struct walk w = {.r = &r, .a = &a, .lease_ms = cfg.lease_ms};

		arena_init(&a, 0);
		w.step = &many_steps[i];
		w.start_mono_ms = r.clock->mono_ms(r.clock);
		w.ctx = (struct step_ctx){.arena = &a,
					  .cfg = &cfg,
					  .step = w.step,
					  .target = "demo",
					  .input = json_new_object(&a),
					  .data = json_new_object(&a),
					  .seen = json_new_object(&a)};
		walk_step(&w);
		cr_expect_eq(there.reads, 128);
		cr_expect_eq(w.ctx.verdict.kind, i ? VERDICT_WAIT : VERDICT_FAIL);
		cr_expect_eq(w.ctx.verdict.error.code, i ? ERR_NONE : ERR_STATE_CONFLICT);
		arena_free(&a);
	}
}
