/*
 * group.h - instance groups as operations: kinds, and what their steps share.
 *
 * Every kind works on input.group_name of the HyperPod cluster under lock_cluster.
 * Capacity type, instance types, interface mode and place are fixed when a group
 * is added; the service has no way to change them.
 */
#ifndef INSTANTSTART_DOMAIN_GROUP_GROUP_H
#define INSTANTSTART_DOMAIN_GROUP_GROUP_H

#include "core/op/kind.h"

/* As step/absent.h calls a group: the ledger has none, an undo tells of what it undoes.
 */
#define GROUP_TYPE "sagemaker:instance-group"

extern const struct kind kind_add_instance_group;
extern const struct kind kind_scale_instance_group;
extern const struct kind kind_update_instance_group;
extern const struct kind kind_delete_instance_group;
extern const struct kind kind_update_cluster_software;

const char *group_name(const struct step_ctx *c);
/* Of a DescribeCluster answer. */
json_t *group_in(const json_t *cluster, const char *name);
/* For `expected` where DescribeCluster shows no group of that name. */
const char *group_hint(struct arena *a, const json_t *cluster, const char *name);
/* The group of the operation in the read "hyperpod"; NULL: it is not there. */
json_t *group_live(const struct step_ctx *c);
bool group_is_continuous(const json_t *cluster);

/*
 * The first row of a kind: the cluster (key "hyperpod") is there, is not failed
 * and has the group, which may be young. False: a verdict was set.
 */
bool group_must_be(struct step_ctx *c);
/* Catalog rows of every group that the read "hyperpod" shows. */
void group_record(struct step_ctx *c);

/* undo_group.c. note_count: what the target was before we sent anything. */
extern const struct leaves group_leaves_count, group_leaves_group, group_leaves_change;
void group_note_count(struct step_ctx *c, int64_t target);
json_t *group_undo_input(struct step_ctx *c); /* of the arena */
bool group_undo_count(struct step_ctx *c, struct spawn *ret);
bool group_undo_group(struct step_ctx *c, struct spawn *ret);
bool group_undo_change(struct step_ctx *c, struct spawn *ret);
/* The input of update_instance_group that brings the earlier values back; new. */
json_t *group_change_back(struct step_ctx *c);

/* group_nodes.c: the nodes of the group and the pods on them, for who must be warned. */
bool group_list_observe(struct step_ctx *c, struct exchange *x); /* without pods */
bool group_nodes_observe(struct step_ctx *c, struct exchange *x);
/* Rows of ListClusterNodes of the group, without those that are going. */
json_t *group_nodes(struct step_ctx *c);
/* Pods that count, by their node: {"hyperpod-i-…": [pod]}. Built anew each time. */
json_t *group_pods(struct step_ctx *c);
/* Of those the node's; NULL: it has no instance. */
json_t *group_pods_on(struct step_ctx *c, const json_t *by_node, const json_t *node);
/* Rows of ListClusterNodes as things for stake.h; a list of the arena. */
json_t *group_things(struct step_ctx *c, const json_t *nodes);

#endif
