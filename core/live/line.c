#include "core/live/line.h"

#include <string.h>

enum { SECONDS = 19 }; /* "2026-01-02T03:04:05" */

static bool looks_like_time(struct str s)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";

	if (s.n < SECONDS + 1)
		return false;
	for (size_t i = 0; i < SECONDS; i++) {
		const bool digit = s.p[i] >= '0' && s.p[i] <= '9';

		if (shape[i] == 'd' ? !digit : s.p[i] != shape[i])
			return false;
	}
	return true;
}

void line_split(struct str line, struct str *ret_time, struct str *ret_text)
{
	struct str rest = line;
	const struct str time = str_cut(&rest, ' ');

	if (!looks_like_time(time) || time.n >= LINE_TIME_MAX) {
		*ret_time = (struct str){"", 0};
		*ret_text = line;
		return;
	}
	*ret_time = time;
	*ret_text = rest.p ? rest : (struct str){"", 0};
}

/* Digit i of the fraction; '0' behind its end. */
static char fraction(struct str s, size_t i)
{
	const size_t at = SECONDS + 1 + i;

	if (s.n <= SECONDS || s.p[SECONDS] != '.')
		return '0';
	for (size_t k = SECONDS + 1; k <= at; k++)
		if (k >= s.n || s.p[k] < '0' || s.p[k] > '9')
			return '0';
	return s.p[at];
}

int line_time_cmp(struct str a, struct str b)
{
	int order;

	if (a.n < SECONDS || b.n < SECONDS)
		return (a.n >= SECONDS) - (b.n >= SECONDS);
	order = memcmp(a.p, b.p, SECONDS);
	for (size_t i = 0; order == 0 && i < 9; i++)
		order = fraction(a, i) - fraction(b, i);
	return order;
}

/* Appends one character of the text; returns bytes read, 0 when out is full. */
static size_t put_one(struct str s, char *out, size_t room, size_t *len)
{
	static const char hex[] = "0123456789abcdef";
	static const char bad[] = "\xef\xbf\xbd"; /* U+FFFD */
	const unsigned char c = (unsigned char)*s.p;
	const char *from = s.p;
	size_t used = 1, n = 1;
	char esc[6] = {'\\', (char)c};

	if (c >= 0x80 || c == 0) {
		used = n = c ? str_utf8_sequence(s) : 0;
		if (n == 0) {
			used = 1;
			n = sizeof(bad) - 1;
			from = bad;
		}
	} else if (c == '"' || c == '\\') {
		from = esc;
		n = 2;
	} else if (c == '\t') {
		esc[1] = 't';
		from = esc;
		n = 2;
	} else if (c < 0x20 || c == 0x7f) {
		memcpy(esc, "\\u00", 4);
		esc[4] = hex[c >> 4];
		esc[5] = hex[c & 15];
		from = esc;
		n = 6;
	}
	if (*len + n > room)
		return 0;
	memcpy(out + *len, from, n);
	*len += n;
	return used;
}

/* true: all of it fitted. */
static bool put_text(struct str s, char *out, size_t room, size_t *len)
{
	while (s.n > 0) {
		const size_t used = put_one(s, out, room, len);

		if (used == 0)
			return false;
		s.p += used;
		s.n -= used;
	}
	return true;
}

size_t line_encode(struct str time, struct str text, bool cut, char *out)
{
	enum { TAIL = 4 }; /* "\",1]" */
	const size_t room = LINE_ENCODED_MAX - TAIL;
	size_t len = 0;

	memcpy(out, "[\"", 2);
	len = 2;
	put_text(time, out, room, &len);
	memcpy(out + len, "\",\"", 3);
	len += 3;
	if (!put_text(text, out, room, &len))
		cut = true;
	memcpy(out + len, cut ? "\",1]" : "\"]", cut ? 4 : 2);
	return len + (cut ? 4 : 2);
}
