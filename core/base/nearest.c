#include "core/base/nearest.h"

#include <string.h>

enum { NAME_MAX_LEN = 64 };

/* "node-count", "nodeCount" and "NodeCount" are the same slip of node_count. */
static size_t fold(char *dst, size_t size, const char *name)
{
	size_t n = 0;

	for (; *name && n < size; name++) {
		const char c = *name;

		if (c >= 'A' && c <= 'Z')
			dst[n++] = (char)(c - 'A' + 'a');
		else if (c != '-' && c != '_' && c != ' ')
			dst[n++] = c;
	}
	return n;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein distance of the folded names. */
size_t nearest_distance(const char *left, const char *right)
{
	char l[NAME_MAX_LEN], r[NAME_MAX_LEN];
	const size_t nl = fold(l, sizeof(l), left), nr = fold(r, sizeof(r), right);
	size_t row[NAME_MAX_LEN + 1];

	for (size_t j = 0; j <= nr; j++)
		row[j] = j;
	for (size_t i = 1; i <= nl; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nr; j++) {
			const size_t change = corner + (l[i - 1] != r[j - 1]);

			corner = row[j];
			row[j] = least(change, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[nr];
}

bool nearest_same(const char *left, const char *right)
{
	return nearest_distance(left, right) == 0;
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	const size_t most = least(strlen(n->wanted), NAME_MAX_LEN) / 3;
	const size_t d = nearest_distance(candidate, n->wanted);

	if (d > most || (n->best && d >= n->distance))
		return;
	n->best = candidate;
	n->distance = d;
}

const char *nearest_hint(const struct nearest *n, struct arena *a, const char *fallback)
{
	return n->best ? arena_printf(a, "did you mean %s?", n->best) : fallback;
}
