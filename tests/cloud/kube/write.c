#include <string.h>

#include "tests/cloud/kube/server.h"

static bool namespace_open(struct ks_req *q)
{
	const json_t *ns = NULL;
	json_t *causes = NULL;

	if (!q->kind->namespaced)
		return true;
	ns = ks_at(&q->k, "/namespaces", NULL, q->ns);
	if (!ns) {
		q->kind = ks_builtin("/namespaces");
		q->name = q->ns;
		return ks_not_found(q);
	}
	if (!json_str_at(ns, "metadata.deletionTimestamp"))
		return true;
	causes = json_new_list(q->a);
	ks_add_cause(causes, "NamespaceTerminating", "metadata.namespace",
		     arena_printf(q->a, "namespace %s is being terminated", q->ns));
	return ks_fail_causes(
		q, 403, "Forbidden", causes,
		"%s \"%s\" is forbidden: unable to create new content in namespace "
		"%s because it is being terminated",
		q->kind->plural, q->name ? q->name : "", q->ns);
}

static const char *new_name(struct ks_req *q, json_t *obj)
{
	const char *base = json_str_at(obj, "metadata.generateName");

	if ((!json_str_at(obj, "metadata.name") || !*json_str_at(obj, "metadata.name")) &&
	    base)
		json_put_str(obj, "metadata.name",
			     arena_printf(q->a, "%s%s", base, ks_suffix(&q->k, q->a, 5)));
	return json_str_at(obj, "metadata.name");
}

static bool exists(struct ks_req *q)
{
	const json_t *live = ks_get(&q->k, q->kind, q->ns, q->name);

	if (!live)
		return false;
	ks_fail(q, 409, "AlreadyExists", "%s%s \"%s\" already exists",
		json_str_at(live, "metadata.deletionTimestamp")
			? "object is being deleted: "
			: "",
		ks_qualified(q->a, q->kind), q->name);
	return true;
}

/* A whole, defaulted object in; the stored one out, or NULL after a refusal. */
static json_t *admit(struct ks_req *q, const json_t *live, json_t *obj)
{
	struct ks_faults f = ks_no_faults(q->a);

	if (!q->sub && !ks_admit(q, live, obj))
		return NULL;
	/* A copy: what a decoder drops the server may write, as "rules": null. */
	ks_check_types(q, json_own(q->a, json_deep_copy(obj)), &f);
	ks_note_unchecked(q, f.causes);
	if (!ks_check_object(q, live, obj, f.causes) || (!live && exists(q)) ||
	    (!q->sub && !ks_webhooks_pass(q, live ? "UPDATE" : "CREATE", live, obj)))
		return NULL;
	return ks_store(q, live, json_incref(obj));
}

/* What a client may not choose. */
static void begin_new(struct ks_req *q, json_t *obj)
{
	static const char *const own[] = {
		"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds",
		"metadata.selfLink", "metadata.resourceVersion"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		json_drop(obj, own[i]);
	if (q->kind->has & KS_STATUS)
		json_object_del(obj, "status");
	ks_stamp_new(&q->k, obj);
	ks_defaults(q->kind, obj);
}

void ks_serve_create(struct ks_req *q)
{
	json_t *obj = NULL;
	json_t *causes = json_new_list(q->a);
	bool versioned = false;

	if (!ks_is_kind(q, q->body) || !ks_check_identity(q, q->body) ||
	    !ks_decode(q, q->body, WRITE_WHOLE))
		return;
	obj = json_own(q->a, json_deep_copy(q->body));
	ks_set_identity(q, obj);
	q->name = new_name(q, obj);
	if (!namespace_open(q))
		return;
	if (!q->name || !*q->name) {
		ks_add_cause(causes, "FieldValueRequired", "metadata.name",
			     "Required value: name or generateName is required");
		ks_invalid(q, "", causes);
		return;
	}
	versioned = *json_str_or(obj, "metadata.resourceVersion", "") != '\0';
	begin_new(q, obj);
	ks_managed_update(q, NULL, obj);
	ks_prepare(&q->k, q->kind, obj);
	if (versioned) {
		ks_fail(q, 500, "",
			"resourceVersion should not be set on objects to be created");
		return;
	}
	obj = admit(q, NULL, obj);
	if (obj)
		ks_answer(q, 201, obj);
}

/* On the main resource the status stays as it is, on /status all else does. */
static void split_status(struct ks_req *q, const json_t *live, json_t *obj)
{
	json_t *status = NULL;
	json_t *labels = json_incref(json_at(obj, "metadata.labels"));
	json_t *notes = json_incref(json_at(obj, "metadata.annotations"));
	const bool core = !*q->kind->group;

	json_own(q->a, labels ? labels : json_null());
	json_own(q->a, notes ? notes : json_null());
	if (!(q->kind->has & KS_STATUS))
		return;
	if (streq(q->sub, "status")) {
		const char *name = NULL;
		json_t *v = NULL;

		status = json_incref(json_object_get(obj, "status"));
		json_object_clear(obj);
		json_object_foreach((json_t *)(uintptr_t)live, name, v) {
			json_object_set_new(obj, name, json_deep_copy(v));
		}
		/* Kubelets write labels of nodes and pods this way. */
		if (core && labels)
			json_put(obj, "metadata.labels", json_incref(labels));
		if (core && notes)
			json_put(obj, "metadata.annotations", json_incref(notes));
	} else {
		status = json_incref(json_object_get(live, "status"));
	}
	json_object_del(obj, "status");
	if (status)
		json_object_set_new(obj, "status", status);
}

static bool version_holds(struct ks_req *q, const json_t *live, const json_t *given)
{
	const char *rv = json_str_at(given, "metadata.resourceVersion");
	int64_t n = 0;

	if (!rv || !*rv || streq(rv, json_str_at(live, "metadata.resourceVersion")))
		return true;
	if (!str_to_i64(str_of(rv), &n))
		return ks_fail(q, 500, "",
			       "strconv.ParseUint: parsing \"%s\": invalid syntax", rv);
	return ks_fail(
		q, 409, "Conflict",
		"Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
		"please apply your changes to the latest version and try again",
		ks_qualified(q->a, q->kind), q->name);
}

/* A whole object says by its uid which one it replaces. */
static bool uid_holds(struct ks_req *q, const json_t *live, const json_t *given)
{
	const char *uid = json_str_at(given, "metadata.uid");

	if (!uid || !*uid || streq(uid, json_str_at(live, "metadata.uid")))
		return true;
	return ks_fail(
		q, 409, "Conflict",
		"Operation cannot be fulfilled on %s \"%s\": StorageError: invalid object, "
		"Code: 4, Key: /registry/%s/%s%s%s, ResourceVersion: 0, AdditionalErrorMsg: "
		"Precondition failed: UID in precondition: %s, UID in object meta: %s",
		ks_qualified(q->a, q->kind), q->name, q->kind->plural, q->ns ? q->ns : "",
		q->ns ? "/" : "", q->name, uid, json_str_at(live, "metadata.uid"));
}

static void finish_update(struct ks_req *q, const json_t *live, json_t *obj)
{
	json_t *uid = json_incref(json_at(obj, "metadata.uid"));

	ks_set_identity(q, obj);
	split_status(q, live, obj);
	ks_keep_system_members(live, obj);
	/* Kept as it was given: another one is refused. */
	if (uid)
		json_put(obj, "metadata.uid", uid);
	if (!streq(q->sub, "status"))
		ks_defaults(q->kind, obj);
	ks_managed_update(q, live, obj);
	if (!streq(q->sub, "status"))
		ks_prepare(&q->k, q->kind, obj);
	obj = admit(q, live, obj);
	if (obj)
		ks_answer(q, 200, obj);
}

void ks_serve_update(struct ks_req *q)
{
	const json_t *live = ks_get(&q->k, q->kind, q->ns, q->name);
	json_t *causes = json_new_list(q->a);

	if (!ks_is_kind(q, q->body) || !ks_check_identity(q, q->body))
		return;
	if (!live) {
		ks_not_found(q);
		return;
	}
	if (!ks_decode(q, q->body, WRITE_WHOLE) || !uid_holds(q, live, q->body) ||
	    !version_holds(q, live, q->body))
		return;
	if (q->kind->schema && !*json_str_or(q->body, "metadata.resourceVersion", "")) {
		ks_add_cause(causes, "FieldValueInvalid", "metadata.resourceVersion",
			     "Invalid value: 0: must be specified for an update");
		ks_invalid_as(q, q->kind->group, q->kind->plural, q->name, causes);
		return;
	}
	finish_update(q, live, json_own(q->a, json_deep_copy(q->body)));
}

/* --- apply ------------------------------------------------------------------------ */

static bool apply_allowed(struct ks_req *q)
{
	const char *api = json_str_or(q->body, "apiVersion", "");
	const char *kind = json_str_or(q->body, "kind", "");

	if (json_len_at(q->body, "metadata.managedFields") > 0)
		return ks_fail(q, 400, "BadRequest",
			       "metadata.managedFields must be nil");
	if (!json_is_object(q->body) || !streq(kind, q->kind->kind))
		return ks_fail(q, 400, "BadRequest", "invalid object type: %s%s, Kind=%s",
			       strchr(api, '/') ? "" : "/", api, kind);
	return true;
}

static bool apply_finds(struct ks_req *q, const json_t *live)
{
	const char *uid = json_str_at(q->body, "metadata.uid");

	if (live)
		return version_holds(q, live, q->body);
	if (q->sub)
		return ks_not_found(q);
	if (!namespace_open(q))
		return false;
	return !uid ||
	       ks_fail(q, 409, "Conflict",
		       "Operation cannot be fulfilled on %s \"%s\": uid mismatch: the "
		       "provided object specified uid %s, and no existing object was "
		       "found",
		       ks_qualified(q->a, q->kind), q->name, uid);
}

static void serve_apply(struct ks_req *q, const json_t *live)
{
	json_t *config = NULL;
	json_t *obj = NULL;
	json_t *uid = NULL;

	if (!apply_allowed(q) || !ks_is_kind(q, q->body) ||
	    !ks_check_identity(q, q->body) || !ks_decode(q, q->body, WRITE_APPLY) ||
	    !apply_finds(q, live))
		return;
	uid = json_at(q->body, "metadata.uid");
	config = json_own(q->a, json_deep_copy(q->body));
	ks_set_identity(q, config);
	if ((q->kind->has & KS_STATUS) && !q->sub)
		json_object_del(config, "status");
	obj = ks_apply(q, live, config, streq(ks_query(q, "force"), "true"));
	if (!obj)
		return;
	json_own(q->a, obj);
	if (live) {
		ks_keep_system_members(live, obj);
		if (uid)
			json_put(obj, "metadata.uid", json_incref(uid));
		ks_defaults(q->kind, obj);
	} else {
		begin_new(q, obj);
	}
	ks_prepare(&q->k, q->kind, obj);
	obj = admit(q, live, obj);
	if (obj)
		ks_answer(q, live ? 200 : 201, obj);
}

/* true: the patch left the object of that kind. */
static bool still_this_kind(struct ks_req *q, const json_t *obj)
{
	if (streq(json_str_at(obj, "kind"), q->kind->kind) &&
	    streq(json_str_at(obj, "apiVersion"), ks_api_version(q->a, q->kind)))
		return true;
	return ks_bad_patch(q, arena_printf(q->a, "%s is not of the kind %s",
					    json_str_or(obj, "kind", ""), q->kind->kind));
}

void ks_serve_patch(struct ks_req *q)
{
	const char *type = ks_header(q, "content-type");
	const json_t *live = ks_get(&q->k, q->kind, q->ns, q->name);
	json_t *obj = NULL;

	if (type && str_starts(type, "application/apply-patch+yaml")) {
		serve_apply(q, live);
		return;
	}
	if (!live) {
		ks_not_found(q);
		return;
	}
	obj = ks_patch(q, live, type ? type : "");
	if (!obj)
		return;
	json_own(q->a, obj);
	if (still_this_kind(q, obj) && ks_decode(q, obj, WRITE_PATCH) &&
	    ks_check_identity(q, obj) && version_holds(q, live, obj))
		finish_update(q, live, obj);
}
