/*
 * sigv4.h - AWS Signature Version 4, pure.
 *
 * Signs host and every header that the request has, but for a few that change
 * on the way, and adds x-amz-date, x-amz-security-token (temporary keys) and,
 * for S3, x-amz-content-sha256. The path and the query are signed as they stand in the
 * URL: what is signed is what is sent.
 *
 * S3 differs: its path is neither normalised nor encoded a second time.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
#ifndef INSTANTSTART_AWS_SIGV4_H
#define INSTANTSTART_AWS_SIGV4_H

#include <stdbool.h>
#include <stdint.h>

#include "core/aws/credentials.h"
#include "core/base/arena.h"
#include "core/base/str.h"
#include "core/net/transport.h"

enum { SHA256_HEX = 65 };

struct sigv4 {
	const struct aws_keys *keys;
	const char *region;
	const char *service; /* signing name */
	int64_t wall_ms;
	bool s3;
};

/* Adds the headers and sets r->authorization. */
void sigv4_sign(const struct sigv4 *s, struct http_request *r, struct arena *a);

/*
 * The presigned form: returns r->url with the signature in its query, valid
 * for expires_s. The headers of r are signed too: whoever uses the URL must
 * send them.
 */
const char *sigv4_presign(const struct sigv4 *s, const struct http_request *r,
			  int64_t expires_s, struct arena *a);

/* The canonical request of r as it stands, without adding anything. */
struct sigv4_canonical {
	const char *text;
	const char *signed_headers;
};
struct sigv4_canonical sigv4_canonical(const struct http_request *r,
				       const char *body_sha256, bool s3, struct arena *a);

void sha256_hex(const void *p, size_t n, char ret_hex[static SHA256_HEX]);

#endif
