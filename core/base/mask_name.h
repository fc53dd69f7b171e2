/* mask_name.h - secrets that only their name gives away. For mask.c alone. */
#ifndef INSTANTSTART_BASE_MASK_NAME_H
#define INSTANTSTART_BASE_MASK_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

/*
 * At the ':' or '=' behind a name, or at the first '-' of an option: whether the value
 * that follows is a secret, and where it stands.
 */
bool mask_named_at(struct str s, size_t at, size_t *ret_from, size_t *ret_to);

#endif
