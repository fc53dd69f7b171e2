/* EKS add-ons and pod identities. */
#include <string.h>

#include "core/domain/cluster/eks_access.h"
#include "core/domain/dependency/install.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* With nodes, replicas come within minutes or not at all. */
static const int64_t DEGRADED_MAX_MS = 10 * 60 * 1000;

/* --- pod identity ---------------------------------------------------------------- */

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

	return component_wanted(c, k) && identity_read(c, x, k);
}

void identity_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *one = json_at(saw(c, "one"), "association");
	const char *role = name_role_arn(c, k->role->purpose);

	if (!component_wanted(c, k))
		return;
	if (one && !streq(json_str_or(one, "roleArn", ""), role)) {
		struct err *e = step_fail(
			c, ERR_FOREIGN_OBJECT, "the service account %s/%s is bound to %s",
			k->ns, k->service_account, json_str_or(one, "roleArn", "?"));
		err_field(e, "", json_str_at(one, "roleArn"), role);
		err_fix(e, "Delete that pod identity association, then retry.");
		return;
	}
	if (one) {
		if (step_tagged_cluster(c, json_at(one, "tags")))
			step_own(c, "eks:pod-identity",
				 json_str_or(one, "associationId", k->name),
				 json_str_at(one, "associationArn"), "made");
		return;
	}
	exchange_aws(x, AWS_EKS_CreatePodIdentityAssociation,
		     json_packf(c->arena, "{s:s, s:s, s:s, s:s, s:O}", "clusterName",
				eks_name(c), "namespace", k->ns, "serviceAccount",
				k->service_account, "roleArn", role, "tags",
				step_tag_map(c)));
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

	if (answer_is(a, "ResourceInUseException")) {
		step_wait(c, 3, "a look at the pod identity of %s", k->title);
		return;
	}
	if (!a->ok && is_young_role(a)) {
		step_retry(c, ERR_ROLE_NOT_READY,
			   "the role of %s is not known everywhere yet", k->title);
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the pod identity of %s was refused", k->title);
		return;
	}
	step_own(c, "eks:pod-identity",
		 json_str_or(a->out, "association.associationId", k->name),
		 json_str_at(a->out, "association.associationArn"), "made");
	step_advance(c);
}

/* --- the add-on --------------------------------------------------------------------- */

static json_t *by_addon(struct step_ctx *c, const struct component *k)
{
	return json_packf(c->arena, "{s:s, s:s}", "clusterName", eks_name(c), "addonName",
			  k->addon);
}

bool addon_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	return component_wanted(c, k) &&
	       read_aws(c, x, "addon", AWS_EKS_DescribeAddon, by_addon(c, k));
}

void addon_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *addon = json_at(saw(c, "addon"), "addon");
	const char *status = json_str_or(addon, "status", "");
	json_t *in;

	if (!component_wanted(c, k))
		return;
	if (streq(status, "DELETING")) {
		step_wait(c, 10, "the add-on %s to be gone", k->addon);
		return;
	}
	if (streq(status, "CREATE_FAILED")) {
		/* It never worked: made anew rather than mended. */
		c->item = "clear";
		exchange_aws(x, AWS_EKS_DeleteAddon, by_addon(c, k));
		x->what = arena_printf(c->arena, "Delete the failed add-on %s", k->addon);
		return;
	}
	if (addon) {
		if (step_tagged_cluster(c, json_at(addon, "tags")))
			step_own(c, "eks:addon", k->addon, json_str_at(addon, "addonArn"),
				 "made");
		return;
	}
	in = by_addon(c, k);
	json_put_str(in, "resolveConflicts", "OVERWRITE");
	json_put(in, "tags", json_incref(step_tag_map(c)));
	exchange_aws(x, AWS_EKS_CreateAddon, in);
	x->what = arena_printf(c->arena, "Install the add-on %s", k->addon);
}

void addon_absorb(struct step_ctx *c, const struct answer *a)
{
	const struct component *k = component_here(c);

	if (answer_is(a, "ResourceInUseException")) {
		step_wait(c, 5, "a look at the add-on %s", k->addon);
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the add-on %s was refused", k->addon);
		return;
	}
	if (streq(c->item, "clear")) {
		step_wait(c, 5, "the failed add-on %s to be gone", k->addon);
		return;
	}
	step_own(c, "eks:addon", k->addon, json_str_at(a->out, "addon.addonArn"), "made");
	step_advance(c);
}

bool addon_wait_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	if (!component_wanted(c, k))
		return false;
	return read_aws(c, x, "addon", AWS_EKS_DescribeAddon, by_addon(c, k)) ||
	       (streq(json_str_or(saw(c, "addon"), "addon.status", ""), "DEGRADED") &&
		read_kube(c, x, "nodes",
			  &(struct kube_request){
				  .verb = KUBE_LIST, .api = "v1", .plural = "nodes"}));
}

static void addon_failed(struct step_ctx *c, const struct component *k,
			 const json_t *addon)
{
	struct err *e = step_fail(
		c, ERR_DEPENDENCY_FAILED, "the add-on %s is %s: %s", k->addon,
		json_str_or(addon, "status", "gone"),
		json_str_or(addon, "health.issues.0.message", "no reason given"));

	err_because(e, "eks:DescribeAddon", json_str_at(addon, "health.issues.0.code"),
		    json_str_at(addon, "health.issues.0.message"), NULL);
}

/* Case DP-04: without nodes an add-on with replicas is degraded, not broken. */
static void degraded(struct step_ctx *c, const struct component *k, const json_t *addon)
{
	const char *code = json_str_or(addon, "health.issues.0.code", "");

	if (streq(code, "InsufficientNumberOfReplicas") &&
	    !any_node_ready(json_at(saw(c, "nodes"), "items"))) {
		component_state(c, k, "waiting_for_nodes",
				json_str_at(addon, "addonVersion"));
		return;
	}
	if (c->now_ms - c->step_since_ms > DEGRADED_MAX_MS) {
		addon_failed(c, k, addon);
		return;
	}
	step_wait(c, 10, "the add-on %s, which is DEGRADED: %s", k->addon,
		  json_str_or(addon, "health.issues.0.message", code));
}

void addon_wait_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *addon = json_at(saw(c, "addon"), "addon");
	const char *status = json_str_or(addon, "status", "");

	(void)x;
	if (!component_wanted(c, k) || c->planning)
		return;
	if (streq(status, "ACTIVE")) {
		component_state(c, k, "ready", json_str_at(addon, "addonVersion"));
	} else if (streq(status, "DEGRADED")) {
		degraded(c, k, addon);
	} else if (streq(status, "CREATING") || streq(status, "UPDATING")) {
		step_wait(c, 10, "the add-on %s, which is %s", k->addon, status);
	} else {
		addon_failed(c, k, addon);
	}
}
