#include "fcgi/documents.h"

#include "core/json/tree.h"

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
		struct str rest = str_of(table[i]->path + 1);

		d->toolset[i] = str_dup(a, str_cut(&rest, '/'));
		if (!(table[i]->flags & CAP_REST_ONLY))
			d->tool[i] = tool_text(table[i], a);
	}
	return d;
}
