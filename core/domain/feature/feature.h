/*
 * feature.h - the managed features of a cluster: what they are and how they stand.
 *
 * A feature is turned on and off by an operation of its own, whose input is
 * {"enabled": bool, "feature": NAME, "adopt": bool, …}; update_features starts
 * them in order. What a feature needs and what is made for it is read by
 * survey_observe() and judged by the pure functions below, for get_features and
 * for the first row of each operation alike.
 *
 * Everything here lives in the step's arena.
 */
#ifndef INSTANTSTART_DOMAIN_FEATURE_FEATURE_H
#define INSTANTSTART_DOMAIN_FEATURE_FEATURE_H

#include "core/domain/dependency/component.h"
#include "core/op/kind.h"

enum feature_id {
	FEATURE_TIERED,
	FEATURE_TRAINING,
	FEATURE_INFERENCE,
	FEATURE_AUTOSCALING,
	FEATURES_
};

struct feature {
	enum feature_id id;
	const char *name; /* also its member in update_features */
	const char *title;
	const char *kind;                      /* of the operation that sets it */
	const struct component *component;     /* its add-on; NULL: none */
	const struct component *const *brings; /* components, in order; NULL-ended */
};

/* In the order of enabling. */
extern const struct feature features[FEATURES_];
const struct feature *feature_find(const char *name);

/* --- survey.c: what is asked of the cloud -------------------------------------- */

enum survey {
	SURVEY_NEEDS = 1 << 0, /* what must be there first */
	SURVEY_CHAIN = 1 << 1, /* what is made for it */
	SURVEY_USERS = 1 << 2  /* what would be lost without it: stake/feature_users.h */
};

/* Needs data.eks. The HyperPod cluster is read with any of the parts. */
bool survey_observe(struct step_ctx *c, struct exchange *x, const struct feature *f,
		    unsigned parts);
/* Where the answer of a read about something is: "addon:cert_manager". */
const char *survey_key(const struct step_ctx *c, const char *what, const char *name);
/* Saves what was found and is needed later: data.hyperpod_arn, data.bundled,
 * data.elsewhere. */
void survey_save(struct step_ctx *c, const struct feature *f);

/* The deployment of an inference operator that Helm has installed; NULL: there is
 * none. It has other names than the add-on's, and both must never run. */
const char *survey_charted(const struct step_ctx *c);

/* --- judges --------------------------------------------------------------------- */

/* [{name, title, found, needed, state: ok | brought | blocked, detail}] */
json_t *feature_needs(struct step_ctx *c, const struct feature *f);
/* Fails with what others have made of the names that are ours, unless input.adopt takes
 * it over; false: nothing to refuse. Before anything is made. */
bool feature_refuse_foreign(struct step_ctx *c, const struct feature *f);
/* The first that blocks; NULL: none does. */
const json_t *feature_blocker(const json_t *needs);
/* [{part, name, state: present | missing | differs | foreign, detail}] */
json_t *feature_chain(struct step_ctx *c, const struct feature *f);
/* disabled, pending, enabled, failed, foreign or partial. */
const char *feature_state(struct step_ctx *c, const struct feature *f,
			  const json_t *chain);
/* What AWS says of it in words: the add-on's or the member's status. */
const char *feature_status(const struct step_ctx *c, const struct feature *f);
const char *feature_version(const struct step_ctx *c, const struct feature *f);
const char *feature_trouble(const struct step_ctx *c, const struct feature *f);

/* serving.c: {found, needed, state, detail} about a node that runs what has to answer
 * before the operator is made; NULL: nothing has to, or the nodes are not known. */
json_t *serving_need(struct step_ctx *c, const struct feature *f);

/* way.c: NULL, or why pods on the nodes cannot reach the services that the
 * training operator asks (case TC-08). */
const char *way_trouble(struct step_ctx *c);

#endif
