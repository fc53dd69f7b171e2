/*
 * rights.h - whether our own role is allowed what a plan would do.
 *
 * IAM is asked with the concrete ARNs, in few calls, and only about what it has not
 * said "allowed" to within the last minute. Three values: allowed, denied, not known.
 * A simulation that cannot be had never stands in the way.
 */
#ifndef INSTANTSTART_OP_RIGHTS_H
#define INSTANTSTART_OP_RIGHTS_H

#include "core/aws/simulate.h"
#include "core/op/runner.h"

enum { RIGHTS_KEPT = 256, RIGHTS_DIGEST = 32, RIGHTS_KEPT_MS = 60000 };

/* What was allowed lately: of this process. Denials are asked again: somebody mends. */
struct rights_memo {
	struct rights_kept {
		char digest[RIGHTS_DIGEST + 1];
		int64_t until_ms; /* monotonic */
	} kept[RIGHTS_KEPT];
	size_t next;
};

/* The input's member with which a denial is a warning. */
#define RIGHTS_ACCEPT "accept_missing_rights"

struct rights_found {
	json_t *denied;        /* [{action, resource, by, why, statement}] */
	json_t *not_known;     /* [{action, resource, why}] */
	const char *unasked;   /* why nothing could be learnt; NULL: it was */
	size_t n;              /* rights that were asked for */
	enum right_by highest; /* of the denials */
};

/*
 * needs: rows of aws_rights(). Looks only; ends by until_ms of the monotonic clock, or
 * soon after.
 */
void rights_ask(struct runner *r, const json_t *needs, int64_t until_ms, struct arena *a,
		struct rights_found *ret);

/* CLOUD_DENIED or CLOUD_FORBIDDEN: all denials, and what to do. Needs one. */
bool rights_refuse(const struct rights_found *f, const char *principal, struct arena *a,
		   struct err *e);
/* "fits", "does_not_fit", "not_known". */
const char *rights_verdict(const struct rights_found *f);
/* Why nobody knows, in one sentence; NULL: everything was told. */
const char *rights_unknown(const struct rights_found *f, struct arena *a);

/*
 * What a plan says of them: a row of `checks`, and warnings. false: denied and not
 * accepted; *e says what.
 */
bool rights_tell(struct runner *r, const json_t *needs, bool accepted, int64_t until_ms,
		 struct arena *a, json_t *checks, json_t *warnings, struct err *e);

#endif
