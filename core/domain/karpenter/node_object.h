/*
 * node_object.h - rows that create and delete node classes and node pools.
 *
 * Row functions find their kind of object by the step's arg.
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_NODE_OBJECT_H
#define INSTANTSTART_DOMAIN_KARPENTER_NODE_OBJECT_H

#include "core/domain/step/leaves.h"
#include "core/op/kind.h"

struct node_object {
	const char *api, *plural;
	const char *what; /* "node pool" */
	const char *type; /* of the resource row */
	json_t *(*wanted)(struct step_ctx *c);
};
extern const struct node_object node_object_class, node_object_pool;

/* A list of Kubernetes objects under the key of its plural. */
bool node_object_list(struct step_ctx *c, struct exchange *x, const char *api,
		      const char *plural);
json_t *node_object_items(const struct step_ctx *c, const char *plural);
#define NODE_GROUP_LABEL "sagemaker.amazonaws.com/instance-group-name"
/* The Kubernetes node as a thing of stake.h. */
void node_object_add_node(json_t *things, const json_t *node);
/* Under "nodes": those that the pool named in the input has launched. */
bool node_object_read_of_pool(struct step_ctx *c, struct exchange *x);

void node_object_apply_plan(struct step_ctx *c, struct exchange *x);
void node_object_apply_absorb(struct step_ctx *c, const struct answer *a);
void node_object_ready_plan(struct step_ctx *c, struct exchange *x);
/* Spawns that kind for the object, if it was not there before us. */
bool node_object_undo(struct step_ctx *c, struct spawn *ret, const char *kind);
extern const struct leaves node_object_leaves;
extern const struct wait node_object_wait;
bool node_object_get_observe(struct step_ctx *c, struct exchange *x);
void node_object_delete_plan(struct step_ctx *c, struct exchange *x);
void node_object_delete_absorb(struct step_ctx *c, const struct answer *a);
void node_object_finish_plan(struct step_ctx *c, struct exchange *x);

/*
 * Asked to delete what is not there, the plan is refused and names what is near. A run
 * goes on: it has gone meanwhile. So does an undo, which has confirmed its losses.
 */
bool node_object_there_observe(struct step_ctx *c, struct exchange *x);
void node_object_there_plan(struct step_ctx *c, struct exchange *x);
#define NODE_OBJECT_THERE_STEP(about)                                                    \
	{                                                                                \
		.name = "check_object", .phase = "check",                                \
		.title = "Check that the object exists", .effect = EFFECT_READ,          \
		.stakes = true, .observe = node_object_there_observe, .seen = read_seen, \
		.plan = node_object_there_plan, .arg = (about)                           \
	}

#define NODE_OBJECT_CREATE_STEPS(about)                                                  \
	{.name = "apply",                                                                \
	 .phase = "apply",                                                               \
	 .title = "Apply the object",                                                    \
	 .effect = EFFECT_CONVERGENT,                                                    \
	 .observe = node_object_get_observe,                                             \
	 .seen = read_seen,                                                              \
	 .plan = node_object_apply_plan,                                                 \
	 .absorb = node_object_apply_absorb,                                             \
	 .leaves = &node_object_leaves,                                                  \
	 .arg = (about)},                                                                \
		{.name = "wait_ready",                                                   \
		 .phase = "apply",                                                       \
		 .title = "Wait until the autoscaler accepts it",                        \
		 .effect = EFFECT_READ,                                                  \
		 .observe = node_object_get_observe,                                     \
		 .seen = read_seen,                                                      \
		 .plan = node_object_ready_plan,                                         \
		 .retry_step = "apply",                                                  \
		 .wait = &node_object_wait,                                              \
		 .arg = (about)},                                                        \
	{                                                                                \
		.name = "finish", .phase = "apply", .title = "Finish",                   \
		.effect = EFFECT_READ, .plan = node_object_finish_plan, .arg = (about)   \
	}

#define NODE_OBJECT_DELETE_STEPS(about)                                                  \
	{.name = "delete",                                                               \
	 .phase = "delete",                                                              \
	 .title = "Delete the object and wait until it is gone",                         \
	 .effect = EFFECT_CONVERGENT,                                                    \
	 .deadline_s = 3600,                                                             \
	 .observe = node_object_get_observe,                                             \
	 .seen = read_seen,                                                              \
	 .plan = node_object_delete_plan,                                                \
	 .absorb = node_object_delete_absorb,                                            \
	 .leaves = &leaves_deletion,                                                     \
	 .wait = &wait_deletion,                                                         \
	 .arg = (about)},                                                                \
	{                                                                                \
		.name = "finish", .phase = "delete", .title = "Finish",                  \
		.effect = EFFECT_READ, .plan = node_object_finish_plan, .arg = (about)   \
	}

#endif
