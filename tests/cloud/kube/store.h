/*
 * store.h - objects of a simulated API server, and its kinds.
 *
 * State of a cluster is one tree in the cloud's table "kube": {id, name, rv,
 * objects: {"apps/deployments": {"ns/name": object}}}; cluster-scoped objects
 * have the key "/name". A stored object is never changed in place: it is
 * replaced, so that the history (table "kube.history") keeps what watches need.
 *
 * Trees handed out by ks_get() are borrowed; ks_write() steals.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_STORE_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_STORE_H

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

#endif
