/*
 * cluster_check.h - rules that span several members, pure.
 *
 * The descriptors judge each member by itself; these judge them together.
 * Every violation is reported at once, as INVALID_INPUT.
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_CLUSTER_CHECK_H
#define INSTANTSTART_DOMAIN_OFFER_CLUSTER_CHECK_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/base/config.h"
#include "core/base/err.h"

/* Members of the decoded input that are not there are not judged. */
bool cluster_check(const json_t *input, const struct config *cfg, struct arena *a,
		   struct err *e) __attribute__((warn_unused_result));

/* 33 of "1.33"; -1 when it is no such version. */
int kubernetes_minor(const char *version);

#endif
