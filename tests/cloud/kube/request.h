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

/* --- answer.c: each writes q->res and returns false --- */
bool ks_answer(struct ks_req *q, int status, const json_t *tree);
bool ks_answer_text(struct ks_req *q, int status, const char *type, const char *text);
bool ks_fail(struct ks_req *q, int status, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* With details.causes: a list of {reason, message, field}. */
bool ks_fail_causes(struct ks_req *q, int status, const char *reason, json_t *causes,
		    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool ks_not_found(struct ks_req *q);
bool ks_no_such_resource(struct ks_req *q);
bool ks_no_such_method(struct ks_req *q);
const char *ks_qualified(struct arena *a, const struct ks_kind *kind);
json_t *ks_status(struct arena *a, int code, const char *reason, const char *message,
		  const struct ks_kind *kind, const char *name, json_t *causes);
void ks_add_cause(json_t *causes, const char *reason, const char *field,
		  const char *message);
/* 422 with the causes, as the server words it. */
bool ks_invalid(struct ks_req *q, const char *name, json_t *causes);
bool ks_invalid_as(struct ks_req *q, const char *group, const char *kind,
		   const char *name, json_t *causes);
/* 409 of what is called so here: "ConfigMap", "pods/binding". */
bool ks_conflict_as(struct ks_req *q, const char *kind, const char *why);
/* Of the options of a request: what is "CreateOptions", "ListOptions" … */
bool ks_bad_options(struct ks_req *q, const char *what, json_t *causes);
/* What a patch makes cannot be decoded. */
bool ks_bad_patch(struct ks_req *q, const char *why);
void ks_warn(struct ks_req *q, const char *text);

/* --- body.c, options.c: false after a refusal --- */
bool ks_acceptable(struct ks_req *q);
bool ks_read_body(struct ks_req *q);
bool ks_check_options(struct ks_req *q);
const char *ks_delete_option(const struct ks_req *q, const char *name);

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

/* --- auth.c, rbac.c --- */
/* What somebody wants: a path, or a verb on a resource. */
struct ks_ask {
	const char *verb, *path;
	const char *group, *plural, *sub, *ns, *name;
};
/* false after 401 or 403. */
bool ks_authorize(struct ks_req *q);
bool ks_may(struct ks *k, struct arena *a, const struct ks_user *u,
	    const struct ks_ask *ask);
bool ks_user_in(const struct ks_user *u, const char *group);
bool ks_rbac_allows(struct ks *k, struct arena *a, const struct ks_user *u,
		    const struct ks_ask *ask);
/* Rules that hold for the user in a namespace; NULL: in the cluster alone. */
json_t *ks_rules_of(struct ks *k, struct arena *a, const struct ks_user *u,
		    const char *ns);
const char *ks_verb(const struct ks_req *q);

/* --- sub.c, review.c: pods/log, eviction, binding, scale, tokens, reviews --- */
bool ks_serve_sub(struct ks_req *q);
bool ks_serve_review(struct ks_req *q);
void ks_serve_token(struct ks_req *q);
void ks_serve_log(struct ks_req *q);

#endif
