/*
 * kinds.h - the operation kinds of storage.
 */
#ifndef INSTANTSTART_DOMAIN_STORAGE_KINDS_H
#define INSTANTSTART_DOMAIN_STORAGE_KINDS_H

#include "core/op/kind.h"

extern const struct kind kind_create_s3_storage;
extern const struct kind kind_delete_storage;

#endif
