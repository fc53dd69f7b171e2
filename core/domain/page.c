#include "core/domain/page.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"

static const char *key_at(const json_t *items, const char *key, size_t i)
{
	return json_str_or(json_array_get(items, i), key, "");
}

/* Behind the item of that name that is nearest to where it was; where it was, when it
 * has gone since. */
static size_t behind(const json_t *items, const char *key, const char *cursor)
{
	const size_t n = json_array_size(items);
	const char *slash = strchr(cursor, '/');
	const size_t at = (size_t)strtoul(cursor, NULL, 10);

	for (size_t d = 0; slash && d <= n + at; d++) {
		if (d < at && at - d <= n &&
		    streq(key_at(items, key, at - d - 1), slash + 1))
			return at - d;
		if (d && at + d <= n && streq(key_at(items, key, at + d - 1), slash + 1))
			return at + d;
	}
	/* The one that went was the last of its page: what followed has moved up. */
	return at > n ? n : at ? at - 1 : 0;
}

json_t *page_cut(struct arena *a, json_t *items, const char *key, int64_t limit,
		 const char *cursor)
{
	const size_t n = json_array_size(items);
	const size_t from = cursor ? behind(items, key, cursor) : 0;
	const size_t left = n - from;
	const size_t page = left > (size_t)limit ? (size_t)limit : left;
	json_t *next = json_null();

	if (page < left)
		next = json_own(a, json_sprintf("%zu/%s", from + page,
						key_at(items, key, from + page - 1)));
	for (size_t i = n; i > from + page; i--)
		json_array_remove(items, i - 1);
	for (size_t i = 0; i < from; i++)
		json_array_remove(items, 0);
	return next;
}
