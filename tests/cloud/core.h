/*
 * core.h - what the parts of the simulated cloud's core share.
 *
 * Services use cloud.h only. Owns: struct cloud, and the seams between front,
 * codecs, checks, signatures and faults.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_CORE_H
#define INSTANTSTART_TESTS_CLOUD_CORE_H

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"
#include "tests/cloud/model.h"

enum { LEDGER_DEPTH = 8, WIRE_BODY_MAX = 32 * 1024 * 1024 };

struct cloud {
	struct transport transport; /* first: cloud_transport() casts back */
	struct cloud_options o;
	struct arena arena;
	struct clock *auth_clock;
	struct rng_seeded ids;
	struct rng_seeded chance;
	struct model *model;
	json_t *state;
	json_t *settings;
	json_t *ledger;
	json_t *faults;
	json_t *open[LEDGER_DEPTH];
	int n_open;
	/* The key of the caller whose request is served, or whose stack goes on. */
	const char *acting;
	int64_t seq;
	bool advancing;
	int record_fd; /* -1: nothing is recorded */
	/* Set by the server: moves the clock that the options gave. */
	void (*move_clock)(struct clock *clock, int64_t ms);
};

/* --- services.c --- */
extern const struct cloud_service *const cloud_services[]; /* ended by NULL */
const struct cloud_service *cloud_service_find(const char *id);
const struct cloud_op *cloud_op_find(const struct cloud_service *s, const char *name);

/* --- the wire --- */
struct pair {
	const char *name, *value;
	bool used;
};

struct pairs {
	struct pair *v;
	size_t n;
};

/* A request, taken apart once. */
struct wire {
	const struct cloud_request *req;
	const char *path;         /* as received */
	const char *query;        /* as received; "" */
	struct pairs query_pairs; /* decoded */
	struct pairs form;        /* decoded form of a query call, GET or POST */
	const char *body;         /* without aws-chunked framing */
	size_t body_len;
	const char *rest_path; /* with the bucket of a virtual host in front */
	/* Of the signature, once read. */
	const char *scope_date, *scope_region, *scope_service;
	const char *access_key;
	const char *request_id;
};

void wire_read(struct wire *w, struct arena *a, const struct cloud_request *req);
const char *wire_header(const struct wire *w, const char *name);
struct pairs form_parse(struct arena *a, const char *text, size_t n);
struct pair *pair_find(const struct pairs *p, const char *name);
char *percent_decode(struct arena *a, const char *p, size_t n, bool plus_is_space);
/* Unreserved characters stay; keep_slash leaves '/' too. */
void percent_encode(struct buf *b, const char *p, bool keep_slash);

/* --- refusals: what went wrong, before it has a service's words --- */
enum refusal {
	REFUSED_NOT,
	REFUSED_NO_SIGNATURE,
	REFUSED_UNKNOWN_KEY,
	REFUSED_SIGNATURE,
	REFUSED_SKEW,
	REFUSED_EXPIRED_TOKEN,
	REFUSED_BAD_TOKEN,
	REFUSED_SCOPE,
	REFUSED_UNKNOWN_OP,
	REFUSED_SERIALIZATION,
	REFUSED_THROTTLE,
	REFUSED_DENIED,
	REFUSED_COUNT_
};

struct refused {
	enum refusal why;
	const char *message;
};

/* --- sigv4.c --- */
struct caller {
	const char *arn;
	const char *access_key;
};

bool sigv4_verify(struct cloud *c, struct arena *a, struct wire *w, struct caller *ret,
		  struct refused *r);
/* A presigned URL that is good for life_ms whatever it says; 0: as it says. */
bool sigv4_verify_for(struct cloud *c, struct arena *a, struct wire *w, int64_t life_ms,
		      struct caller *ret, struct refused *r);
/* The scope of the request, unverified; false when it has none. */
bool sigv4_scope(struct arena *a, struct wire *w);

/* --- decode.c --- */
/* false: r says why. *ret_in is owned by the arena. */
bool decode_input(struct arena *a, const struct model_op *op, struct wire *w,
		  json_t **ret_in, struct refused *r);
/* The REST operation of method and path; false: none. */
bool rest_route(struct cloud *c, struct arena *a, const char *service, struct wire *w,
		struct model_op *ret);
bool decode_rest(struct arena *a, const struct model_op *op, struct wire *w,
		 json_t **ret_in, struct refused *r);
json_t *decode_xml(struct arena *a, const struct model_op *op, const json_t *ref,
		   const char *text, size_t n, struct refused *r);
/* A text by the model's type; stays a string when it is not of that type. */
json_t *decode_text(const struct model_op *op, const json_t *ref, const char *text);

/* --- check.c --- */
enum problem_kind {
	PROBLEM_MISSING,
	PROBLEM_UNKNOWN,
	PROBLEM_TYPE,
	PROBLEM_ENUM,
	PROBLEM_PATTERN,
	PROBLEM_LENGTH,
	PROBLEM_RANGE
};

struct problem {
	enum problem_kind kind;
	const char *path;       /* "instanceGroups.1.member.instanceCount" */
	const char *member;     /* the last step, as the model spells it */
	const char *value;      /* text, NULL when missing */
	const char *constraint; /* "Member must not be null" */
};

struct problems {
	struct problem v[16];
	size_t n;
};

void check_tree(struct arena *a, const struct model_op *op, const char *shape,
		const json_t *tree, struct problems *ret);
/* For answers: only unknown members and wrong types count. */
void check_answer(struct arena *a, const struct model_op *op, const json_t *tree,
		  struct problems *ret);
/* The service's own words for these problems. */
void problems_to_fault(struct cloud_call *call, const struct model_op *op,
		       const struct problems *p);

/* --- encode.c, encode_xml.c, errors.c --- */
void encode_answer(struct arena *a, const struct model_op *op, const struct wire *w,
		   const json_t *out, struct cloud_response *ret);
void encode_xml(struct arena *a, const struct model_op *op, const struct wire *w,
		const json_t *out, struct cloud_response *ret);
void encode_xml_members(struct buf *b, struct arena *a, const struct model_op *op,
			const json_t *shape, const json_t *value);
const char *encode_time(struct arena *a, const json_t *value, const char *format);
const char *encode_text(struct arena *a, const struct model_op *op, const json_t *ref,
			const json_t *value, const char *time_format);

struct fault_answer {
	const char *service;
	enum protocol protocol;
	const char *code, *message;
	int status; /* 0: by the model, else 400 */
	const json_t *members;
	const char *bucket_region; /* S3 says it with every answer about a bucket */
};

void encode_fault(struct cloud *c, struct arena *a, const struct wire *w,
		  const struct fault_answer *f, struct cloud_response *ret);
/* Code, status and default words of a refusal in that service. */
void refusal_words(const char *service, enum protocol protocol, const struct refused *r,
		   struct fault_answer *ret);

void response_header(struct cloud_response *r, const char *name, const char *value);

/* --- record.c --- */
void cloud_record_open(struct cloud *c);
/* fault: the rule that spoilt the exchange, or NULL. */
void cloud_record(struct cloud *c, struct arena *a, const struct cloud_request *req,
		  const struct cloud_response *res, const char *fault);

/* --- control.c --- */
void cloud_control(struct cloud *c, struct arena *a, const struct cloud_request *req,
		   struct cloud_response *ret);

#endif
