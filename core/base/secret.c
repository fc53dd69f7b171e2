#include "core/base/secret.h"

#include <string.h>

static void wipe(void *p)
{
	explicit_bzero(p, strlen(p));
}

struct secret secret_dup(struct arena *a, const char *z)
{
	char *copy;

	if (!z)
		return secret_of(NULL);
	copy = arena_strdup(a, z);
	arena_defer(a, wipe, copy);
	return secret_of(copy);
}
