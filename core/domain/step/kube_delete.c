#include "core/domain/step/kube_delete.h"

#include "core/domain/step/eks_access.h"
#include "core/json/tree.h"

/* A plan tells the object; its version changes with every heartbeat. */
static const json_t *just_this(struct step_ctx *c, const json_t *seen, enum kube_seen by)
{
	json_t *options = json_packf(c->arena, "{s:{s:s*}}", "preconditions", "uid",
				     json_str_at(seen, "metadata.uid"));

	if (by == KUBE_SEEN_CONTENT && !c->planning)
		json_put_str(options, "preconditions.resourceVersion",
			     json_str_at(seen, "metadata.resourceVersion"));
	return options;
}

void kube_delete(struct step_ctx *c, struct exchange *x, struct kube_request which,
		 const json_t *seen, enum kube_seen by)
{
	struct kube_target t;

	which.verb = KUBE_DELETE;
	which.body = just_this(c, seen, by);
	if (!c->item)
		c->item = json_str_or(seen, "metadata.uid", which.name);
	eks_target(c, &t);
	exchange_kube(x, &t, &which);
}

bool kube_delete_was_another(struct step_ctx *c, const struct answer *a)
{
	if (a->ok || !answer_is(a, "Conflict"))
		return false;
	step_wait(c, 1, "a new look at what was to be deleted: %s", a->message);
	return true;
}
