#include "core/net/transport.h"

#include <assert.h>
#include <string.h>

void http_add_header(struct http_request *r, const char *name, const char *value)
{
	assert(r->n_headers < HTTP_HEADERS_MAX);
	r->header[r->n_headers++] = (struct http_header){name, value};
}

const char *http_header_of(const struct http_answer *ans, const char *name)
{
	for (size_t i = 0; i < ans->n_headers; i++)
		if (strcmp(ans->header[i].name, name) == 0)
			return ans->header[i].value;
	return NULL;
}
