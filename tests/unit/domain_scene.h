/*
 * domain_scene.h - one step of a kind, played against recorded answers.
 *
 * Answers are found by "service:Operation" or "service:Operation VALUE", where
 * VALUE is a string of the request (the name or id asked for). A call without
 * an answer is told that there is no such thing. {"!": code, "message": text}
 * is a refusal. What came of it is one text, to be searched for words:
 *
 *	fail quota human: detail / field / seen / expected / fix / causes
 *	wait: what is waited for
 *	call ec2:CreateSubnet: sentence {request}
 *	advance, done, goto STEP (before which a failure that is only noted is said)
 *	warning: text          (and one line for every other event)
 *	gone: object           (of step_gone())
 *	TYPE ID is STATE       (of step_own())
 *	saved: {data}
 *
 * in which, as in the rows, ' stands for ".
 */
#ifndef INSTANTSTART_TESTS_UNIT_DOMAIN_SCENE_H
#define INSTANTSTART_TESTS_UNIT_DOMAIN_SCENE_H

#include <criterion/criterion.h>
#include <string.h>

#include "core/aws/errors.h"
#include "core/aws/partition.h"
#include "core/domain/capability.h"
#include "core/json/tree.h"
#include "core/op/runner.h"
#include "core/op/walk.h"

/* Of what this installation has made for the cluster "demo", in both shapes. */
#define TAG_MAP_OURS                                                                     \
	"'instantstart:cluster':'demo','instantstart:installation':'here',"              \
	"'instantstart:operation':'op_0'"
#define TAGS_OURS                                                                        \
	"{'Key':'instantstart:cluster','Value':'demo'},{'Key':"                          \
	"'instantstart:installation','Value':'here'},{'Key':"                            \
	"'instantstart:operation','Value':'op_0'}"

enum { SCENE_WORDS = 6 };

struct scene {
	const char *id; /* of the case */
	const char *kind, *step;
	const char *region;                 /* NULL: us-west-2 */
	const char *input, *data, *answers; /* JSON with ' for "; NULL: {} */
	const char
		*ledger; /* of things made at 2026-01-02T03:04:03Z: "type id"; or NULL */
	int64_t age_s;   /* since the step began */
	bool planning;   /* nothing runs: a request is planned */
	bool issued;     /* sent before, with an unknown outcome */
	bool overdue;    /* what is tried again or waited for has had its time */
	/* All of these are in the text; a word that begins with "!" is not. */
	const char *says[SCENE_WORDS];
	/* The answer to the call that the step sends; NULL: it is not made. */
	const char *answered;
	/* Unless NULL: what the step would send to AWS; NULL: nothing. */
	json_t **ret_request;
};

static const int64_t scene_now_ms = INT64_C(1767323045000); /* 2026-01-02T03:04:05Z */

/* JSON with ' for ", so that rows stay readable. */
static inline json_t *scene_tree(struct arena *a, const char *text)
{
	char *z = arena_strdup(a, text ? text : "{}");
	struct err e = {0};
	json_t *t;

	for (char *p = z; *p; p++)
		if (*p == '\'')
			*p = '"';
	t = json_parse(a, str_of(z), &e);

	cr_assert(t, "%s: %s", text, e.detail);
	return t;
}

/* "call VALUE" for any string of the request, however deep; NULL: none. */
static inline json_t *scene_recorded(struct arena *a, const json_t *answers,
				     const char *call, const json_t *in)
{
	const char *key;
	json_t *value, *found = NULL;
	size_t i;

	if (json_is_string(in))
		return json_object_get(
			answers, arena_printf(a, "%s %s", call, json_string_value(in)));
	json_object_foreach((json_t *)(uintptr_t)in, key, value)
		if (!found)
			found = scene_recorded(a, answers, call, value);
	json_array_foreach(in, i, value)
		if (!found)
			found = scene_recorded(a, answers, call, value);
	return found;
}

static inline struct answer scene_answer(struct arena *a, const struct exchange *x,
					 json_t *out)
{
	struct answer ans = {.via = x->via,
			     .call = exchange_name(x, a),
			     .ok = true,
			     .out = out,
			     .code = "",
			     .message = "",
			     .request_id = "req-1"};

	if (!out) {
		ans.ok = false;
		ans.errc = ERR_CLOUD_NOT_FOUND;
		ans.code = "NotFound";
		ans.message = "there is no such thing";
	} else if (json_object_get(out, "!")) {
		ans.ok = false;
		ans.out = NULL;
		ans.code = json_str_at(out, "!");
		ans.message = json_str_or(out, "message", "");
		ans.status = (int)json_int_or(out, "status", 400);
		ans.bucket_region = json_str_at(out, "region");
		/* As helm.c judges what it has no row for. */
		ans.errc = str_starts(ans.code, "exit ")
				   ? ERR_DEPENDENCY_FAILED
				   : aws_errc((enum aws_service_id) - 1, ans.code,
					      ans.message, ans.status);
	}
	return ans;
}

static inline void scene_say(struct buf *b, const struct step_ctx *c,
			     const struct exchange *x)
{
	const struct verdict *v = &c->verdict;
	const struct err *e = &v->error;
	size_t i;
	json_t *event;

	if (v->kind == VERDICT_FAIL || v->kind == VERDICT_RETRY) {
		buf_printf(b, "%s %s %s: %s / %s / %s / %s / %s",
			   v->kind == VERDICT_FAIL ? "fail" : "retry",
			   errc_info(e->code)->slug, retry_word_name(err_retry(e)),
			   e->detail, e->field, e->seen, e->expected, e->fix);
		for (i = 0; i < e->n_causes; i++)
			buf_printf(b, " / %s %s %s", e->cause[i].code,
				   e->cause[i].message, e->cause[i].request_id);
	} else if (v->kind == VERDICT_WAIT) {
		buf_printf(b, "wait: %s", v->waiting_for);
	} else if (v->kind == VERDICT_DONE) {
		buf_printf(b, "done: %s", json_text(c->arena, v->result));
	} else if (v->kind == VERDICT_ADVANCE && v->step) {
		buf_printf(b, "goto %s", v->step);
	} else if (x->via != VIA_NONE) {
		buf_printf(b, "call %s: %s %s", exchange_name(x, c->arena), x->what,
			   json_text(c->arena, exchange_tree(x, c->arena)));
	} else {
		buf_adds(b, "advance");
	}
	json_array_foreach(c->events, i, event)
		buf_printf(b, "\n%s: %s", json_str_or(event, "what", ""),
			   json_str_or(event, "data.text",
				       json_text(c->arena, json_at(event, "data"))));
	if (c->gone)
		buf_printf(b, "\ngone: %s", c->gone);
	json_array_foreach(c->resources, i, event)
		buf_printf(b, "\n%s %s is %s", json_str_or(event, "type", ""),
			   json_str_or(event, "id", ""), json_str_or(event, "state", ""));
	buf_printf(b, "\nsaved: %s", json_text(c->arena, c->data));
	for (i = 0; i < b->len; i++)
		if (b->p[i] == '"')
			b->p[i] = '\'';
}

/* Reads as the runner does: what the step must not see ends it. */
static inline void scene_observe(struct step_ctx *c, const json_t *answers)
{
	for (int i = 0; c->step->observe && c->verdict.kind == VERDICT_NONE; i++) {
		struct exchange x = {.via = VIA_NONE};
		struct answer ans;
		json_t *in, *out;

		cr_assert_lt(i, 50, "%s reads without end", c->step->name);
		if (!c->step->observe(c, &x) || x.via == VIA_NONE)
			return;
		in = exchange_tree(&x, c->arena);
		out = scene_recorded(c->arena, answers, exchange_name(&x, c->arena), in);
		if (!out)
			out = json_object_get(answers, exchange_name(&x, c->arena));
		ans = scene_answer(c->arena, &x, out);
		walk_take(c, &ans);
	}
}

/* The step's deadline, as the runner has it. */
static inline void scene_time_out(struct step_ctx *c)
{
	const struct err last = c->verdict.error;
	struct err *e;

	if (c->verdict.kind != VERDICT_RETRY && c->verdict.kind != VERDICT_WAIT)
		return;
	e = step_fail(c, ERR_STEP_TIMEOUT, "\"%s\" was not done", c->step->title);
	for (size_t i = 0; i < last.n_causes; i++)
		err_because(e, last.cause[i].source, last.cause[i].code,
			    last.cause[i].message, last.cause[i].request_id);
}

/* A failure that is only noted is said too, as it was: the step goes on. */
static inline void scene_fail(struct step_ctx *c, struct buf *said)
{
	const struct verdict failed = c->verdict;
	struct step_ctx before = *c;

	c->step->on_fail(c);
	before.verdict = failed;
	before.events = json_new_list(c->arena);
	if (c->verdict.kind != VERDICT_FAIL) {
		buf_adds(said, "noted: ");
		scene_say(said, &before, &(struct exchange){.via = VIA_NONE});
		buf_adds(said, "\n");
	}
}

static inline json_t *scene_ledger(struct arena *a, const char *row)
{
	struct str rest = str_of(row);
	const char *type = str_dup(a, str_cut(&rest, ' '));

	return json_packf(a, "[{s:s, s:s, s:s, s:I}]", "type", type, "id",
			  str_dup(a, rest), "state", "made", "made_ms",
			  (json_int_t)(scene_now_ms - 2000));
}

static inline const char *scene_play(struct arena *a, const struct scene *s)
{
	static struct config cfg;
	struct where where = {.account = "111122223333",
			      .installation = "here",
			      .region = "us-west-2",
			      .partition = "aws",
			      .caller_arn = "arn:aws:iam::111122223333:role/us"};
	const struct kind *kind = kind_find(kinds, s->kind);
	const struct aws_partition *partition;
	struct step_ctx c = {
		.arena = a,
		.cfg = &cfg,
		.where = &where,
		.op_id = "op_1",
		.root_id = "op_1",
		.target = "demo",
		.input = scene_tree(a, s->input),
		.data = scene_tree(a, s->data),
		.seen = json_new_object(a),
		.now_ms = scene_now_ms,
		.step_since_ms = scene_now_ms - s->age_s * 1000,
		.issued_before = s->issued,
		.planning = s->planning,
		.resources = json_new_list(a),
		.catalog = json_new_list(a),
		.events = json_new_list(a),
	};
	struct exchange x = {.via = VIA_NONE};
	struct buf said;

	if (s->ledger)
		c.ledger = scene_ledger(a, s->ledger);
	if (s->region) {
		partition = aws_partition_of(s->region);
		where.region = s->region;
		where.partition = partition->id;
		where.caller_arn = arena_printf(a, "arn:%s:iam::111122223333:role/us",
						partition->id);
	}
	where.charts = scene_tree(
		a, "[{'component':'hyperpod','chart':'/c/hyperpod','version':'1.0.0',"
		   "'folder':'tests/cloud/charts','definitions':["
		   "{'name':'rayjobs.ray.io','digest':'j2','when':"
		   "'no.such,trainingOperators.enabled'}]},"
		   "{'component':'load_balancers','chart':'/c/lb','version':'1.0.0'},"
		   "{'component':'kuberay','chart':'/c/ray','version':'1.0.0',"
		   "'folder':'tests/cloud/charts','definitions':["
		   "{'name':'rayclusters.ray.io','digest':'c2'},"
		   "{'name':'rayjobs.ray.io','digest':'j2'}]}]");
	cfg.poll_scale_percent = 100;
	cfg.visibility_ms = 60 * 1000;
	cfg.kubernetes_oldest = "1.28";
	cfg.kubernetes_newest = "1.33";
	cr_assert(kind, "no kind %s", s->kind);
	c.step = kind_step(kind, s->step);
	cr_assert(c.step, "no step %s", s->step);
	scene_observe(&c, scene_tree(a, s->answers));
	if (c.verdict.kind == VERDICT_NONE && !goal_moved(&c) && c.step->plan)
		c.step->plan(&c, &x);
	if (s->ret_request)
		*s->ret_request = x.via == VIA_AWS ? x.in : NULL;
	if (s->answered && c.verdict.kind == VERDICT_NONE && x.via != VIA_NONE) {
		struct answer ans = scene_answer(a, &x, scene_tree(a, s->answered));

		c.step->absorb(&c, &ans);
		x.via = VIA_NONE;
	}
	if (s->overdue)
		scene_time_out(&c);
	buf_init(&said, a, 1 << 16);
	if (c.verdict.kind == VERDICT_FAIL && c.step->on_fail)
		scene_fail(&c, &said);
	scene_say(&said, &c, &x);
	return buf_cstr(&said);
}

static inline void scenes_hold(const struct scene *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct arena a;
		const char *said;

		arena_init(&a, 0);
		said = scene_play(&a, &rows[i]);
		for (size_t j = 0; j < SCENE_WORDS && rows[i].says[j]; j++) {
			const char *word = rows[i].says[j];
			bool unwanted = word[0] == '!';

			cr_expect_eq(strstr(said, word + unwanted) == NULL, unwanted,
				     "%s, row %zu: \"%s\" in: %s", rows[i].id, i, word,
				     said);
		}
		arena_free(&a);
	}
}

#define SCENES_HOLD(rows) scenes_hold(rows, sizeof(rows) / sizeof((rows)[0]))

#endif
