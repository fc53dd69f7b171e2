/*
 * parse.h - how each protocol's answers are read; the parts of aws_parse().
 *
 * Each returns NULL or false for a text that is not what the protocol says.
 */
#ifndef INSTANTSTART_AWS_PARSE_H
#define INSTANTSTART_AWS_PARSE_H

#include <jansson.h>
#include <stdbool.h>

#include "core/aws/names.h"
#include "core/aws/op_table.h"
#include "core/base/arena.h"
#include "core/base/str.h"
#include "core/net/transport.h"

/* Owned by the arena. */
json_t *parse_json_answer(const struct aws_op *op, struct str body, struct arena *a);
json_t *parse_xml_answer(const struct aws_op *op, struct str body, struct arena *a);

struct aws_fault {
	const char *code; /* not yet cleaned; NULL when not told */
	const char *message;
	const char *request_id;
};
bool parse_json_fault(const struct http_answer *ans, struct arena *a,
		      struct aws_fault *ret);
bool parse_xml_fault(const struct http_answer *ans, struct arena *a,
		     struct aws_fault *ret);

/* A text as the kind says; what does not fit the kind stays a string. New reference. */
json_t *aws_typed(enum aws_name_kind kind, struct str text, struct arena *a);

#endif
