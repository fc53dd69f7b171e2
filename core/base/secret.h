/*
 * secret.h - bytes that must not be shown.
 *
 * A struct secret cannot be passed to a printf, a log line or a JSON writer
 * by mistake: reading it takes secret_reveal(), which a reviewer can grep for.
 */
#ifndef INSTANTSTART_BASE_SECRET_H
#define INSTANTSTART_BASE_SECRET_H

#include <stddef.h>

#include "core/base/arena.h"

struct secret {
	const char *hidden_;
};

static inline struct secret secret_of(const char *z)
{
	return (struct secret){z};
}

static inline const char *secret_reveal(struct secret s)
{
	return s.hidden_;
}

/* A copy that is wiped (explicit_bzero) when the arena is reset. */
struct secret secret_dup(struct arena *a, const char *z);

#endif
