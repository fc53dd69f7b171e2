/*
 * kinds.h - the operation kind that makes a HyperPod cluster.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_KINDS_H
#define INSTANTSTART_DOMAIN_HYPERPOD_KINDS_H

#include "core/op/kind.h"

extern const struct kind kind_create_hyperpod_cluster;

#endif
