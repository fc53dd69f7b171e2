#include "core/domain/pod/log_tail.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/json/tree.h"

enum { TIME_ROOM = 42 }; /* of a line's time and the blank behind it */

/* A time ends in Z; a message of the kubelet's own stands there without one. */
void log_line_split(struct str line, struct str *ret_time, struct str *ret_text)
{
	struct str rest = line;
	const struct str time = str_cut(&rest, ' ');
	const bool is_time = time.n >= 20 && time.n < TIME_ROOM && time.p[4] == '-' &&
			     time.p[10] == 'T' && time.p[time.n - 1] == 'Z' &&
			     str_is_utf8(time);

	*ret_time = is_time ? time : (struct str){"", 0};
	*ret_text = is_time ? rest : line;
	if (!ret_text->p)
		*ret_text = (struct str){"", 0};
	if (ret_text->n && ret_text->p[ret_text->n - 1] == '\r')
		ret_text->n--;
}

void log_tail_init(struct log_tail *t, struct arena *a, int64_t max_lines,
		   int64_t max_bytes, bool timestamps)
{
	const size_t least = (size_t)max_bytes + (size_t)max_lines * TIME_ROOM;

	*t = (struct log_tail){.arena = a,
			       .max_lines = max_lines,
			       .max_bytes = max_bytes,
			       .timestamps = timestamps};
	/* Half of it is kept when it is full: bytes are moved once for each added. */
	t->room = 2 * least + 2 * LOG_LINE_MAX;
	t->p = arena_alloc(a, t->room);
}

void log_tail_clear(struct log_tail *t)
{
	t->len = 0;
	t->dropped = false;
}

static void forget_oldest(struct log_tail *t)
{
	const size_t from = t->len - t->room / 2;
	const char *end = memchr(t->p + from, '\n', t->len - from);
	const size_t at = end ? (size_t)(end - t->p) + 1 : t->len;

	memmove(t->p, t->p + at, t->len - at);
	t->len -= at;
	t->dropped = true;
}

static void append(struct log_tail *t, struct str s, char end)
{
	if (s.n > 0)
		memcpy(t->p + t->len, s.p, s.n);
	t->p[t->len + s.n] = end;
	t->len += s.n + 1;
}

void log_tail_add(struct log_tail *t, struct str time, struct str text)
{
	if (text.n > LOG_LINE_MAX)
		text.n = LOG_LINE_MAX;
	if (t->len + time.n + text.n + 2 > t->room)
		forget_oldest(t);
	if (time.n)
		append(t, time, ' ');
	append(t, text, '\n');
}

/* Tabs stay; other controls, escape sequences of colours too, and what is no
 * UTF-8 go. */
static void add_clean(struct buf *b, struct str s)
{
	while (s.n > 0) {
		const unsigned char ch = (unsigned char)*s.p;
		size_t n = 1;

		if (ch == 0x1b && s.n > 1 && s.p[1] == '[') {
			for (n = 2; n < s.n && !(s.p[n] >= '@' && s.p[n] <= '~'); n++)
				;
			n = n < s.n ? n + 1 : s.n;
		} else if (ch >= 0x80) {
			n = str_utf8_sequence(s);
			if (n > 0)
				buf_add(b, s.p, n);
			else
				buf_adds(b, "\xef\xbf\xbd");
			n = n > 0 ? n : 1;
		} else if (ch == '\t' || (ch >= 0x20 && ch != 0x7f)) {
			buf_addc(b, (char)ch);
		}
		s.p += n;
		s.n -= n;
	}
}

/* The line that ends before `end`, which is behind its "\n". */
static struct str line_before(const struct log_tail *t, size_t end)
{
	const char *before = end > 1 ? memrchr(t->p, '\n', end - 1) : NULL;
	const size_t at = before ? (size_t)(before - t->p) + 1 : 0;

	return (struct str){t->p + at, end - 1 - at};
}

static size_t size_of(const struct log_tail *t, struct str line)
{
	struct str time, text;

	log_line_split(line, &time, &text);
	return text.n + 1 + (t->timestamps ? time.n + 1 : 0);
}

/* Where the lines begin that are given. */
static size_t find_first(const struct log_tail *t)
{
	int64_t lines = 0, bytes = 0;
	size_t at = t->len;

	while (at > 0 && lines < t->max_lines) {
		const struct str line = line_before(t, at);

		bytes += (int64_t)size_of(t, line);
		if (bytes > t->max_bytes && lines > 0)
			break;
		lines++;
		at -= line.n + 1;
	}
	return at;
}

static void put_line(const struct log_tail *t, struct str time, struct str text,
		     struct buf *b, bool *ret_cut)
{
	const size_t room = (size_t)t->max_bytes - 1;

	if (t->timestamps) {
		buf_add_str(b, time);
		buf_addc(b, ' ');
	}
	if (text.n > room) {
		text.n = room;
		while (text.n > 0 && ((unsigned char)text.p[text.n] & 0xC0) == 0x80)
			text.n--;
		*ret_cut = true;
	}
	add_clean(b, text);
	buf_addc(b, '\n');
}

bool log_tail_give(const struct log_tail *t, json_t *out)
{
	const size_t first = find_first(t);
	struct str rest = {t->p + first, t->len - first};
	bool cut = t->dropped || first > 0;
	int64_t lines = 0;
	struct buf b;

	buf_init(&b, t->arena, rest.n * 3 + 1);
	for (; rest.n > 0; lines++) {
		struct str time, text;

		log_line_split(str_cut(&rest, '\n'), &time, &text);
		put_line(t, time, text, &b, &cut);
		if (lines == 0 && time.n)
			json_put_str(out, "first_time", str_dup(t->arena, time));
		if (time.n)
			json_put_str(out, "last_time", str_dup(t->arena, time));
	}
	json_put_int(out, "lines", lines);
	json_put(out, "text", json_of_text(buf_str(&b)));
	return cut;
}
