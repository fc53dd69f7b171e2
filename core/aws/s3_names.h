/*
 * s3_names.h - members of S3 that travel in headers and in the query.
 */
#ifndef INSTANTSTART_AWS_S3_NAMES_H
#define INSTANTSTART_AWS_S3_NAMES_H

#include "core/aws/names.h"

const char *s3_query_of(const char *member);  /* NULL: not in the query */
const char *s3_header_of(const char *member); /* NULL: not in a header */
/* Headers of answers: name in lower case, member, kind; ended by NULL. */
struct s3_answer_header {
	const char *header;
	const char *member;
	enum aws_name_kind kind;
};
extern const struct s3_answer_header s3_answer_headers[];

#endif
