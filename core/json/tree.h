/*
 * tree.h - cloud documents as jansson trees.
 *
 * Documents that others own (AWS and Kubernetes objects) stay trees, so that
 * members we do not know survive. They are touched only through these helpers.
 *
 * Ownership: every tree is registered with an arena (json_own) where it is
 * made; borrowed sub-trees are valid as long as their root. json_put() and
 * json_push() take over the reference of the value they are given, as
 * jansson's *_new calls do.
 *
 * Paths: members separated by dots, list positions as numbers:
 * "Cluster.InstanceGroups.0.InstanceCount". Member names that contain dots
 * (Kubernetes labels) go through json_object_get() on the parent.
 */
#ifndef INSTANTSTART_JSON_TREE_H
#define INSTANTSTART_JSON_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/str.h"

/*
 * Called once at the start of a program: from then on jansson, like the arena,
 * aborts when there is no memory, instead of losing a member silently.
 */
void json_init(void);

/* Registers the tree with the arena and returns it. NULL aborts (no memory). */
json_t *json_own(struct arena *a, json_t *tree);

/*
 * New trees, owned by the arena. json_packf is json_pack() with json_own(); as
 * everywhere here, bytes of a text that are no UTF-8 become U+FFFD.
 */
json_t *json_new_object(struct arena *a);
json_t *json_new_list(struct arena *a);
json_t *json_packf(struct arena *a, const char *fmt, ...);

/*
 * Strict parse of one document: UTF-8, no duplicate members, depth at most
 * LIMIT_JSON_DEPTH, nothing behind it. ERR_MALFORMED names line, column and
 * what was met.
 */
json_t *json_parse(struct arena *a, struct str text, struct err *e)
	__attribute__((warn_unused_result));

/* A string of any bytes: new, not owned yet. */
json_t *json_of_text(struct str s);

/*
 * The same for what a caller sends: more than LIMIT_REQUEST_VALUES values are refused
 * (TOO_LARGE) before any of them is made.
 */
json_t *json_parse_request(struct arena *a, struct str text, struct err *e)
	__attribute__((warn_unused_result));

/* Compact text with sorted members: equal trees give equal bytes. */
const char *json_text(struct arena *a, const json_t *tree);
void json_write_to(struct buf *b, const json_t *tree);

/* Borrowed; NULL when a member is missing or of another type. */
json_t *json_at(const json_t *tree, const char *path);
const char *json_str_at(const json_t *tree, const char *path);
/* The fallback when missing or of another type. */
const char *json_str_or(const json_t *tree, const char *path, const char *fallback);
int64_t json_int_or(const json_t *tree, const char *path, int64_t fallback);
double json_num_or(const json_t *tree, const char *path, double fallback);
bool json_bool_or(const json_t *tree, const char *path, bool fallback);
size_t json_len_at(const json_t *tree, const char *path); /* 0 when no list */

/* Makes missing objects on the way; list positions must exist. Steals value. */
void json_put(json_t *tree, const char *path, json_t *value);
void json_put_str(json_t *tree, const char *path, const char *z); /* NULL: not put */
void json_put_int(json_t *tree, const char *path, int64_t value);
void json_put_bool(json_t *tree, const char *path, bool value);
void json_push(json_t *list, json_t *value); /* steals value */
void json_drop(json_t *tree, const char *path);

/* RFC 7396: members of patch win, null removes. Nothing is stolen. */
void json_merge_patch(json_t *target, const json_t *patch);

/*
 * First list member whose string `key` equals `value`: the tag, condition or
 * group of that name. Borrowed; NULL when there is none.
 */
json_t *json_find(const json_t *list, const char *key, const char *value);

/* Lower-case hex SHA-256 of json_text(). */
const char *json_digest(struct arena *a, const json_t *tree);

#endif
