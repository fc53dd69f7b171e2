/*
 * request.h - a request on its way through the simulated API server.
 *
 * Lives in the arena of the request; functions that return bool have written
 * the answer when they return false.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_REQUEST_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_REQUEST_H

#include "tests/cloud/kube/store.h"

/* --- request --- */
struct ks_user {
	const char *name; /* as Kubernetes knows it; messages say it */
	json_t *groups;
	const char *arn; /* of an IAM principal, whose access entry counts; NULL */
};
struct ks_req {
	struct ks k;
	struct arena *a;
	const struct cloud_request *raw;
	struct cloud_response *res;
	const char *path;    /* behind /k8s/<id> */
	const json_t *query; /* name -> decoded value */
	const struct ks_kind *kind;
	const char *ns, *name, *sub;
	const char *user; /* who.arn or who.name, for the ledger */
	struct ks_user who;
	const char *manager;
	bool dry_run;
	json_t *body;      /* decoded; NULL: none */
	const char *twice; /* path of a member that the body has twice; NULL */
};
const char *ks_query(const struct ks_req *q, const char *name); /* NULL: absent */
const char *ks_header(const struct ks_req *q, const char *name);
void ks_collection(struct ks_req *q);
void ks_object(struct ks_req *q);

/* --- body.c, options.c: false after a refusal --- */
bool ks_acceptable(struct ks_req *q);
bool ks_read_body(struct ks_req *q);
bool ks_check_options(struct ks_req *q);
const char *ks_delete_option(const struct ks_req *q, const char *name);

/* --- proto.c: NULL: no object of a kind that it knows --- */
json_t *ks_proto_decode(struct arena *a, struct str body);

/* --- discovery.c, openapi.c --- */
bool ks_discover(struct ks_req *q);  /* true: the path was one of its */
bool ks_aggregate(struct ks_req *q); /* the same: of an API that another server answers */
bool ks_openapi(struct ks_req *q);

/* --- read.c, selector.c, table.c, watch.c --- */
void ks_serve_get(struct ks_req *q);
void ks_serve_list(struct ks_req *q);
void ks_serve_watch(struct ks_req *q);
struct ks_selector {
	const char *label, *field;
};
/* false after a refusal. */
bool ks_selectors_fit(struct ks_req *q, const struct ks_selector *s);
/* resourceVersion of the query; 0: none, or any. false after a refusal. */
bool ks_version_asked(struct ks_req *q, int64_t *ret);
void ks_answer_items(struct ks_req *q, json_t *items, json_t *meta);
bool ks_matches(struct arena *a, const struct ks_selector *s, const json_t *obj);
/* matchLabels and matchExpressions. */
bool ks_labels_match(const json_t *selector, const json_t *labels);
bool ks_wants_table(const struct ks_req *q);
bool ks_wants_metadata(const struct ks_req *q);
/* include: "Metadata", "Object" or "None". */
json_t *ks_table(struct ks *k, struct arena *a, const struct ks_kind *kind,
		 const json_t *items, const json_t *list_meta, const char *include);
/* cell.c: a new reference; NULL: nothing. */
json_t *ks_cell(struct ks *k, struct arena *a, const json_t *obj, const char *what);
json_t *ks_metadata_only(struct arena *a, const json_t *obj);

/* --- sub.c, review.c: pods/log, eviction, binding, scale, tokens, reviews --- */
bool ks_serve_sub(struct ks_req *q);
bool ks_serve_review(struct ks_req *q);
void ks_serve_token(struct ks_req *q);
void ks_serve_log(struct ks_req *q);

#endif
