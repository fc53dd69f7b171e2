/* cloud_features_world.h - a cluster with nodes, and what features leave in it. */
#ifndef INSTANTSTART_TESTS_UNIT_CLOUD_FEATURES_WORLD_H
#define INSTANTSTART_TESTS_UNIT_CLOUD_FEATURES_WORLD_H

#include "core/domain/feature/feature.h"
#include "tests/unit/cloud_operate.h"
#include "tests/unit/cloud_site.h"

enum { SETS = 1 << FEATURES_ };

struct features_world {
	struct site s;
	struct operate o;
	json_t *save[SETS];     /* of the cloud with those features on */
	const char *sign[SETS]; /* of that */
};

static inline void until_nodes(struct features_world *w)
{
	struct lab *l = &w->s.l;
	json_t *out = NULL;

	for (int i = 0; i < 400; i++) {
		out = lab_call(l, "sagemaker", "DescribeCluster", "{s:s}", "ClusterName",
			       "pod");
		if (streq(json_str_at(out, "ClusterStatus"), "InService") &&
		    json_int_or(out, "InstanceGroups.0.CurrentCount", 0) == 2)
			break;
		lab_wait(l, 5000);
	}
	cr_assert_str_eq(json_str_or(out, "ClusterStatus", ""), "InService");
	lab_wait(l, 120000);
}

static inline void world_build(struct features_world *w)
{
	build(&w->s, "sagemaker-demo-scripts");
	cloud_configure(w->s.l.cloud,
			json_packf(&w->s.l.arena, "{s:{s:i}}", "quota", "L-4C3F99F6", 8));
	lab_call(&w->s.l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", "coredns");
	cr_assert(cloud_invoke(w->s.l.cloud, &w->s.l.arena, "sagemaker", "CreateCluster",
			       json_own(&w->s.l.arena,
					request(&w->s,
						group(&w->s, "gpu", "ml.g5.12xlarge", 2),
						true)),
			       NULL, NULL, &w->s.l.code, &w->s.l.message),
		  "%s: %s", w->s.l.code, w->s.l.message);
	put_agent(&w->s.l);
	until_nodes(w);
	operate_init(&w->o, &w->s.l);
}

static inline void world_free(struct features_world *w)
{
	for (int i = 0; i < SETS; i++)
		json_decref(w->save[i]);
	operate_free(&w->o);
	lab_stop(&w->s.l);
}

/* --- the signature ----------------------------------------------------------------- */

static inline const json_t *tags_without(struct arena *a, const json_t *tags)
{
	json_t *t = json_own(a, json_object());
	size_t i;
	json_t *one;
	const char *key;

	json_array_foreach(tags, i, one)
		json_object_set(t, json_str_or(one, "Key", "?"),
				json_object_get(one, "Value"));
	if (json_is_object(tags))
		json_object_foreach((json_t *)(uintptr_t)tags, key, one)
			json_object_set(t, key, one);
	json_object_del(t, "instantstart:operation");
	/* Whichever came first has brought it. */
	if (json_object_get(t, "instantstart:feature"))
		json_object_set_new(t, "instantstart:feature", json_string("some"));
	return t;
}

static inline void sign_kube(struct features_world *w, struct arena *a, json_t *all)
{
	static const char *const kinds_of[] = {
		"/serviceaccounts",
		"apps/deployments",
		"apps/daemonsets",
		"/services",
		"storage.k8s.io/csidrivers",
		"admissionregistration.k8s.io/validatingwebhookconfigurations"};
	const char *name, *key;
	json_t *server, *o;

	json_object_foreach(cloud_table(w->s.l.cloud, "kube"), name, server)
		for (size_t i = 0; i < sizeof(kinds_of) / sizeof(kinds_of[0]); i++)
			json_object_foreach(
				json_object_get(json_object_get(server, "objects"),
						kinds_of[i]),
				key, o)
				if (!strstr(key, "/default")) /* of a namespace */
					json_object_set_new(
						all,
						arena_printf(a, "%s %s", kinds_of[i],
							     key),
						json_pack(
							"{s:O*}", "notes",
							json_at(o,
								"metadata.annotations")));
}

static inline void sign_aws(struct features_world *w, struct arena *a, json_t *all)
{
	struct cloud *c = w->s.l.cloud;
	const char *id;
	json_t *o;

	json_object_foreach(cloud_table(c, "iam.role"), id, o)
		json_object_set_new(
			all, arena_printf(a, "role %s", id),
			json_pack("{s:O*, s:O*, s:O*, s:O}", "trust",
				  json_object_get(o, "_trust"), "inline",
				  json_object_get(o, "_inline"), "attached",
				  json_object_get(o, "_attached"), "tags",
				  tags_without(a, json_object_get(o, "_tags"))));
	json_object_foreach(cloud_table(c, "eks.addon"), id, o)
		json_object_set_new(
			all, arena_printf(a, "addon %s", id),
			json_pack("{s:O*, s:O*, s:O}", "status",
				  json_object_get(o, "status"), "values",
				  json_object_get(o, "configurationValues"), "tags",
				  tags_without(a, json_object_get(o, "tags"))));
	json_object_foreach(cloud_table(c, "eks.pod_identity"), id, o)
		json_object_set_new(
			all,
			arena_printf(a, "bound %s/%s", json_str_or(o, "namespace", ""),
				     json_str_or(o, "serviceAccount", "")),
			json_pack("{s:O, s:O}", "role", json_object_get(o, "roleArn"),
				  "tags", tags_without(a, json_object_get(o, "tags"))));
	json_object_foreach(cloud_table(c, "iam.oidc_provider"), id, o)
		json_object_set_new(
			all, arena_printf(a, "provider %s", id),
			json_pack("{s:O, s:O}", "clients",
				  json_object_get(o, "ClientIDList"), "tags",
				  tags_without(a, json_object_get(o, "Tags"))));
	json_object_foreach(cloud_table(c, "s3.bucket"), id, o)
		json_object_set_new(
			all, arena_printf(a, "bucket %s", id),
			json_pack("{s:O*, s:O}", "closed",
				  json_object_get(o, "_public_block"), "tags",
				  tags_without(a, json_object_get(o, "_tags"))));
}

static inline void sign_cluster(struct features_world *w, json_t *all)
{
	const json_t *c = cloud_get(w->s.l.cloud, "sagemaker.cluster", "pod");
	const bool tiered = streq(json_str_at(c, "TieredStorageConfig.Mode"), "Enable");
	const bool scales = streq(json_str_at(c, "AutoScaling.Mode"), "Enable");

	json_object_set_new(
		all, "cluster",
		json_pack("{s:O*, s:O*, s:s, s:i}", "tiered",
			  tiered ? json_object_get(c, "TieredStorageConfig") : NULL,
			  "scales", scales ? json_object_get(c, "AutoScaling") : NULL,
			  "status", json_str_or(c, "ClusterStatus", ""), "nodes",
			  (int)json_int_or(c, "InstanceGroups.0.TargetCount", 0)));
}

/* Everything that features may touch, but for ids and the operation's name. What the
 * services leave behind (definitions, namespaces) is not ours. */
static inline const char *world_sign(struct features_world *w)
{
	struct arena *a = &w->s.l.arena;
	json_t *all = json_new_object(a);

	sign_aws(w, a, all);
	sign_kube(w, a, all);
	sign_cluster(w, all);
	return json_text(a, all);
}

static inline const char *world_difference(struct features_world *w, const char *want,
					   const char *got)
{
	size_t at = 0, from;

	while (want[at] && want[at] == got[at])
		at++;
	from = at > 120 ? at - 120 : 0;
	return arena_printf(&w->s.l.arena, "\nwant …%.300s\ngot  …%.300s", want + from,
			    got + from);
}

/* --- toggles ------------------------------------------------------------------------ */

static inline bool is_known(const struct feature *f)
{
	return kind_find(kinds, f->kind) != NULL;
}

/* Those of `named` as `on` has them. */
static inline bool world_set(struct features_world *w, unsigned named, unsigned on,
			     bool adopt, int stop_at)
{
	json_t *in = json_packf(&w->s.l.arena, "{s:s, s:b}", "hyperpod_name", "pod",
				"adopt", adopt);

	for (unsigned i = 0; i < FEATURES_; i++)
		if (named & (1U << i))
			json_object_set_new(in, features[i].name,
					    json_pack("{s:b}", "enabled", (on >> i) & 1));
	return operate(&w->o, "update_features", in, stop_at);
}

static inline void world_go(struct features_world *w, unsigned set)
{
	cloud_restore(w->s.l.cloud, w->save[set]);
	cloud_advance(w->s.l.cloud);
}

/* --- every set, by every way to it ------------------------------------------------ */

/* Of the test program: one world at a time. */
static struct features_world w;

static inline unsigned known_features(void)
{
	unsigned all = 0;

	for (unsigned i = 0; i < FEATURES_; i++)
		if (is_known(&features[i]))
			all |= 1U << i;
	return all;
}

static inline const char *names_of(unsigned set)
{
	const char *z = "{";

	for (unsigned i = 0; i < FEATURES_; i++)
		if (set & (1U << i))
			z = arena_printf(&w.s.l.arena, "%s %s", z, features[i].name);
	return arena_printf(&w.s.l.arena, "%s }", z);
}

/* The cloud is now as the set has it. */
static inline void expect_set(unsigned set, const char *how)
{
	const char *got = world_sign(&w);

	cr_assert_null(w.o.failed, "%s: %s\n%s", how, w.o.failed, w.o.log);
	cr_assert(streq(got, w.sign[set]), "%s: not as %s has it:%s\n%s", how,
		  names_of(set), world_difference(&w, w.sign[set], got), w.o.log);
}

static inline void keep(unsigned set)
{
	w.save[set] = cloud_save(w.s.l.cloud);
	w.sign[set] = world_sign(&w);
}

/* Every set by every way to it, one feature at a time. */
static inline void learn(void)
{
	const unsigned all = known_features();

	world_build(&w);
	keep(0);
	for (unsigned set = 0; set < SETS; set++) {
		for (unsigned i = 0; i < FEATURES_ && w.save[set]; i++) {
			const unsigned f = 1U << i, to = set | f;

			if ((set & f) || !(all & f))
				continue;
			world_go(&w, set);
			world_set(&w, f, f, false, 0);
			cr_assert_null(w.o.failed, "enable %s from %s: %s\n%s",
				       features[i].name, names_of(set), w.o.failed,
				       w.o.log);
			cr_assert_gt(w.o.mutations, 0);
			if (!w.save[to])
				keep(to);
			else
				expect_set(to,
					   arena_printf(&w.s.l.arena, "enable %s from %s",
							features[i].name, names_of(set)));
		}
	}
}

#endif
