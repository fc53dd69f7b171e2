/*
 * uri.h - percent-encoding as SigV4 and the AWS protocols want it: everything
 * but A-Za-z0-9-._~ is encoded, hex digits in upper case (RFC 3986).
 */
#ifndef INSTANTSTART_AWS_URI_H
#define INSTANTSTART_AWS_URI_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/str.h"

void uri_encode(struct buf *b, struct str s, bool keep_slash);
/* Decodes %XX; what is no valid escape stays as it is. May hold NUL bytes. */
struct str uri_decode(struct arena *a, struct str s);

#endif
