/*
 * finding.h - all that speaks against a wish, collected before any of it is told.
 *
 * A handler refuses with the list as violations, each with its field; a step,
 * whose error has room for four causes, with the same sentences.
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_FINDING_H
#define INSTANTSTART_DOMAIN_KARPENTER_FINDING_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/limits.h"

struct findings {
	struct arena *arena;
	struct violation *v; /* room for LIMIT_VIOLATIONS */
	size_t n;
};

struct findings findings_new(struct arena *a);
/* `detail` is one sentence that names the thing; the others may be NULL. */
void finding_add(struct findings *f, const char *field, const char *detail,
		 const char *seen, const char *expected);
/* "a; b; c" */
const char *findings_text(const struct findings *f);
/* Fills e with all of them behind the headline; false when there are any. */
bool findings_none(const struct findings *f, enum errc code, const char *headline,
		   struct err *e) __attribute__((warn_unused_result));

#endif
