#include <string.h>

#include "tests/cloud/kube/server.h"

static bool has_finalizer(const json_t *obj, const char *name)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(obj, "metadata.finalizers"), i, v) {
		if (streq(json_string_value(v), name))
			return true;
	}
	return false;
}

static void add_finalizer(json_t *obj, const char *name)
{
	if (has_finalizer(obj, name))
		return;
	if (!json_at(obj, "metadata.finalizers"))
		json_put(obj, "metadata.finalizers", json_array());
	json_push(json_at(obj, "metadata.finalizers"), json_string(name));
}

/* Pods leave after their grace period; the kubelet finishes that. */
static int64_t grace_of(const struct ks_kind *kind, const json_t *live)
{
	if (*kind->group || !streq(kind->plural, "pods") || ks_pod_done(live) ||
	    !json_str_at(live, "spec.nodeName"))
		return 0;
	return json_int_or(live, "spec.terminationGracePeriodSeconds", 30);
}

bool ks_delete(struct ks *k, const struct ks_kind *kind, const json_t *live,
	       const char *propagation)
{
	char when[TIME_TEXT];
	json_t *obj = NULL;
	const int64_t grace = grace_of(kind, live);

	if (json_str_at(live, "metadata.deletionTimestamp"))
		return false;
	obj = json_deep_copy(live);
	if (streq(propagation, "Foreground"))
		add_finalizer(obj, "foregroundDeletion");
	if (streq(propagation, "Orphan"))
		add_finalizer(obj, "orphan");
	if (streq(kind->kind, "CustomResourceDefinition")) {
		add_finalizer(obj, KS_CRD_CLEANUP);
		ks_set_condition(obj, k->now_ms, "Terminating", "True",
				 "InstanceDeletionPending",
				 "CustomResourceDefinition marked for deletion; "
				 "CustomResource deletion will begin soon");
	}
	if (json_len_at(obj, "metadata.finalizers") == 0 &&
	    json_len_at(obj, "spec.finalizers") == 0 && grace == 0) {
		ks_erase(k, kind, json_str_at(live, "metadata.namespace"),
			 json_str_or(live, "metadata.name", ""));
		json_decref(obj);
		return true;
	}
	json_put_str(obj, "metadata.deletionTimestamp", ks_time(k->now_ms, when));
	if (json_at(obj, "metadata.generation"))
		json_put_int(obj, "metadata.generation",
			     json_int_or(obj, "metadata.generation", 0) + 1);
	if (streq(kind->kind, "Namespace"))
		json_put_str(obj, "status.phase", "Terminating");
	else
		json_put_int(obj, "metadata.deletionGracePeriodSeconds", grace);
	ks_write(k, kind, obj);
	return false;
}

static bool preconditions_hold(struct ks_req *q, const json_t *live)
{
	const char *uid = json_str_at(q->body, "preconditions.uid");
	const char *rv = json_str_at(q->body, "preconditions.resourceVersion");
	const char *is_uid = json_str_or(live, "metadata.uid", "");
	const char *is_rv = json_str_or(live, "metadata.resourceVersion", "");

	if (uid && !streq(uid, is_uid))
		return ks_conflict_as(
			q, q->kind->kind,
			arena_printf(
				q->a,
				"the UID in the precondition (%s) does not match the UID "
				"in record (%s). The object might have been deleted and "
				"then recreated",
				uid, is_uid));
	if (rv && !streq(rv, is_rv))
		return ks_conflict_as(
			q, q->kind->kind,
			arena_printf(
				q->a,
				"the ResourceVersion in the precondition (%s) does not "
				"match the ResourceVersion in record (%s). The object "
				"might have been modified",
				rv, is_rv));
	return true;
}

static const char *propagation_of(struct ks_req *q)
{
	const char *given = ks_delete_option(q, "propagationPolicy");

	return given ? given : "Background";
}

static void effect(struct ks_req *q, const json_t *obj)
{
	const char *ns = json_str_at(obj, "metadata.namespace");

	cloud_effect(q->k.cloud, arena_printf(q->a, "kube.%s", q->kind->plural),
		     arena_printf(q->a, "%s/%s%s%s", q->k.name, ns ? ns : "",
				  ns ? "/" : "", json_str_or(obj, "metadata.name", "")),
		     "delete");
}

/* These answer with what they were, the others with a status. */
static bool says_last(const struct ks_kind *kind)
{
	static const char *const kinds[] = {"Pod",
					    "ServiceAccount",
					    "PersistentVolume",
					    "PersistentVolumeClaim",
					    "PodTemplate",
					    "ResourceQuota",
					    "StorageClass",
					    "CSIDriver",
					    "CSINode",
					    "VolumeAttachment",
					    "Service"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (streq(kinds[i], kind->kind))
			return true;
	}
	return false;
}

static json_t *last_of(struct ks_req *q, const json_t *live)
{
	char when[TIME_TEXT];
	json_t *last = json_own(q->a, json_deep_copy(live));

	if (streq(q->kind->kind, "Pod")) {
		json_put_str(last, "metadata.deletionTimestamp",
			     ks_time(q->k.now_ms, when));
		json_put_int(last, "metadata.deletionGracePeriodSeconds", 0);
	}
	return last;
}

static bool may_go(struct ks_req *q)
{
	if (streq(q->kind->kind, "Namespace") &&
	    (streq(q->name, "default") || str_starts(q->name, "kube-")))
		return ks_fail(
			q, 403, "Forbidden",
			"namespaces \"%s\" is forbidden: this namespace may not be deleted",
			q->name);
	return true;
}

void ks_serve_delete(struct ks_req *q)
{
	json_t *live = ks_get(&q->k, q->kind, q->ns, q->name);
	json_t *s = NULL;
	bool was_going = false;

	if (!live) {
		ks_not_found(q);
		return;
	}
	if (!may_go(q) || !preconditions_hold(q, live) ||
	    !ks_webhooks_pass(q, "DELETE", live, NULL))
		return;
	json_own(q->a, json_incref(live));
	was_going = json_str_at(live, "metadata.deletionTimestamp") != NULL;
	if (!q->dry_run && !ks_delete(&q->k, q->kind, live, propagation_of(q))) {
		if (!was_going)
			effect(q, live);
		ks_answer(q, 200, ks_get(&q->k, q->kind, q->ns, q->name));
		return;
	}
	if (!q->dry_run)
		effect(q, live);
	if (says_last(q->kind)) {
		ks_answer(q, 200, last_of(q, live));
		return;
	}
	s = json_packf(q->a, "{s:s,s:s,s:{},s:s,s:{s:s,s:O}}", "kind", "Status",
		       "apiVersion", "v1", "metadata", "status", "Success", "details",
		       "name", q->name, "uid", json_at(live, "metadata.uid"));
	json_put_str(s, "details.kind", q->kind->plural);
	if (*q->kind->group)
		json_put_str(s, "details.group", q->kind->group);
	ks_answer(q, 200, s);
}

void ks_serve_delete_collection(struct ks_req *q)
{
	const struct ks_selector sel = {ks_query(q, "labelSelector"),
					ks_query(q, "fieldSelector")};
	json_t *chosen = json_new_list(q->a);
	const char *key = NULL;
	json_t *obj = NULL;
	size_t i = 0;

	if (!ks_selectors_fit(q, &sel))
		return;
	json_object_foreach(ks_objects(&q->k, q->kind), key, obj) {
		if ((!q->ns || streq(json_str_at(obj, "metadata.namespace"), q->ns)) &&
		    ks_matches(q->a, &sel, obj))
			json_array_append(chosen, obj);
	}
	json_array_foreach(chosen, i, obj) {
		if (q->dry_run)
			break;
		ks_delete(&q->k, q->kind, obj, propagation_of(q));
		effect(q, obj);
	}
	ks_answer_items(q, chosen,
			json_packf(q->a, "{s:o}", "resourceVersion",
				   json_sprintf("%lld", (long long)ks_rv(&q->k))));
}
