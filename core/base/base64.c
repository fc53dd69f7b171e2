#include "core/base/base64.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include <openssl/evp.h>

const char *base64_encode(struct arena *a, const void *p, size_t n)
{
	unsigned char *out = arena_alloc(a, 4 * ((n + 2) / 3) + 1);

	if (n > INT_MAX)
		return "";
	EVP_EncodeBlock(out, p, (int)n);
	return (const char *)out;
}

const char *base64url_encode(struct arena *a, const void *p, size_t n)
{
	char *text = arena_strdup(a, base64_encode(a, p, n));

	for (char *c = text; *c; c++) {
		if (*c == '+')
			*c = '-';
		else if (*c == '/')
			*c = '_';
		else if (*c == '=')
			*c = '\0';
	}
	return text;
}

char *base64_decode(struct arena *a, const char *text, size_t *ret_n)
{
	size_t len = strlen(text);
	unsigned char *packed = arena_alloc(a, len + 1);
	unsigned char *out;
	size_t n = 0, pad = 0;
	int got;

	for (const char *c = text; *c; c++)
		if (!isspace((unsigned char)*c))
			packed[n++] = (unsigned char)*c;
	if (n % 4 != 0 || n > INT_MAX)
		return NULL;
	while (pad < 2 && pad < n && packed[n - 1 - pad] == '=')
		pad++;
	/* OpenSSL takes a '=' anywhere as a zero. */
	if (memchr(packed, '=', n - pad))
		return NULL;
	out = arena_alloc(a, n / 4 * 3 + 1);
	got = EVP_DecodeBlock(out, packed, (int)n);
	if (got < 0)
		return NULL;
	/* EVP_DecodeBlock counts the padding as zero bytes. */
	out[(size_t)got - pad] = '\0';
	if (ret_n)
		*ret_n = (size_t)got - pad;
	return (char *)out;
}
