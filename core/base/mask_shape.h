/*
 * mask_shape.h - what a secret looks like in one plain view of a text.
 *
 * mask.c makes the views (as it stands, without escapes, decoded) and puts the
 * findings together.
 */
#ifndef INSTANTSTART_BASE_MASK_SHAPE_H
#define INSTANTSTART_BASE_MASK_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct mask_found {
	void (*add)(void *ctx, size_t from, size_t to);
	void *ctx;
	bool open_key; /* a private key begins and does not end */
};

void mask_scan(struct str s, bool cut, struct mask_found *f);
bool mask_is_base64(unsigned char c); /* of either alphabet, without padding */

#endif
