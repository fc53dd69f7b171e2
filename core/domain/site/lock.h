/*
 * lock.h - one writer per cluster.
 */
#ifndef INSTANTSTART_DOMAIN_SITE_LOCK_H
#define INSTANTSTART_DOMAIN_SITE_LOCK_H

#include "core/op/kind.h"

/* "cluster/NAME", and "eks/NAME" of what it runs on. */
void lock_cluster(const char *target, const json_t *input, struct arena *a,
		  struct str_list *ret);

#endif
