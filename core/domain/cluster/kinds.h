/*
 * kinds.h - the operation kinds that act on whole clusters.
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_KINDS_H
#define INSTANTSTART_DOMAIN_CLUSTER_KINDS_H

#include "core/op/kind.h"

extern const struct kind kind_create_cluster;
extern const struct kind kind_create_eks_control_plane;
extern const struct kind kind_import_cluster;
extern const struct kind
	kind_remove_hyperpod_cluster; /* undoes create_hyperpod_cluster */
extern const struct kind kind_delete_cluster;

#endif
