/*
 * check.h - what may be written, and writing it.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_CHECK_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_CHECK_H

#include "tests/cloud/kube/request.h"

/* --- check.c, types.c, schema.c --- */
/* Unknown members (dropped from obj, their paths appended) and wrong types. */
void ks_check_types(struct ks_req *q, json_t *obj, json_t *unknown, json_t *causes);
void ks_type_check(struct arena *a, const char *type, json_t *obj, const char *path,
		   json_t *unknown, json_t *causes);
/* OpenAPI v3 schemas of the built-in types. */
json_t *ks_type_schemas(struct arena *a);
void ks_schema_check(struct arena *a, const json_t *schema, json_t *value,
		     const char *path, bool root, json_t *unknown, json_t *causes);
void ks_schema_defaults(const json_t *schema, json_t *value);
/* Names, immutable members, values; live NULL on create. */
bool ks_check_object(struct ks_req *q, const json_t *live, const json_t *obj);
void ks_defaults(struct ks *k, const struct ks_kind *kind, json_t *obj);
/* check_name.c */
bool ks_quantity(const json_t *value, double *ret);
bool ks_is_label(const char *z, bool letter_first);
void ks_check_name(struct ks_req *q, const char *name, json_t *causes);
void ks_check_labels(struct ks_req *q, const json_t *obj, json_t *causes);

/* --- webhook.c --- */
/* operation: "CREATE" or "UPDATE"; false after a refusal. */
bool ks_webhooks_pass(struct ks_req *q, const char *operation);

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
