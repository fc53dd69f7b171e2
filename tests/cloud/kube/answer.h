/*
 * answer.h - how a request is answered, and who may ask it.
 *
 * Functions that return bool have written the answer when they return false.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KUBE_ANSWER_H
#define INSTANTSTART_TESTS_CLOUD_KUBE_ANSWER_H

#include "tests/cloud/kube/request.h"

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

/* --- fault.c --- */
/* Whether the rule ends the exchange before anything is done. */
bool ks_fault_before(struct ks_req *q, const json_t *rule);

#endif
