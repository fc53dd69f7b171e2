/*
 * wish.h - the nodes that an operation is about.
 *
 * Checks ask for "the instance type", "the capacity type" and so on: of the
 * input when nodes are asked for by it, else of data.wish, where a kind that
 * changes a live group keeps what that group is.
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_WISH_H
#define INSTANTSTART_DOMAIN_OFFER_WISH_H

#include "core/op/kind.h"

/* Input first, then data.wish; NULL when neither has it. */
const char *wish_str(const struct step_ctx *c, const char *name);
/* Names of instance types, in order of preference: instance_types, or the one. */
const json_t *wish_types(struct step_ctx *c);
/* "ml.g5.xlarge", or "ml.g5.xlarge or ml.g6.xlarge", for sentences. */
const char *wish_types_text(struct step_ctx *c);
/* DescribeInstanceTypes of these types under the key "type". */
bool instance_type_read(struct step_ctx *c, struct exchange *x);
/* How many nodes there shall be, and how many of them must still come. */
int64_t wish_count(const struct step_ctx *c);
int64_t wish_more(const struct step_ctx *c);

/* Fills data.wish from a group of DescribeCluster; zone and subnet too. */
void wish_save(struct step_ctx *c, const json_t *cluster, const json_t *group);

/* {type, types, capacity_type, interface_mode}: how a group of DescribeCluster
 * would be asked for. Owned by the arena. */
json_t *wish_of_group(struct arena *a, const json_t *group);

#endif
