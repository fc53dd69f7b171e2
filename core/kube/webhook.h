/*
 * webhook.h - what an API server says when a webhook that must answer does not.
 *
 * A write that a webhook of failurePolicy Fail guards is refused as long as nobody
 * serves it: nothing was done, and it passes once the pods of its service run.
 * "denied the request" is another thing: the webhook's own answer.
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
#ifndef INSTANTSTART_KUBE_WEBHOOK_H
#define INSTANTSTART_KUBE_WEBHOOK_H

#include <stdbool.h>

#include "core/base/arena.h"

struct kube_webhook {
	const char *name;         /* "mservice.elbv2.k8s.aws" */
	const char *ns, *service; /* "" for one that is called by its address */
	const char *why;          /* "no endpoints available for service …" */
};

/* Words of the server's that announce it, also inside a longer text. */
#define KUBE_WEBHOOK_FAILED "failed calling webhook"

/* The first one in the text; false: it speaks of none. */
bool kube_webhook_of(const char *text, struct arena *a, struct kube_webhook *ret)
	__attribute__((warn_unused_result));

#endif
