/*
 * kinds.h - the operation kinds that act on nodes.
 */
#ifndef INSTANTSTART_DOMAIN_NODE_KINDS_H
#define INSTANTSTART_DOMAIN_NODE_KINDS_H

#include "core/op/kind.h"

extern const struct kind kind_reboot_nodes;
extern const struct kind kind_replace_nodes;
extern const struct kind kind_delete_nodes;

#endif
