/*
 * mask_tree.h - secrets in documents of others, see base/mask.h.
 *
 * Texts are looked at by shape and by the name of their member; so are pairs of
 * "name" and "value", as in the environment of a container. Cursors of lists and keys
 * of objects in a bucket are addresses: they stay as they are.
 */
#ifndef INSTANTSTART_JSON_MASK_TREE_H
#define INSTANTSTART_JSON_MASK_TREE_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/base/mask.h"

/* In place. a is for the work; NULL for a tree is fine. */
void mask_tree(struct arena *a, json_t *tree, const struct mask_known *known);

#endif
