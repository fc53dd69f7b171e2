/*
 * names.h - spelling of members on the wire; see names.def.
 */
#ifndef INSTANTSTART_AWS_NAMES_H
#define INSTANTSTART_AWS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/aws/service.h"

enum aws_name_kind {
	NAME_STR, /* text, or a structure when it has child elements */
	NAME_OBJ, /* a structure, {} when empty */
	NAME_LIST,
	NAME_FLAT, /* a list without an element around it */
	NAME_BOOL,
	NAME_INT,
	NAME_INTS, /* list of integers */
	NAME_NUM,
	NAME_TIME,  /* becomes RFC 3339 text */
	NAME_POLICY /* percent-encoded JSON text */
};

struct aws_name {
	enum aws_service_id service;
	const char *within; /* NULL: anywhere */
	const char *element;
	const char *member;
	enum aws_name_kind kind;
};

/* NULL: text or a structure, named as it is but for a capital first letter. */
const struct aws_name *aws_name_of(enum aws_service_id service, const char *within,
				   const char *element);
/* The member's name in a request; the member itself when there is no row. */
const char *aws_wire_of(enum aws_service_id service, const char *within,
			const char *member);
/* Whether a JSON member of that name is a time. */
bool aws_is_time(enum aws_service_id service, const char *member);

/* The answers' rows, for the test that compares them with the models. */
const struct aws_name *aws_names(size_t *ret_n);

#endif
