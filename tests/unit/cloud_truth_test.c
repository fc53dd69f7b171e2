/*
 * What a read did not tell is never taken for a yes.
 *
 * Every kind is planned in a world in which it has something to do, and every read of
 * that plan is then answered wrongly, one at a time: refused, throttled, not at all,
 * with an absence, with rubbish. The plan must say so: it fails with the call and why,
 * or it warns, or it is another plan. It never sends anything. The operation itself
 * must not come to its first call by it either.
 */
#include "tests/unit/cloud_truth_world.h"

/* Reads whose answer decides nothing that could be said, and why that is so. */
static struct silent {
	const char *kind; /* NULL: any */
	const char *step, *call;
	enum lie lie;
	const char *why;
	int used;
} silent[] = {
	{NULL, "check_users", "kubernetes:get nodes", LIE_ABSENT,
	 "on an instance that is no node runs no pod", 0},
	{NULL, "await_nodes", "sagemaker:DescribeClusterNode", LIE_ABSENT,
	 "the wait is planned, not passed", 0},
	{NULL, "wait_group", "sagemaker:ListClusterEvents", LIE_DENIED,
	 "events are words of progress: the wait goes by the group itself", 0},
	{NULL, "put_on_create", "s3:GetObject", LIE_GARBAGE,
	 "an object is bytes: what is not our script is replaced by it", 0},
	{NULL, "put_on_create_main", "s3:GetObject", LIE_GARBAGE,
	 "an object is bytes: what is not our script is replaced by it", 0},
	{"create_s3_storage", "apply_namespace", "kubernetes:get namespaces", LIE_ABSENT,
	 "the namespace default is not ours to make", 0},
	{"delete_cluster", "delete_certificates", "s3:GetBucketTagging", LIE_ABSENT,
	 "what a bucket without our tag holds is left in it", 0},
	{"set_inference_operator", "tls_objects_remove", "s3:GetBucketTagging",
	 LIE_ABSENT, "what a bucket without our tag holds is left in it", 0},
	{"delete_cluster", "check_protections", "eks:DescribeCluster", LIE_ABSENT,
	 "what is gone is not protected", 0},
	{"delete_storage", "check_users", "kubernetes:get persistentvolumes", LIE_ABSENT,
	 "a volume that is gone has no owner to ask", 0},
	{"set_inference_operator", "check_feature", "sagemaker:DescribeCluster",
	 LIE_ABSENT, "the operator goes without a HyperPod cluster, too", 0},
};
enum { N_SILENT = sizeof(silent) / sizeof(silent[0]) };

static bool may_be_silent(const struct truth_read *r, enum lie lie, const char *kind)
{
	for (size_t i = 0; i < N_SILENT; i++) {
		struct silent *s = &silent[i];

		if (lie == s->lie && (!s->kind || streq(s->kind, kind)) &&
		    streq(s->step, r->step) && streq(s->call, r->call)) {
			s->used++;
			return true;
		}
	}
	return false;
}

/* Words for a person: a code that has some, a sentence, what the cloud said. */
static void expect_words(const struct truth_row *row, const struct truth_read *r,
			 enum lie lie, const struct err *e)
{
	cr_expect(e->code != ERR_INTERNAL && e->code != ERR_NONE && e->detail[0],
		  "%s, %s at %s %s: code %d, \"%s\"", row->kind, lie_name(lie), r->step,
		  r->call, e->code, e->detail);
}

/* Of the outermost walk: its first row. */
static bool is_first(const struct truth_read *r, const struct truth_plan *clean)
{
	return streq(json_str_at(clean->plan, "steps.0.step"), r->step);
}

/* Where a refusal is the answer: the thing is not open to us, whatever it is. */
static bool refusal_tells(const struct truth_read *r)
{
	return streq(r->call, "s3:HeadBucket");
}

/* What had no answer keeps no plan from coming, and is marked. */
static void expect_a_plan(const struct truth_row *row, const struct truth_read *r,
			  enum lie lie, const struct truth_plan *p,
			  const struct truth_plan *clean)
{
	if (!p->ok) {
		cr_expect(is_first(r, clean),
			  "plan of %s, %s %s: %s, and there is none: %s", row->kind,
			  r->step, r->call, lie_name(lie), p->e.detail);
		return;
	}
	if (!json_at(p->plan, "incomplete"))
		return;
	cr_expect_gt(json_len_at(p->plan, "not_known"), 0);
	if (!streq(json_str_at(p->plan, "incomplete"), "rest"))
		return;
	cr_expect_null(json_at(p->plan, "confirm"), "%s: half a list is confirmed",
		       row->kind);
	cr_expect_str_neq(json_str_or(p->plan, "plan_digest", ""),
			  json_str_or(clean->plan, "plan_digest", ""));
}

static void one_plan(const struct truth_row *row, const struct truth_read *r,
		     enum lie lie, const struct truth_plan *clean)
{
	const size_t sent = json_array_size(cloud_ledger(w.s.l.cloud));
	struct truth_plan p;

	truth_plan(row, r, lie, &p);
	cr_expect_eq(json_array_size(cloud_ledger(w.s.l.cloud)), sent,
		     "%s: a plan has sent something", row->kind);
	if (w.is_true)
		return;
	if (lie != LIE_ABSENT && !(lie == LIE_DENIED && refusal_tells(r)))
		expect_a_plan(row, r, lie, &p, clean);
	if (!p.ok)
		expect_words(row, r, lie, &p.e);
	else
		cr_expect(truth_is_said(&p, clean, lie) ||
				  may_be_silent(r, lie, row->kind),
			  "plan of %s, %s %s: %s, and nothing is said of it", row->kind,
			  r->step, r->call, lie_name(lie));
}

/* Words for whoever reads the operation; what passes by itself is tried again. */
static void expect_verdict(const struct truth_row *row, const struct truth_read *r,
			   enum lie lie, const struct truth_run *run)
{
	if (run->kind == VERDICT_FAIL || run->kind == VERDICT_RETRY)
		expect_words(row, r, lie, &run->e);
}

static void one_run(const struct truth_row *row, const struct truth_read *r, enum lie lie,
		    const struct truth_run *clean)
{
	struct truth_run run;

	truth_run(row, r, lie, &run);
	if (w.is_true)
		return;
	expect_verdict(row, r, lie, &run);
	cr_expect(truth_run_is_said(&run, clean, lie) || may_be_silent(r, lie, row->kind),
		  "%s, %s %s: %s, and it goes on to its first call", row->kind, r->step,
		  r->call, lie_name(lie));
}

static bool can_be_told(const struct truth_read *r, enum lie lie)
{
	return lie != LIE_ABSENT || r->can_be_absent;
}

static void all_runs(const struct truth_row *row)
{
	struct truth_run clean;

	truth_world(row);
	truth_run(row, NULL, LIES_, &clean);
	cr_expect(clean.call || clean.kind == VERDICT_NONE, "%s: %s / %s", row->kind,
		  clean.e.detail, clean.e.fix);
	cr_expect_gt(w.n_reads, 0, "%s reads nothing", row->kind);
	for (size_t i = 0; i < w.n_reads; i++)
		for (int lie = 0; lie < LIES_; lie++)
			if (can_be_told(&w.reads[i], (enum lie)lie))
				one_run(row, &w.reads[i], (enum lie)lie, &clean);
}

static void all_plans(const struct truth_row *row)
{
	struct truth_plan clean;

	truth_world(row);
	truth_plan(row, NULL, LIES_, &clean);
	cr_expect(clean.ok, "%s: %s / %s", row->kind, clean.e.detail, clean.e.fix);
	cr_expect_gt(w.n_reads, 0, "%s reads nothing", row->kind);
	for (size_t i = 0; i < w.n_reads; i++)
		for (int lie = 0; lie < LIES_; lie++)
			if (can_be_told(&w.reads[i], (enum lie)lie))
				one_plan(row, &w.reads[i], (enum lie)lie, &clean);
}

static bool has_row(const char *kind)
{
	for (const struct truth_row *row = truth_rows; row->kind; row++)
		if (streq(row->kind, kind))
			return true;
	return false;
}

Test(cloud_truth, no_silence_is_taken_for_a_yes)
{
	truth_build();
	for (const struct kind *const *k = kinds; *k; k++)
		cr_expect(has_row((*k)->name), "%s is not looked at", (*k)->name);
	for (const struct truth_row *row = truth_rows; row->kind; row++) {
		all_plans(row);
		all_runs(row);
	}
	for (size_t i = 0; i < N_SILENT; i++)
		cr_expect(silent[i].used, "%s %s is said after all: take the row out",
			  silent[i].step, silent[i].call);
	truth_free();
}
