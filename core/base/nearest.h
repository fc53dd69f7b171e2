/*
 * nearest.h - what was probably meant by a name that nobody knows.
 *
 *   struct nearest n = {.wanted = name};
 *   for (…) nearest_offer(&n, candidate);
 *   if (n.best) … "did you mean %s?"
 *
 * Borrows the names it is given.
 */
#ifndef INSTANTSTART_BASE_NEAREST_H
#define INSTANTSTART_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

struct nearest {
	const char *wanted;
	const char *best; /* NULL: none is near enough */
	size_t distance;  /* of best */
};

/* Letters that differ, apart from case, "-", "_" and blanks. Of what is longer than
 * 64 bytes the beginning counts. */
size_t nearest_distance(const char *left, const char *right);
/* The same name in another spelling: "node-count", "nodeCount", "NodeCount". */
bool nearest_same(const char *left, const char *right);

/* Takes the candidate when it is nearer than those before, and differs in at most a
 * third of the wanted name's letters: farther off, a name is another word. */
void nearest_offer(struct nearest *n, const char *candidate);

/* "did you mean X?" of the nearest, else the fallback: for `expected` of an error. */
const char *nearest_hint(const struct nearest *n, struct arena *a, const char *fallback);

#endif
