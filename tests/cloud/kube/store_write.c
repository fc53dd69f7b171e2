#include <string.h>

#include "tests/cloud/kube/server.h"

static void effect(struct ks_req *q, const json_t *obj, const char *change)
{
	const char *ns = json_str_at(obj, "metadata.namespace");

	cloud_effect(q->k.cloud, arena_printf(q->a, "kube.%s", q->kind->plural),
		     arena_printf(q->a, "%s/%s%s%s", q->k.name, ns ? ns : "",
				  ns ? "/" : "", json_str_or(obj, "metadata.name", "")),
		     change);
}

static json_t *without(const json_t *obj, bool status)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)obj);

	json_object_del(copy, "metadata");
	if (status)
		json_object_del(copy, "status");
	return copy;
}

/* Built-in kinds whose changes are counted; custom resources all are. */
static bool counts(const struct ks_kind *kind)
{
	static const char *const kinds[] = {"Pod",
					    "Deployment",
					    "DaemonSet",
					    "StatefulSet",
					    "ReplicaSet",
					    "ReplicationController",
					    "Job",
					    "CronJob",
					    "PodDisruptionBudget",
					    "Ingress",
					    "NetworkPolicy",
					    "CustomResourceDefinition",
					    "PriorityClass",
					    "ValidatingWebhookConfiguration",
					    "MutatingWebhookConfiguration"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (streq(kinds[i], kind->kind))
			return true;
	}
	return kind->schema != NULL;
}

static void count_generation(const struct ks_kind *kind, const json_t *live, json_t *obj)
{
	json_t *was = NULL;
	json_t *now = NULL;
	const int64_t before = json_int_or(live, "metadata.generation", 1);

	if (!counts(kind))
		return;
	if (!live) {
		json_put_int(obj, "metadata.generation", 1);
		return;
	}
	was = without(live, (kind->has & KS_STATUS) != 0);
	now = without(obj, (kind->has & KS_STATUS) != 0);
	json_put_int(obj, "metadata.generation",
		     json_equal(was, now) ? before : before + 1);
	json_decref(was);
	json_decref(now);
}

/* Members that the system alone writes. */
void ks_keep_system_members(const json_t *live, json_t *obj)
{
	static const char *const kept[] = {
		"metadata.uid",
		"metadata.creationTimestamp",
		"metadata.resourceVersion",
		"metadata.deletionTimestamp",
		"metadata.generation",
		"metadata.deletionGracePeriodSeconds",
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		json_t *v = json_at(live, kept[i]);

		if (v)
			json_put(obj, kept[i], json_incref(v));
		else
			json_drop(obj, kept[i]);
	}
	json_drop(obj, "metadata.selfLink");
}

/* Finalizers that were the last obstacle. */
static bool is_over(const json_t *obj)
{
	return json_str_at(obj, "metadata.deletionTimestamp") &&
	       json_int_or(obj, "metadata.deletionGracePeriodSeconds", 0) == 0 &&
	       json_len_at(obj, "metadata.finalizers") == 0 &&
	       json_len_at(obj, "spec.finalizers") == 0;
}

json_t *ks_store(struct ks_req *q, const json_t *live, json_t *obj)
{
	json_t *stored = NULL;

	if (live)
		ks_keep_system_members(live, obj);
	count_generation(q->kind, live, obj);
	if (q->dry_run || (live && json_equal(live, obj)))
		return json_own(q->a, obj);
	effect(q, obj, live ? "update" : "create");
	if (live && is_over(obj)) {
		ks_erase(&q->k, q->kind, json_str_at(obj, "metadata.namespace"),
			 json_str_or(obj, "metadata.name", ""));
		return json_own(q->a, obj);
	}
	stored = ks_write(&q->k, q->kind, obj);
	return stored;
}
