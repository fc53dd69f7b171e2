/*
 * op_table.h - what a row of ops.def says of an operation.
 */
#ifndef INSTANTSTART_AWS_OP_TABLE_H
#define INSTANTSTART_AWS_OP_TABLE_H

#include <stdbool.h>

#include "core/aws/aws.h"
#include "core/aws/service.h"

struct aws_op {
	enum aws_service_id service;
	const char *name;
	bool mutates;
	bool unsigned_;
	bool checksum;
	const char *http; /* "GET /clusters/{name}"; NULL: POST / */
	const char *payload;
	const char *answer;
	const char *token;
	const char *goes_on; /* what AWS does after the answer; NULL: it is done */
	/* Paging; in_token NULL: the operation has no pages. */
	const char *in_token;
	const char *out_token;
	const char *more;  /* flag that says whether out_token counts */
	const char *items; /* lists to join, separated by commas */
};

#endif
