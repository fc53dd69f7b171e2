#include "core/domain/stake/reference.h"

#include "core/domain/stake/feature_users.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static bool is_type(const json_t *thing, const char *type)
{
	return streq(json_str_at(thing, "type"), type);
}

static bool any_of(const json_t *things, const char *type)
{
	return json_find(things, "type", type) != NULL;
}

static const char *name_of(const json_t *thing)
{
	return json_str_or(thing, "name", "?");
}

static bool list_kube(struct step_ctx *c, struct exchange *x, const char *api,
		      const char *plural, const char *ns)
{
	return read_kube(
		c, x, arena_printf(c->arena, "refs/%s/%s", plural, ns ? ns : ""),
		&(struct kube_request){
			.verb = KUBE_LIST, .api = api, .plural = plural, .ns = ns});
}

static json_t *listed(const struct step_ctx *c, const char *plural, const char *ns)
{
	const char *key = arena_printf(c->arena, "refs/%s/%s", plural, ns ? ns : "");

	return json_at(saw(c, key), "items");
}

static const char *full_name(struct step_ctx *c, const json_t *object)
{
	const char *ns = json_str_at(object, "metadata.namespace");

	return arena_printf(c->arena, "%s%s%s", ns ? ns : "", ns ? "/" : "",
			    json_str_or(object, "metadata.name", "?"));
}

/* --- what runs on a node, and what is kept there ----------------------------------- */

json_t *reference_nodes(struct step_ctx *c, const json_t *things)
{
	json_t *names = json_new_list(c->arena), *v;
	size_t i;

	json_array_foreach(things, i, v)
		if (is_type(v, "node") && json_str_at(v, "kube"))
			json_push(names, json_string(json_str_at(v, "kube")));
	return names;
}

static bool read_pods(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	return stake_read_pods(c, x, reference_nodes(c, things));
}

/* A toleration without a key tolerates all; one without an effect, each effect. */
static bool tolerates(const json_t *pod, const json_t *taint)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_at(pod, "spec.tolerations"), i, t) {
		const char *key = json_str_or(t, "key", "");
		const char *effect = json_str_or(t, "effect", "");
		const bool exists = streq(json_str_or(t, "operator", "Equal"), "Exists");

		if (effect[0] && !streq(effect, json_str_or(taint, "effect", "")))
			continue;
		if (!key[0] && exists)
			return true;
		if (streq(key, json_str_or(taint, "key", "")) &&
		    (exists ||
		     streq(json_str_or(t, "value", ""), json_str_or(taint, "value", ""))))
			return true;
	}
	return false;
}

/* With taints the pods that do not tolerate one of them end, else all. */
static bool ends(const json_t *pod, const json_t *taints)
{
	size_t i;
	json_t *t;

	if (!taints)
		return true;
	json_array_foreach(taints, i, t)
		if (!tolerates(pod, t))
			return true;
	return false;
}

/* The pods of the node that end; of the arena. */
static json_t *ending(struct step_ctx *c, const json_t *thing, const json_t *pods)
{
	json_t *list = json_new_list(c->arena), *pod;
	const char *kube = json_str_at(thing, "kube");
	size_t i;

	json_array_foreach(kube ? json_object_get(pods, kube) : NULL, i, pod)
		if (ends(pod, json_at(thing, "evicts")))
			json_array_append(list, pod);
	return list;
}

static void find_pods(struct step_ctx *c, const json_t *thing, const json_t *pods,
		      json_t *list)
{
	size_t i;
	json_t *pod;

	json_array_foreach(ending(c, thing, pods), i, pod)
		json_push(list, json_string(full_name(c, pod)));
}

static void find_volumes(struct step_ctx *c, const json_t *thing, const json_t *pods,
			 json_t *list)
{
	size_t i;
	json_t *pod;

	if (json_bool_or(thing, "keeps_disks", false) || json_at(thing, "evicts"))
		return;
	json_array_foreach(ending(c, thing, pods), i, pod)
		pod_local_volumes(pod, list);
}

/* Volumes that are a disk of one node, which a claim waits for in vain afterwards. */
static bool read_volumes(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	return json_array_size(reference_nodes(c, things)) > 0 &&
	       list_kube(c, x, "v1", "persistentvolumes", NULL);
}

static bool is_on_node(const json_t *volume, const char *kube)
{
	const json_t *terms =
		json_at(volume, "spec.nodeAffinity.required.nodeSelectorTerms");
	size_t i, k;
	json_t *term, *e;

	json_array_foreach(terms, i, term)
		json_array_foreach(json_at(term, "matchExpressions"), k, e)
			if (streq(json_str_at(e, "key"), "kubernetes.io/hostname") &&
			    texts_have(json_at(e, "values"), kube))
				return true;
	return false;
}

static void find_claims(struct step_ctx *c, const json_t *thing, const json_t *pods,
			json_t *list)
{
	const char *kube = json_str_at(thing, "kube");
	size_t i;
	json_t *v;

	(void)pods;
	if (!kube || json_bool_or(thing, "keeps_disks", false) ||
	    json_at(thing, "evicts"))
		return;
	json_array_foreach(listed(c, "persistentvolumes", NULL), i, v)
		if (json_str_at(v, "spec.claimRef.name") && is_on_node(v, kube))
			json_push(list,
				  json_sprintf(
					  "%s/%s",
					  json_str_or(v, "spec.claimRef.namespace", "?"),
					  json_str_at(v, "spec.claimRef.name")));
}

/* --- what the autoscaler has of a group -------------------------------------------- */

static bool read_classes(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	return any_of(things, "instance_group") &&
	       list_kube(c, x, "karpenter.sagemaker.amazonaws.com/v1",
			 "hyperpodnodeclasses", NULL);
}

static bool read_pools(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	return any_of(things, "instance_group") &&
	       json_array_size(listed(c, "hyperpodnodeclasses", NULL)) > 0 &&
	       list_kube(c, x, "karpenter.sh/v1", "nodepools", NULL);
}

static bool lists(const json_t *class, const json_t *thing)
{
	return texts_have(json_at(class, "spec.instanceGroups"), name_of(thing));
}

static void find_classes(struct step_ctx *c, const json_t *thing, const json_t *pods,
			 json_t *list)
{
	size_t i;
	json_t *v;

	(void)pods;
	json_array_foreach(listed(c, "hyperpodnodeclasses", NULL), i, v)
		if (lists(v, thing))
			json_push(list, json_string(full_name(c, v)));
}

static void find_pools(struct step_ctx *c, const json_t *thing, const json_t *pods,
		       json_t *list)
{
	const json_t *pools = listed(c, "nodepools", NULL);
	size_t i, k;
	json_t *class, *v;

	(void)pods;
	json_array_foreach(listed(c, "hyperpodnodeclasses", NULL), i, class)
		json_array_foreach(pools, k, v)
			if (lists(class, thing) &&
			    streq(json_str_at(v, "spec.template.spec.nodeClassRef.name"),
				  json_str_at(class, "metadata.name")))
				json_push(list, json_string(full_name(c, v)));
}

/* --- what is made to use a storage -------------------------------------------------- */

static const struct workload {
	const char *api, *plural, *spec; /* where its pods are described */
} workloads[] = {
	{"apps/v1", "deployments", "spec.template.spec"},
	{"apps/v1", "statefulsets", "spec.template.spec"},
	{"apps/v1", "daemonsets", "spec.template.spec"},
	{"batch/v1", "cronjobs", "spec.jobTemplate.spec.template.spec"},
};
enum { N_WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

static bool read_workloads(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	const json_t *storage = json_find(things, "type", "storage");

	for (size_t i = 0; storage && i < N_WORKLOADS; i++)
		if (list_kube(c, x, workloads[i].api, workloads[i].plural,
			      json_str_at(storage, "namespace")))
			return true;
	return false;
}

static bool mounts(const json_t *pod_spec, const char *claim)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(pod_spec, "volumes"), i, v)
		if (streq(json_str_or(v, "persistentVolumeClaim.claimName", ""), claim))
			return true;
	return false;
}

static void find_workloads(struct step_ctx *c, const json_t *thing, const json_t *pods,
			   json_t *list)
{
	const char *ns = json_str_at(thing, "namespace");
	size_t i;
	json_t *v;

	(void)pods;
	for (size_t k = 0; k < N_WORKLOADS; k++)
		json_array_foreach(listed(c, workloads[k].plural, ns), i, v)
			if (mounts(json_at(v, workloads[k].spec), name_of(thing)))
				json_push(list, json_sprintf("%s %s", workloads[k].plural,
							     full_name(c, v)));
}

/* --- what needs a feature ----------------------------------------------------------- */

static bool read_users(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	size_t i;
	json_t *v;

	json_array_foreach(things, i, v)
		if (is_type(v, "feature") && feature_users_read(c, x, name_of(v)))
			return true;
	return false;
}

static void find_users(struct step_ctx *c, const json_t *thing, const json_t *pods,
		       json_t *list)
{
	(void)pods;
	json_array_extend(list, feature_users(c, name_of(thing)));
}

/* --- what refers to a node class ---------------------------------------------------- */

static bool read_class_pools(struct step_ctx *c, struct exchange *x, const json_t *things)
{
	return any_of(things, "node_class") &&
	       list_kube(c, x, "karpenter.sh/v1", "nodepools", NULL);
}

static void find_class_pools(struct step_ctx *c, const json_t *thing, const json_t *pods,
			     json_t *list)
{
	size_t i;
	json_t *v;

	(void)pods;
	json_array_foreach(listed(c, "nodepools", NULL), i, v)
		if (streq(json_str_at(v, "spec.template.spec.nodeClassRef.name"),
			  name_of(thing)))
			json_push(list, json_string(full_name(c, v)));
}

const struct reference references[] = {
	{"node", "pods", read_pods, find_pods},
	{"node", "local_volumes", read_pods, find_volumes},
	{"node", "claims", read_volumes, find_claims},
	{"instance_group", "node_classes", read_classes, find_classes},
	{"instance_group", "node_pools", read_pools, find_pools},
	{"storage", "workloads", read_workloads, find_workloads},
	{"feature", "workloads", read_users, find_users},
	{"node_class", "node_pools", read_class_pools, find_class_pools},
	{.type = NULL},
};
