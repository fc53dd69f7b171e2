/*
 * Nothing can be made in a namespace that is being deleted: what it waits for.
 *
 * The refusal names the namespace alone. It is looked up: what is left in it, and when
 * it waits for an API that nobody answers, which one that is, and what keeps its pods.
 */
#include "core/base/listing.h"
#include "core/json/tree.h"
#include "core/kube/ending.h"
#include "core/op/walk.h"

enum { LOOK_S = 10 };

static const char *unserved_text(struct walk *w, const struct exchange *x,
				 const char **ret_first)
{
	struct listing l = listing_new(w->a, "; ", LISTING_LONG);
	const json_t *list =
		walk_look(w, x,
			  &(struct kube_request){.verb = KUBE_LIST,
						 .api = "apiregistration.k8s.io/v1",
						 .plural = "apiservices"});
	struct kube_unserved u;
	size_t at = 0;

	while (kube_next_unserved(list, &at, w->a, &u)) {
		const struct walk_service s = {u.ns, u.service, u.why};
		const char *owner;
		const char *state = walk_service_state(w, x, &s, &owner);

		listing_add(&l, "the API %s of %s does not answer: %s", u.api, owner,
			    state);
		*ret_first = *ret_first ? *ret_first : u.api;
	}
	return listing_text(&l);
}

bool walk_ending(struct walk *w, const struct exchange *x, const struct answer *ans)
{
	const char *ns = ans->ok ? NULL : kube_ending_of(ans->message, w->a);
	struct err *e = &w->ctx.verdict.error;
	const char *why = "", *api = NULL;
	const json_t *live;

	if (!ns)
		return false;
	live = walk_look(w, x,
			 &(struct kube_request){.verb = KUBE_GET,
						.api = "v1",
						.plural = "namespaces",
						.name = ns});
	if (kube_ending_is_blind(live))
		why = unserved_text(w, x, &api);
	if (!*why)
		why = kube_ending_why(w->a, live);
	step_wait(&w->ctx, LOOK_S, "the namespace %s to be deleted%s%s", ns,
		  *why ? ": " : "", why);
	err_set(e, ERR_CLOUD_CONFLICT, "The namespace %s is being deleted%s%s", ns,
		*why ? ": " : "", why);
	if (api)
		err_fix(e,
			"No namespace can be deleted while %s does not answer. Get its "
			"pods to run, or delete its APIService if it is no longer needed, then retry.",
			api);
	else
		err_fix(e,
			"See what keeps the namespace (kubectl get namespace %s -o yaml), "
			"then retry.",
			ns);
	err_because(e, ans->call, ans->code, ans->message, ans->request_id);
	return true;
}
