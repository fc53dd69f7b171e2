/*
 * binding.c - the annotation by which a service account becomes a role.
 *
 * The add-on writes it; when a hand has taken it away the pods have no rights from
 * their next start on, and nothing says so.
 * https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
 */
#include "core/domain/feature/toggle.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

bool binding_observe(struct step_ctx *c, struct exchange *x)
{
	return !c->planning &&
	       read_kube(c, x, "accounts",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "serviceaccounts",
						.ns = component_inference.ns});
}

static const json_t *account(const struct step_ctx *c, const char *name)
{
	size_t i;
	json_t *a;

	json_array_foreach(json_at(saw(c, "accounts"), "items"), i, a)
		if (streq(json_str_at(a, "metadata.name"), name))
			return a;
	return NULL;
}

void binding_plan(struct step_ctx *c, struct exchange *x)
{
	for (const struct bound_account *b = bound_accounts; b->name && !c->planning;
	     b++) {
		const char *arn = name_role_arn(c, b->role->purpose);
		const json_t *found = account(c, b->name);
		json_t *notes = json_object();
		struct kube_request r = {.verb = KUBE_MERGE_PATCH,
					 .api = "v1",
					 .plural = "serviceaccounts",
					 .ns = component_inference.ns,
					 .name = b->name};
		struct kube_target t;

		json_own(c->arena, notes);
		if (!account_is_ours(c, b) || !found ||
		    streq(json_string_value(
				  json_object_get(json_at(found, "metadata.annotations"),
						  ROLE_ANNOTATION)),
			  arn))
			continue;
		json_object_set_new(notes, ROLE_ANNOTATION, json_string(arn));
		r.body = json_packf(c->arena, "{s:{s:O}}", "metadata", "annotations",
				    notes);
		c->item =
			arena_printf(c->arena, "%s/%s", b->name,
				     json_str_or(found, "metadata.resourceVersion", ""));
		eks_target(c, &t);
		exchange_kube(x, &t, &r);
		x->what = arena_printf(
			c->arena, "Bind the service account %s to its role", b->name);
		return;
	}
}

void binding_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a, "a service account could not be bound");
	else
		step_goto(c, c->step->name);
}
