/*
 * refusal.h - a cloud's refusal as an error: its words as the cause, and what to do.
 *
 * HEAD has no body: S3 then says all it says by the status and by a header that
 * names the bucket's region, also where it refuses.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html
 */
#ifndef INSTANTSTART_OP_REFUSAL_H
#define INSTANTSTART_OP_REFUSAL_H

#include "core/op/kind.h"

/*
 * Adds cause, fix and, where the code alone says too little, the retry word to
 * *e, which has a code and a detail already.
 */
void refusal_explain(const struct step_ctx *c, const struct answer *a, struct err *e);

/*
 * A Kubernetes API server answers 401: AWS may take our keys all the same, it is the
 * cluster that has no access entry for who they are now, or one for a role that was
 * deleted and made anew: an entry knows its role by an id that no second role has.
 * https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
 */
bool refusal_is_unknown_caller(const struct answer *a);
void refusal_unknown_caller(const struct step_ctx *c, struct err *e);

/* "HTTP 403 Forbidden, request 4442587FB7D0A2F9", or what stands for it. */
const char *refusal_text(struct arena *a, const struct answer *ans);

#endif
