/*
 * role.h - an IAM role that we make: three rows of a step table.
 *
 *	ROLE_STEPS("nodes", "roles", &nodes_role),
 *
 * creates the role (NAMED, tagged), puts its one inline policy and attaches
 * its managed policies (CONVERGENT), each only where the cloud differs. A role
 * of that name without our cluster's tag is somebody else's.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_ROLE_H
#define INSTANTSTART_DOMAIN_STEP_ROLE_H

#include "core/domain/step/names.h"
#include "core/op/kind.h"

enum { ROLE_MANAGED_MAX = 4 };

struct role_spec {
	enum role_purpose purpose;
	const char *description;
	const char *service; /* principal of the trust policy */
	bool tag_session;    /* pod identity: sts:TagSession too */
	/* Statements of the inline policy "instantstart"; NULL: none. */
	json_t *(*statements)(struct step_ctx *c);
	const char *managed[ROLE_MANAGED_MAX]; /* names under policy/ */
	/* true: the caller brought a role of his own, nothing to do. */
	bool (*given)(const struct step_ctx *c);
};

bool role_create_observe(struct step_ctx *c, struct exchange *x);
void role_create_plan(struct step_ctx *c, struct exchange *x);
void role_create_absorb(struct step_ctx *c, const struct answer *a);
bool role_policy_observe(struct step_ctx *c, struct exchange *x);
void role_policy_plan(struct step_ctx *c, struct exchange *x);
bool role_attach_observe(struct step_ctx *c, struct exchange *x);
void role_attach_plan(struct step_ctx *c, struct exchange *x);
/* Advances on success, fails with the cloud's words otherwise. */
void role_absorb(struct step_ctx *c, const struct answer *a);
void role_attach_absorb(struct step_ctx *c, const struct answer *a);

#define ROLE_STEPS(prefix, in_phase, spec)                                               \
	ROLE_STEPS_WITH(prefix, in_phase, spec, .on_fail = NULL)

/* The last argument is one more member of each row, such as .on_fail = f. */
#define ROLE_STEPS_WITH(prefix, in_phase, spec, member)                                  \
	{.name = prefix "_role",                                                         \
	 .phase = (in_phase),                                                            \
	 .title = "Create the role for " prefix,                                         \
	 .effect = EFFECT_NAMED,                                                         \
	 .observe = role_create_observe,                                                 \
	 .seen = read_seen,                                                              \
	 .plan = role_create_plan,                                                       \
	 .absorb = role_create_absorb,                                                   \
	 .arg = (spec),                                                                  \
	 member},                                                                        \
		{.name = prefix "_role_policy",                                          \
		 .phase = (in_phase),                                                    \
		 .title = "Put the policy of the role for " prefix,                      \
		 .effect = EFFECT_CONVERGENT,                                            \
		 .observe = role_policy_observe,                                         \
		 .seen = read_seen,                                                      \
		 .plan = role_policy_plan,                                               \
		 .absorb = role_absorb,                                                  \
		 .arg = (spec),                                                          \
		 member},                                                                \
	{                                                                                \
		.name = prefix "_role_managed", .phase = (in_phase),                     \
		.title = "Attach managed policies to the role for " prefix,              \
		.effect = EFFECT_CONVERGENT, .observe = role_attach_observe,             \
		.seen = read_seen, .plan = role_attach_plan,                             \
		.absorb = role_attach_absorb, .arg = (spec), member                      \
	}

#endif
