/*
 * page.h - limit and cursor of every CAP_LIST row.
 *
 * An input struct has the members `int64_t limit; const char *cursor;`, its
 * descriptors PAGE_FIELDS(struct …, .pattern = …) and PAGE_OUT(item descriptors) declares
 * the answer {items, next_cursor}. Small pages by default: agents pay for each byte.
 */
#ifndef INSTANTSTART_DOMAIN_PAGE_H
#define INSTANTSTART_DOMAIN_PAGE_H

#include "core/json/field.h"

#define PAGE_LIMIT(S)                                                                    \
	FIELD(S, limit, .min = 1, .max = 100, .dflt = "20",                              \
	      .doc = "Maximum number of items per page.")
/* The last arguments say what a cursor of this list looks like. */
#define PAGE_CURSOR(S, ...)                                                              \
	FIELD(S, cursor, __VA_ARGS__, .doc = "next_cursor of the previous page.")
#define PAGE_FIELDS(S, ...) PAGE_LIMIT(S), PAGE_CURSOR(S, __VA_ARGS__)

#define PAGE_OUT(item_fields)                                                            \
	{.name = "items",                                                                \
	 .type = FIELD_OBJECT,                                                           \
	 .flags = FIELD_REQUIRED | FIELD_MANY,                                           \
	 .fields = (item_fields),                                                        \
	 .doc = "In a stable order."},                                                   \
		OUT("next_cursor", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,  \
		    .doc = "Pass as cursor to get the next page. Null on the last "      \
			   "page.")

#endif
