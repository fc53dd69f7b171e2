/*
 * hyperpod.h - reads and verdicts that the HyperPod kinds share.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_HYPERPOD_H
#define INSTANTSTART_DOMAIN_HYPERPOD_HYPERPOD_H

#include "core/op/kind.h"

/* input.hyperpod_name, or the target. */
const char *hyperpod_name(const struct step_ctx *c);
/* Fails: there is none of that name. For every step that needs one. */
void hyperpod_absent(struct step_ctx *c);
/* DescribeCluster under key "hyperpod"; then its tags under key "tags". */
bool hyperpod_read(struct step_ctx *c, struct exchange *x);
bool hyperpod_read_tags(struct step_ctx *c, struct exchange *x);
/* Whether the name is free or ours: the check of everything that makes one. */
bool hyperpod_name_observe(struct step_ctx *c, struct exchange *x);
void hyperpod_name_plan(struct step_ctx *c, struct exchange *x);
/* It went between the two reads, so nobody knows whose it was: true, and waits. */
bool hyperpod_is_vanishing(struct step_ctx *c);

/*
 * "Cannot be assumed" means two things. With the role's trust policy at hand:
 * a wrong principal never works (fails, expected against seen), a young role
 * will (retries), an old one needs a person. False: it is not that refusal.
 */
bool hyperpod_role_trouble(struct step_ctx *c, const struct answer *a,
			   const json_t *role);
/* The same of a role for another service, given in that member of the input. */
bool hyperpod_trust_trouble(struct step_ctx *c, const struct answer *a,
			    const json_t *role, const char *service, const char *field);
/*
 * Why a node could not join, told by AWS's words (case CC-10): its scripts
 * failed (then their log is read), its role is gone, or it failed before any script ran,
 * for EFA or for the network (then no log will ever exist). node_trouble_fail() fails the
 * step; both do nothing for other words.
 */
bool node_trouble_is(const char *text);
bool node_trouble_read(struct step_ctx *c, struct exchange *x, const char *text,
		       const char *instance /* that the words are of; "": not said */);
bool node_trouble_fail(struct step_ctx *c, const char *text);
/* Of a cluster event: the reason, wherever in its detail it stands; NULL: none is given.
 */
const char *cluster_event_reason(const json_t *detail);

/* Until current = target and as many nodes are Ready; see watch_nodes.c. */
bool watch_nodes_observe(struct step_ctx *c, struct exchange *x);
void watch_nodes_plan(struct step_ctx *c, struct exchange *x);
/* The group's rules of time; moved: by whom its cluster, the group or its target was
 * changed since. Kinds that know an earlier target keep it as data.from. */
extern const struct wait watch_wait;
const char *watch_moved(struct step_ctx *c);
/* The same of input.group_name in a cluster of several; ends the operation. */
void watch_group_plan(struct step_ctx *c, struct exchange *x);

#define WATCH_GROUP_STEP(row, again)                                                     \
	{                                                                                \
		.name = (row), .phase = "nodes",                                         \
		.title = "Wait until every node of the group is ready",                  \
		.effect = EFFECT_READ, .deadline_s = 4 * 3600, .sees_errors = true,      \
		.observe = watch_nodes_observe, .seen = read_seen,                       \
		.plan = watch_group_plan, .retry_step = (again), .wait = &watch_wait     \
	}

#endif
