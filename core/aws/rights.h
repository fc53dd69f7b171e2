/*
 * rights.h - what the caller's policies must allow for a call, before it is made.
 *
 * From rights.def: the action itself on what the request names, and what the service
 * does in the caller's name: roles that are passed, tags at creation, access entries,
 * service-linked roles, the parts of our stack. A row is {"action", "resource",
 * "context": {key: text}}: what IAM's policy simulation is asked.
 *
 * A request names some things by less than their ARN; what reads have told of them is
 * kept as facts.
 */
#ifndef INSTANTSTART_AWS_RIGHTS_H
#define INSTANTSTART_AWS_RIGHTS_H

#include "core/aws/aws.h"

struct rights_place {
	const char *partition, *region, *account;
};

/* Takes from the answer to a read what requests leave out: ARNs of HyperPod clusters,
 * parameters of stacks, tags of what EC2 has. `facts`: an object, {} at first. */
void aws_rights_learn(json_t *facts, enum aws_op_id op, const json_t *out);

/* The rows of one call, added to `list` unless they are there. */
void aws_rights(enum aws_op_id op, const json_t *in, const json_t *facts,
		const struct rights_place *place, struct arena *a, json_t *list);

#endif
