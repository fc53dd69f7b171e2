#include "core/base/listing.h"

#include <stdarg.h>
#include <string.h>

/* " and 18446744073709551615 more" */
enum { TAIL = 31, NAME_MAX_BYTES = 4096 };

struct listing listing_new(struct arena *a, const char *between, size_t room)
{
	struct listing l = {.arena = a, .between = between, .room = room};

	buf_init(&l.text, a, room + NAME_MAX_BYTES + TAIL);
	return l;
}

void listing_add(struct listing *l, const char *fmt, ...)
{
	va_list ap;
	const char *name;
	const size_t gap = l->n ? strlen(l->between) : 0;

	va_start(ap, fmt);
	name = arena_vprintf(l->arena, fmt, ap);
	va_end(ap);
	l->n++;
	/* In order: once one is left out, so are all that follow. */
	if (l->more || (l->n > 1 && l->text.len + gap + strlen(name) + TAIL > l->room)) {
		l->more++;
		return;
	}
	if (gap)
		buf_adds(&l->text, l->between);
	buf_add(&l->text, name, strnlen(name, NAME_MAX_BYTES));
}

const char *listing_text(struct listing *l)
{
	if (l->n == 0)
		return "";
	if (l->more)
		buf_printf(&l->text, "%s%zu more",
			   strcmp(l->between, " or ") == 0 ? " or " : " and ", l->more);
	l->more = 0;
	return buf_cstr(&l->text);
}
