/*
 * node_out.h - a node, as faces show it.
 */
#ifndef INSTANTSTART_DOMAIN_NODE_NODE_OUT_H
#define INSTANTSTART_DOMAIN_NODE_NODE_OUT_H

#include "core/domain/capability.h"

extern const struct field node_out[];
extern const struct field cluster_event_out[];

/*
 * One cluster event as an answer's item, with the reason that only its detail has
 * (detail NULL: not looked up). The caller owns it.
 */
json_t *cluster_event_item(const json_t *event, const json_t *detail);
/*
 * Reads up to `max` events by ListClusterEvents' input; STATE_CONFLICT when the
 * cluster has none because it does not use Continuous provisioning.
 */
bool cluster_events_read(struct call *c, const json_t *in, json_t **ret_out,
			 struct err *e) __attribute__((warn_unused_result));

#endif
