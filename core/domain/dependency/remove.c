#include "core/domain/dependency/remove.h"

#include "core/domain/dependency/install.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

const char *component_kept(const struct step_ctx *c, const struct component *k)
{
	return json_str_at(c->data, arena_printf(c->arena, "kept.%s", k->name));
}

void component_keep(struct step_ctx *c, const struct component *k, const char *why)
{
	const char *path = arena_printf(c->arena, "kept.%s", k->name);

	if (!json_at(c->data, path))
		step_event(c, "kept",
			   json_pack("{s:s, s:s}", "component", k->name, "why", why));
	step_save_str(c, path, why);
}

/* What only this feature has ever used, or what it has brought. */
static bool goes(const struct step_ctx *c, const struct component *k, const json_t *tags)
{
	if (k->is_feature && k->role)
		return step_tagged_cluster(c, tags) ||
		       json_bool_or(c->input, "adopt", false);
	return step_tagged_cluster(c, tags) && component_brought(tags);
}

/* --- the add-on ------------------------------------------------------------------ */

bool remove_addon_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	if (component_kept(c, k))
		return false;
	return addon_read(c, x, "addon", k) ||
	       (k == &component_pod_identity && saw_ok(c, "addon") &&
		read_all(c, x, "bound", AWS_EKS_ListPodIdentityAssociations,
			 json_packf(c->arena, "{s:s}", "clusterName", eks_name(c))));
}

static void not_ours(struct step_ctx *c, const struct component *k, const json_t *addon)
{
	struct err *e;

	if (!k->is_feature || !k->role) {
		component_keep(c, k, "it existed before");
		return;
	}
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "The add-on %s was not created by InstantStart", k->addon);
	owner_tell(c, e, json_at(addon, "tags"));
	err_field(e, "", json_str_or(addon, "addonVersion", "?"),
		  "an add-on with the tag of this cluster");
	err_fix(e, "Set adopt to remove the add-on anyway. Otherwise it is kept.");
}

void remove_addon_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *addon = json_at(saw(c, "addon"), "addon");

	if (component_kept(c, k))
		return;
	if (!addon) {
		if (!k->addon ||
		    !is_absent(c, "eks:addon", k->addon,
			       arena_printf(c->arena, "the add-on %s", k->addon)))
			return;
		step_own(c, "eks:addon", k->addon, NULL, "gone");
		return;
	}
	if (streq(json_str_or(addon, "status", ""), "DELETING")) {
		step_wait(c, 10, "the add-on %s to be deleted", k->addon);
		return;
	}
	if (!goes(c, k, json_at(addon, "tags"))) {
		not_ours(c, k, addon);
		return;
	}
	if (json_len_at(saw(c, "bound"), "associations") > 0) {
		component_keep(c, k, "it binds other service accounts");
		return;
	}
	exchange_aws(x, AWS_EKS_DeleteAddon,
		     json_packf(c->arena, "{s:s, s:s}", "clusterName", eks_name(c),
				"addonName", k->addon));
	x->what = arena_printf(c->arena, "Delete the add-on %s", k->addon);
}

void remove_addon_absorb(struct step_ctx *c, const struct answer *a)
{
	const struct component *k = component_here(c);

	if (!a->ok && a->errc == ERR_CLOUD_CONFLICT)
		step_wait(c, 15, "the change of the add-on %s to end: %s", k->addon,
			  a->message);
	else if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "the add-on %s could not be deleted", k->addon);
	else
		step_wait(c, 10, "the add-on %s to be deleted", k->addon);
}

/* --- the binding ------------------------------------------------------------------- */

bool remove_identity_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	return !component_kept(c, k) && identity_read(c, x, k);
}

void remove_identity_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *one = json_at(saw(c, "one"), "association");
	const char *id = json_str_at(one, "associationId");

	if (component_kept(c, k))
		return;
	if (!id) {
		(void)is_absent(c, "eks:pod-identity", NULL,
				arena_printf(c->arena, "the binding of %s/%s", k->ns,
					     k->service_account));
		return;
	}
	if (!goes(c, k, json_at(one, "tags"))) {
		component_keep(c, k, "its service account was bound before");
		return;
	}
	c->item = id;
	step_promise(c, "eks:pod-identity", id, "gone");
	exchange_aws(x, AWS_EKS_DeletePodIdentityAssociation,
		     json_packf(c->arena, "{s:s, s:s}", "clusterName", eks_name(c),
				"associationId", id));
	x->what = arena_printf(c->arena, "Unbind %s/%s", k->ns, k->service_account);
}

void remove_identity_absorb(struct step_ctx *c, const struct answer *a)
{
	removal_absorb(c, a);
}

/* --- the role ---------------------------------------------------------------------- */

bool remove_role_observe(struct step_ctx *c, struct exchange *x)
{
	return !component_kept(c, component_here(c)) && removal_role_observe(c, x);
}

/* Ours without its tag, says who asks to adopt: it gets the tag, then it goes. */
static bool adopts(struct step_ctx *c, struct exchange *x)
{
	const json_t *role = json_at(saw(c, "role"), "Role");
	const char *name = json_str_at(role, "RoleName");

	if (!name || step_tagged_cluster(c, json_at(role, "Tags")) ||
	    !json_bool_or(c->input, "adopt", false))
		return false;
	c->item = "adopt";
	exchange_aws(x, AWS_IAM_TagRole,
		     json_packf(c->arena, "{s:s, s:O}", "RoleName", name, "Tags",
				step_tags(c)));
	x->what = arena_printf(c->arena, "Adopt the role %s", name);
	return true;
}

void remove_role_plan(struct step_ctx *c, struct exchange *x)
{
	if (!component_kept(c, component_here(c)) && !adopts(c, x))
		removal_role_plan(c, x);
}
