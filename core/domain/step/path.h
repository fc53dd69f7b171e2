/*
 * path.h - places in S3 as callers write them, for the `normal` of a field.
 *
 * To S3 a key is a text; to a mount it is a path. What reads the same to both is put
 * into one form; what could mean two things ("a/../b", "a//b", "./") is refused.
 * Each returns NULL and says why in *ret_why, or the text to go on with.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_PATH_H
#define INSTANTSTART_DOMAIN_STEP_PATH_H

#include "core/base/arena.h"

/* "models", "/models/" → "models/"; "/" → "", the whole bucket. */
const char *path_prefix(struct arena *a, const char *text, const char **ret_why);
/* "S3://bucket/a/" → "s3://bucket/a". */
const char *path_s3_uri(struct arena *a, const char *text, const char **ret_why);
/* "./on_create.sh" → "on_create.sh". */
const char *path_file(struct arena *a, const char *text, const char **ret_why);

/* What a path may hold in a pattern: nothing that IAM or a mount option takes for
 * more than itself ("*", "?", "$", a space, a comma). */
#define PATH_CHARS "A-Za-z0-9._/=+@:-"

#endif
