/*
 * role.h - an IAM role that we make: three rows of a step table.
 *
 *	ROLE_STEPS("nodes", "roles", &nodes_role),
 *
 * creates the role (NAMED, tagged), puts its one inline policy and attaches
 * its managed policies (CONVERGENT), each only where the cloud differs. A role
 * of that name without our cluster's tag is somebody else's, unless input.adopt
 * says that it is ours from now on.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_ROLE_H
#define INSTANTSTART_DOMAIN_STEP_ROLE_H

#include "core/domain/step/names.h"
#include "core/op/kind.h"

enum { ROLE_MANAGED_MAX = 4 };

struct role_spec {
	enum role_purpose purpose;
	const char *description;
	const char *service;  /* principal of the trust policy */
	bool tag_session;     /* pod identity: sts:TagSession too */
	const char *self_tag; /* key of one more tag: its value is the role's name */
	/* Statements of a trust policy of another form; NULL: the service's. With
	 * ROLE_TRUST_STEP it is kept equal afterwards. */
	json_t *(*trust)(struct step_ctx *c);
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
bool role_mend_observe(struct step_ctx *c, struct exchange *x);
void role_mend_plan(struct step_ctx *c, struct exchange *x);
bool role_attach_observe(struct step_ctx *c, struct exchange *x);
void role_attach_plan(struct step_ctx *c, struct exchange *x);
/* The documents that the role should have; owned by the arena. */
json_t *role_trust_wanted(struct step_ctx *c, const struct role_spec *s);
json_t *role_policy_wanted(struct step_ctx *c, const struct role_spec *s);
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

/* Behind the rows of a role with a trust policy of its own. */
#define ROLE_TRUST_STEP(prefix, in_phase, spec)                                          \
	{                                                                                \
		.name = prefix "_role_trust", .phase = (in_phase),                       \
		.title = "Protect the trust policy of the role for " prefix,             \
		.effect = EFFECT_CONVERGENT, .observe = role_mend_observe,               \
		.seen = read_seen, .plan = role_mend_plan, .absorb = role_absorb,        \
		.arg = (spec)                                                            \
	}

#endif
