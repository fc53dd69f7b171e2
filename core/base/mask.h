/*
 * mask.h - secrets in texts of others, recognised by their shape. Pure.
 *
 * Texts of the cloud (answers, errors, events, log lines, objects) pass through here
 * where they come in, so that nothing behind has to know which of them is shown or
 * stored. Recognised are: keys and tokens that have a form (AWS, hubs, registries,
 * code hosts, EKS and Kubernetes tokens, JWTs), private keys in PEM, signatures and
 * tokens of presigned URLs, passwords in URLs, Bearer and Basic credentials, and
 * values of members, settings and options whose name says that they are secret
 * ("password=…", "--api-key …"); all of it also with JSON or percent escapes, in
 * base64, between colours and control characters, and as the values given by the
 * caller. What is found becomes MASKED; digests, ARNs, ids, cursors and names stay.
 */
#ifndef INSTANTSTART_BASE_MASK_H
#define INSTANTSTART_BASE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/base/secret.h"
#include "core/base/str.h"

#define MASKED "(secret)"

enum { MASK_KNOWN_MAX = 8 };

/* Values that are secret whatever their shape; those under 8 bytes are ignored. */
struct mask_known {
	struct secret v[MASK_KNOWN_MAX];
	size_t n;
};
void mask_know(struct mask_known *k, struct secret s);

/*
 * The text with what is secret replaced: s itself when nothing is. cut: the text ends
 * before its end, so what begins like a secret there is one. known may be NULL.
 */
struct str mask_text(struct arena *a, struct str s, const struct mask_known *known,
		     bool cut);
const char *mask_z(struct arena *a, const char *z, const struct mask_known *known);

/* Whether a member, setting or option of that name has a secret for its value. */
bool mask_is_secret(struct str name, struct str value);

/* A stream of lines: a private key goes over several of them. */
struct mask_lines {
	struct arena *scratch; /* lies in the owner's arena, and goes with it */
	int key;               /* lines of a key that may still follow */
	bool block;            /* in base64 that goes on in the next line */
	bool begun;            /* a stream may begin in the midst of a key */
};

void mask_lines_init(struct mask_lines *m, struct arena *owner);
/* The log is read anew, from another line on. */
void mask_lines_restart(struct mask_lines *m);
/* The line without its time; valid until the next call. */
struct str mask_line(struct mask_lines *m, struct str line, bool cut);

#endif
