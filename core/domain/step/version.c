#include "core/domain/step/version.h"

#include <ctype.h>
#include <stdint.h>

/* The next number; -1 at the end. */
static int64_t next_number(const char **p)
{
	int64_t n = 0;

	while (**p && !isdigit((unsigned char)**p))
		(*p)++;
	if (!**p)
		return -1;
	while (isdigit((unsigned char)**p) && n < INT64_MAX / 10 - 10)
		n = n * 10 + (*(*p)++ - '0');
	return n;
}

int version_compare(const char *a, const char *b)
{
	a = a ? a : "";
	b = b ? b : "";
	for (;;) {
		const int64_t x = next_number(&a), y = next_number(&b);

		if (x != y)
			return x < y ? -1 : 1;
		if (x < 0)
			return 0;
	}
}
