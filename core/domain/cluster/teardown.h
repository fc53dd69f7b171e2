/*
 * teardown.h - the rows of delete_cluster that remove one kind of thing.
 *
 * Each looks first, removes one object a claim (its effect's item is the
 * object's id), and goes round until it sees nothing of ours. What blocks a
 * removal is named.
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_TEARDOWN_H
#define INSTANTSTART_DOMAIN_CLUSTER_TEARDOWN_H

#include "core/domain/step/leaves.h"
#include "core/domain/step/protect.h"
#include "core/domain/step/removal.h"
#include "core/op/kind.h"

bool teardown_interfaces_observe(struct step_ctx *c, struct exchange *x);
void teardown_interfaces_plan(struct step_ctx *c, struct exchange *x);
bool teardown_subnets_observe(struct step_ctx *c, struct exchange *x);
void teardown_subnets_plan(struct step_ctx *c, struct exchange *x);
void teardown_subnets_absorb(struct step_ctx *c, const struct answer *a);
bool teardown_blocks_observe(struct step_ctx *c, struct exchange *x);
void teardown_blocks_plan(struct step_ctx *c, struct exchange *x);
bool teardown_logs_observe(struct step_ctx *c, struct exchange *x);
void teardown_logs_plan(struct step_ctx *c, struct exchange *x);
/* teardown_contents.c */
bool teardown_contents_observe(struct step_ctx *c, struct exchange *x);
void teardown_contents_plan(struct step_ctx *c, struct exchange *x);
/* teardown_bucket.c */
bool teardown_objects_observe(struct step_ctx *c, struct exchange *x);
void teardown_objects_plan(struct step_ctx *c, struct exchange *x);
void teardown_objects_absorb(struct step_ctx *c, const struct answer *a);
bool teardown_bucket_observe(struct step_ctx *c, struct exchange *x);
void teardown_bucket_plan(struct step_ctx *c, struct exchange *x);
void teardown_bucket_absorb(struct step_ctx *c, const struct answer *a);

/* "eni-1 (in use by …), eni-2": interfaces for an error; NULL when none. */
const char *interface_names(struct arena *a, const json_t *interfaces);

/* protections.c: of all that delete_cluster deletes. */
extern const struct protection *const cluster_protections[];

/* Absence counts after two looks that agree, so far apart. */
enum { TEARDOWN_SPACING_S = 5 };

/* teardown_hyperpod.c: the HyperPod cluster, when it carries our tag. */
bool teardown_hyperpod_observe(struct step_ctx *c, struct exchange *x);
void teardown_hyperpod_plan(struct step_ctx *c, struct exchange *x);
void teardown_hyperpod_absorb(struct step_ctx *c, const struct answer *a);
/* One of that name without our tag stays: a note, or a failure when we made it. */
void teardown_leave_foreign(struct step_ctx *c, const char *type, const char *name,
			    const json_t *tags);
/* A call by which half of the cluster goes was taken: waits, and the catalog says so. */
void teardown_going(struct step_ctx *c, const char *what, const char *name);

#define TEARDOWN_HYPERPOD_STEP                                                           \
	{                                                                                \
		.name = "delete_hyperpod", .phase = "hyperpod",                          \
		.title = "Delete the HyperPod cluster", .effect = EFFECT_CONVERGENT,     \
		.deadline_s = 3 * 3600, .observe = teardown_hyperpod_observe,            \
		.seen = read_seen, .plan = teardown_hyperpod_plan,                       \
		.absorb = teardown_hyperpod_absorb, .leaves = &leaves_deletion,          \
		.wait = &wait_deletion                                                   \
	}

#define TEARDOWN_STEP(row, in_phase, words, f, about)                                    \
	{                                                                                \
		.name = (row), .phase = (in_phase), .title = (words),                    \
		.effect = EFFECT_CONVERGENT, .deadline_s = 3600, .observe = f##_observe, \
		.seen = read_seen, .plan = f##_plan, .absorb = removal_absorb,           \
		.arg = (about), .leaves = &leaves_deletion, .wait = &wait_deletion       \
	}

/* The compute subnets with our tags, as read by the first; new list of the arena. */
bool teardown_subnets_read(struct step_ctx *c, struct exchange *x);
json_t *teardown_subnets_ours(struct step_ctx *c);
/* shared_subnets.c: whom they are shared with is at stake. */
bool shared_subnets_observe(struct step_ctx *c, struct exchange *x);
void shared_subnets_plan(struct step_ctx *c, struct exchange *x);

#endif
