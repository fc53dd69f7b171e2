/* HyperpodNodeClass: status of its groups; nodes that it did not ask for go. */
#include "tests/cloud/ec2.h"
#include "tests/cloud/karpenter/karpenter.h"

static const char FINALIZER[] = "karpenter.sagemaker.amazonaws.com/termination";

bool karp_is(const json_t *obj, const char *condition, const char *status)
{
	return streq(json_str_at(json_find(json_at(obj, "status.conditions"), "type",
					   condition),
				 "status"),
		     status);
}

json_t *karp_class_of(struct karp *k, const json_t *pool)
{
	return ks_get(&k->k, k->class, NULL,
		      json_str_or(pool, "spec.template.spec.nodeClassRef.name", ""));
}

static json_t *subnets_of(struct karp *k, const json_t *group)
{
	json_t *list = json_array(), *v;
	size_t i;

	json_array_foreach(json_object_get(sm_group_vpc(k->w->cluster, group), "Subnets"),
			   i, v) {
		const json_t *subnet = ec2_subnet(k->w->cloud, json_string_value(v));

		json_push(list,
			  json_pack("{s:O,s:s,s:s}", "id", v, "zone",
				    json_str_or(subnet, "AvailabilityZone", ""), "zoneId",
				    json_str_or(subnet, "AvailabilityZoneId", "")));
	}
	return list;
}

static json_t *labels_of(const json_t *group)
{
	json_t *list = json_array(), *v;
	const char *key;

	json_object_foreach(json_at(group, "KubernetesConfig.DesiredLabels"), key, v)
		json_push(list, json_pack("{s:s,s:O}", "key", key, "value", v));
	return list;
}

static json_t *types_of(const json_t *group)
{
	json_t *several = json_at(group, "InstanceRequirements.CurrentInstanceTypes");

	return several ? json_deep_copy(several)
		       : json_pack("[s]", json_str_or(group, "InstanceType", ""));
}

static json_t *row_of(struct karp *k, const json_t *group)
{
	json_t *row = json_pack("{s:s,s:o,s:o,s:o}", "name",
				json_str_or(group, "InstanceGroupName", ""),
				"instanceTypes", types_of(group), "subnets",
				subnets_of(k, group), "desiredLabels", labels_of(group));

	if (json_at(group, "CapacityRequirements.Spot"))
		json_put(row, "capacities.Spot", json_object());
	return row;
}

/* NULL: the group may be used. */
static const char *refusal(struct karp *k, const char *name, const json_t *group)
{
	const char *why = !group || streq(json_str_at(group, "Status"), "Deleting")
				  ? "was not found"
			  : json_at(group, "TrainingPlanArn") ? "has a training plan"
			  : json_len_at(group, "OnStartDeepHealthChecks")
				  ? "has deep health checks"
				  : NULL;

	return why ? arena_printf(k->a, "Instance group %s %s", name, why) : NULL;
}

static bool in_one_zone(const json_t *row)
{
	const char *zone = json_str_or(row, "subnets.0.zone", "");
	size_t i;
	json_t *s;

	json_array_foreach(json_at(row, "subnets"), i, s)
		if (!streq(json_str_at(s, "zone"), zone))
			return false;
	return true;
}

static bool has_claims(struct karp *k, const char *class)
{
	const char *key;
	json_t *claim;

	json_object_foreach(ks_all(&k->k, KARP_CLAIMS), key, claim)
		if (streq(json_str_at(claim, "spec.nodeClassRef.name"), class))
			return true;
	return false;
}

static void condition(struct karp *k, json_t *obj, const char *type, const char *reason,
		      const char *message)
{
	ks_set_condition(obj, k->k.now_ms, type, reason ? "False" : "True",
			 reason ? reason : type, message ? message : "");
}

/* A group that is listed belongs to the autoscaler: its other nodes go. */
static void clear_group(struct karp *k, json_t *group)
{
	const char *id;
	json_t *node;

	json_object_foreach(cloud_table(k->w->cloud, SM_NODES), id, node)
		if (streq(json_str_at(node, "_cluster"), k->w->name) &&
		    streq(json_str_at(node, "InstanceGroupName"),
			  json_str_at(group, "InstanceGroupName")) &&
		    !json_str_at(node, "_claim") && !sm_node_phase(node, "leaving"))
			karp_machine_end(k, node);
}

static void run_class(struct karp *k, const json_t *live)
{
	json_t *next = json_deep_copy(live), *rows = json_array(), *v;
	const char *missing = NULL, *scattered = NULL;
	size_t i;

	json_array_foreach(json_at(live, "spec.instanceGroups"), i, v) {
		const char *name = json_string_value(v);
		json_t *group = sm_group(k->w->cluster, name);
		const char *why = refusal(k, name, group);

		missing = missing ? missing : why;
		if (!group)
			continue;
		json_push(rows, row_of(k, group));
		if (!in_one_zone(json_array_get(rows, json_array_size(rows) - 1)))
			scattered = arena_printf(
				k->a, "Subnets of instance group %s are in several zones",
				name);
		else if (!why)
			clear_group(k, group);
	}
	json_put(next, "status.instanceGroups", rows);
	condition(k, next, "InstanceGroupReady", missing ? "InstanceGroupNotReady" : NULL,
		  missing);
	condition(k, next, "SubnetsReady", scattered ? "SubnetsNotReady" : NULL,
		  scattered);
	condition(k, next, "Ready", missing || scattered ? "UnhealthyDependents" : NULL,
		  missing ? missing : scattered);
	if (!json_at(next, "metadata.finalizers") &&
	    !json_at(next, "metadata.deletionTimestamp"))
		json_put(next, "metadata.finalizers", json_pack("[s]", FINALIZER));
	ks_update_if_changed(&k->k, k->class, live, next);
}

void karp_run_classes(struct karp *k)
{
	json_t *list = ks_snapshot(&k->k, k->a, KARP_CLASSES), *class;
	size_t i;

	json_array_foreach(list, i, class) {
		if (json_at(class, "metadata.deletionTimestamp") &&
		    !has_claims(k, json_str_or(class, "metadata.name", "")))
			ks_drop_finalizer(&k->k, k->class, class, FINALIZER);
		else
			run_class(k, class);
	}
}
