/*
 * A webhook that must answer is not served: who serves it, and what keeps its pods.
 *
 * Waited for like any other thing that is not there yet. What is waited for is looked
 * up where it stands: the service that the server names, the pods that it selects.
 */
#include "core/json/tree.h"
#include "core/kube/webhook.h"
#include "core/op/walk.h"

enum { LOOK_S = 15 };

void walk_webhook(struct walk *w, const struct exchange *x, const struct answer *ans)
{
	struct step_ctx *c = &w->ctx;
	const char *owner = "", *state;
	struct kube_webhook h;
	struct err *e = &c->verdict.error;

	if (!kube_webhook_of(ans->message, w->a, &h))
		h.why = ans->message;
	state = *h.service ? walk_service_state(
				     w, x, &(struct walk_service){h.ns, h.service, h.why},
				     &owner)
			   : h.why;
	step_wait(c, LOOK_S, "the webhook %s%s%s, without which %s is rejected: %s",
		  h.name, *owner ? " of " : "", owner, ans->call, state);
	err_set(e, ERR_WEBHOOK_UNSERVED, "The webhook %s does not answer: %s", h.name,
		state);
	if (*h.service)
		err_fix(e,
			"Check that the pods of the service %s/%s run. They may lack a "
			"node, an image or a certificate. Then retry. If the webhook is "
			"no longer needed, delete its webhook configuration.",
			h.ns, h.service);
	else
		err_fix(e, "Check that the server of the webhook %s answers, then retry.",
			h.name);
	err_because(e, ans->call, ans->code, ans->message, ans->request_id);
}
