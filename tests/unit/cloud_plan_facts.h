/*
 * cloud_plan_facts.h - facts of the simulated cloud, and what a plan says of them.
 *
 * A row names a kind with its input, and one fact. The plan is made with the fact as it
 * is well, then with the fact turned round, then with the reads that tell it refused:
 * the words of the row are there in the second only, and in the third the plan says
 * that it does not know.
 */
#ifndef INSTANTSTART_TESTS_UNIT_CLOUD_PLAN_FACTS_H
#define INSTANTSTART_TESTS_UNIT_CLOUD_PLAN_FACTS_H

#include "core/kube/manifest.h"
#include "tests/unit/cloud_features_world.h"

enum { FACT_WORDS = 3, FACT_READS = 2 };

struct facts_world {
	struct features_world w; /* EKS cluster "demo", HyperPod cluster "pod" */
	struct arena arena;      /* of one plan */
	const char *vpc, *plane1, *plane2, *nodes;
	json_t *saved;
};

struct fact {
	const char *name;
	const char *kind, *target;
	json_t *(*input)(struct facts_world *f);
	void (*turn)(struct facts_world *f);
	const char *says[FACT_WORDS];
	/* "service:Operation" or "kube:verb plural" of what tells the fact; NULL: of no
	 * read. */
	const char *reads[FACT_READS];
};

static struct facts_world facts;

/* What Helm would render of the charts: as much of them as is looked at. */
static const char fact_kuberay[] = "---\n"
				   "# Source: kuberay-operator/templates/sa.yaml\n"
				   "apiVersion: v1\n"
				   "kind: ServiceAccount\n"
				   "metadata:\n"
				   "  name: kuberay-operator\n"
				   "---\n"
				   "kind: ClusterRole\n"
				   "apiVersion: rbac.authorization.k8s.io/v1\n"
				   "metadata:\n"
				   "  labels:\n"
				   "    name: not-this\n"
				   "  name: \"kuberay-operator\" # ours\n"
				   "rules: []\n"
				   "---\n"
				   "apiVersion: apps/v1\n"
				   "kind: Deployment\n"
				   "metadata:\n"
				   "  name: kuberay-operator\n"
				   "  namespace: kuberay-operator\n"
				   "spec:\n"
				   "  template:\n"
				   "    metadata:\n"
				   "      name: pod\n";

static inline void fact_helm(struct helm *h, const struct kube_target *t,
			     const char *token, const struct helm_request *r,
			     struct arena *a, struct helm_result *ret)
{
	(void)h;
	(void)t;
	(void)token;
	*ret = (struct helm_result){.ok = r->verb == HELM_TEMPLATE, .output = ""};
	if (ret->ok && streq(r->release, "kuberay-operator"))
		ret->out = manifest_objects(str_of(fact_kuberay), r->ns, a);
	else if (ret->ok)
		ret->out = manifest_objects(STR(""), r->ns, a);
}

static struct helm fact_renderer = {.run = fact_helm, .timeout_ms = 10000};

static inline const char *fact_subnet(const char *cidr, const char *zone)
{
	struct lab *l = &facts.w.s.l;
	const char *id = json_str_at(lab_call(l, "ec2", "CreateSubnet", "{s:s,s:s,s:s}",
					      "VpcId", facts.vpc, "CidrBlock", cidr,
					      "AvailabilityZone", zone),
				     "Subnet.SubnetId");

	lab_wait(l, 5000);
	lab_call(l, "ec2", "AssociateRouteTable", "{s:s,s:s}", "RouteTableId",
		 lab_output(facts.w.s.stack, "PrivateRouteTable1Id"), "SubnetId", id);
	return id;
}

static inline void facts_build(void)
{
	world_build(&facts.w);
	arena_init(&facts.arena, 0);
	cloud_configure(facts.w.s.l.cloud, json_packf(&facts.w.s.l.arena, "{s:{s:i}}",
						      "quota", "L-6A74A6A9", 50));
	facts.vpc = lab_output(facts.w.s.stack, "VpcId");
	facts.plane1 = fact_subnet("10.90.64.0/24", "us-west-2a");
	facts.plane2 = fact_subnet("10.90.65.0/24", "us-west-2b");
	facts.nodes = fact_subnet("10.90.80.0/20", "us-west-2a");
	facts.w.o.cfg.kube_image = "public.ecr.aws/probe:1";
	facts.w.o.cfg.kubernetes_oldest = "1.28";
	facts.w.o.cfg.kubernetes_newest = "1.35";
	facts.w.o.r.helm = &fact_renderer;
	facts.w.o.where.charts = json_packf(
		&facts.w.s.l.arena, "[{s:s,s:s,s:s},{s:s,s:s,s:s},{s:s,s:s,s:s}]",
		"component", "kuberay", "chart", "/c/kuberay", "version", "1",
		"component", "load_balancers", "chart", "/c/balancers", "version", "1",
		"component", "hyperpod", "chart", "/c/hyperpod", "version", "1");
	lab_wait(&facts.w.s.l, 60000);
	facts.saved = cloud_save(facts.w.s.l.cloud);
}

static inline void facts_free(void)
{
	json_decref(facts.saved);
	arena_free(&facts.arena);
	world_free(&facts.w);
}

static inline void facts_back(void)
{
	cloud_restore(facts.w.s.l.cloud, facts.saved);
	cloud_advance(facts.w.s.l.cloud);
	facts.w.o.cfg.image_mirror = NULL;
}

/* The plan, or why there is none, as one text. */
static inline const char *fact_plan(const struct fact *f)
{
	struct runner *r = &facts.w.o.r;
	json_t *plan = NULL;
	struct err e = {0};
	const char *text;

	arena_reset(&facts.arena);
	if (runner_plan(r, &facts.arena, kind_find(kinds, f->kind), f->target,
			json_own(&facts.arena, f->input(&facts)), &plan, &e))
		return json_text(&facts.arena, plan);
	text = arena_printf(&facts.arena, "refused: %s / %s / %s / %s / %s", e.detail,
			    e.field, e.seen, e.expected, e.fix);
	for (size_t i = 0; i < e.n_causes; i++)
		text = arena_printf(&facts.arena, "%s / %s", text, e.cause[i].message);
	return text;
}

static inline void deny(const char *read)
{
	struct str rest = str_of(read);
	const char *service = str_dup(&facts.arena, str_cut(&rest, ':'));
	const bool kube = streq(service, "kube");
	json_t *rule =
		json_pack("{s:s*, s:s, s:s, s:i}", "service", kube ? NULL : service,
			  kube ? "kube" : "op", str_dup(&facts.arena, rest), "fault",
			  "denied", "times", 1000);

	cr_assert(cloud_add_fault(facts.w.s.l.cloud, rule), "%s", read);
	json_decref(rule);
}

static inline void fact_holds(const struct fact *f)
{
	const char *text;

	facts_back();
	text = fact_plan(f);
	cr_expect(strstr(text, "\"steps\""), "%s %s: no plan: %s", f->kind, f->name,
		  text);
	for (size_t i = 0; i < FACT_WORDS && f->says[i]; i++)
		cr_expect_not(strstr(text, f->says[i]), "%s %s: <%s> in: %s", f->kind,
			      f->name, f->says[i], text);
	f->turn(&facts);
	text = fact_plan(f);
	for (size_t i = 0; i < FACT_WORDS && f->says[i]; i++)
		cr_expect(strstr(text, f->says[i]), "%s %s: no <%s> in: %s", f->kind,
			  f->name, f->says[i], text);
	for (size_t i = 0; i < FACT_READS && f->reads[i]; i++)
		deny(f->reads[i]);
	if (f->reads[0]) {
		text = fact_plan(f);
		cr_expect(strstr(text, "ot known: ") || strstr(text, "refused: "),
			  "%s %s: unread, and said nothing: %s", f->kind, f->name, text);
		cr_expect_not(strstr(text, f->says[0]), "%s %s: <%s> unread: %s", f->kind,
			      f->name, f->says[0], text);
	}
	cloud_clear_faults(facts.w.s.l.cloud);
}

#define FACTS_HOLD(rows)                                                                 \
	do {                                                                             \
		for (size_t fact_i = 0; fact_i < sizeof(rows) / sizeof(*(rows));         \
		     fact_i++)                                                           \
			fact_holds(&(rows)[fact_i]);                                     \
	} while (0)

#endif
