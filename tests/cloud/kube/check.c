/* What may be written: metadata here, kinds in check_*.c. */
#include <stdarg.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

void ks_refuse(struct ks_check *c, const char *reason, const char *field, const char *fmt,
	       ...)
{
	va_list ap;

	va_start(ap, fmt);
	ks_add_cause(c->causes, reason, field, arena_vprintf(c->a, fmt, ap));
	va_end(ap);
}

static bool has_text(const json_t *list, const char *text)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		if (streq(json_string_value(v), text))
			return true;
	}
	return false;
}

static bool is_standard(const char *finalizer)
{
	return streq(finalizer, "kubernetes") || streq(finalizer, "orphan") ||
	       streq(finalizer, "foregroundDeletion");
}

static void check_finalizers(struct ks_check *c)
{
	const json_t *now = json_at(c->obj, "metadata.finalizers");
	const json_t *was = json_at(c->live, "metadata.finalizers");
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(now, i, v) {
		const char *name = json_string_value(v);

		if (name && !strchr(name, '/') && !is_standard(name))
			ks_refuse(c, INVALID,
				  arena_printf(c->a, "metadata.finalizers[%zu]", i),
				  "Invalid value: \"%s\": name is neither a standard "
				  "finalizer name nor is it fully qualified",
				  name);
		if (json_str_at(c->live, "metadata.deletionTimestamp") && name &&
		    !has_text(was, name))
			ks_refuse(
				c, FORBIDDEN, "metadata.finalizers",
				"Forbidden: no new finalizers can be added if the object is "
				"being deleted, found new finalizers []string{\"%s\"}",
				name);
	}
}

static void check_owners(struct ks_check *c)
{
	const json_t *owners = json_at(c->obj, "metadata.ownerReferences");
	const json_t *o = NULL;
	size_t controllers = 0;
	size_t i = 0;

	json_array_foreach(owners, i, o) {
		controllers += json_bool_or(o, "controller", false);
		if (!*json_str_or(o, "uid", ""))
			ks_refuse(c, INVALID, "metadata.ownerReferences.uid",
				  "Invalid value: \"\": must not be empty");
	}
	if (controllers > 1)
		ks_refuse(
			c, INVALID, "metadata.ownerReferences",
			"Invalid value: %s: Only one reference can have Controller set to "
			"true",
			json_text(c->a, owners));
}

static void check_uid(struct ks_check *c)
{
	const char *uid = json_str_or(c->obj, "metadata.uid", "");

	if (!c->live || !*uid || streq(uid, json_str_at(c->live, "metadata.uid")))
		return;
	ks_refuse(c, INVALID, "metadata.uid", "Invalid value: \"%s\": field is immutable",
		  uid);
}

bool ks_check_object(struct ks_req *q, const json_t *live, const json_t *obj,
		     json_t *causes)
{
	const char *name = json_str_or(obj, "metadata.name", "");
	struct ks_check c = {q->a, q, live, obj, causes};

	check_uid(&c);
	if (!live)
		ks_check_name(q, name, causes);
	ks_check_labels(q, obj, causes);
	check_finalizers(&c);
	check_owners(&c);
	ks_check_kind(&c);
	ks_check_work(&c);
	ks_check_policy(&c);
	return json_array_size(causes) == 0 || ks_invalid(q, name, causes);
}

struct ks_faults ks_no_faults(struct arena *a)
{
	return (struct ks_faults){json_new_list(a), json_new_list(a), json_new_list(a)};
}

void ks_check_types(struct ks_req *q, json_t *obj, struct ks_faults *f)
{
	if (q->kind->schema)
		ks_schema_check(q->a, q->kind->schema, obj, f);
	else if (q->kind->type)
		ks_type_check(q->a, q->kind->type, obj, f);
}
