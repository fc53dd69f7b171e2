/*
 * refresh.c - pods that are older than their pod identity (case IA-07).
 *
 * Credentials are injected when a pod is made: one that ran before its service
 * account was bound goes on without. Such pods are deleted one at a time, so
 * that their controller makes them anew; what is younger is left alone.
 * https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html
 */
#include "core/base/clock.h"
#include "core/domain/dependency/install.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/kube_delete.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

bool refresh_observe(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);

	return component_bound(c, k) &&
	       (identity_read(c, x, k) ||
		read_kube(c, x, "pods",
			  &(struct kube_request){.verb = KUBE_LIST,
						 .api = "v1",
						 .plural = "pods",
						 .ns = k->ns}));
}

static bool has_credentials(const json_t *pod)
{
	size_t i;
	json_t *container;

	json_array_foreach(json_at(pod, "spec.containers"), i, container)
		if (json_find(json_at(container, "env"), "name",
			      "AWS_CONTAINER_CREDENTIALS_FULL_URI") ||
		    json_find(json_at(container, "env"), "name",
			      "AWS_WEB_IDENTITY_TOKEN_FILE"))
			return true;
	return false;
}

/* Kubernetes' times are whole seconds: the same second counts as after. */
static const json_t *stale_pod(const struct step_ctx *c, const struct component *k)
{
	int64_t bound_ms, made_ms;
	size_t i;
	json_t *pod;

	if (!time_parse_rfc3339(json_str_or(saw(c, "one"), "association.createdAt", ""),
				&bound_ms))
		return NULL;
	json_array_foreach(json_at(saw(c, "pods"), "items"), i, pod)
		if (streq(json_str_at(pod, "spec.serviceAccountName"),
			  k->service_account) &&
		    !json_at(pod, "metadata.deletionTimestamp") &&
		    !has_credentials(pod) &&
		    time_parse_rfc3339(json_str_or(pod, "metadata.creationTimestamp", ""),
				       &made_ms) &&
		    made_ms / 1000 < bound_ms / 1000)
			return pod;
	return NULL;
}

void refresh_plan(struct step_ctx *c, struct exchange *x)
{
	const struct component *k = component_here(c);
	const json_t *pod = component_bound(c, k) ? stale_pod(c, k) : NULL;
	struct kube_request r = {.api = "v1",
				 .plural = "pods",
				 .ns = k->ns,
				 .name = json_str_at(pod, "metadata.name")};

	if (!pod)
		return;
	kube_delete(c, x, r, pod, KUBE_SEEN_OBJECT);
	x->what = arena_printf(c->arena,
			       "Restart the pod %s/%s, which is older than its pod "
			       "identity",
			       k->ns, r.name);
}

void refresh_absorb(struct step_ctx *c, const struct answer *a)
{
	if (kube_delete_was_another(c, a))
		return;
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "a pod of %s could not be restarted",
				 component_here(c)->title);
	else
		step_goto(c, c->step->name);
}
