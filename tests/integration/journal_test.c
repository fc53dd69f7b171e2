/* core/op/journal.c: every call against the real functions, through C structs. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/op/journal.h"
#include "gen/queries.h"
#include "tests/lib/pg.h"

static struct arena a;
static struct db *db;
static struct err e;
static struct claim c;
static const char *url;

static void lock_keys(const char *target, const json_t *input, struct arena *arena,
		      struct str_list *ret)
{
	(void)input;
	str_list_add(arena, ret, arena_printf(arena, "cluster/%s/update", target));
}

static const struct step steps[] = {
	{.name = "net", .phase = "network", .title = "Network", .effect = EFFECT_TOKEN},
	{.name = "wait_net", .phase = "network", .title = "Wait"},
	{.name = "nodes",
	 .phase = "node_groups",
	 .title = "Nodes",
	 .effect = EFFECT_NAMED,
	 .retry_step = "net"},
	{.name = NULL},
};
static const struct kind make = {.name = "make",
				 .title = "Make it",
				 .steps = steps,
				 .deadline_s = 60,
				 .locks = lock_keys};
static const struct kind part = {.name = "part", .title = "Part", .steps = steps + 2};

#define must(expr)                                                                       \
	cr_assert((expr), "%s: %s %s", #expr, e.detail,                                  \
		  e.n_causes ? e.cause[0].message : "")

static void setup(void)
{
	arena_init(&a, 0);
	url = pg_fresh(&a);
	db = pg_open(&a, url);
	must(DB(db, &a, &Q_clock_set, NULL, &e, "1800000000000"));
}

static void teardown(void)
{
	arena_free(&a);
}

TestSuite(journal, .init = setup, .fini = teardown, .timeout = 60);

static struct submission request(const char *id)
{
	return (struct submission){
		.id = id,
		.kind = &make,
		.target = "demo",
		.input = json_packf(&a, "{s:i, s:s}", "size", 2, "quote",
				    "it's \"\\ \xc3\xa4"),
		.digest = "d1",
		.principal = "ann",
		.face = "mcp",
		.capability = "make_it",
		.audit = json_packf(&a, "{s:s}", "secret", "(secret)"),
	};
}

static void claim_must_be(const char *id, const char *step)
{
	bool any;

	must(journal_claim(db, &a, "w/1", 60000, &c, &any, &e));
	cr_assert(any, "nothing is due");
	cr_assert_str_eq(c.op_id, id);
	cr_assert_str_eq(c.step, step);
}

/* A settlement of the claimed step with its verdict in ctx. */
static bool settle(struct settlement s, struct verdict v)
{
	struct step_ctx ctx = {.arena = &a, .data = c.data, .verdict = v};

	s.kind = &make;
	s.step = kind_step(&make, c.step);
	s.ctx = &ctx;
	ctx.resources = json_packf(&a, "[{s:s, s:s, s:n, s:s}]", "type", "vpc", "id",
				   c.step, "arn", "state", "made");
	ctx.catalog = json_packf(&a, "[{s:s, s:s, s:{s:i}, s:n}]", "kind", "node", "name",
				 "n1", "desired", "n", 1, "observed");
	ctx.events = json_packf(&a, "[{s:s, s:{}}]", "what", "note", "data");
	return journal_settle(db, &a, &c, &s, &e);
}

static json_t *get(const char *id)
{
	struct str text;
	int64_t version;
	json_t *o;

	must(journal_get(db, &a, id, &text, &version, &e));
	o = json_parse(&a, text, &e);
	must(o);
	cr_assert_eq(json_int_or(o, "version", -1), version);
	return o;
}

static void is(const json_t *o, const char *path, const char *expected)
{
	cr_assert_str_eq(json_str_or(o, path, "(none)"), expected, "%s of %s", path,
			 json_text(&a, o));
}

Test(journal, submit)
{
	struct submission s = request("op_1");
	struct submitted ret;
	json_t *o;
	struct str text;
	int64_t version;

	s.idem_key = "k";
	must(journal_submit(db, &a, &s, &ret, &e));
	cr_assert_eq(ret.outcome, SUBMIT_NEW);
	cr_assert_str_eq(ret.id, "op_1");
	o = json_parse(&a, (struct str){ret.operation, ret.operation_len}, &e);
	must(o);
	is(o, "phases.0.name", "network");
	is(o, "phases.1.title", "Node groups");
	cr_assert_eq(json_len_at(o, "phases"), 2);
	is(o, "actor.id", "ann");
	is(o, "face", "mcp");
	is(o, "links.self", "/api/v1/operations/op_1");
	s.id = "op_2";
	must(journal_submit(db, &a, &s, &ret, &e));
	cr_assert_eq(ret.outcome, SUBMIT_SAME);
	cr_assert_str_eq(ret.id, "op_1");
	s.digest = "d2";
	cr_assert_not(journal_submit(db, &a, &s, &ret, &e));
	cr_assert_eq(e.code, ERR_KEY_REUSED);
	cr_assert_str_eq(e.field, "/idempotency_key");
	s.idem_key = NULL;
	cr_assert_not(journal_submit(db, &a, &s, &ret, &e));
	cr_assert_eq(e.code, ERR_CONFLICT);
	cr_assert(strstr(e.detail, "op_1") && strstr(e.fix, "op_1"));
	cr_assert_str_eq(e.cause[0].code, "make");
	cr_assert_str_eq(e.cause[0].message, "op_1");
	s.queue = true;
	must(journal_submit(db, &a, &s, &ret, &e));
	is(get("op_2"), "status", "queued");
	cr_assert_not(journal_get(db, &a, "op_9", &text, &version, &e));
	cr_assert_eq(e.code, ERR_NOT_FOUND);
	cr_assert_str_eq(
		pg_sql(&a, url, "select parameters->>'secret' from audit limit 1"),
		"(secret)");
}

static struct intent_answer intend(const char *digest)
{
	const struct step *s = kind_step(&make, c.step);
	const struct intent i = {.step = s->name,
				 .item = "vpc",
				 .effect = s->effect,
				 .name = "ec2:CreateVpc",
				 .digest = digest,
				 .request =
					 json_packf(&a, "{s:s}", "Cidr", "10.0.0.0/16")};
	struct intent_answer ret;

	must(journal_intent(db, &a, &c, &i, &ret, &e));
	return ret;
}

Test(journal, life)
{
	struct submission s = request("op_1");
	struct submitted sub;
	struct intent_answer i;
	struct settlement out = {.item = "vpc", .epoch = 1, .call = "ec2:CreateVpc"};
	struct claim old;
	const char *token;
	bool any;
	json_t *o;

	must(journal_submit(db, &a, &s, &sub, &e));
	claim_must_be("op_1", "net");
	cr_assert_str_eq(c.root_id, "op_1");
	cr_assert_null(c.parent_id);
	cr_assert_null(c.answer);
	cr_assert_null(c.child_id);
	cr_assert_str_eq(json_str_or(c.input, "quote", ""), "it's \"\\ \xc3\xa4");
	cr_assert_eq(c.now_ms, 1800000000000);
	cr_assert_eq(c.deadline_ms, c.now_ms + 60000);
	cr_assert_not(c.issued);
	i = intend("dg1");
	cr_assert_eq(i.status, INTENT_NEW);
	cr_assert_eq(i.epoch, 1);
	cr_assert_eq(i.issued_at_ms, 0);
	cr_assert_str_eq(i.digest, "dg1");
	token = i.token;

	/* Unknown outcome: the next claim knows, the intent says "issued". */
	json_put_str(c.data, "seen", "x");
	out.effect = EFFECT_UNKNOWN;
	must(settle(out, (struct verdict){
				 .kind = VERDICT_RETRY,
				 .error = {.code = ERR_AMBIGUOUS, .detail = "lost"}}));
	is(get("op_1"), "waiting_for", "another try: lost");
	claim_must_be("op_1", "net");
	is(c.data, "seen", "x");
	cr_assert(c.issued);
	cr_assert_str_eq(c.issued_item, "vpc");
	cr_assert_eq(c.issued_epoch, 1);
	cr_assert_eq(c.attempt, 1);
	i = intend("dg2");
	cr_assert_eq(i.status, INTENT_ISSUED);
	cr_assert_str_eq(i.token, token);
	cr_assert_str_eq(i.digest, "dg1");
	cr_assert_eq(i.issued_at_ms, 1800000000000);
	cr_assert_null(i.response);

	/* Done, but the step waits: the stored response is what it gets again. */
	out.effect = EFFECT_DONE;
	out.response = json_packf(&a, "{s:s}", "VpcId", "vpc-1");
	out.request_id = "req-7";
	out.due_ms = 5000;
	must(settle(out, (struct verdict){.kind = VERDICT_WAIT,
					  .waiting_for = "the network"}));
	is(get("op_1"), "waiting_for", "the network");
	must(journal_claim(db, &a, "w/1", 60000, &c, &any, &e));
	cr_assert_not(any);
	must(DB(db, &a, &Q_clock_set, NULL, &e, "1800000005000"));
	claim_must_be("op_1", "net");
	cr_assert_eq(c.waits, 1);
	i = intend("dg3");
	cr_assert_eq(i.status, INTENT_DONE);
	is(i.response, "VpcId", "vpc-1");

	/* The old claim is fenced once the lease has passed. */
	old = c;
	must(DB(db, &a, &Q_clock_set, NULL, &e, "1800000065000"));
	claim_must_be("op_1", "net");
	cr_assert_eq(c.gen, old.gen + 1);
	out = (struct settlement){.next = steps + 1};
	{
		const struct claim now = c;

		c = old;
		cr_assert_not(settle(out, (struct verdict){.kind = VERDICT_ADVANCE}));
		cr_assert_eq(e.code, ERR_FENCED);
		c = now;
	}
	must(settle(out, (struct verdict){.kind = VERDICT_ADVANCE}));
	claim_must_be("op_1", "wait_net");
	cr_assert_eq(c.attempt, 0);
	out.next = steps + 2;
	must(settle(out, (struct verdict){.kind = VERDICT_ADVANCE}));
	claim_must_be("op_1", "nodes");
	o = get("op_1");
	is(o, "phases.0.state", "done");
	is(o, "phase", "node_groups");

	/* A failure with its causes; the retry goes on where the step says. */
	{
		struct verdict v = {.kind = VERDICT_FAIL};

		err_set(&v.error, ERR_QUOTA, "The quota is 0");
		err_fix(&v.error, "Raise it");
		err_because(&v.error, "sagemaker:CreateCluster", "LimitExceeded", "no",
			    "r9");
		must(settle((struct settlement){0}, v));
	}
	o = get("op_1");
	is(o, "error.code", "quota");
	is(o, "error.fix", "Raise it");
	is(o, "error.retry", "human");
	is(o, "error.phase", "node_groups");
	is(o, "error.step", "nodes");
	is(o, "error.cause.0.request_id", "r9");
	cr_assert(json_bool_or(o, "retryable", false));
	cr_assert_str_eq(
		pg_sql(&a, url, "select string_agg(id, ' ' order by seq) from resource"),
		"net wait_net nodes");
	cr_assert_str_eq(pg_sql(&a, url,
				"select concat_ws(' ', data->>'call', data->>'outcome',"
				" data->>'request_id', data->>'duration_ms') from event"
				" where what = 'call' and data->>'outcome' = 'done'"),
			 "ec2:CreateVpc done req-7 0");
}

Test(journal, orders)
{
	const struct order plain = {.op_id = "op_1", .principal = "ann", .face = "rest"};
	struct order keyed = plain;
	struct submission s = request("op_1");
	struct submitted sub;
	struct str text;

	must(journal_submit(db, &a, &s, &sub, &e));
	claim_must_be("op_1", "net");
	must(settle((struct settlement){0},
		    (struct verdict){
			    .kind = VERDICT_HOLD,
			    .question = json_packf(&a, "{s:s, s:{}, s:[{s:s, s:s, s:s}]}",
						   "question", "Did it?", "evidence",
						   "choices", "id", "yes", "title", "Yes",
						   "consequence", "Goes on")}));
	is(get("op_1"), "question.choices.0.consequence", "Goes on");
	cr_assert_not(journal_retry(db, &a, &plain, &text, &e));
	cr_assert_eq(e.code, ERR_STATE_CONFLICT);
	cr_assert_str_eq(e.seen, "needs-decision");
	keyed.args = json_packf(&a, "{s:s}", "choice", "no");
	cr_assert_not(journal_answer(db, &a, &keyed, &text, &e));
	cr_assert_eq(e.code, ERR_INVALID_INPUT);
	cr_assert_str_eq(e.field, "/choice");
	keyed.args = json_packf(&a, "{s:s}", "choice", "yes");
	keyed.idem_key = "a1";
	must(journal_answer(db, &a, &keyed, &text, &e));
	must(journal_answer(db, &a, &keyed, &text, &e)); /* sent twice: one answer */
	is(json_parse(&a, text, &e), "state", "live");
	claim_must_be("op_1", "net");
	is(c.answer, "choice", "yes");
	must(journal_cancel(db, &a, &plain, &text, &e));
	is(json_parse(&a, text, &e), "status", "cancelling");
	must(settle((struct settlement){.due_ms = 60000},
		    (struct verdict){.kind = VERDICT_WAIT, .waiting_for = "x"}));
	claim_must_be("op_1", "net");
	cr_assert(c.cancel_requested && !c.cancel_undo);
	must(settle((struct settlement){0},
		    (struct verdict){
			    .kind = VERDICT_CANCELLED,
			    .error = {.code = ERR_CANCELLED, .detail = "Cancelled"}}));
	is(get("op_1"), "state", "cancelled");
	must(journal_retry(db, &a, &plain, &text, &e));
	claim_must_be("op_1", "net");
	cr_assert_not(c.cancel_requested);
}

Test(journal, stages)
{
	struct submission s = request("op_1");
	struct submitted sub;
	struct spawn spawn = {.kind = "part",
			      .target = "demo",
			      .input = json_packf(&a, "{s:s}", "cluster", "demo")};
	const struct settlement out = {
		.spawn = &spawn, .child_id = "op_2", .child_kind = &part};

	must(journal_submit(db, &a, &s, &sub, &e));
	claim_must_be("op_1", "net");
	must(settle(out, (struct verdict){.kind = VERDICT_SPAWN}));
	is(get("op_1"), "children.0.id", "op_2");
	claim_must_be("op_2", "nodes");
	cr_assert_str_eq(c.parent_id, "op_1");
	cr_assert_str_eq(c.root_id, "op_1");
	cr_assert_eq(c.deadline_ms, c.now_ms + 6 * 3600 * 1000);
	must(settle((struct settlement){0},
		    (struct verdict){.kind = VERDICT_DONE,
				     .result = json_packf(&a, "{s:i}", "n", 4)}));
	claim_must_be("op_1", "net");
	cr_assert_str_eq(c.child_state, "succeeded");
	cr_assert_eq(json_int_or(c.child_result, "n", 0), 4);
	cr_assert_null(c.child_error);
	must(settle((struct settlement){0}, (struct verdict){.kind = VERDICT_DONE}));
	cr_assert(json_bool_or(get("op_1"), "done", false));
}
