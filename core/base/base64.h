/*
 * base64.h - RFC 4648 text of bytes, on OpenSSL's codec.
 */
#ifndef INSTANTSTART_BASE_BASE64_H
#define INSTANTSTART_BASE_BASE64_H

#include <stddef.h>

#include "core/base/arena.h"

/* With padding. */
const char *base64_encode(struct arena *a, const void *p, size_t n);
/* URL alphabet, no padding. */
const char *base64url_encode(struct arena *a, const void *p, size_t n);
/* NULL unless the whole text is valid; NUL-terminated, the length in *ret_n
 * (may be NULL). White space between the groups is allowed. */
char *base64_decode(struct arena *a, const char *text, size_t *ret_n);

#endif
