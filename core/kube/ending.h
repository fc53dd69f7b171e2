/*
 * ending.h - a namespace that is being deleted: nothing can be made in it, and what it
 * waits for.
 *
 * It goes when all that is in it has gone and every API has said that it holds nothing
 * there. An API that another server answers (an APIService: metrics, Kueue) and whose
 * pods do not run says nothing, so that no namespace of the cluster can be deleted.
 *
 * https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/
 */
#ifndef INSTANTSTART_KUBE_ENDING_H
#define INSTANTSTART_KUBE_ENDING_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/arena.h"

/* Words of the server's, also inside a longer text. */
#define KUBE_ENDING "because it is being terminated"

/* The namespace that the text speaks of; NULL: it says nothing of the kind. */
const char *kube_ending_of(const char *text, struct arena *a);
/* What the server says of its content, in its own words; "": nothing. */
const char *kube_ending_why(struct arena *a, const json_t *ns);
/* Whether it waits for an API that does not answer. */
bool kube_ending_is_blind(const json_t *ns);

/* An APIService that is not available. */
struct kube_unserved {
	const char *api;          /* "metrics.k8s.io/v1beta1" */
	const char *ns, *service; /* who would answer */
	const char *why;          /* "endpoints for service/… have no addresses …" */
};
/* The one at or after *at of a list of APIServices; false: there are no more. */
bool kube_next_unserved(const json_t *list, size_t *at, struct arena *a,
			struct kube_unserved *ret) __attribute__((warn_unused_result));

#endif
