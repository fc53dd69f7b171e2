/*
 * NodeClaim: launched, registered, initialized; or without capacity, which is kept
 * for a moment, told by an event, and made anew as long as pods wait.
 */
#include <string.h>

#include "tests/cloud/karpenter/karpenter.h"

static const char FINALIZER[] = "karpenter.sh/termination";
enum { GIVE_UP_MS = 60 * 1000 }; /* how long one without capacity is kept */

json_t *karp_machine(struct karp *k, const char *claim)
{
	const char *id;
	json_t *node;

	json_object_foreach(cloud_table(k->w->cloud, SM_NODES), id, node)
		if (streq(json_str_at(node, "_cluster"), k->w->name) &&
		    streq(json_str_at(node, "_claim"), claim))
			return node;
	return NULL;
}

void karp_machine_end(struct karp *k, json_t *machine)
{
	json_t *group =
		sm_group(k->w->cluster, json_str_or(machine, "InstanceGroupName", ""));
	int64_t target = json_int_or(group, "TargetCount", 0);

	if (sm_node_phase(machine, "leaving"))
		return;
	if (target > 0)
		json_put_int(group, "TargetCount", target - 1);
	sm_node_remove(k->w, machine);
	sm_group_count(k->w, group);
}

/* As BatchAddClusterNodes does: one more is wanted, and there is its row. */
static void order_machine(struct karp *k, const struct karp_offer *o, const char *claim)
{
	json_t *node;

	json_put_int(o->group, "TargetCount",
		     json_int_or(o->group, "TargetCount", 0) + 1);
	node = sm_node_add(k->w, o->group);
	json_put_str(node, "_claim", claim);
	json_put_str(node, "_pool", json_str_at(o->pool, "metadata.name"));
	json_object_set_new(node, "_labels",
			    json_pack("{s:O,s:s,s:s,s:O}", "karpenter.sh/nodepool",
				      json_at(o->pool, "metadata.name"),
				      "karpenter.sh/registered", "true",
				      "karpenter.sh/initialized", "true",
				      "karpenter.sh/capacity-type",
				      json_object_get(json_at(o->node, "metadata.labels"),
						      "karpenter.sh/capacity-type")));
	json_object_update(json_object_get(node, "_labels"),
			   json_at(o->pool, "spec.template.metadata.labels"));
	if (json_at(o->pool, "spec.template.spec.taints"))
		json_object_set(node, "_taints",
				json_at(o->pool, "spec.template.spec.taints"));
	sm_group_count(k->w, o->group);
}

json_t *karp_claim_new(struct karp *k, const struct karp_offer *o)
{
	const char *pool = json_str_or(o->pool, "metadata.name", "");
	const char *name = arena_printf(k->a, "%s-%s", pool, ks_suffix(&k->k, k->a, 5));
	json_t *claim = json_pack(
		"{s:s,s:s,s:{s:s,s:i,s:[s],s:{s:s,s:s},s:[o]},s:{s:O,s:O,s:s},s:{s:O,s:O}}",
		"apiVersion", "karpenter.sh/v1", "kind", "NodeClaim", "metadata", "name",
		name, "generation", 1, "finalizers", FINALIZER, "labels",
		"karpenter.sh/nodepool", pool, "node.kubernetes.io/instance-type",
		sm_group_type(o->group), "ownerReferences", ks_owner_ref(o->pool), "spec",
		"nodeClassRef", json_at(o->pool, "spec.template.spec.nodeClassRef"),
		"requirements", json_at(o->pool, "spec.template.spec.requirements"),
		"expireAfter",
		json_str_or(o->pool, "spec.template.spec.expireAfter", "720h"), "status",
		"capacity", json_at(o->node, "status.allocatable"), "allocatable",
		json_at(o->node, "status.allocatable"));

	ks_set_condition(claim, k->k.now_ms, "Launched", "Unknown",
			 "AwaitingReconciliation", "object is awaiting reconciliation");
	ks_set_condition(claim, k->k.now_ms, "Ready", "Unknown", "ReconcilingDependents",
			 "");
	ks_stamp_new(&k->k, claim);
	order_machine(k, o, name);
	return ks_write(&k->k, k->claim, claim);
}

static const char *node_name(struct karp *k, const json_t *machine)
{
	const char *id = json_str_at(machine, "InstanceId");

	return id ? arena_printf(k->a, "hyperpod-%s", id) : NULL;
}

static void step(struct karp *k, json_t *claim, const char *type, bool done,
		 const char *reason)
{
	ks_set_condition(claim, k->k.now_ms, type, done ? "True" : "Unknown",
			 done ? type : reason, "");
}

static void fail_launch(struct karp *k, json_t *claim, json_t *machine)
{
	const char *why = json_str_or(machine, "InstanceStatus.Message", "");

	ks_set_condition(claim, k->k.now_ms, "Launched", "False", "InsufficientCapacity",
			 why);
	ks_set_condition(claim, k->k.now_ms, "Ready", "False", "InsufficientCapacity",
			 why);
	if (json_object_get(machine, "_failed_ms"))
		return;
	json_put_int(machine, "_failed_ms", k->k.now_ms);
	ks_event(&k->k, claim, "Warning", "InsufficientCapacityError", "karpenter",
		 arena_printf(k->a, "NodeClaim %s event: %s",
			      json_str_or(claim, "metadata.name", ""), why));
}

static void run_states(struct karp *k, const json_t *live, json_t *machine)
{
	const char *name = node_name(k, machine);
	const json_t *node = name ? ks_at(&k->k, "/nodes", NULL, name) : NULL;
	bool ready = karp_is(node, "Ready", "True") && sm_node_phase(machine, "running");
	json_t *next = json_deep_copy(live);

	if (!name && json_str_at(machine, "InstanceStatus.Message")) {
		fail_launch(k, next, machine);
		ks_update_if_changed(&k->k, k->claim, live, next);
		return;
	}
	step(k, next, "Launched", name != NULL, "AwaitingReconciliation");
	step(k, next, "Registered", node != NULL, "NodeNotFound");
	step(k, next, "Initialized", ready, node ? "NodeNotReady" : "NodeNotFound");
	step(k, next, "Ready", ready, "ReconcilingDependents");
	if (name)
		json_put_str(next, "status.providerID",
			     arena_printf(k->a, "aws:///sagemaker/cluster/%s", name));
	if (node)
		json_put_str(next, "status.nodeName", name);
	ks_update_if_changed(&k->k, k->claim, live, next);
}

/* Pods are asked to go before their node does. */
static void evict(struct karp *k, const char *node)
{
	json_t *pods = ks_snapshot(&k->k, k->a, "/pods"), *pod;
	size_t i;

	json_array_foreach(pods, i, pod)
		if (streq(json_str_at(pod, "spec.nodeName"), node))
			ks_delete(&k->k, ks_builtin("/pods"), pod, "Background");
}

static void end(struct karp *k, const json_t *claim, json_t *machine)
{
	const char *name = machine ? node_name(k, machine) : NULL;

	if (name)
		evict(k, name);
	if (machine)
		karp_machine_end(k, machine);
	/* The machine may take minutes to leave; the object of its node is gone. */
	ks_drop_finalizer(&k->k, k->claim, claim, FINALIZER);
}

static bool gave_up(struct karp *k, const json_t *machine)
{
	int64_t at = json_int_or(machine, "_failed_ms", 0);

	return at && k->k.now_ms >= at + cloud_ms(k->w->cloud, GIVE_UP_MS);
}

void karp_run_claims(struct karp *k)
{
	json_t *list = ks_snapshot(&k->k, k->a, KARP_CLAIMS), *claim;
	size_t i;

	json_array_foreach(list, i, claim) {
		json_t *machine =
			karp_machine(k, json_str_or(claim, "metadata.name", ""));
		bool lost = !machine || sm_node_phase(machine, "leaving");

		if (json_at(claim, "metadata.deletionTimestamp"))
			end(k, claim, machine);
		else if (lost || gave_up(k, machine))
			ks_delete(&k->k, k->claim, claim, "Background");
		else
			run_states(k, claim, machine);
	}
}
