/*
 * kinds.h - the operation kind of the dependencies.
 */
#ifndef INSTANTSTART_DOMAIN_DEPENDENCY_KINDS_H
#define INSTANTSTART_DOMAIN_DEPENDENCY_KINDS_H

#include "core/op/kind.h"

extern const struct kind kind_reconcile_dependencies;

#endif
