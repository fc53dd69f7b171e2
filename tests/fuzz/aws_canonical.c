/*
 * Canonical requests of any method, URL, header and body. Whatever comes in,
 * the result has its six parts, and signing a signed URL anew changes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/aws/sigv4.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *next_text(struct arena *a, struct str *rest)
{
	return rest->p ? str_dup(a, str_cut(rest, '\n')) : "";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	struct str rest = {(const char *)data, size};
	struct http_request r = {.method = "GET"};
	struct aws_keys keys = {secret_of("AKID"), secret_of("secret"),
				secret_of("token"), 0};
	struct sigv4 s = {.keys = &keys, .region = "us-east-1", .service = "sts"};
	struct sigv4_canonical c;
	int lines = 0;

	s.s3 = size > 0 && data[0] % 2;
	r.url = next_text(&a, &rest);
	while (rest.p && r.n_headers < HTTP_HEADERS_MAX - 3) {
		const char *name = next_text(&a, &rest);

		http_add_header(&r, name, next_text(&a, &rest));
	}
	c = sigv4_canonical(&r, "hash", s.s3, &a);
	for (const char *p = c.text; *p; p++)
		lines += *p == '\n';
	if (lines < 6 || strncmp(c.text, "GET\n", 4) != 0 ||
	    strncmp(c.signed_headers, "host", 4) > 0)
		abort();
	if (!strstr(sigv4_presign(&s, &r, 60, &a), "X-Amz-Signature="))
		abort();
	sigv4_sign(&s, &r, &a);
	if (!secret_reveal(r.authorization))
		abort();
	arena_free(&a);
	return 0;
}
