/*
 * name.h - the one place where a name is put together from parts.
 *
 * The parts are joined by "-". As they stand when the result is legal and nothing
 * else could give it: so names of earlier installations stay. Otherwise characters
 * that the service refuses are replaced, the text is cut, and a digest of the parts
 * ends it, so that other parts give another name (40 bits of SHA-256).
 */
#ifndef INSTANTSTART_DOMAIN_STEP_NAME_H
#define INSTANTSTART_DOMAIN_STEP_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

struct name_rule {
	size_t max;        /* characters */
	const char *extra; /* allowed besides letters, digits and "-" */
	bool folds;        /* capitals are refused, or are the same as small ones */
};

/* https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html: "unique
 * within the account, case-insensitively" */
extern const struct name_rule name_rule_role;
/* https://docs.aws.amazon.com/IAM/latest/APIReference/API_PutRolePolicy.html */
extern const struct name_rule name_rule_policy;
/* https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
 */
extern const struct name_rule name_rule_stack;
/* https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateCluster.html */
extern const struct name_rule name_rule_hyperpod;
/* https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ */
extern const struct name_rule name_rule_object; /* DNS subdomain */
extern const struct name_rule name_rule_label;  /* DNS label */
/* https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ */
extern const struct name_rule name_rule_label_value;

/* A part that a caller chose; a "-" in one of several makes the join ambiguous. */
#define NAME_FREE(z)                                                                     \
	{                                                                                \
		.text = (z), .is_free = true                                             \
	}
#define NAME_FIXED(z)                                                                    \
	{                                                                                \
		.text = (z)                                                              \
	}
struct name_part {
	const char *text;
	bool is_free;
};

/* Of the arena. parts: at least one, none of them NULL. */
const char *name_join(struct arena *a, const struct name_rule *r,
		      const struct name_part *parts, size_t n);
/* Whether the service takes the text as it is. */
bool name_is_legal(const struct name_rule *r, const char *text);

#endif
