#include "core/live/ring.h"

#include <assert.h>
#include <string.h>

void ring_init(struct ring *r, struct arena *a, uint32_t bytes, uint32_t texts,
	       int64_t first)
{
	*r = (struct ring){.bytes = arena_alloc(a, bytes),
			   .text = arena_array(a, struct ring_text, texts),
			   .size = bytes,
			   .slots = texts,
			   .first = first};
}

int64_t ring_next(const struct ring *r)
{
	return r->first + r->count;
}

static void drop_oldest(struct ring *r)
{
	r->head = (r->head + 1) % r->slots;
	r->count--;
	r->first++;
}

static uint32_t oldest_at(const struct ring *r)
{
	return r->text[r->head].at;
}

int64_t ring_add(struct ring *r, struct str s)
{
	const uint32_t n = (uint32_t)s.n;

	assert(s.n < r->size);
	if (r->count == r->slots)
		drop_oldest(r);
	if (r->write + n > r->size) {
		/* Those behind the write position are the oldest of all. */
		while (r->count > 0 && oldest_at(r) >= r->write)
			drop_oldest(r);
		r->write = 0;
	}
	while (r->count > 0 && oldest_at(r) >= r->write && oldest_at(r) < r->write + n)
		drop_oldest(r);
	memcpy(r->bytes + r->write, s.p, s.n);
	r->text[(r->head + r->count) % r->slots] = (struct ring_text){r->write, n};
	r->write += n;
	r->count++;
	return ring_next(r) - 1;
}

static const struct ring_text *text_of(const struct ring *r, int64_t number)
{
	assert(number >= r->first && number < ring_next(r));
	return &r->text[(r->head + (uint32_t)(number - r->first)) % r->slots];
}

struct str ring_at(const struct ring *r, int64_t number)
{
	const struct ring_text *t = text_of(r, number);

	return (struct str){r->bytes + t->at, t->n};
}

void ring_renumber(struct ring *r, int64_t by)
{
	r->first += by;
	while (r->first < 1 && r->count > 0)
		drop_oldest(r);
	if (r->first < 1)
		r->first = 1;
}

int64_t ring_join(const struct ring *r, int64_t from, int64_t to, char *out, size_t room,
		  size_t *ret_n)
{
	size_t len = 0;

	for (; from < to; from++) {
		const struct str s = ring_at(r, from);
		const size_t comma = len > 0 ? 1 : 0;

		if (len + comma + s.n > room)
			break;
		if (comma)
			out[len++] = ',';
		memcpy(out + len, s.p, s.n);
		len += s.n;
	}
	*ret_n = len;
	return from;
}
