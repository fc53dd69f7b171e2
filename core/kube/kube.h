/*
 * kube.h - one call of a Kubernetes API server.
 *
 * A target is an endpoint, its CA and a bearer-token source (for EKS: the
 * presigned GetCallerIdentity URL, cached until a minute before its end). A
 * request names a resource; objects are trees. kube_build() and kube_parse()
 * are pure; kube_call() does one exchange.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
#ifndef INSTANTSTART_KUBE_KUBE_H
#define INSTANTSTART_KUBE_KUBE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/aws/aws.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/net/transport.h"

struct kube_target {
	const char *endpoint; /* https://…, no trailing slash */
	const char *ca_pem;
	const char *cluster_name; /* the EKS name: goes into the token */
};

enum kube_verb {
	KUBE_GET,
	KUBE_LIST, /* one chunk; `continue_` asks for the next */
	KUBE_CREATE,
	KUBE_APPLY, /* server-side, fieldManager=instantstart, fieldValidation=Strict */
	KUBE_MERGE_PATCH,
	KUBE_DELETE, /* propagationPolicy=Foreground unless `orphan` */
	KUBE_LOG,    /* pods/log */
	KUBE_WATCH,
	KUBE_RAW /* GET of `name` as an absolute path: /readyz, /version */
};

struct kube_request {
	enum kube_verb verb;
	const char *api;    /* "v1", "apps/v1", "karpenter.sh/v1" */
	const char *plural; /* "persistentvolumeclaims" */
	const char *ns;     /* NULL: cluster scope, or all namespaces for a list */
	const char *name;
	const char *subresource; /* NULL mostly */
	const json_t *body;
	const char *label_selector;
	const char *field_selector;
	const char *continue_;
	const char *resource_version; /* watch: where to go on */
	int64_t limit;                /* list chunk; 0: 500 */
	bool force;                   /* apply: take over conflicting fields */
	bool dry_run;
	bool orphan;           /* delete: leave dependents alone */
	int64_t watch_seconds; /* watch, followed log: the server ends it then; 0: 300 */
	/* KUBE_LOG */
	const char *container;
	int64_t tail_lines; /* 0: all */
	int64_t limit_bytes;
	bool previous, follow, timestamps;
	const char *since_time;
	/* KUBE_LOG, KUBE_WATCH: as in struct http_request; no text is collected then. */
	bool (*on_data)(void *ctx, const char *p, size_t n);
	void *on_data_ctx;
};

/* Tokens of all targets of a process. Lives in the arena it was made in. */
struct kube {
	struct transport *net;
	struct aws *aws; /* signs the token */
	int64_t timeout_ms;
	struct kube_token_cache *tokens;
};
void kube_init(struct kube *k, struct arena *a, struct transport *net, struct aws *aws,
	       int64_t timeout_ms);

/* The same fields mean the same as in struct aws_result; `code` is the Status
 * reason ("AlreadyExists", "NotFound", "Conflict", "Expired"). */
struct kube_result {
	bool ok;
	bool ambiguous;
	json_t *out;      /* object, list or Status; NULL for logs */
	const char *text; /* KUBE_LOG, KUBE_RAW */
	int status;
	const char *code;
	const char *message;
	const char *audit_id;  /* header Audit-Id; "" when none */
	int64_t retry_after_s; /* 0: nothing said */
	enum errc errc;
};

bool kube_build(const struct kube_target *t, const struct kube_request *r,
		struct secret token, struct arena *a, struct http_request *ret,
		struct err *e) __attribute__((warn_unused_result));
void kube_parse(const struct kube_request *r, const struct http_answer *ans,
		struct arena *a, struct kube_result *ret);
/* EKS bearer token for the target; refreshed a minute before its end. */
bool kube_token(struct kube *k, const struct kube_target *t, struct arena *a,
		struct secret *ret, struct err *e) __attribute__((warn_unused_result));
void kube_call(struct kube *k, const struct kube_target *t, const struct kube_request *r,
	       struct arena *a, struct kube_result *ret);
/*
 * All chunks of a list joined in res->out. An expired continuation starts the
 * list again, at most three times. Not ok: as kube_call().
 */
void kube_list_all(struct kube *k, const struct kube_target *t,
		   const struct kube_request *r, struct arena *a,
		   struct kube_result *ret);
/* The server does not take the target's token any longer. */
void kube_token_drop(struct kube *k, const struct kube_target *t);
bool kube_verb_mutates(enum kube_verb verb);
const char *kube_verb_name(enum kube_verb verb);
/* Sets e from a failed result; returns false. */
bool kube_err(const struct kube_request *r, const struct kube_result *res, struct err *e);

#endif
