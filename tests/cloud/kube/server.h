/*
 * server.h - what the parts of a simulated API server share.
 *
 * State of a cluster is one tree in the cloud's table "kube": {id, name, rv,
 * objects: {"apps/deployments": {"ns/name": object}}}; cluster-scoped objects
 * have the key "/name". A stored object is never changed in place: it is
 * replaced, so that the history (table "kube.history") keeps what watches need.
 *
 * Trees handed out by ks_get() are borrowed; ks_write() steals.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_SERVER_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"

/* --- store.c --- */
struct ks {
	struct cloud *cloud;
	json_t *root;
	const char *name; /* of the EKS cluster */
	int64_t now_ms;
};

struct ks_kind {
	const char *group; /* "" for the core group */
	const char *version;
	const char *plural, *singular, *kind;
	const char *short_names; /* comma separated; "" */
	bool namespaced;
	unsigned has;          /* KS_STATUS … */
	const json_t *schema;  /* of a custom resource; NULL: built in */
	const json_t *columns; /* additionalPrinterColumns; NULL */
	const char *type;      /* name in types.c; NULL: anything goes */
};
enum { KS_STATUS = 1, KS_SCALE = 2, KS_NO_STORE = 4, KS_HIDDEN = 8 };

enum ks_change { KS_CREATED, KS_UPDATED, KS_DELETED };

bool ks_by_name(struct cloud *c, const char *cluster, struct ks *ret);
bool ks_by_id(struct cloud *c, const char *id, struct ks *ret);
const char *ks_key(struct arena *a, const char *ns, const char *name);
json_t *ks_objects(struct ks *k, const struct ks_kind *kind); /* key -> object */
json_t *ks_get(struct ks *k, const struct ks_kind *kind, const char *ns,
	       const char *name);
/* By "group/plural", for controllers: "/pods", "apps/deployments". */
json_t *ks_at(struct ks *k, const char *resource, const char *ns, const char *name);
json_t *ks_all(struct ks *k, const char *resource);
/* Steals obj; sets resourceVersion; returns the stored one. */
json_t *ks_write(struct ks *k, const struct ks_kind *kind, json_t *obj);
void ks_erase(struct ks *k, const struct ks_kind *kind, const char *ns, const char *name);
/* Stamps uid, creationTimestamp, generation. */
void ks_stamp_new(struct ks *k, json_t *obj);
const char *ks_time(int64_t wall_ms, char buf[static TIME_TEXT]);
int64_t ks_rv(struct ks *k);
json_t *ks_history(struct ks *k);
int64_t ks_history_floor(struct ks *k);

/* --- kinds.c --- */
extern const struct ks_kind ks_kinds[]; /* ended by a row without a plural */
/* group NULL: any. Built-in kinds and served CRDs; the row lives in `a`. */
const struct ks_kind *ks_kind_find(struct ks *k, struct arena *a, const char *group,
				   const char *version, const char *plural);
const struct ks_kind *ks_kind_of(struct ks *k, struct arena *a, const char *api_version,
				 const char *kind);
const struct ks_kind *ks_builtin(const char *resource);
/* Every served kind, for discovery: a vector in the arena. */
const struct ks_kind *ks_kinds_served(struct ks *k, struct arena *a, size_t *ret_n);
const char *ks_api_version(struct arena *a, const struct ks_kind *kind);
const char *ks_resource(struct arena *a, const struct ks_kind *kind);

/* --- request --- */
struct ks_req {
	struct ks k;
	struct arena *a;
	const struct cloud_request *raw;
	struct cloud_response *res;
	const char *path;    /* behind /k8s/<id> */
	const json_t *query; /* name -> decoded value */
	const struct ks_kind *kind;
	const char *ns, *name, *sub;
	const char *user;
	const char *manager;
	bool dry_run;
	json_t *body; /* decoded; NULL: none */
};
const char *ks_query(const struct ks_req *q, const char *name); /* NULL: absent */
const char *ks_header(const struct ks_req *q, const char *name);
void ks_collection(struct ks_req *q);
void ks_object(struct ks_req *q);

/* --- answer.c: each writes q->res and returns false --- */
bool ks_answer(struct ks_req *q, int status, const json_t *tree);
bool ks_answer_text(struct ks_req *q, int status, const char *type, const char *text);
bool ks_fail(struct ks_req *q, int status, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* With details.causes: a list of {reason, message, field}. */
bool ks_fail_causes(struct ks_req *q, int status, const char *reason, json_t *causes,
		    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool ks_not_found(struct ks_req *q);
json_t *ks_status(struct arena *a, int code, const char *reason, const char *message,
		  const struct ks_kind *kind, const char *name, json_t *causes);
void ks_add_cause(json_t *causes, const char *reason, const char *field,
		  const char *message);
/* 422 with the causes, as the server words it. */
bool ks_invalid(struct ks_req *q, const char *name, json_t *causes);
void ks_warn(struct ks_req *q, const char *text);

/* --- proto.c: NULL: no object of a kind that it knows --- */
json_t *ks_proto_decode(struct arena *a, struct str body);

/* --- discovery.c, openapi.c --- */
bool ks_discover(struct ks_req *q); /* true: the path was one of its */
bool ks_openapi(struct ks_req *q);

/* --- read.c, selector.c, table.c, watch.c --- */
void ks_serve_get(struct ks_req *q);
void ks_serve_list(struct ks_req *q);
void ks_serve_watch(struct ks_req *q);
struct ks_selector {
	const char *label, *field;
};
/* false: the selector is not understood. */
bool ks_selector_valid(struct arena *a, const struct ks_selector *s);
bool ks_matches(struct arena *a, const struct ks_selector *s, const json_t *obj);
/* matchLabels and matchExpressions. */
bool ks_labels_match(const json_t *selector, const json_t *labels);
bool ks_wants_table(const struct ks_req *q);
bool ks_wants_metadata(const struct ks_req *q);
json_t *ks_table(struct ks *k, struct arena *a, const struct ks_kind *kind,
		 const json_t *items, const json_t *list_meta);
json_t *ks_metadata_only(struct arena *a, const json_t *obj);

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
bool ks_quantity(const json_t *value, double *ret);

/* --- write.c --- */
void ks_serve_create(struct ks_req *q);
void ks_serve_update(struct ks_req *q);
void ks_serve_patch(struct ks_req *q);
void ks_serve_delete(struct ks_req *q);
void ks_serve_delete_collection(struct ks_req *q);
/* Stores unless dry run; live NULL: created. Steals obj; returns the stored one. */
json_t *ks_store(struct ks_req *q, const json_t *live, json_t *obj);
/* Marks or erases; true when the object is gone. */
bool ks_delete(struct ks *k, const struct ks_kind *kind, const json_t *live,
	       const char *propagation);

/* --- sub.c: pods/log, eviction, scale, token, reviews --- */
bool ks_serve_sub(struct ks_req *q);
bool ks_serve_review(struct ks_req *q);
void ks_serve_log(struct ks_req *q);

/* --- auth.c --- */
/* false after 401 or 403. */
bool ks_authorize(struct ks_req *q);
bool ks_user_may(struct ks *k, const char *user, const char *verb, const char *ns,
		 const struct ks_kind *kind);
const char *ks_verb(const struct ks_req *q);

/* --- controllers --- */
void ks_run_namespaces(struct ks *k);
void ks_run_storage(struct ks *k);
void ks_run_workloads(struct ks *k);
void ks_run_jobs(struct ks *k);
void ks_run_scheduler(struct ks *k);
void ks_run_kubelet(struct ks *k);
void ks_run_garbage(struct ks *k);
void ks_run_crds(struct ks *k);
void ks_event(struct ks *k, const json_t *about, const char *type, const char *reason,
	      const char *component, const char *message);
void ks_set_condition(json_t *obj, int64_t now_ms, const char *type, const char *status,
		      const char *reason, const char *message);
/* Writes when `next` differs from the stored one; steals next. */
bool ks_update_if_changed(struct ks *k, const struct ks_kind *kind, const json_t *live,
			  json_t *next);
json_t *ks_owner_ref(const json_t *owner);
/* When the object's next change is due: set once, `after_ms` of real time on. */
int64_t ks_due(struct ks *k, const json_t *obj, int64_t after_ms);
void ks_due_clear(struct ks *k, const json_t *obj);
int64_t ks_setting(struct ks *k, const char *name, int64_t fallback);
void ks_drop_finalizer(struct ks *k, const struct ks_kind *kind, const json_t *live,
		       const char *name);
json_t *ks_snapshot(struct ks *k, struct arena *a, const char *resource);
bool ks_pod_done(const json_t *pod);
bool ks_pod_ready(const json_t *pod);
bool ks_owned_by(const json_t *obj, const json_t *owner);
void ks_new_pod(struct ks *k, const json_t *owner, const json_t *template,
		const char *name, const char *node);
const char *ks_suffix(struct ks *k, struct arena *a, int n);
/* nodeSelector and required node affinity. */
bool ks_node_selected(const json_t *spec, const json_t *node);
/* NULL: may be mounted on the node; else the kubelet's words. */
const char *ks_mount_problem(struct ks *k, struct arena *a, const json_t *pod,
			     const char *node);
/* What an S3 probe Job would meet: NULL, or the error its command prints. */
const char *ks_probe_problem(struct ks *k, struct arena *a, const json_t *pod);

#endif
