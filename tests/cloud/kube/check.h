/*
 * check.h - what may be written, and writing it.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_CHECK_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_CHECK_H

#include "tests/cloud/kube/request.h"

/* --- check.c, types.c, schema.c --- */
struct ks_faults {
	json_t *unknown; /* paths of members that there are not; dropped from the object
			  */
	json_t *wrong;   /* {read, typed}: what no decoder reads, in the words of an apply
			  */
	json_t *causes;
};
struct ks_faults ks_no_faults(struct arena *a);
/* Also writes what a decoder writes: numbers as quantities, no nulls. */
void ks_check_types(struct ks_req *q, json_t *obj, struct ks_faults *f);
void ks_type_check(struct arena *a, const char *type, json_t *obj, struct ks_faults *f);
/* OpenAPI v3 schemas of the built-in types. */
json_t *ks_type_schemas(struct arena *a);
void ks_schema_check(struct arena *a, const json_t *schema, json_t *value,
		     struct ks_faults *f);
void ks_schema_defaults(const json_t *schema, json_t *value);
/* Of a schema with rules of its own: they wait until the faults so far are none. */
void ks_note_unchecked(struct ks_req *q, json_t *causes);
/* Names, immutable members, values; live NULL on create. Adds to causes, and answers
 * when there are any. */
bool ks_check_object(struct ks_req *q, const json_t *live, const json_t *obj,
		     json_t *causes);
/* What an object of the kind has when it does not say otherwise; its writer owns it. */
void ks_defaults(const struct ks_kind *kind, json_t *obj);
/* What the server itself adds: addresses, finalizers, a first status. Nobody's. */
void ks_prepare(struct ks *k, const struct ks_kind *kind, json_t *obj);
void ks_complete(struct ks *k, const struct ks_kind *kind, json_t *obj); /* both */
/* check_pod.c, check_work.c, check_core.c, check_rbac.c */
struct ks_check {
	struct arena *a;
	struct ks_req *q;
	const json_t *live, *obj; /* live NULL: new */
	json_t *causes;
};
#define INVALID       "FieldValueInvalid"
#define REQUIRED      "FieldValueRequired"
#define FORBIDDEN     "FieldValueForbidden"
#define DUPLICATE     "FieldValueDuplicate"
#define NOT_FOUND     "FieldValueNotFound"
#define NOT_SUPPORTED "FieldValueNotSupported"
#define TOO_LONG      "FieldValueTooLong"
void ks_refuse(struct ks_check *c, const char *reason, const char *field, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));
void ks_check_pod_spec(struct ks_check *c, const json_t *spec, const char *base);
void ks_check_pod_update(struct ks_check *c);
void ks_check_kind(struct ks_check *c);
void ks_check_volume(struct ks_check *c);
void ks_check_claim(struct ks_check *c);
void ks_check_class(struct ks_check *c);
void ks_check_work(struct ks_check *c);
void ks_check_policy(struct ks_check *c);
/* check_name.c */
#define LABEL_RULE                                                                          \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or " \
	"'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "  \
	"'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define NAME_RULE                                                                             \
	"name part must consist of alphanumeric characters, '-', '_' or '.', and must start " \
	"and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "          \
	"'123-abc', regex used for validation is "                                            \
	"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
bool ks_is_label_key(struct arena *a, const char *z);
bool ks_quantity(const json_t *value, double *ret);
bool ks_is_label(const char *z, bool letter_first);
void ks_check_name(struct ks_req *q, const char *name, json_t *causes);
void ks_check_labels(struct ks_req *q, const json_t *obj, json_t *causes);

/* --- webhook.c --- */
/* operation: "CREATE", "UPDATE" or "DELETE"; false after a refusal. NULL: live of a
 * create, obj of a delete. */
/* What a server would say of a new object in the namespace that a webhook guards and
 * nobody serves; NULL: nothing. */
const char *ks_webhook_silent(struct ks *k, struct arena *a, const struct ks_kind *kind,
			      const char *ns);
bool ks_webhooks_pass(struct ks_req *q, const char *operation, const json_t *live,
		      const json_t *obj);

/* --- decode.c: false after a refusal --- */
enum ks_write { WRITE_WHOLE, WRITE_PATCH, WRITE_APPLY };
bool ks_is_kind(struct ks_req *q, const json_t *obj);
/* Unknown members go, by fieldValidation; values are judged later, as a whole. */
bool ks_decode(struct ks_req *q, json_t *obj, enum ks_write how);
void ks_set_identity(struct ks_req *q, json_t *obj);
bool ks_check_identity(struct ks_req *q, const json_t *obj);

/* --- admit.c: false after a refusal --- */
bool ks_admit(struct ks_req *q, const json_t *live, json_t *obj);

/* --- write.c --- */
void ks_serve_create(struct ks_req *q);
void ks_serve_update(struct ks_req *q);
void ks_serve_patch(struct ks_req *q);
void ks_serve_delete(struct ks_req *q);
void ks_serve_delete_collection(struct ks_req *q);
/* Members that the system alone writes. */
void ks_keep_system_members(const json_t *live, json_t *obj);
/* Stores unless dry run; live NULL: created. Steals obj; returns the stored one. */
json_t *ks_store(struct ks_req *q, const json_t *live, json_t *obj);
/* Marks or erases; true when the object is gone. */
bool ks_delete(struct ks *k, const struct ks_kind *kind, const json_t *live,
	       const char *propagation);

#endif
