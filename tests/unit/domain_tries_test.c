/*
 * A try is one thing: it begins with the arrival at the step and with every retry, and
 * stays through all back-off. What was sent in it is what the cloud has taken.
 */
#include "tests/unit/domain_scene.h"

/* --- what is counted ------------------------------------------------------------------
 */

Test(domain_tries, what_is_counted_is_of_its_try)
{
	struct arena a;
	struct step_ctx c = {.arena = &a};

	arena_init(&a, 0);
	c.data = json_new_object(&a);
	for (c.try = 1; c.try <= 40; c.try++) {
		const int64_t n = c.try * 7 % 5; /* a try may count nothing at all */

		cr_expect_eq(step_count(&c, "sent.it"), 0, "try %lld", (long long)c.try);
		for (int64_t i = 0; i < n; i++)
			step_counted(&c, "sent.it");
		cr_expect_eq(step_count(&c, "sent.it"), n);
		cr_expect_eq(step_count(&c, "sent.other"), 0);
		/* A context of a later look of the same try. */
		cr_expect_eq(step_count(&(struct step_ctx){.arena = &a,
							   .data = c.data,
							   .try = c.try},
					"sent.it"),
			     n);
		if (c.try % 3 == 0) {
			step_count_forget(&c, "sent.it");
			cr_expect_eq(step_count(&c, "sent.it"), 0);
		}
	}
	arena_free(&a);
}

/* --- a stack that cannot be deleted ----------------------------------------------------
 */

enum outcome { NO_CALL, TAKEN, REFUSED_FOR_NOW, LOST };

static const struct look {
	int64_t try;
	const char *status;   /* of the stack */
	enum outcome outcome; /* of the call that it must lead to */
	const char *says;
} retried[] = {{1, "CREATE_COMPLETE", TAKEN, "wait"},
	       {1, "DELETE_IN_PROGRESS", NO_CALL, "wait"},
	       {1, "DELETE_FAILED", NO_CALL, "blocked"},
	       {2, "DELETE_FAILED", TAKEN, "wait"},
	       {2, "DELETE_IN_PROGRESS", NO_CALL, "wait"},
	       {2, "DELETE_FAILED", NO_CALL, "blocked"},
	       {3, "DELETE_FAILED", TAKEN, "wait"},
	       {0, NULL, NO_CALL, NULL}},
  throttled[] = {{1, "DELETE_FAILED", REFUSED_FOR_NOW, NULL},
		 {1, "DELETE_FAILED", REFUSED_FOR_NOW, NULL},
		 {1, "DELETE_FAILED", TAKEN, "wait"},
		 {1, "DELETE_FAILED", NO_CALL, "blocked"},
		 {0, NULL, NO_CALL, NULL}},
  lost[] = {{1, "CREATE_COMPLETE", LOST, NULL},
	    {1, "DELETE_IN_PROGRESS", NO_CALL, "wait"},
	    {1, "DELETE_FAILED", NO_CALL, "blocked"},
	    {2, "DELETE_FAILED", TAKEN, "wait"},
	    {2, "DELETE_FAILED", NO_CALL, "blocked"},
	    {0, NULL, NO_CALL, NULL}},
  never_arrived[] = {{1, "DELETE_FAILED", LOST, NULL},
		     {1, "DELETE_FAILED", TAKEN, "wait"},
		     {1, "DELETE_FAILED", NO_CALL, "blocked"},
		     {0, NULL, NO_CALL, NULL}};

static const char *answers_of(struct arena *a, const char *status)
{
	return arena_printf(
		a,
		"{'cloudformation:DescribeStacks':{'Stacks':[{'StackId':'ours',"
		"'StackStatus':'%s','Tags':[" TAGS_OURS
		"]}]},'cloudformation:DescribeStackEvents':{'StackEvents':[{"
		"'LogicalResourceId':'Vpc','ResourceType':'AWS::EC2::VPC',"
		"'ResourceStatus':'DELETE_FAILED','ResourceStatusReason':'it is in use'}]}}",
		status);
}

static void check(const char *what, size_t at, const struct step_ctx *c, const char *says)
{
	const struct verdict *v = &c->verdict;

	if (streq(says, "wait"))
		cr_expect_eq(v->kind, VERDICT_WAIT, "%s, look %zu: no wait", what, at);
	else if (streq(says, "blocked"))
		cr_expect(v->kind == VERDICT_FAIL && v->error.code == ERR_BLOCKED,
			  "%s, look %zu: not blocked", what, at);
}

static void play(const char *what, const struct look *looks)
{
	static struct config cfg = {.poll_scale_percent = 100};
	const struct where where = {.account = "111122223333",
				    .installation = "here",
				    .region = "us-west-2",
				    .partition = "aws"};
	struct arena a;
	bool issued = false;

	arena_init(&a, 0);
	struct step_ctx c = {
		.arena = &a,
		.cfg = &cfg,
		.where = &where,
		.op_id = "op_1",
		.root_id = "op_1",
		.target = "demo",
		.input = json_new_object(&a),
		.data = json_new_object(&a),
		.step = kind_step(kind_find(kinds, "delete_cluster"), "delete_stack"),
		.now_ms = scene_now_ms,
		.resources = json_new_list(&a),
		.catalog = json_new_list(&a),
		.events = json_new_list(&a)};

	for (size_t i = 0; looks[i].status; i++) {
		struct exchange x = {.via = VIA_NONE};
		bool sent;

		c.try = looks[i].try;
		c.issued_before = issued;
		c.seen = json_new_object(&a);
		c.reads = 0;
		c.verdict = (struct verdict){.kind = VERDICT_NONE};
		scene_observe(&c, scene_tree(&a, answers_of(&a, looks[i].status)));
		if (c.verdict.kind == VERDICT_NONE)
			c.step->plan(&c, &x);
		sent = c.verdict.kind == VERDICT_NONE && x.via != VIA_NONE;
		cr_expect_eq(sent, looks[i].outcome != NO_CALL,
			     "%s, look %zu (try %lld, %s): %s", what, i, (long long)c.try,
			     looks[i].status, sent ? "sent once more" : "not sent");
		if (sent && looks[i].outcome == TAKEN) {
			const struct answer ok =
				scene_answer(&a, &x, json_new_object(&a));

			c.step->absorb(&c, &ok);
			issued = false;
		} else if (sent) {
			/* The runner asks again; the step is told nothing. */
			issued = looks[i].outcome == LOST;
		}
		check(what, i, &c, looks[i].says);
	}
	arena_free(&a);
}

Test(domain_tries, a_failed_deletion_is_sent_once_in_every_try)
{
	play("retried", retried);
	play("throttled", throttled);
	play("lost, and it had arrived", lost);
	play("lost, and it had not", never_arrived);
}
