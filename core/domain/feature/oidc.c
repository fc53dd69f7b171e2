/*
 * oidc.c - the cluster's issuer as an identity provider of the account.
 *
 * One per cluster, shared by all that binds roles by web identity: one that is
 * there already is used as it is, and only what we made is removed.
 * https://docs.aws.amazon.com/eks/latest/userguide/enable-iam-roles-for-service-accounts.html
 */
#include "core/aws/partition.h"
#include "core/domain/feature/toggle.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/read.h"
#include "core/domain/step/removal.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

bool oidc_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(
		c, x, "oidc", AWS_IAM_GetOpenIDConnectProvider,
		json_packf(c->arena, "{s:s}", "OpenIDConnectProviderArn", oidc_arn(c)));
}

static bool knows_audience(const struct step_ctx *c)
{
	return texts_have(json_at(saw(c, "oidc"), "ClientIDList"), AWS_TOKEN_AUDIENCE);
}

static void keep_audience(struct step_ctx *c, struct exchange *x)
{
	const bool ours = step_tagged_cluster(c, json_at(saw(c, "oidc"), "Tags"));
	struct err *e;

	if (ours)
		step_own(c, "iam:oidc-provider", oidc_arn(c), oidc_arn(c), "made");
	if (knows_audience(c))
		return;
	if (!ours && !json_bool_or(c->input, "adopt", false)) {
		e = step_fail(c, ERR_FOREIGN_OBJECT,
			      "%s was not created by InstantStart and does not accept "
			      "%s",
			      oidc_arn(c), AWS_TOKEN_AUDIENCE);
		owner_tell(c, e, json_at(saw(c, "oidc"), "Tags"));
		err_fix(e, "Set adopt to add the audience, or add it yourself.");
		return;
	}
	c->item = "audience";
	exchange_aws(x, AWS_IAM_AddClientIDToOpenIDConnectProvider,
		     json_packf(c->arena, "{s:s, s:s}", "OpenIDConnectProviderArn",
				oidc_arn(c), "ClientID", AWS_TOKEN_AUDIENCE));
	x->what = arena_printf(c->arena, "Add the audience %s to %s", AWS_TOKEN_AUDIENCE,
			       oidc_arn(c));
}

void oidc_plan(struct step_ctx *c, struct exchange *x)
{
	const char *issuer = step_get(c, "eks.issuer");
	struct err *e;

	if (saw_ok(c, "oidc")) {
		keep_audience(c, x);
		return;
	}
	if (!issuer || !*issuer) {
		e = step_fail(c, ERR_STATE_CONFLICT,
			      "The EKS cluster has no OIDC issuer");
		err_fix(e, "Check identity.oidc of the cluster in EKS.");
		return;
	}
	exchange_aws(x, AWS_IAM_CreateOpenIDConnectProvider,
		     json_packf(c->arena, "{s:s, s:[s], s:O}", "Url", issuer,
				"ClientIDList", AWS_TOKEN_AUDIENCE, "Tags",
				step_tags(c)));
	x->what = arena_printf(c->arena, "Register the cluster's OIDC issuer with IAM");
}

void oidc_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "EntityAlreadyExists")) {
		step_wait(c, 2, "the existing identity provider to be checked");
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the identity provider was rejected");
		return;
	}
	if (!streq(c->item, "audience"))
		step_own(c, "iam:oidc-provider", oidc_arn(c), oidc_arn(c), "made");
	step_advance(c);
}

/* While a cluster is deleted its issuer may be unknown: then what we made counts. */
static const char *made_arn(const struct step_ctx *c)
{
	const char *owned = removal_owned(c, "iam:oidc-provider");

	return owned ? owned : json_at(c->data, "eks.issuer") ? oidc_arn(c) : NULL;
}

/* The cluster stays: others may have bound roles by it since. */
static bool is_toggle(const struct step_ctx *c)
{
	return step_input(c, "feature") != NULL;
}

bool oidc_remove_observe(struct step_ctx *c, struct exchange *x)
{
	if (!made_arn(c))
		return false;
	return read_aws(c, x, "oidc", AWS_IAM_GetOpenIDConnectProvider,
			json_packf(c->arena, "{s:s}", "OpenIDConnectProviderArn",
				   made_arn(c))) ||
	       (is_toggle(c) && saw_ok(c, "oidc") &&
		read_kube(c, x, "accounts",
			  &(struct kube_request){.verb = KUBE_LIST,
						 .api = "v1",
						 .plural = "serviceaccounts"}));
}

static bool is_bound_by_us(const struct step_ctx *c, const char *role)
{
	for (const struct bound_account *b = bound_accounts; b->name; b++)
		if (streq(role, name_role_arn(c, b->role->purpose)))
			return true;
	return false;
}

/* "NAMESPACE/NAME" of one that becomes a role of others by the provider. */
static const char *other_user(struct step_ctx *c)
{
	size_t i;
	json_t *a;

	json_array_foreach(json_at(saw(c, "accounts"), "items"), i, a) {
		const char *role = json_string_value(json_object_get(
			json_at(a, "metadata.annotations"), ROLE_ANNOTATION));

		if (role && !is_bound_by_us(c, role))
			return arena_printf(c->arena, "%s/%s",
					    json_str_or(a, "metadata.namespace", "?"),
					    json_str_or(a, "metadata.name", "?"));
	}
	return NULL;
}

void oidc_remove_plan(struct step_ctx *c, struct exchange *x)
{
	const char *arn = made_arn(c), *user;

	if (!arn)
		return;
	if (!saw_ok(c, "oidc")) {
		if (!is_absent(c, "iam:oidc-provider", arn,
			       "the identity provider of the cluster"))
			return;
		step_own(c, "iam:oidc-provider", arn, NULL, "gone");
		return;
	}
	if (!step_tagged_cluster(c, json_at(saw(c, "oidc"), "Tags")))
		return; /* it was there before, for others */
	user = is_toggle(c) ? other_user(c) : NULL;
	if (user) {
		step_save_str(
			c, "kept.oidc_provider",
			arena_printf(c->arena, "it binds the service account %s", user));
		return;
	}
	c->item = arn;
	step_promise(c, "iam:oidc-provider", arn, "gone");
	exchange_aws(x, AWS_IAM_DeleteOpenIDConnectProvider,
		     json_packf(c->arena, "{s:s}", "OpenIDConnectProviderArn", arn));
	x->what = arena_printf(c->arena, "Delete the identity provider of the cluster");
}
