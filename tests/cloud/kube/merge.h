/*
 * merge.h - how objects merge: lists by key, fields and their managers.
 *
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_MERGE_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_MERGE_H

#include "tests/cloud/kube/request.h"

/* --- typed.c: how lists and maps of a kind merge --- */
struct ks_typed {
	const struct ks_kind *kind;
	const char *field, *parent; /* where we are; NULL at the root */
	const json_t *schema;       /* of a custom resource, here */
};
enum ks_merge { KS_ATOMIC, KS_GRANULAR, KS_MAP, KS_SET };
struct ks_typed ks_typed_root(const struct ks_kind *kind);
struct ks_typed ks_typed_child(const struct ks_typed *t, const char *field);
struct ks_typed ks_typed_item(const struct ks_typed *t);
enum ks_merge ks_merge_of(const struct ks_typed *t, const json_t *value,
			  const char *const **ret_keys);
/* Its items are owned as wholes. */
bool ks_item_is_atomic(const struct ks_typed *t);
bool ks_is_undeclared(const struct ks_typed *parent, const char *field);
/* Index of the item with the same keys, or -1. */
int ks_item_find(const json_t *list, const json_t *item, const char *const *keys);

/* --- fields.c: sets of fields in FieldsV1 form --- */
json_t *ks_fields_of(struct arena *a, const struct ks_kind *kind, const json_t *obj);
/* Leaves of `now` that are new or differ from `was`. */
json_t *ks_fields_changed(struct arena *a, const struct ks_kind *kind, const json_t *was,
			  const json_t *now);
json_t *ks_fields_union(const json_t *x, const json_t *y); /* new reference */
json_t *ks_fields_minus(const json_t *x, const json_t *y);
json_t *ks_fields_common(const json_t *x, const json_t *y);
/* Calls fn with ".spec.containers[name=\"x\"].image" of every leaf. */
void ks_fields_walk(struct arena *a, const json_t *set,
		    void (*fn)(void *ctx, const char *path), void *ctx);
/* Removes from obj what the set names. */
void ks_fields_remove(const struct ks_kind *kind, json_t *obj, const json_t *set);

/* --- apply.c, patch.c --- */
/* New object (new reference) or NULL after ks_fail*. */
json_t *ks_apply(struct ks_req *q, const json_t *live, const json_t *config, bool force);
void ks_managed_update(struct ks_req *q, const json_t *live, json_t *obj);
json_t *ks_patch(struct ks_req *q, const json_t *live, const char *content_type);
void ks_strategic_merge(const struct ks_typed *t, json_t *target, const json_t *patch);

#endif
