/*
 * node_action.h - reboot, replace and delete: what their steps share.
 *
 * data.nodes is the operation's own list, one object a node:
 *
 *	asked        as the request named it
 *	id           instance id; "" while it has none
 *	logical_id   where the cluster has such ids
 *	group, type, status, boot_id   as they were before anything was sent
 *	batch        1 or 2: which call it goes with
 *	state        absent: not sent yet; "accepted", "busy" (another action was at
 *	             work on it), "again" (AWS's own fault: sent once more), "refused",
 *	             "late" (its time is over), "done"
 *	code, message   of a refusal
 *	new_id       the instance that came instead
 *
 * The calls are never repeated (class ONCE). A node is done when the clouds show
 * it: another boot of the same instance, another instance that is Ready, or none.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_BatchReplaceClusterNodes.html
 */
#ifndef INSTANTSTART_DOMAIN_NODE_NODE_ACTION_H
#define INSTANTSTART_DOMAIN_NODE_NODE_ACTION_H

#include "core/op/kind.h"

/* The API takes 25 ids a call; two calls are as much as one operation makes. */
enum { NODE_BATCH = 25, NODE_BATCHES = 2, NODES_MAX = NODE_BATCH * NODE_BATCHES };

#define NODE_ID_PATTERN "i-[0-9a-f]{8}([0-9a-f]{9})?"
/* Instance id, name in Kubernetes, or logical id. */
#define NODE_ANY_PATTERN                                                                 \
	NODE_ID_PATTERN "|hyperpod-" NODE_ID_PATTERN                                     \
			"|(?!i-|hyperpod-i-)[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]"

enum node_goal { NODE_REBOOT, NODE_REPLACE, NODE_DELETE };

struct node_action {
	enum node_goal goal;
	enum aws_op_id op;
	const char *verb; /* "replace" */
	const char *done; /* "replaced" */
};
extern const struct node_action node_reboot, node_replace, node_delete;

/* A row of the send table. */
struct node_send {
	const struct node_action *action;
	int batch;
};

/* The node's name in Kubernetes, or NULL while it has no instance. */
const char *node_kube_name(struct arena *a, const char *instance_id);
/* "i-…" of "i-…" or "hyperpod-i-…"; NULL: a logical id. */
const char *node_instance_id(struct arena *a, const char *any);

/* data.nodes; borrowed, changed in place. */
json_t *node_list(const struct step_ctx *c);
bool node_is(const json_t *node, const char *state); /* "": not sent yet */
bool node_is_settled(const json_t *node);            /* done, refused or late */

/* DescribeClusterNode under "n<i>", the Kubernetes node under "k<i>". */
bool node_read_cloud(struct step_ctx *c, struct exchange *x, size_t i,
		     const json_t *node);
bool node_read_kube(struct step_ctx *c, struct exchange *x, size_t i, const char *id);
const json_t *node_saw_cloud(const struct step_ctx *c, size_t i); /* NodeDetails */
const json_t *node_saw_kube(const struct step_ctx *c, size_t i);
bool node_saw_gone(const struct step_ctx *c, size_t i);
bool node_kube_ready(const json_t *kube);

/* find_nodes.c: which nodes are meant; what is on them. */
bool find_nodes_observe(struct step_ctx *c, struct exchange *x);
void find_nodes_plan(struct step_ctx *c, struct exchange *x);
/* node_users.c */
bool node_users_observe(struct step_ctx *c, struct exchange *x);
void node_users_plan(struct step_ctx *c, struct exchange *x);

/* send_nodes.c: step->arg is a struct node_send. */
bool send_nodes_observe(struct step_ctx *c, struct exchange *x);
void send_nodes_plan(struct step_ctx *c, struct exchange *x);
void send_nodes_absorb(struct step_ctx *c, const struct answer *a);
void send_again_plan(struct step_ctx *c, struct exchange *x);
void send_again_absorb(struct step_ctx *c, const struct answer *a);

/* await_nodes.c: step->arg is a struct node_action. */
bool await_nodes_observe(struct step_ctx *c, struct exchange *x);
void await_nodes_plan(struct step_ctx *c, struct exchange *x);
void await_nodes_late(struct step_ctx *c);
void finish_nodes_plan(struct step_ctx *c, struct exchange *x);

#endif
