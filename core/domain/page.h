/*
 * page.h - limit and cursor of every CAP_LIST row.
 *
 * An input struct has the members `int64_t limit; const char *cursor;`, its
 * descriptors PAGE_FIELDS(struct …, .pattern = …) and PAGE_OUT(item descriptors) declares
 * the answer {items, next_cursor}. Small pages by default: agents pay for each byte.
 */
#ifndef INSTANTSTART_DOMAIN_PAGE_H
#define INSTANTSTART_DOMAIN_PAGE_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/json/field.h"

#define PAGE_LIMIT(S)                                                                    \
	FIELD(S, limit, .min = 1, .max = 100, .dflt = "20",                              \
	      .doc = "Maximum number of items per page.")
/* The last arguments say what a cursor of this list looks like. */
#define PAGE_CURSOR(S, ...)                                                              \
	FIELD(S, cursor, __VA_ARGS__, .doc = "next_cursor of the previous page.")
#define PAGE_FIELDS(S, ...) PAGE_LIMIT(S), PAGE_CURSOR(S, __VA_ARGS__)

/*
 * For lists that a handler has whole: most fit on one page. The cursor is "where/name" of
 * the last item; page_cut() makes it.
 */
#define PAGE_WHOLE_FIELDS(S)                                                             \
	FIELD(S, limit, .min = 1, .max = 100, .dflt = "100",                             \
	      .doc = "Maximum number of items per page."),                               \
		PAGE_CURSOR(S, .pattern = "[0-9]{1,6}/.{0,512}")

/*
 * Leaves one page in `items`, which are in a stable order; `key` is the text member that
 * names one. The next page begins behind the cursor's item wherever it is by then, so
 * that what came or went before it repeats and skips nothing. Returns next_cursor, null
 * on the last page; of the arena.
 */
json_t *page_cut(struct arena *a, json_t *items, const char *key, int64_t limit,
		 const char *cursor);

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
