#include <string.h>

#include "tests/cloud/kube/server.h"

/* --- decoding ------------------------------------------------------------------- */

static bool is_this_kind(struct ks_req *q, const json_t *obj)
{
	const char *api = ks_api_version(q->a, q->kind);

	if (!json_is_object(obj))
		return ks_fail(q, 400, "BadRequest", "the body is not an object");
	/* Typed clients leave both out. */
	if (json_str_at(obj, "kind") && !streq(json_str_at(obj, "kind"), q->kind->kind))
		return ks_fail(q, 400, "BadRequest",
			       "%s in version \"%s\" cannot be handled as a %s",
			       json_str_at(obj, "kind"),
			       json_str_or(obj, "apiVersion", ""), q->kind->kind);
	if (json_str_at(obj, "apiVersion") && !streq(json_str_at(obj, "apiVersion"), api))
		return ks_fail(
			q, 400, "BadRequest",
			"the API version in the data (%s) does not match the expected "
			"API version (%s)",
			json_str_at(obj, "apiVersion"), api);
	return true;
}

static const char *joined(struct ks_req *q, const json_t *unknown)
{
	const char *all = "";
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(unknown, i, v) {
		all = arena_printf(q->a, "%s%sunknown field \"%s\"", all, i ? ", " : "",
				   json_string_value(v));
	}
	return all;
}

/* Applies fieldValidation; obj is pruned. */
static bool decode(struct ks_req *q, json_t *obj, bool apply)
{
	json_t *unknown = json_new_list(q->a);
	json_t *causes = json_new_list(q->a);
	const char *mode = ks_query(q, "fieldValidation");
	const char *name = json_str_or(obj, "metadata.name", "");
	const json_t *first = NULL;

	ks_check_types(q, obj, unknown, causes);
	first = json_array_get(unknown, 0);
	if (first && apply)
		return ks_fail(
			q, 500, "",
			"failed to create typed patch object (%s%s%s; %s, Kind=%s): .%s: "
			"field not declared in schema",
			q->ns ? q->ns : "", q->ns ? "/" : "", name,
			ks_api_version(q->a, q->kind), q->kind->kind,
			json_string_value(first));
	if (first && streq(mode, "Strict"))
		return ks_fail(
			q, 400, "BadRequest",
			"%s in version \"%s\" cannot be handled as a %s: strict decoding "
			"error: %s",
			q->kind->kind, q->kind->version, q->kind->kind,
			joined(q, unknown));
	if (first && !streq(mode, "Ignore"))
		ks_warn(q, joined(q, unknown));
	/* An apply is judged as a whole, after merging. */
	if (apply || json_array_size(causes) == 0)
		return true;
	return ks_invalid(q, name, causes);
}

static void set_identity(struct ks_req *q, json_t *obj)
{
	json_put_str(obj, "kind", q->kind->kind);
	json_put_str(obj, "apiVersion", ks_api_version(q->a, q->kind));
	if (!json_is_object(json_object_get(obj, "metadata")))
		json_object_set_new(obj, "metadata", json_object());
	if (q->kind->namespaced)
		json_put_str(obj, "metadata.namespace", q->ns);
	else
		json_drop(obj, "metadata.namespace");
}

static bool check_identity(struct ks_req *q, const json_t *obj)
{
	const char *ns = json_str_at(obj, "metadata.namespace");
	const char *name = json_str_at(obj, "metadata.name");

	if (q->kind->namespaced && !q->ns)
		return ks_fail(
			q, 405, "MethodNotAllowed",
			"the server does not allow this method on the requested resource");
	if (q->kind->namespaced && ns && *ns && !streq(ns, q->ns))
		return ks_fail(q, 400, "BadRequest",
			       "the namespace of the provided object does not match the "
			       "namespace sent on the request");
	if (q->name && name && *name && !streq(name, q->name))
		return ks_fail(
			q, 400, "BadRequest",
			"the name of the object (%s) does not match the name on the URL "
			"(%s)",
			name, q->name);
	return true;
}

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

/* A whole, defaulted object in; the stored one out, or NULL after a refusal. */
static json_t *admit(struct ks_req *q, const json_t *live, json_t *obj)
{
	json_t *unknown = json_new_list(q->a);
	json_t *causes = json_new_list(q->a);

	ks_check_types(q, obj, unknown, causes);
	if (json_array_size(causes) > 0) {
		ks_invalid(q, json_str_at(obj, "metadata.name"), causes);
		return NULL;
	}
	if (!ks_check_object(q, live, obj) ||
	    (!q->sub && !ks_webhooks_pass(q, live ? "UPDATE" : "CREATE")))
		return NULL;
	return ks_store(q, live, json_incref(obj));
}

void ks_serve_create(struct ks_req *q)
{
	json_t *obj = NULL;

	if (!is_this_kind(q, q->body) || !check_identity(q, q->body) ||
	    !decode(q, q->body, false))
		return;
	obj = json_own(q->a, json_deep_copy(q->body));
	set_identity(q, obj);
	q->name = new_name(q, obj);
	if (!q->name || !*q->name) {
		ks_fail(q, 422, "Invalid",
			"resource name may not be empty: name or generateName is required");
		return;
	}
	if (ks_get(&q->k, q->kind, q->ns, q->name)) {
		const char *what = *q->kind->group
					   ? arena_printf(q->a, "%s.%s", q->kind->plural,
							  q->kind->group)
					   : q->kind->plural;

		ks_fail(q, 409, "AlreadyExists", "%s \"%s\" already exists", what,
			q->name);
		return;
	}
	if (!namespace_open(q))
		return;
	if (json_str_at(obj, "metadata.resourceVersion") &&
	    *json_str_at(obj, "metadata.resourceVersion")) {
		ks_fail(q, 400, "BadRequest",
			"resourceVersion should not be set on objects to be created");
		return;
	}
	if (q->kind->has & KS_STATUS)
		json_object_del(obj, "status");
	json_drop(obj, "metadata.deletionTimestamp");
	ks_defaults(&q->k, q->kind, obj);
	ks_managed_update(q, NULL, obj);
	obj = admit(q, NULL, obj);
	if (obj)
		ks_answer(q, 201, obj);
}

/* On the main resource the status stays as it is, on /status all else does. */
static void split_status(struct ks_req *q, const json_t *live, json_t *obj)
{
	json_t *status = NULL;

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
	const char *uid = json_str_at(given, "metadata.uid");

	if (uid && *uid && !streq(uid, json_str_at(live, "metadata.uid")))
		return ks_fail(
			q, 409, "Conflict",
			"Operation cannot be fulfilled on %s \"%s\": Precondition failed: "
			"UID in precondition: %s, UID in object meta: %s",
			q->kind->plural, q->name, uid, json_str_at(live, "metadata.uid"));
	if (!rv || !*rv || streq(rv, json_str_at(live, "metadata.resourceVersion")))
		return true;
	return ks_fail(
		q, 409, "Conflict",
		"Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
		"please apply your changes to the latest version and try again",
		q->kind->plural, q->name);
}

static void finish_update(struct ks_req *q, const json_t *live, json_t *obj)
{
	set_identity(q, obj);
	json_put_str(obj, "metadata.name", q->name);
	split_status(q, live, obj);
	ks_keep_system_members(live, obj);
	if (!streq(q->sub, "status"))
		ks_defaults(&q->k, q->kind, obj);
	ks_managed_update(q, live, obj);
	obj = admit(q, live, obj);
	if (obj)
		ks_answer(q, 200, obj);
}

void ks_serve_update(struct ks_req *q)
{
	const json_t *live = ks_get(&q->k, q->kind, q->ns, q->name);

	if (!live) {
		ks_not_found(q);
		return;
	}
	if (!is_this_kind(q, q->body) || !check_identity(q, q->body) ||
	    !decode(q, q->body, false) || !version_holds(q, live, q->body))
		return;
	if (q->kind->schema && !json_str_at(q->body, "metadata.resourceVersion")) {
		ks_fail(q, 422, "Invalid",
			"metadata.resourceVersion: Invalid value: 0x0: must be specified for an "
			"update");
		return;
	}
	finish_update(q, live, json_own(q->a, json_deep_copy(q->body)));
}

/* --- apply ------------------------------------------------------------------------ */

static bool apply_allowed(struct ks_req *q)
{
	const char *manager = ks_query(q, "fieldManager");

	if (!manager || !*manager)
		return ks_fail(
			q, 400, "BadRequest",
			"PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
			"value: is required for apply patch");
	if (strlen(manager) > 128)
		return ks_fail(q, 422, "Invalid",
			       "fieldManager: Too long: may not be more than "
			       "128 bytes");
	if (json_at(q->body, "metadata.managedFields") &&
	    json_len_at(q->body, "metadata.managedFields") > 0)
		return ks_fail(q, 400, "BadRequest",
			       "metadata.managedFields must be nil");
	if (!json_str_at(q->body, "apiVersion") || !json_str_at(q->body, "kind"))
		return ks_fail(q, 400, "BadRequest",
			       "apiVersion and kind must be set in an apply patch");
	return true;
}

static void serve_apply(struct ks_req *q, const json_t *live)
{
	json_t *config = NULL;
	json_t *obj = NULL;

	if (!apply_allowed(q) || !is_this_kind(q, q->body) ||
	    !check_identity(q, q->body) || !decode(q, q->body, true) ||
	    (live && !version_holds(q, live, q->body)))
		return;
	if (!live && q->sub) {
		ks_not_found(q);
		return;
	}
	if (!live && !namespace_open(q))
		return;
	config = json_own(q->a, json_deep_copy(q->body));
	set_identity(q, config);
	json_put_str(config, "metadata.name", q->name);
	if ((q->kind->has & KS_STATUS) && !q->sub)
		json_object_del(config, "status");
	obj = ks_apply(q, live, config, streq(ks_query(q, "force"), "true"));
	if (!obj)
		return;
	json_own(q->a, obj);
	if (live)
		ks_keep_system_members(live, obj);
	ks_defaults(&q->k, q->kind, obj);
	obj = admit(q, live, obj);
	if (obj)
		ks_answer(q, live ? 200 : 201, obj);
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
	if (decode(q, obj, false) && version_holds(q, live, obj))
		finish_update(q, live, obj);
}
