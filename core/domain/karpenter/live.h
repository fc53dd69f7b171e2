/*
 * live.h - reads of handlers: the autoscaler's objects as Kubernetes has them now.
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_LIVE_H
#define INSTANTSTART_DOMAIN_KARPENTER_LIVE_H

#include "core/domain/capability.h"

/* All items; a list of the arena. *ret_served: false when there is no such kind
 * (autoscaling is off): then the list is empty. */
bool live_list(struct call *c, const struct kube_target *t, const char *api,
	       const char *plural, json_t **ret_items, bool *ret_served, struct err *e)
	__attribute__((warn_unused_result));

/* {items, served, next_cursor: null}: what the lists answer. */
#define LIVE_LIST_OUT(item_fields)                                                       \
	{.name = "items",                                                                \
	 .type = FIELD_OBJECT,                                                           \
	 .flags = FIELD_REQUIRED | FIELD_MANY,                                           \
	 .fields = (item_fields),                                                        \
	 .doc = "Sorted by name."},                                                      \
		OUT("served", FIELD_BOOL, .flags = FIELD_REQUIRED,                       \
		    .doc = "Whether autoscaling is on, so that these objects can "       \
			   "exist."),                                                    \
		OUT("next_cursor", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,  \
		    .doc = "Always null: all items fit on one page.")

extern const struct field live_condition_out[];

#endif
