/*
 * build.h - how each protocol writes a request; the parts of aws_build().
 *
 * Each fills method, url (appended to the endpoint), headers and body from the
 * input tree. ERR_INTERNAL for an input that cannot be written: a member that
 * the path needs is missing, say.
 */
#ifndef INSTANTSTART_AWS_BUILD_H
#define INSTANTSTART_AWS_BUILD_H

#include <jansson.h>

#include "core/aws/op_table.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/net/transport.h"

struct aws_building {
	const struct aws_op *op;
	const struct aws_service *service;
	const json_t *in; /* an object */
	const char *endpoint;
	bool path_style; /* S3 at an overridden endpoint */
	struct arena *arena;
	struct http_request *req;
};

bool build_json(const struct aws_building *b, struct err *e);
bool build_rest_json(const struct aws_building *b, struct err *e);
bool build_query(const struct aws_building *b, struct err *e);
bool build_rest_xml(const struct aws_building *b, struct err *e);

/* Text of a string, number or boolean; NULL of anything else. */
const char *scalar_text(struct arena *a, const json_t *v);
/*
 * Writes the row's URI to url, with {Member} and {Member+} (slashes kept)
 * taken from the input. Members used are added to `used`.
 */
bool add_uri(const struct aws_building *b, struct buf *url, struct str_list *used,
	     struct err *e);
/* False: the text is cut at its maximum, and a request never goes out like that. */
bool request_fits(const struct aws_building *b, const struct buf *text, struct err *e);
/* "&name=value" or "?name=value". */
void add_query_param(struct buf *url, const char *name, const char *value);

enum { AWS_REQUEST_MAX = 8 * 1024 * 1024 };

#endif
