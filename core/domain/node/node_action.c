#include "core/domain/node/node_action.h"

#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/kinds.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/leaves.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const char kube_prefix[] = "hyperpod-";

const char *node_kube_name(struct arena *a, const char *instance_id)
{
	return instance_id && *instance_id
		       ? arena_printf(a, "%s%s", kube_prefix, instance_id)
		       : NULL;
}

const char *node_instance_id(struct arena *a, const char *any)
{
	if (str_starts(any, kube_prefix))
		any += sizeof(kube_prefix) - 1;
	return str_starts(any, "i-") ? arena_strdup(a, any) : NULL;
}

json_t *node_list(const struct step_ctx *c)
{
	return json_at(c->data, "nodes");
}

bool node_is(const json_t *node, const char *state)
{
	return streq(json_str_or(node, "state", ""), state);
}

bool node_is_settled(const json_t *node)
{
	return node_is(node, "done") || node_is(node, "refused") || node_is(node, "late");
}

/* --- reads ------------------------------------------------------------- */

static const char *key_of(const struct step_ctx *c, char what, size_t i)
{
	return arena_printf(c->arena, "%c%zu", what, i);
}

/* A logical id outlives the instance; where there is none, the instance's own. */
bool node_read_cloud(struct step_ctx *c, struct exchange *x, size_t i, const json_t *node)
{
	const char *logical = json_str_at(node, "logical_id");
	const char *id = json_str_or(node, "id", "");

	return read_aws(c, x, key_of(c, 'n', i), AWS_SAGEMAKER_DescribeClusterNode,
			json_packf(c->arena, "{s:s, s:s}", "ClusterName",
				   hyperpod_name(c), logical ? "NodeLogicalId" : "NodeId",
				   logical ? logical : id));
}

bool node_read_kube(struct step_ctx *c, struct exchange *x, size_t i, const char *id)
{
	const char *name = node_kube_name(c->arena, id);

	return name && read_kube(c, x, key_of(c, 'k', i),
				 &(struct kube_request){.verb = KUBE_GET,
							.api = "v1",
							.plural = "nodes",
							.name = name});
}

const json_t *node_saw_cloud(const struct step_ctx *c, size_t i)
{
	return json_at(saw(c, key_of(c, 'n', i)), "NodeDetails");
}

const json_t *node_saw_kube(const struct step_ctx *c, size_t i)
{
	return saw(c, key_of(c, 'k', i));
}

bool node_saw_gone(const struct step_ctx *c, size_t i)
{
	return saw_missing(c, key_of(c, 'n', i));
}

bool node_kube_ready(const json_t *kube)
{
	const json_t *ready =
		json_find(json_at(kube, "status.conditions"), "type", "Ready");

	return streq(json_str_at(ready, "status"), "True");
}

/* --- kinds ------------------------------------------------------------- */

const struct node_action node_reboot = {
	NODE_REBOOT, AWS_SAGEMAKER_BatchRebootClusterNodes, "reboot", "rebooted"};
const struct node_action node_replace = {
	NODE_REPLACE, AWS_SAGEMAKER_BatchReplaceClusterNodes, "replace", "replaced"};
const struct node_action node_delete = {
	NODE_DELETE, AWS_SAGEMAKER_BatchDeleteClusterNodes, "delete", "deleted"};

static const char *node_of(struct arena *a, const json_t *v)
{
	const char *any = json_string_value(v) ? json_string_value(v) : "";
	const char *id = node_instance_id(a, any);

	return id ? id : any;
}

/* One action at a time on a node; other nodes of the cluster stay free. */
static void lock_nodes(const char *target, const json_t *input, struct arena *a,
		       struct str_list *ret)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(input, "nodes"), i, v)
		str_list_add(a, ret,
			     arena_printf(a, "node/%s/%s", target, node_of(a, v)));
}

/* It lowers target counts, as every other writer of the cluster. */
static void lock_all(const char *target, const json_t *input, struct arena *a,
		     struct str_list *ret)
{
	lock_cluster(target, input, a, ret);
	lock_nodes(target, input, a, ret);
}

#define SEND_STEP(row, words, send, plan_fn, absorb_fn)                                  \
	{                                                                                \
		.name = (row), .phase = "send", .title = (words), .effect = EFFECT_ONCE, \
		.observe = send_nodes_observe, .seen = read_seen, .plan = (plan_fn),     \
		.absorb = (absorb_fn), .arg = (send), .retry_step = "find_nodes",        \
		.leaves = &leaves_action                                                 \
	}

#define ACTION_STEPS(id, ask, awaits, seconds)                                           \
	static const struct node_send id##_1 = {&node_##id, 1};                          \
	static const struct node_send id##_2 = {&node_##id, 2};                          \
	static const struct node_send id##_again = {&node_##id, 0};                      \
	static const struct step id##_steps[] = {                                        \
		EKS_ACCESS_STEP,                                                         \
		{.name = "find_nodes",                                                   \
		 .phase = "check",                                                       \
		 .title = "Find the nodes",                                              \
		 .effect = EFFECT_READ,                                                  \
		 .observe = find_nodes_observe,                                          \
		 .seen = read_seen,                                                      \
		 .plan = find_nodes_plan,                                                \
		 .arg = &node_##id},                                                     \
		{.name = "check_users",                                                  \
		 .phase = "check",                                                       \
		 .title = "Find pods and volumes on them",                               \
		 .effect = EFFECT_READ,                                                  \
		 .stakes = true,                                                         \
		 .observe = node_users_observe,                                          \
		 .seen = read_seen,                                                      \
		 .plan = node_users_plan,                                                \
		 .arg = &node_##id},                                                     \
		SEND_STEP("send_1", ask, &id##_1, send_nodes_plan, send_nodes_absorb),   \
		SEND_STEP("send_2", ask, &id##_2, send_nodes_plan, send_nodes_absorb),   \
		SEND_STEP("send_again", ask " again", &id##_again, send_again_plan,      \
			  send_again_absorb),                                            \
		{.name = "await_nodes",                                                  \
		 .phase = "await",                                                       \
		 .title = (awaits),                                                      \
		 .effect = EFFECT_READ,                                                  \
		 .deadline_s = (seconds),                                                \
		 .observe = await_nodes_observe,                                         \
		 .seen = read_seen,                                                      \
		 .plan = await_nodes_plan,                                               \
		 .on_fail = await_nodes_late,                                            \
		 .retry_step = "find_nodes",                                             \
		 .wait = &wait_nodes,                                                    \
		 .arg = &node_##id},                                                     \
		{.name = "finish",                                                       \
		 .phase = "await",                                                       \
		 .title = "Summarize the results",                                       \
		 .effect = EFFECT_READ,                                                  \
		 .plan = finish_nodes_plan,                                              \
		 .retry_step = "find_nodes",                                             \
		 .arg = &node_##id},                                                     \
		{.name = NULL},                                                          \
	}

ACTION_STEPS(reboot, "Reboot the nodes", "Wait for the nodes to restart", 3600);
ACTION_STEPS(replace, "Replace the nodes", "Wait for the new instances", 3 * 3600);
ACTION_STEPS(delete, "Delete the nodes", "Wait until the nodes are removed", 2 * 3600);

static const char gone[] =
	"Lost data cannot be restored, and SageMaker cannot stop a request that it has "
	"accepted.";

static const struct phase_title phases[] = {{"check", "Check"},
					    {"send", "Send the request"},
					    {"await", "Wait for the nodes"},
					    {NULL, NULL}};

const struct kind kind_reboot_nodes = {.name = "reboot_nodes",
				       .title = "Reboot nodes",
				       .steps = reboot_steps,
				       .phase_titles = phases,
				       .no_undo = gone,
				       .locks = lock_nodes};
const struct kind kind_replace_nodes = {.name = "replace_nodes",
					.title = "Replace nodes",
					.steps = replace_steps,
					.phase_titles = phases,
					.no_undo = gone,
					.locks = lock_nodes};
const struct kind kind_delete_nodes = {.name = "delete_nodes",
				       .title = "Delete nodes",
				       .steps = delete_steps,
				       .phase_titles = phases,
				       .no_undo = gone,
				       .locks = lock_all};
