/*
 * kinds.h - the operation kinds of the domain, by name.
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_KINDS_H
#define INSTANTSTART_DOMAIN_CLUSTER_KINDS_H

#include "core/op/kind.h"

extern const struct kind kind_create_cluster;
extern const struct kind kind_create_eks_control_plane;
extern const struct kind kind_import_cluster;
extern const struct kind kind_reconcile_dependencies;
extern const struct kind kind_create_hyperpod_cluster;
extern const struct kind kind_remove_hyperpod_cluster; /* undoes the one above */
extern const struct kind kind_create_s3_storage;
extern const struct kind kind_delete_storage;
extern const struct kind kind_delete_cluster;

/* One writer per cluster: "cluster/NAME", and "eks/NAME" of what it runs on. */
void lock_cluster(const char *target, const json_t *input, struct arena *a,
		  struct str_list *ret);

#endif
