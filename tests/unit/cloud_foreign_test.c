/*
 * Somebody else's thing under each name that a kind would use: refused before the first
 * call, whatever the kind.
 *
 * Every kind is planned in a world in which it makes something. Each thing that the plan
 * makes by name is then made by somebody else, with the same request but for what says
 * that it is ours, and the kind is planned again.
 */
#include "tests/unit/cloud_truth_world.h"

/* Of a plan: what it would send, in order. */
struct sent {
	const char *step, *call;
	json_t *request; /* exchange_tree() */
};

enum { SENT_MAX = 200 };

static struct sent sent[SENT_MAX];
static int n_sent;
static bool asking;

/* The product's plan(), and a note of what it built. */
static void noting_plan(struct step_ctx *c, struct exchange *x)
{
	const bool was = asking;

	/* A row that is only asked (step/owners.h) sends nothing. */
	asking |= streq(c->step->name, "check_owners");
	truth_original(c)->plan(c, x);
	asking = was;
	if (asking || c->verdict.kind != VERDICT_NONE || x->via == VIA_NONE ||
	    !exchange_mutates(x))
		return;
	cr_assert_lt(n_sent, SENT_MAX);
	sent[n_sent++] = (struct sent){
		c->step->name, exchange_name(x, &w.arena),
		json_own(&w.arena, json_deep_copy(exchange_tree(x, &w.arena)))};
}

static bool plan(const struct truth_row *row, struct err *e)
{
	struct truth_plan p;

	n_sent = 0;
	w.answers = json_new_object(&w.arena);
	w.n_reads = 0;
	truth_plan(row, NULL, LIES_, &p);
	*e = p.e;
	return p.ok;
}

/* --- somebody else's ------------------------------------------------------------------
 */

static bool has_unknown_text(const json_t *tree)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_string(tree))
		return step_is_unknown(json_string_value(tree));
	json_object_foreach((json_t *)(uintptr_t)tree, key, v)
		if (has_unknown_text(v))
			return true;
	json_array_foreach(tree, i, v)
		if (has_unknown_text(v))
			return true;
	return false;
}

/* False: it cannot be there yet, since what it stands in is not. */
static bool make_aws(const struct sent *s, const char *service, const char *op)
{
	json_t *in = json_own(&w.arena, json_deep_copy(json_at(s->request, "input")));
	const char *code, *message;

	json_object_del(in, "Tags");
	json_object_del(in, "tags");
	if (streq(op, "CreateCluster"))
		in = json_own(
			&w.arena,
			request(&w.s, group(&w.s, "theirs", "ml.g5.12xlarge", 1), true));
	if (streq(op, "CreateCluster")) {
		json_put_str(in, "ClusterName",
			     json_str_at(s->request, "input.ClusterName"));
		json_object_del(in, "Tags");
	}
	cr_assert_not(has_unknown_text(in), "%s: %s", s->call, json_text(&w.arena, in));
	if (cloud_invoke(w.s.l.cloud, &w.arena, service, op, in, NULL, NULL, &code,
			 &message))
		return true;
	cr_assert(strstr(message, "demo"), "%s: %s: %s", s->call, code, message);
	return false;
}

static void make_kube(const struct sent *s)
{
	json_t *o = json_deep_copy(json_at(s->request, "body"));

	json_drop(o, "metadata.labels");
	/* A Job without labels gets those of its pods. */
	json_drop(o, "spec.template.metadata.labels");
	json_drop(o, "metadata.annotations");
	json_drop(o, "spec.claimRef.uid");
	if (json_str_at(s->request, "namespace"))
		json_put_str(o, "metadata.namespace",
			     json_str_at(s->request, "namespace"));
	cloud_kube_put(w.s.l.cloud, "demo", o);
}

/* What is made by name, and how. */
static const struct {
	const char *call, *service, *op;
} makers[] = {
	{"cloudformation:CreateStack", "cloudformation", "CreateStack"},
	{"iam:CreateRole", "iam", "CreateRole"},
	{"s3:CreateBucket", "s3", "CreateBucket"},
	{"sagemaker:CreateCluster", "sagemaker", "CreateCluster"},
	{"eks:CreateAddon", "eks", "CreateAddon"},
	{"iam:CreateOpenIDConnectProvider", "iam", "CreateOpenIDConnectProvider"},
	{"kubernetes:create ", NULL, NULL},
	{"kubernetes:apply ", NULL, NULL},
};

static bool make_theirs(const struct sent *s, enum truth_place place)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		if (!str_starts(s->call, makers[i].call))
			continue;
		if (makers[i].service)
			return make_aws(s, makers[i].service, makers[i].op);
		if (place == EMPTY) /* no cluster, no object */
			return false;
		make_kube(s);
		return true;
	}
	return false;
}

/* --- what is shared, or taken as it is: why
 * --------------------------------------------- */

static struct shared {
	const char *call, *why;
	int used;
} shared[] = {
	{"eks:CreateAddon",
	 "one add-on of a name serves a cluster: it is used, and said to be there", 0},
	{"iam:CreateOpenIDConnectProvider",
	 "an account has one provider for an issuer: it is used, and stays", 0},
	{"s3:CreateBucket",
	 "an empty bucket of our own account is what a stop between two calls leaves", 0},
};
enum { N_SHARED = sizeof(shared) / sizeof(shared[0]) };

static bool may_be_there(const struct sent *s)
{
	for (size_t i = 0; i < N_SHARED; i++)
		if (streq(s->call, shared[i].call)) {
			shared[i].used++;
			return true;
		}
	return false;
}

static void look_at(const struct truth_row *row)
{
	struct err e = {0};
	int n;
	struct sent all[SENT_MAX];

	truth_world(row);
	cr_assert(plan(row, &e), "%s: %s", row->kind, e.detail);
	n = n_sent;
	memcpy(all, sent, sizeof(all));
	for (int i = 0; i < n; i++) {
		bool ok;

		cloud_restore(w.s.l.cloud, w.worlds[row->place]);
		if (!make_theirs(&all[i], row->place))
			continue;
		if (!str_starts(all[i].call, "kubernetes:"))
			lab_wait(&w.s.l, 5000);
		ok = plan(row, &e);
		if (ok && may_be_there(&all[i]))
			continue;
		cr_expect(!ok && e.code == ERR_FOREIGN_OBJECT,
			  "%s, %s %s: somebody else's is not refused: %s", row->kind,
			  all[i].step, all[i].call, ok ? "ok" : e.detail);
		cr_expect_eq(n_sent, 0,
			     "%s, %s %s: refused after %d calls, the first is %s",
			     row->kind, all[i].step, all[i].call, n_sent,
			     n_sent ? sent[0].call : "");
	}
}

Test(cloud_foreign, nothing_is_sent_before_what_is_somebody_elses_is_refused)
{
	truth_build();
	truth_wrap_plans(noting_plan);
	for (const struct truth_row *row = truth_rows; row->kind; row++)
		look_at(row);
	for (size_t i = 0; i < N_SHARED; i++)
		cr_expect(shared[i].used, "%s is refused after all: take the row out",
			  shared[i].call);
	truth_free();
}
