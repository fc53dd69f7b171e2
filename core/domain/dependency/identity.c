/*
 * Service accounts and the roles they are bound to, by pod identity.
 * https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html
 */
#include <string.h>

#include "core/domain/dependency/install.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

/* --- whose it is ------------------------------------------------------------------ */

json_t *component_tags(struct step_ctx *c)
{
	json_t *tags = step_tag_map(c);

	if (step_input(c, "feature"))
		json_object_set_new(tags, FEATURE_TAG,
				    json_string(step_input(c, "feature")));
	return tags;
}

bool component_brought(const json_t *tags)
{
	const char *by = json_string_value(json_object_get(tags, FEATURE_TAG));

	return by && *by;
}

/* What a feature has brought and the cluster wants by itself stays without it. */
void component_settle(struct step_ctx *c, struct exchange *x, const json_t *tags,
		      const char *arn)
{
	json_t *tag = json_new_object(c->arena);

	if (step_input(c, "feature") || !component_brought(tags) || !arn)
		return;
	json_object_set_new(tag, FEATURE_TAG, json_string(""));
	c->item = "keep";
	exchange_aws(x, AWS_EKS_TagResource,
		     json_packf(c->arena, "{s:s, s:O}", "resourceArn", arn, "tags", tag));
	x->what = arena_printf(c->arena, "Keep %s without the feature that installed it",
			       arn);
}

/* Somebody else's, or ours without its tag: only the caller knows. */
bool component_adopt(struct step_ctx *c, struct exchange *x, const char *arn)
{
	if (!json_bool_or(c->input, "adopt", false) || !arn)
		return false;
	c->item = "adopt";
	exchange_aws(x, AWS_EKS_TagResource,
		     json_packf(c->arena, "{s:s, s:O}", "resourceArn", arn, "tags",
				component_tags(c)));
	x->what = arena_printf(c->arena, "Adopt %s", arn);
	return true;
}

/* Item of the call that takes another's binding away: this and the association's id. */
static const char unbind[] = "unbind/";

/* --- the association --------------------------------------------------------------- */

bool identity_read(struct step_ctx *c, struct exchange *x, const struct component *k)
{
	const char *id;

	if (read_all(c, x, "list", AWS_EKS_ListPodIdentityAssociations,
		     json_packf(c->arena, "{s:s, s:s, s:s}", "clusterName", eks_name(c),
				"namespace", k->ns, "serviceAccount",
				k->service_account)))
		return true;
	id = json_str_at(saw(c, "list"), "associations.0.associationId");
	return id && read_aws(c, x, "one", AWS_EKS_DescribePodIdentityAssociation,
			      json_packf(c->arena, "{s:s, s:s}", "clusterName",
					 eks_name(c), "associationId", id));
}

bool identity_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	return component_bound(c, k) && identity_read(c, x, k);
}

/*
 * Ours, bent by somebody's hand, is made anew; another's is for a person to judge:
 * the workload has rights by it.
 */
static void bound_to_other(struct step_ctx *c, struct exchange *x,
			   const struct component *k, const json_t *one, const char *role)
{
	const char *id = json_str_or(one, "associationId", "");
	struct err *e;

	if (k->is_feature && (step_tagged_cluster(c, json_at(one, "tags")) ||
			      json_bool_or(c->input, "adopt", false))) {
		c->item = arena_printf(c->arena, "%s%s", unbind, id);
		step_promise(c, "eks:pod-identity", id, "gone");
		exchange_aws(x, AWS_EKS_DeletePodIdentityAssociation,
			     json_packf(c->arena, "{s:s, s:s}", "clusterName",
					eks_name(c), "associationId", id));
		x->what = arena_printf(c->arena, "Unbind %s/%s from %s", k->ns,
				       k->service_account,
				       json_str_or(one, "roleArn", "?"));
		return;
	}
	e = step_fail(c, ERR_FOREIGN_OBJECT, "The service account %s/%s is bound to %s",
		      k->ns, k->service_account, json_str_or(one, "roleArn", "?"));
	owner_tell(c, e, json_at(one, "tags"));
	err_field(e, "", json_str_at(one, "roleArn"), role);
	err_fix(e, "Ask the owner of that pod identity association to free the service "
		   "account, then retry.");
}

void identity_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *one = json_at(saw(c, "one"), "association");
	const char *role = name_role_arn(c, k->role->purpose);

	if (!component_bound(c, k))
		return;
	if (one && !streq(json_str_or(one, "roleArn", ""), role)) {
		bound_to_other(c, x, k, one, role);
		return;
	}
	if (one) {
		if (step_tagged_cluster(c, json_at(one, "tags"))) {
			step_own(c, "eks:pod-identity",
				 json_str_or(one, "associationId", k->name),
				 json_str_at(one, "associationArn"), "made");
			component_settle(c, x, json_at(one, "tags"),
					 json_str_at(one, "associationArn"));
		} else if (k->is_feature)
			(void)component_adopt(c, x, json_str_at(one, "associationArn"));
		return;
	}
	exchange_aws(x, AWS_EKS_CreatePodIdentityAssociation,
		     json_packf(c->arena, "{s:s, s:s, s:s, s:s, s:O}", "clusterName",
				eks_name(c), "namespace", k->ns, "serviceAccount",
				k->service_account, "roleArn", role, "tags",
				component_tags(c)));
	x->what = arena_printf(c->arena, "Bind %s/%s to its role", k->ns,
			       k->service_account);
}

/* IAM tells EKS of a new role with a delay of seconds. */
static bool is_young_role(const struct answer *a)
{
	return a->message &&
	       (strcasestr(a->message, "could not be assumed") ||
		strcasestr(a->message, "role provided in the request does not"));
}

void identity_absorb(struct step_ctx *c, const struct answer *a)
{
	const struct component *k = component_here(c);

	if (!a->ok && a->errc == ERR_CLOUD_CONFLICT) {
		step_wait(c, 3, "EKS to accept the pod identity of %s: %s", k->title,
			  a->message);
		return;
	}
	if (c->item && str_starts(c->item, unbind)) {
		if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
			step_fail_answer(c, a, "%s could not be unbound", k->title);
		else
			step_own(c, "eks:pod-identity", c->item + strlen(unbind), NULL,
				 "gone");
		if (c->verdict.kind == VERDICT_NONE)
			step_goto(c, c->step->name);
		return;
	}
	if (a->ok && (streq(c->item, "adopt") || streq(c->item, "keep"))) {
		step_advance(c);
		return;
	}
	if (!a->ok && is_young_role(a)) {
		step_retry(c, ERR_ROLE_NOT_READY,
			   "the role of %s is not available everywhere yet", k->title);
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the pod identity of %s was rejected", k->title);
		return;
	}
	step_own(c, "eks:pod-identity",
		 json_str_or(a->out, "association.associationId", k->name),
		 json_str_at(a->out, "association.associationArn"), "made");
	step_advance(c);
}
