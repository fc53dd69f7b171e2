#include "fcgi/documents.h"

#include <string.h>

#include "core/json/tree.h"

const char *toolset_of(const struct capability *cap, struct arena *a)
{
	return arena_strndup(a, cap->path + 1, strcspn(cap->path + 1, "/:"));
}

const struct documents *documents_make(const struct capability *const *table,
				       struct arena *a)
{
	struct documents *d = arena_new(a, struct documents);
	size_t n = 0;

	while (table[n])
		n++;
	d->openapi = openapi_text(table, a);
	d->openapi_etag = json_digest(
		a, json_packf(a, "{s:s%}", "text", d->openapi.p, d->openapi.n));
	d->tool = arena_array(a, struct str, n + 1);
	d->toolset = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		d->toolset[i] = toolset_of(table[i], a);
		if (!(table[i]->flags & CAP_REST_ONLY))
			d->tool[i] = tool_text(table[i], a);
	}
	return d;
}
