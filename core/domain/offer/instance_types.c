#include "core/domain/offer/instance_types.h"

#include <string.h>

#include "core/base/listing.h"
#include "core/base/str.h"

enum { SHOWN = 4, LETTERS = 48 };

static const char *const types[] = {
#define INSTANCE_TYPE(name) name,
#include "core/domain/offer/instance_types.def"
#undef INSTANCE_TYPE
	NULL};

const char *const *instance_type_list(void)
{
	return types;
}

bool instance_type_is_known(const char *type)
{
	for (size_t i = 0; types[i]; i++)
		if (streq(types[i], type))
			return true;
	return false;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein distance. */
static size_t distance(const char *l, const char *r)
{
	const size_t nl = strnlen(l, LETTERS), nr = strnlen(r, LETTERS);
	size_t row[LETTERS + 1];

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

static size_t same_letters(const char *l, const char *r)
{
	size_t n = 0;

	while (l[n] && l[n] == r[n])
		n++;
	return n;
}

/* A family that is right with a wrong size comes before a size that is right. */
static size_t remoteness(const char *type, const char *known)
{
	const size_t same = same_letters(type, known);
	const bool family = same > strlen("ml.") && memchr(known + 3, '.', same - 3);

	return distance(type, known) * 2 + (family ? 0 : 5);
}

const char *instance_type_nearest(struct arena *a, const char *type)
{
	struct listing l = listing_new(a, ", ", LISTING_SHORT);
	size_t taken[SHOWN] = {0};

	for (size_t n = 0; n < SHOWN; n++) {
		size_t best = 0, best_at = SIZE_MAX;

		for (size_t i = 0; types[i]; i++) {
			const size_t d = remoteness(type, types[i]);
			bool again = false;

			for (size_t k = 0; k < n; k++)
				again |= taken[k] == i;
			if (!again && d < best_at) {
				best_at = d;
				best = i;
			}
		}
		taken[n] = best;
		listing_add(&l, "%s", types[best]);
	}
	return listing_text(&l);
}
