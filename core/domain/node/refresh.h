/*
 * refresh.h - keeps groups and nodes of the catalog as the clouds show them.
 *
 * Pollers call it between their operations: a tick reads one page of one cluster
 * and writes what has changed. Which page is next stands in PostgreSQL
 * (sql/migrations/0015_refresh.sql), so that any number of pollers share the work
 * and a crash costs one page. A round takes, in this order: the EKS cluster, the
 * groups, the nodes, the nodes of Kubernetes, its pods, and sums up.
 */
#ifndef INSTANTSTART_DOMAIN_NODE_REFRESH_H
#define INSTANTSTART_DOMAIN_NODE_REFRESH_H

#include "core/op/runner.h"

/*
 * *ret_wait_ms: how long until there may be something to do; -1: nobody knows.
 * false: the journal could not be reached, or another has taken over (FENCED). A
 * cloud that does not answer is no failure here: the page is tried again.
 */
bool refresh_tick(struct runner *r, struct arena *a, bool *ret_worked,
		  int64_t *ret_wait_ms, struct err *e)
	__attribute__((warn_unused_result));

#endif
