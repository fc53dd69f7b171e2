/*
 * Kinds of several objects, with somebody else's at each place: nothing is changed
 * before that is refused. Every kind is walked as its plan is, from its first row.
 */
#include "tests/unit/domain_scene.h"

/* An object that may be there already; `theirs` is its answer when it is not ours. */
struct place {
	const char *what, *call, *theirs;
};

struct tour {
	const char *kind, *input;
	const char *answers; /* of a world in which the kind has something to do */
	struct place places[6];
};

#define THEIRS "'labels':{'app.kubernetes.io/managed-by':'helm'}"
#define OTHER                                                                            \
	"'labels':{'app.kubernetes.io/managed-by':'instantstart'"                        \
	",'instantstart/installation':'here',"                                           \
	"'instantstart/cluster':'other'}"
#define EKS                                                                              \
	"'eks:DescribeCluster':{'cluster':{'name':'demo','status':'ACTIVE','endpoint':"  \
	"'https://k','arn':'arn:aws:eks:us-west-2:1:cluster/demo','accessConfig':{"      \
	"'authenticationMode':'API'},'certificateAuthority':{'data':'eA=='}}}"
#define OURS                                                                             \
	"'labels':{'app.kubernetes.io/managed-by':'instantstart'"                        \
	",'instantstart/installation':'here'}"
#define TAGS(cluster)                                                                    \
	"'Tags':[{'Key':'instantstart:cluster','Value':'" cluster                        \
	"'},{'Key':'instantstart:operation','Value':'op_root'}]"

static const struct tour walks[] = {
	{.kind = "create_s3_storage",
	 .input = "{'bucket':'b','name':'data','namespace':'team'}",
	 .answers = "{" EKS ",'s3:HeadBucket':{},'iam:GetRole':{'Role':{" TAGS(
		 "demo") "}},'kubernetes:list persistentvolumes':{'items':[]}}",
	 .places =
		 {
			 {"claim", "kubernetes:get persistentvolumeclaims",
			  "{'metadata':{'name':'data'," THEIRS "}}"},
			 {"claim of another cluster",
			  "kubernetes:get persistentvolumeclaims",
			  "{'metadata':{'name':'data'," OTHER "}}"},
			 {"volume", "kubernetes:list persistentvolumes",
			  "{'items':[{'metadata':{'name':'is-demo-team-data'," THEIRS
			  "}}]}"},
			 {"volume of another cluster",
			  "kubernetes:list persistentvolumes",
			  "{'items':[{'metadata':{'name':'is-demo-team-data'," OTHER
			  "}}]}"},
			 {"job", "kubernetes:get jobs",
			  "{'metadata':{'name':'is-probe-data'," THEIRS "}}"},
		 }},
	{.kind = "delete_storage",
	 .input = "{'name':'data','namespace':'team'}",
	 .answers = "{" EKS ",'kubernetes:list pods':{'items':[]},'kubernetes:get "
		    "persistentvolumeclaims':{'metadata':{'name':'data'," OURS
		    "}},'kubernetes:get persistentvolumes':{'metadata':{'name':"
		    "'is-demo-team-data'," OURS
		    "}},'iam:GetRolePolicy':{'PolicyDocument':'{}'}}",
	 .places =
		 {
			 {"claim", "kubernetes:get persistentvolumeclaims",
			  "{'metadata':{'name':'data'," THEIRS "}}"},
			 {"volume", "kubernetes:get persistentvolumes",
			  "{'metadata':{'name':'is-demo-team-data'," THEIRS "}}"},
			 {"volume of another cluster", "kubernetes:get persistentvolumes",
			  "{'metadata':{'name':'is-demo-team-data'," OTHER "}}"},
		 }},
};

struct seen {
	int calls;
	bool refused;
	const char *step;
};

static void play_row(struct step_ctx *c, const json_t *answers, struct seen *ret)
{
	struct exchange x = {.via = VIA_NONE};

	c->seen = json_new_object(c->arena);
	c->reads = 0;
	c->item = NULL;
	c->verdict = (struct verdict){.kind = VERDICT_NONE};
	scene_observe(c, answers);
	if (c->verdict.kind == VERDICT_NONE && c->step->plan)
		c->step->plan(c, &x);
	if (c->verdict.kind == VERDICT_FAIL) {
		ret->refused = c->verdict.error.code == ERR_FOREIGN_OBJECT;
		ret->step = c->step->name;
		cr_expect(ret->refused, "%s: %s", c->step->name, c->verdict.error.detail);
	}
	ret->calls += c->verdict.kind == VERDICT_NONE && x.via != VIA_NONE &&
		      exchange_mutates(&x);
}

static struct seen play(const struct tour *w, const struct place *theirs)
{
	const struct kind *k = kind_find(kinds, w->kind);
	const struct where where = {.account = "123456789012",
				    .installation = "here",
				    .region = "us-west-2",
				    .partition = "aws",
				    .caller_arn = "arn:aws:iam::123456789012:role/us"};
	static struct config cfg;
	struct arena a;
	struct seen ret = {0};
	json_t *answers;

	arena_init(&a, 0);
	cfg.poll_scale_percent = 100;
	cfg.kube_image = "busybox";
	answers = scene_tree(&a, w->answers);
	if (theirs)
		json_object_set(answers, theirs->call, scene_tree(&a, theirs->theirs));
	struct step_ctx c = {.arena = &a,
			     .cfg = &cfg,
			     .where = &where,
			     .op_id = "op_1",
			     .root_id = "op_root",
			     .target = "demo",
			     .input = scene_tree(&a, w->input),
			     .data = json_new_object(&a),
			     .now_ms = scene_now_ms,
			     .step_since_ms = scene_now_ms,
			     .planning = true,
			     .resources = json_new_list(&a),
			     .catalog = json_new_list(&a),
			     .events = json_new_list(&a)};

	cr_assert(k, "no kind %s", w->kind);
	for (c.step = k->steps; c.step->name && !ret.step; c.step++)
		play_row(&c, answers, &ret);
	arena_free(&a);
	return ret;
}

Test(domain_foreign, nothing_is_changed_before_what_is_somebody_elses_is_refused)
{
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		const struct tour *w = &walks[i];
		struct seen s = play(w, NULL);

		cr_expect_gt(s.calls, 1, "%s makes %d calls", w->kind, s.calls);
		cr_expect_not(s.refused);
		for (const struct place *p = w->places; p->what; p++) {
			s = play(w, p);
			cr_expect(s.refused, "%s: a foreign %s is taken", w->kind,
				  p->what);
			cr_expect_eq(
				s.calls, 0,
				"%s: %d calls before the foreign %s is refused at %s",
				w->kind, s.calls, p->what, s.step ? s.step : "?");
		}
	}
}
