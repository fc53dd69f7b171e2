/*
 * simulate.h - IAM's policy simulation: the question, and one answer out of it.
 *
 * It knows the policies of a user or role, its boundary and the organization's; not
 * those of resources, of sessions and of endpoints. A denial that hangs on something
 * the simulation was not told is no denial.
 * https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
 */
#ifndef INSTANTSTART_AWS_SIMULATE_H
#define INSTANTSTART_AWS_SIMULATE_H

#include <jansson.h>

#include "core/base/arena.h"

enum right_word { RIGHT_ALLOWED, RIGHT_DENIED, RIGHT_NOT_KNOWN };

/* Who denies: what has to be changed, and by whom. */
enum right_by { BY_NOBODY, BY_STATEMENT, BY_BOUNDARY, BY_ORGANIZATION };

struct right_verdict {
	enum right_word word;
	enum right_by by;
	const char *why; /* "no policy allows it"; NULL when allowed */
};

/* Why a principal has no policies that could be simulated; NULL: it has. */
const char *simulate_cannot(const char *principal);
/* actions, resources: lists of texts; context: {key: text}, may be NULL. */
json_t *simulate_input(struct arena *a, const char *principal, const json_t *actions,
		       const json_t *resources, const json_t *context);
/* `out`: all pages of the answer. */
struct right_verdict simulate_verdict(const json_t *out, const char *action,
				      const char *resource, struct arena *a);

#endif
