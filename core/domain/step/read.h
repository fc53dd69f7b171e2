/*
 * read.h - the reads of a step, told apart by a key.
 *
 * A step's observe() lists what it wants to know:
 *
 *	return read_aws(c, x, "cluster", AWS_EKS_DescribeCluster, in) ||
 *	       read_all(c, x, "vpcs", AWS_EC2_DescribeVpcs, NULL);
 *
 * its seen() is read_seen(), and plan() looks at saw(c, "vpcs"). Each read is
 * made once a claim; a list is read to its last page. Answers live in c->seen.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_READ_H
#define INSTANTSTART_DOMAIN_STEP_READ_H

#include "core/op/kind.h"

/* True when the read was built into *x: it has not been made in this claim. */
bool read_aws(struct step_ctx *c, struct exchange *x, const char *key, enum aws_op_id op,
	      json_t *in);
/* All pages, joined. */
bool read_all(struct step_ctx *c, struct exchange *x, const char *key, enum aws_op_id op,
	      json_t *in);
/* Of the cluster in data.eks (see eks_access.h). Lists are read in chunks. */
bool read_kube(struct step_ctx *c, struct exchange *x, const char *key,
	       const struct kube_request *r);

/* What a chart renders, as manifest_objects() lists it. */
bool read_helm(struct step_ctx *c, struct exchange *x, const char *key,
	       const struct helm_request *r);

/*
 * One read of each member of a list, over as many claims as that takes: what keep()
 * makes of an answer goes to data.<into>.<name>, so that the next claim goes on behind
 * it. Names have no dots. False: all of them have been read.
 */
struct read_each {
	const char *into;
	const char *name;  /* member of the list's items, and of the request */
	enum aws_op_id op; /* asked with {name: …} */
	json_t *(*keep)(const struct step_ctx *c, const char *name); /* new, small */
};
bool read_each(struct step_ctx *c, struct exchange *x, const struct read_each *how,
	       const json_t *list);

/* The seen() of every step that uses the above. */
void read_seen(struct step_ctx *c, const struct answer *a);

/* The answer's tree; NULL when the read failed, was skipped or not made. */
json_t *saw(const struct step_ctx *c, const char *key);
/* Text of a log or raw read; NULL likewise. */
const char *saw_text(const struct step_ctx *c, const char *key);
bool saw_ok(const struct step_ctx *c, const char *key);
/* The thing does not exist: a definite answer, not a missing one. */
bool saw_missing(const struct step_ctx *c, const char *key);
/* "" when the read went well. */
const char *saw_code(const struct step_ctx *c, const char *key);
const char *saw_message(const struct step_ctx *c, const char *key);
/* "HTTP 403 Forbidden, request 4442…": why a read taught nothing, in brief. */
const char *saw_why(const struct step_ctx *c, const char *key);
/* Neither the thing nor its absence was seen: the read was refused. */
bool saw_refused(const struct step_ctx *c, const char *key);
/* It was refused by rights: 403, AccessDenied. */
bool saw_denied(const struct step_ctx *c, const char *key);
/* Fails with what the read was refused for: cause, request id, fix. */
struct err *step_fail_saw(struct step_ctx *c, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), returns_nonnull));

#endif
