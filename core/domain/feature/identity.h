/*
 * identity.h - the parts that are made for a feature, one by one.
 *
 * Service account, role, policy, trust or association, annotation: made and
 * removed as one, in the order of chain_read()'s answers.
 */
#ifndef INSTANTSTART_DOMAIN_FEATURE_IDENTITY_H
#define INSTANTSTART_DOMAIN_FEATURE_IDENTITY_H

#include "core/domain/feature/feature.h"

bool chain_read(struct step_ctx *c, struct exchange *x, const struct feature *f);

/* arn:aws:iam::ACCOUNT:oidc-provider/HOST, of data.eks.issuer. */
const char *oidc_arn(const struct step_ctx *c);

/* Service accounts of the inference operator and the role each is annotated with. */
struct bound_account {
	const char *name;
	const struct role_spec *role;
	const char
		*bundled; /* member of data that says that it is brought; NULL: always */
};
extern const struct bound_account bound_accounts[]; /* ended by a NULL name */
bool account_is_ours(const struct step_ctx *c, const struct bound_account *b);
#define ROLE_ANNOTATION "eks.amazonaws.com/role-arn"

#endif
