/*
 * cached.h - reads of the cloud that all workers share for a while.
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_CACHED_H
#define INSTANTSTART_DOMAIN_OFFER_CACHED_H

#include "core/aws/aws.h"
#include "core/domain/capability.h"

/*
 * All pages of `op`, from the cache row of (operation, input) when it is not
 * older than max_age_s. When the cloud cannot be asked, an older row is better
 * than nothing. *ret_observed_ms: when the cloud said so.
 */
bool cached_read(struct call *c, enum aws_op_id op, const json_t *in, int64_t max_age_s,
		 json_t **ret_out, int64_t *ret_observed_ms, struct err *e)
	__attribute__((warn_unused_result));

/* Where that answer is kept: the key of its row. */
const char *cached_key(struct call *c, enum aws_op_id op, const json_t *in);

#endif
