/*
 * aws.h - one call of an AWS service.
 *
 * A call is a descriptor (struct aws_op, from ops.def) and a JSON tree in, a
 * JSON tree out; trees carry the member names of the published API models
 * ("Vpcs", "Reservations"), whatever the wire protocol, so that they read like
 * the AWS CLI's JSON output. Unknown members of an answer survive.
 *
 * aws_build() and aws_parse() are pure. aws_call() = credentials + build +
 * transport + parse, once: retrying is the caller's business (the runner's
 * back-off, or aws_read() below for the faces).
 *
 * Protocols: https://smithy.io/2.0/aws/protocols/
 */
#ifndef INSTANTSTART_AWS_AWS_H
#define INSTANTSTART_AWS_AWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/aws/credentials.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/rng.h"
#include "core/net/transport.h"

/* AWS_EKS_DescribeCluster …: one constant for every row of ops.def. */
enum aws_op_id {
#define AWS_OP(service, name, ...) AWS_##service##_##name,
#include "core/aws/ops.def"
#undef AWS_OP
	AWS_OPS_COUNT_
};

struct aws_op; /* defined in op_table.h; the rows are built from ops.def */
const struct aws_op *aws_op(enum aws_op_id id);
const char *aws_op_service(const struct aws_op *op); /* "eks" */
const char *aws_op_name(const struct aws_op *op);    /* "DescribeCluster" */
bool aws_op_mutates(const struct aws_op *op);
/* Name of the client-token member, or NULL. */
const char *aws_op_token_member(const struct aws_op *op);
/* What the service does after its answer, as a sentence; NULL: it is done then. */
const char *aws_op_goes_on(const struct aws_op *op);

/* Whose keys are in use, as far as STS has said; see account.h. */
struct aws_place {
	int64_t generation; /* of the keys that it was asked of; 0: of none */
	int64_t again_ms;   /* monotonic: until it is asked again */
	char account[16];   /* "": it gave no answer */
};

struct aws {
	struct transport *net;
	struct aws_credentials *credentials; /* the provider chain */
	struct clock *clock;
	struct rng *rng;
	const char *region;
	int64_t timeout_ms; /* of one exchange */
	/* Looks up AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE>; getenv. */
	const char *(*lookup)(void *ctx, const char *name);
	void *lookup_ctx;
	const char *account; /* keys of another are not used; NULL: not known yet */
	struct aws_place place;
	/* Correction of our clock learnt from a skew error, ms. */
	int64_t skew_ms;
	/* Waits between the tries of aws_read(); NULL: nanosleep. */
	void (*sleep_ms)(void *ctx, int64_t ms);
	void *sleep_ctx;
};

/* What became of a call. Exactly one of `out` and `error` is meaningful. */
struct aws_result {
	bool ok;
	bool ambiguous;   /* the request may have arrived; nothing is known */
	json_t *out;      /* {} when the answer has no members */
	int status;       /* HTTP; 0 when nothing came */
	const char *code; /* the service's, cleaned: "ResourceInUse"; "" when none */
	const char *message;
	const char *request_id;
	const char *fix;           /* what a person must do about it; NULL: it may pass */
	int64_t retry_after_ms;    /* what the service asked for; 0: nothing */
	const char *bucket_region; /* where S3 says that the bucket is; NULL */
	/* Mapped: CLOUD_THROTTLED, CLOUD_DENIED, CREDENTIALS, CLOUD_NOT_FOUND … */
	enum errc errc;
};

/* Signs for s3 and non-s3 alike; the request is complete and can be sent. */
bool aws_build(const struct aws *aws, const struct aws_op *op, const json_t *in,
	       const struct aws_keys *keys, int64_t wall_ms, struct arena *a,
	       struct http_request *ret, struct err *e)
	__attribute__((warn_unused_result));
void aws_parse(const struct aws_op *op, const struct http_answer *ans, struct arena *a,
	       struct aws_result *ret);

/*
 * One exchange. Never returns without a verdict in *ret. An expired-credential
 * or clock-skew refusal is repeated once with fresh credentials or time: the
 * service refused it, so nothing happened.
 */
void aws_call(struct aws *aws, enum aws_op_id op, const json_t *in, struct arena *a,
	      struct aws_result *ret);

/*
 * A read for the faces: all pages joined (LIMIT_PAGES), transient errors and
 * throttling repeated with full jitter until `deadline_ms`, a moment of the
 * monotonic clock.
 * false: e is set from the last answer, with the cloud's words as cause.
 */
bool aws_read(struct aws *aws, enum aws_op_id op, const json_t *in, int64_t deadline_ms,
	      struct arena *a, json_t **ret_out, struct err *e)
	__attribute__((warn_unused_result));

/* The same of the one page that `in` asks for, token and all. */
bool aws_read_page(struct aws *aws, enum aws_op_id op, const json_t *in,
		   int64_t deadline_ms, struct arena *a, json_t **ret_out, struct err *e)
	__attribute__((warn_unused_result));

/* Sets e from a failed result: mapped code, cause, retry word. Returns false. */
bool aws_err(const struct aws_op *op, const struct aws_result *r, struct err *e);

/*
 * Paging: the input of the next page, or NULL when `out` was the last one.
 * aws_join_page appends the page's items to `all`.
 */
json_t *aws_next_page(const struct aws_op *op, const json_t *in, const json_t *out,
		      struct arena *a);
void aws_join_page(const struct aws_op *op, json_t *all, const json_t *out);

#endif
