/*
 * type.h - resource types: what CloudFormation calls to make and remove them.
 *
 * A handler works through the other services' operations, as the caller of
 * the stack; what it makes is what those services then know.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_CFN_TYPE_H
#define INSTANTSTART_TESTS_CLOUD_CFN_TYPE_H

#include "core/base/arena.h"
#include "tests/cloud/cloud.h"

/* One resource of one stack, at work. */
struct cfn_unit {
	struct cloud *cloud;
	struct arena *arena;
	const char *logical_id, *stack_name;
	const char *caller, *key; /* of whoever sent the stack's call */
	const json_t *props;      /* resolved */
	json_t *tags;  /* [{"Key","Value"}]: own, stack's, aws:cloudformation:* */
	json_t *state; /* {"physical", "attrs"}; the handler fills them */
	/* Of the call that failed. */
	const char *service, *code, *message;
};

enum cfn_progress { CFN_WAIT, CFN_DONE, CFN_FAILED };

struct cfn_type {
	const char *name;
	const char *props;      /* names, space separated; required ones with a '*' */
	int create_s, delete_s; /* at least so long */
	bool (*create)(struct cfn_unit *u);
	/* After create_s; NULL: done then. */
	enum cfn_progress (*ready)(struct cfn_unit *u);
	bool (*remove)(struct cfn_unit *u);
	/* After delete_s; NULL: done then. */
	enum cfn_progress (*gone)(struct cfn_unit *u);
};

const struct cfn_type *cfn_type_find(const char *name);
extern const struct cfn_type cfn_types_ec2[], cfn_types_group[], cfn_types_eks[],
	cfn_types_iam[];

/* The input is given as json_pack's format. false: u->code and message. */
bool cfn_invoke(struct cfn_unit *u, const char *service, const char *op, json_t **ret,
		const char *fmt, ...);
bool cfn_invoke_tree(struct cfn_unit *u, const char *service, const char *op,
		     const json_t *in, json_t **ret);
void cfn_set_physical(struct cfn_unit *u, const char *id);
void cfn_set_attr(struct cfn_unit *u, const char *name, const char *value);
const char *cfn_physical(const struct cfn_unit *u);
/* "<stack>-<logical>-<12 characters>", cut to max. */
const char *cfn_generated_name(struct cfn_unit *u, size_t max);
/* The tags without aws:…, which no caller may send. */
json_t *cfn_own_tags(const struct cfn_unit *u);
/* Puts the aws:… tags on what was made, as only AWS itself can. */
void cfn_stamp(struct cfn_unit *u);
/* Brings the tags of what the unit made to what the stack says now; false: they
 * were so, or it has none. */
bool cfn_retag(struct cfn_unit *u);
/* {"Key": "Value"} of the tags. */
json_t *cfn_tag_map(const struct cfn_unit *u);
/* Properties: text (NULL: absent), truth, and several copied under their names. */
const char *cfn_prop(const struct cfn_unit *u, const char *name);
bool cfn_prop_bool(const struct cfn_unit *u, const char *name, bool fallback);
void cfn_copy_props(struct cfn_unit *u, json_t *in, const char *const *names);
/* `in` with TagSpecifications for EC2's resource type. */
json_t *cfn_tagged(struct cfn_unit *u, const char *type, json_t *in);
/* true when the code means "there is no such thing". */
bool cfn_is_missing(const char *code);

#endif
