/*
 * kube_delete.h - one object of Kubernetes is deleted: the one that was looked at.
 *
 * A name can stand for another object by the time the deletion arrives, and a label that
 * said "ours" can have been taken away. So every deletion says which object was seen,
 * and in which state: the API server refuses it with a conflict when that is no longer
 * so. Then nothing was deleted, and the step looks and judges anew.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/
 */
#ifndef INSTANTSTART_DOMAIN_STEP_KUBE_DELETE_H
#define INSTANTSTART_DOMAIN_STEP_KUBE_DELETE_H

#include "core/op/kind.h"

/* What the judgement on the object was about. */
enum kube_seen {
	KUBE_SEEN_OBJECT, /* what never changes of it: it is that object */
	KUBE_SEEN_CONTENT /* what anybody may change: labels, spec, status */
};

/*
 * Builds the deletion of `seen`, as it was read; `which` names it (api, plural, ns,
 * name). The effect's item is its UID, unless plan() has set one.
 */
void kube_delete(struct step_ctx *c, struct exchange *x, struct kube_request which,
		 const json_t *seen, enum kube_seen by);
/* The first thing that absorb() asks: it is not what was seen any more; waits for the
 * next look. */
bool kube_delete_was_another(struct step_ctx *c, const struct answer *a);

#endif
