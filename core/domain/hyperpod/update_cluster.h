/*
 * update_cluster.h - the one way to UpdateCluster: convergent, one writer.
 *
 *	static const char *want(struct step_ctx *c, const json_t *live, json_t *in)
 *	{
 *		json_t *g = update_group(c, live, in, "gpu");
 *
 *		if (g)
 *			json_put_int(g, "InstanceCount", 6);
 *		return "Scale gpu to 6";
 *	}
 *	static const struct update_cluster scale = {.want = want};
 *	…
 *	UPDATE_CLUSTER_STEP("scale", "nodes", "Scale the group", &scale),
 *
 * The step reads the cluster (key "hyperpod"), waits while its state refuses
 * updates, asks want() for the desired state and sends what differs from the
 * actual: nothing, when nothing does. Groups that are not touched are not sent,
 * unless `all_groups`. After the call it reads again: a value that somebody
 * else has changed meanwhile becomes a warning that names group, field, wanted
 * and seen, and is sent again while want() wants it. It advances when a fresh
 * read shows what want() wants.
 *
 * The kind must take lock_cluster. Service rules: one update at a time outside
 * of Continuous mode; ConflictException while Creating, Updating,
 * SystemUpdating, RollingBack, Deleting.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_UpdateCluster.html
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_UPDATE_CLUSTER_H
#define INSTANTSTART_DOMAIN_HYPERPOD_UPDATE_CLUSTER_H

#include "core/op/kind.h"

struct update_cluster {
	/*
	 * Puts the desired state into `in`, the request: groups by update_group()
	 * or update_add_group(), names into InstanceGroupsToDelete, top-level
	 * members such as TieredStorageConfig as they are. Answers the sentence
	 * for the plan; NULL: a verdict was set, or nothing is wanted. Pure.
	 * Members of `in` that equal the live ones are taken out afterwards.
	 */
	const char *(*want)(struct step_ctx *c, const json_t *live, json_t *in);
	/* Whatever is sent goes with every group that is not being deleted. */
	bool all_groups;
};

/*
 * The specification of the live group inside the request, with every value
 * that the read returned; change what you want. NULL: a verdict was set (there
 * is no such group, or it has a member that we do not know).
 */
json_t *update_group(struct step_ctx *c, const json_t *live, json_t *in,
		     const char *name);
/* A group of the caller's making; spec is stolen. */
void update_add_group(json_t *in, json_t *spec);

/* A state in which the service refuses updates, and which passes. */
bool update_cluster_is_busy(const char *cluster_status);

bool update_cluster_observe(struct step_ctx *c, struct exchange *x);
void update_cluster_plan(struct step_ctx *c, struct exchange *x);
void update_cluster_absorb(struct step_ctx *c, const struct answer *a);

#define UPDATE_CLUSTER_STEP(row, in_phase, words, about)                                 \
	UPDATE_CLUSTER_STEP_WITH(row, in_phase, words, about, .leaves = NULL)
/* The last argument is one more member of the row. */
#define UPDATE_CLUSTER_STEP_WITH(row, in_phase, words, about, member)                    \
	{                                                                                \
		.name = (row), .phase = (in_phase), .title = (words),                    \
		.effect = EFFECT_CONVERGENT, .deadline_s = 2 * 3600,                     \
		.observe = update_cluster_observe, .seen = read_seen,                    \
		.plan = update_cluster_plan, .absorb = update_cluster_absorb,            \
		.arg = (about), member                                                   \
	}

#endif
