#include "core/aws/uri.h"

#include <string.h>

static bool is_unreserved(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

void uri_encode(struct buf *b, struct str s, bool keep_slash)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (is_unreserved((char)c) || (c == '/' && keep_slash)) {
			buf_addc(b, (char)c);
			continue;
		}
		buf_addc(b, '%');
		buf_addc(b, hex[c >> 4]);
		buf_addc(b, hex[c & 15]);
	}
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

struct str uri_decode(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int high = -1, low = -1;

		if (s.p[i] == '%' && i + 2 < s.n) {
			high = hex_value(s.p[i + 1]);
			low = hex_value(s.p[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			out[n++] = (char)(high * 16 + low);
			i += 2;
		} else {
			out[n++] = s.p[i];
		}
	}
	return (struct str){out, n};
}
