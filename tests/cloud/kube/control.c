/* What controllers share: events, conditions, owners, pods. */
#include <string.h>

#include "tests/cloud/kube/server.h"

void ks_event(struct ks *k, const json_t *about, const char *type, const char *reason,
	      const char *component, const char *message)
{
	char when[TIME_TEXT];
	struct arena a;
	const char *ns = json_str_or(about, "metadata.namespace", "default");
	const char *name = NULL;
	json_t *event = NULL;

	arena_init(&a, 0);
	/* One event for each reason and text: repeats say nothing new. */
	name = arena_printf(
		&a, "%s.%.16s", json_str_or(about, "metadata.name", ""),
		json_digest(&a, json_packf(&a, "[s,s,s]",
					   json_str_or(about, "metadata.uid", ""), reason,
					   message)));
	if (!ks_at(k, "/events", ns, name)) {
		ks_time(k->now_ms, when);
		event = json_pack(
			"{s:s,s:s,s:{s:s,s:s},s:{s:s,s:s,s:s,s:s,s:s},s:s,s:s,s:s,s:{s:s},s:s,s:s,"
			"s:i,s:s}",
			"apiVersion", "v1", "kind", "Event", "metadata", "name", name,
			"namespace", ns, "involvedObject", "kind",
			json_str_or(about, "kind", ""), "namespace",
			json_str_or(about, "metadata.namespace", ""), "name",
			json_str_or(about, "metadata.name", ""), "uid",
			json_str_or(about, "metadata.uid", ""), "apiVersion",
			json_str_or(about, "apiVersion", ""), "reason", reason, "message",
			message, "type", type, "source", "component", component,
			"firstTimestamp", when, "lastTimestamp", when, "count", 1,
			"reportingComponent", component);
		ks_stamp_new(k, event);
		ks_write(k, ks_builtin("/events"), event);
	}
	arena_free(&a);
}

void ks_set_condition(json_t *obj, int64_t now_ms, const char *type, const char *status,
		      const char *reason, const char *message)
{
	char when[TIME_TEXT];
	json_t *list = NULL;
	json_t *c = NULL;

	if (!json_at(obj, "status.conditions"))
		json_put(obj, "status.conditions", json_array());
	list = json_at(obj, "status.conditions");
	c = json_find(list, "type", type);
	if (!c) {
		c = json_pack("{s:s}", "type", type);
		json_array_append_new(list, c);
	}
	if (!streq(json_str_at(c, "status"), status))
		json_put_str(c, "lastTransitionTime", ks_time(now_ms, when));
	json_put_str(c, "status", status);
	json_put_str(c, "reason", reason);
	json_put_str(c, "message", message);
}

bool ks_update_if_changed(struct ks *k, const struct ks_kind *kind, const json_t *live,
			  json_t *next)
{
	if (json_equal(live, next)) {
		json_decref(next);
		return false;
	}
	ks_write(k, kind, next);
	return true;
}

bool ks_pod_done(const json_t *pod)
{
	const char *phase = json_str_or(pod, "status.phase", "");

	return streq(phase, "Succeeded") || streq(phase, "Failed");
}

bool ks_pod_ready(const json_t *pod)
{
	const json_t *c = json_find(json_at(pod, "status.conditions"), "type", "Ready");

	return streq(json_str_at(c, "status"), "True");
}

bool ks_owned_by(const json_t *obj, const json_t *owner)
{
	return json_find(json_at(obj, "metadata.ownerReferences"), "uid",
			 json_str_or(owner, "metadata.uid", "?")) != NULL;
}

const char *ks_suffix(struct ks *k, struct arena *a, int n)
{
	/* As the server's: no vowels, so that no words come out. */
	static const char letters[] = "bcdfghjklmnpqrst";
	const char *hex = cloud_id(k->cloud, a, "", n);
	char *out = arena_strdup(a, hex);

	for (char *p = out; *p; p++)
		*p = letters[*p <= '9' ? *p - '0' : *p - 'a' + 10];
	return out;
}

json_t *ks_owner_ref(const json_t *owner)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:b,s:b}", "apiVersion",
			 json_str_or(owner, "apiVersion", ""), "kind",
			 json_str_or(owner, "kind", ""), "name",
			 json_str_or(owner, "metadata.name", ""), "uid",
			 json_str_or(owner, "metadata.uid", ""), "controller", 1,
			 "blockOwnerDeletion", 1);
}

static bool is_bound(struct ks *k, const char *ns, const char *account)
{
	const char *id;
	json_t *row;

	json_object_foreach(cloud_table(k->cloud, "eks.pod_identity"), id, row)
		if (streq(json_str_at(row, "clusterName"), k->name) &&
		    streq(json_str_at(row, "namespace"), ns) &&
		    streq(json_str_at(row, "serviceAccount"), account))
			return true;
	return false;
}

/*
 * EKS puts into new pods how they get their credentials, by the annotation or the
 * association of their service account; old pods stay as they are.
 * https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html
 */
static void inject_credentials(struct ks *k, json_t *pod)
{
	const char *ns = json_str_or(pod, "metadata.namespace", "default");
	const char *account = json_str_or(pod, "spec.serviceAccountName", "default");
	const json_t *notes = json_at(ks_at(k, "/serviceaccounts", ns, account),
				      "metadata.annotations");
	const char *role =
		json_string_value(json_object_get(notes, "eks.amazonaws.com/role-arn"));
	json_t *container = NULL, *env = NULL;
	size_t i = 0;

	if (role)
		env = json_pack(
			"[{s:s,s:s},{s:s,s:s}]", "name", "AWS_ROLE_ARN", "value", role,
			"name", "AWS_WEB_IDENTITY_TOKEN_FILE", "value",
			"/var/run/secrets/eks.amazonaws.com/serviceaccount/token");
	else if (is_bound(k, ns, account))
		env = json_pack("[{s:s,s:s}]", "name",
				"AWS_CONTAINER_CREDENTIALS_FULL_URI", "value",
				"http://169.254.170.23/v1/credentials");
	json_array_foreach(json_at(pod, "spec.containers"), i, container) {
		if (env && !json_object_get(container, "env"))
			json_object_set_new(container, "env", json_array());
		if (env)
			json_array_extend(json_object_get(container, "env"), env);
	}
	json_decref(env);
}

void ks_new_pod(struct ks *k, const json_t *owner, const json_t *template,
		const char *name, const char *node)
{
	const struct ks_kind *kind = ks_builtin("/pods");
	json_t *pod = json_pack("{s:s,s:s,s:{},s:O}", "apiVersion", "v1", "kind", "Pod",
				"metadata", "spec", json_at(template, "spec"));
	json_t *spec = json_deep_copy(json_at(template, "spec"));

	json_object_set_new(pod, "spec", spec);
	if (json_at(template, "metadata.labels"))
		json_put(pod, "metadata.labels",
			 json_deep_copy(json_at(template, "metadata.labels")));
	if (json_at(template, "metadata.annotations"))
		json_put(pod, "metadata.annotations",
			 json_deep_copy(json_at(template, "metadata.annotations")));
	json_put_str(pod, "metadata.name", name);
	json_put_str(pod, "metadata.namespace", json_str_at(owner, "metadata.namespace"));
	json_put(pod, "metadata.ownerReferences", json_pack("[o]", ks_owner_ref(owner)));
	json_put_int(pod, "metadata.generation", 1);
	if (node)
		json_put_str(pod, "spec.nodeName", node);
	inject_credentials(k, pod);
	ks_stamp_new(k, pod);
	ks_complete(k, kind, pod);
	ks_write(k, kind, pod);
}

int64_t ks_due(struct ks *k, const json_t *obj, int64_t after_ms)
{
	json_t *due = json_at(k->root, "due");
	const char *uid = json_str_or(obj, "metadata.uid", "?");
	const json_t *at = json_object_get(due, uid);

	if (at)
		return json_integer_value(at);
	json_object_set_new(due, uid,
			    json_integer(k->now_ms + cloud_ms(k->cloud, after_ms)));
	return k->now_ms + cloud_ms(k->cloud, after_ms);
}

void ks_due_clear(struct ks *k, const json_t *obj)
{
	json_object_del(json_at(k->root, "due"), json_str_or(obj, "metadata.uid", "?"));
}

int64_t ks_setting(struct ks *k, const char *name, int64_t fallback)
{
	return json_int_or(cloud_settings(k->cloud), name, fallback);
}

/* Removes the finalizer; the object goes when it was the last obstacle. */
void ks_drop_finalizer(struct ks *k, const struct ks_kind *kind, const json_t *live,
		       const char *name)
{
	json_t *next = json_deep_copy(live);
	json_t *list = json_at(next, "metadata.finalizers");

	for (size_t i = json_array_size(list); i > 0; i--) {
		if (streq(json_string_value(json_array_get(list, i - 1)), name))
			json_array_remove(list, i - 1);
	}
	if (json_array_size(list) == 0)
		json_drop(next, "metadata.finalizers");
	if (json_len_at(next, "metadata.finalizers") == 0 &&
	    json_len_at(next, "spec.finalizers") == 0 &&
	    json_str_at(next, "metadata.deletionTimestamp")) {
		ks_erase(k, kind, json_str_at(live, "metadata.namespace"),
			 json_str_or(live, "metadata.name", ""));
		json_decref(next);
		return;
	}
	ks_update_if_changed(k, kind, live, next);
}

/* A snapshot of a collection: controllers write while they walk. */
json_t *ks_snapshot(struct ks *k, struct arena *a, const char *resource)
{
	json_t *list = json_new_list(a);
	const char *key = NULL;
	json_t *obj = NULL;

	json_object_foreach(ks_all(k, resource), key, obj) {
		json_array_append(list, obj);
	}
	return list;
}
