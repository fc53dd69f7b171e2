/*
 * live.h - reads of handlers: the autoscaler's objects as Kubernetes has them now.
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_LIVE_H
#define INSTANTSTART_DOMAIN_KARPENTER_LIVE_H

#include "core/domain/capability.h"
#include "core/domain/page.h"

/* All items; a list of the arena. *ret_served: false when there is no such kind
 * (autoscaling is off): then the list is empty. */
bool live_list(struct call *c, const struct kube_target *t, const char *api,
	       const char *plural, json_t **ret_items, bool *ret_served, struct err *e)
	__attribute__((warn_unused_result));

/* {items, next_cursor, served}: what the lists answer, and what they take. */
#define LIVE_LIST_OUT(item_fields)                                                       \
	PAGE_OUT(item_fields),                                                           \
		OUT("served", FIELD_BOOL, .flags = FIELD_REQUIRED,                       \
		    .doc = "Whether autoscaling is on, so that these objects can "       \
			   "exist.")

struct live_list_in {
	const char *cluster;
	int64_t limit;
	const char *cursor;
};
extern const struct field live_list_in[];

extern const struct field live_condition_out[];

#endif
