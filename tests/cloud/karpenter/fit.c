/* Which group takes a pod. Words of refusals are those of upstream Karpenter. */
#include <string.h>

#include "tests/cloud/ec2.h"
#include "tests/cloud/karpenter/karpenter.h"

static void put_label(json_t *node, const char *key, const char *value)
{
	json_object_set_new(json_at(node, "metadata.labels"), key, json_string(value));
}

static void put_number(struct karp *k, json_t *to, const char *key, int64_t n,
		       const char *unit)
{
	if (n > 0)
		json_object_set_new(
			to, key,
			json_string(arena_printf(k->a, "%lld%s", (long long)n, unit)));
}

static json_t *capacity_of(struct karp *k, const char *type)
{
	const struct ec2_type *t = ec2_type_find(type);
	json_t *cap = json_object();

	put_number(k, cap, "cpu", t ? t->vcpus : 0, "");
	put_number(k, cap, "memory", t ? t->memory_mib : 0, "Mi");
	put_number(k, cap, "pods", 110, "");
	put_number(k, cap, "nvidia.com/gpu", t ? t->gpus : 0, "");
	put_number(k, cap, "aws.amazon.com/neuron", t ? t->neurons : 0, "");
	put_number(k, cap, "vpc.amazonaws.com/efa", t ? t->efas : 0, "");
	return cap;
}

static const char *zone_of(struct karp *k, const json_t *group)
{
	const json_t *vpc = sm_group_vpc(k->w->cluster, group);

	return json_str_or(ec2_subnet(k->w->cloud, json_str_at(vpc, "Subnets.0")),
			   "AvailabilityZone", "");
}

json_t *karp_node_of(struct karp *k, const json_t *pool, const json_t *group)
{
	const char *type = sm_group_type(group);
	json_t *taints = json_at(pool, "spec.template.spec.taints"), *t;
	json_t *node = json_packf(k->a, "{s:{s:s,s:{}},s:{s:[]},s:{s:o}}", "metadata",
				  "name", "to be made", "labels", "spec", "taints",
				  "status", "allocatable", capacity_of(k, type));
	size_t i;

	put_label(node, "node.kubernetes.io/instance-type", type);
	put_label(node, "topology.kubernetes.io/zone", zone_of(k, group));
	put_label(node, "kubernetes.io/arch", "amd64");
	put_label(node, "kubernetes.io/os", "linux");
	put_label(node, "sagemaker.amazonaws.com/compute-type", "hyperpod");
	put_label(node, "sagemaker.amazonaws.com/node-health-status", "Schedulable");
	put_label(node, "sagemaker.amazonaws.com/instance-group-name",
		  json_str_or(group, "InstanceGroupName", ""));
	put_label(node, "karpenter.sh/capacity-type",
		  json_at(group, "CapacityRequirements.Spot") ? "spot" : "on-demand");
	put_label(node, "karpenter.sh/nodepool", json_str_or(pool, "metadata.name", ""));
	json_object_update(json_at(node, "metadata.labels"),
			   json_at(group, "KubernetesConfig.DesiredLabels"));
	json_object_update(json_at(node, "metadata.labels"),
			   json_at(pool, "spec.template.metadata.labels"));
	json_array_foreach(taints, i, t)
		json_array_append(json_at(node, "spec.taints"), t);
	return node;
}

/* The pool's requirements are what a node selector's expressions are. */
static bool meets(struct karp *k, const json_t *pool, const json_t *node)
{
	const json_t *spec = json_packf(
		k->a, "{s:{s:{s:{s:[{s:O}]}}}}", "affinity", "nodeAffinity",
		"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms",
		"matchExpressions", json_at(pool, "spec.template.spec.requirements"));

	return ks_node_selected(spec, node);
}

/* NULL: one node more stays within the pool's limits; else the resource. */
static const char *over_limit(struct karp *k, const json_t *pool, const json_t *node)
{
	const json_t *sum = karp_sum(k, pool), *q;
	const char *name;

	json_object_foreach(json_at(pool, "spec.limits"), name, q) {
		double limit = 0, more = 0;

		if (!ks_quantity(q, &limit))
			continue;
		if (streq(name, "nodes"))
			more = 1;
		else
			(void)ks_quantity(
				json_object_get(json_at(node, "status.allocatable"),
						name),
				&more);
		if (json_number_value(json_object_get(sum, name)) + more > limit)
			return name;
	}
	return NULL;
}

static json_t *group_of(struct karp *k, const json_t *class, size_t i)
{
	return sm_group(k->w->cluster,
			json_string_value(json_array_get(
				json_at(class, "spec.instanceGroups"), i)));
}

/* NULL: *ret is the pool's offer for the pod; else why there is none. */
static const char *try_pool(struct karp *k, const json_t *pod, const json_t *pool,
			    struct karp_offer *ret)
{
	const json_t *class = karp_class_of(k, pool), *spec = json_at(pod, "spec");
	const char *why =
		"nodepool requirements filtered out all available instance types";
	json_t *group;

	for (size_t i = 0; (group = group_of(k, class, i)); i++) {
		json_t *node = karp_node_of(k, pool, group);
		const char *no;

		if (!meets(k, pool, node))
			continue;
		no = ks_node_refuses(&k->k, k->a, spec, node);
		if (no)
			why = arena_printf(k->a,
					   "no instance type satisfied resources and "
					   "requirements (%s: %s)",
					   sm_group_type(group), no);
		else if (over_limit(k, pool, node))
			why = arena_printf(
				k->a,
				"all available instance types exceed limits for nodepool: \"%s\"",
				json_str_or(pool, "metadata.name", ""));
		else {
			*ret = (struct karp_offer){pool, group, node};
			return NULL;
		}
	}
	return why;
}

static int64_t weight_of(const json_t *pool)
{
	return json_int_or(pool, "spec.weight", 0);
}

bool karp_fit(struct karp *k, const json_t *pod, struct karp_offer *ret,
	      const char **ret_why)
{
	const char *key, *all = "";
	json_t *pool;

	*ret = (struct karp_offer){NULL, NULL, NULL};
	json_object_foreach(ks_all(&k->k, KARP_POOLS), key, pool) {
		struct karp_offer o;
		const char *why;

		if (!karp_is(pool, "Ready", "True") ||
		    json_at(pool, "metadata.deletionTimestamp"))
			continue;
		why = try_pool(k, pod, pool, &o);
		if (why)
			all = arena_printf(k->a,
					   "%s%sincompatible with nodepool \"%s\", %s",
					   all, *all ? "; " : "Failed to schedule pod, ",
					   json_str_or(pool, "metadata.name", ""), why);
		else if (!ret->pool || weight_of(pool) > weight_of(ret->pool))
			*ret = o;
	}
	*ret_why = all;
	return ret->pool != NULL;
}
