#include "core/net/curl_options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/str.h"

static void free_slist(void *list)
{
	curl_slist_free_all(list);
}

static struct curl_slist *add_line(struct curl_slist *list, const char *line)
{
	struct curl_slist *grown = curl_slist_append(list, line);

	if (!grown)
		abort(); /* out of memory, as in the arena */
	return grown;
}

static bool is_clean(const char *z)
{
	return strpbrk(z, "\r\n") == NULL;
}

struct curl_slist *curl_headers(const struct http_request *req, struct arena *a)
{
	const char *authorization = secret_reveal(req->authorization);
	struct curl_slist *list = add_line(NULL, "Expect:");
	bool has_type = false, clean = !authorization || is_clean(authorization);

	for (size_t i = 0; i < req->n_headers; i++) {
		const struct http_header *h = &req->header[i];

		clean = clean && is_clean(h->name) && is_clean(h->value);
		has_type = has_type || strcasecmp(h->name, "content-type") == 0;
		/* "Name;" is how libcurl is told to send an empty value. */
		list = add_line(list, arena_printf(a, *h->value ? "%s: %s" : "%s;",
						   h->name, h->value));
	}
	if (!has_type)
		list = add_line(list, "Content-Type:"); /* none, not libcurl's guess */
	if (authorization)
		list = add_line(list,
				arena_printf(a, "Authorization: %s", authorization));
	arena_defer(a, free_slist, list);
	return clean ? list : NULL;
}

void curl_common(CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "instantstart/" INSTANTSTART_VERSION);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

void curl_trust(CURL *easy, const struct http_request *req, const char *ca_pem)
{
	const char *pem = req->ca_pem ? req->ca_pem : ca_pem;
	struct curl_blob blob = {.flags = CURL_BLOB_NOCOPY};

	if (!pem)
		return;
	blob.len = strlen(pem);
	blob.data = (void *)(uintptr_t)pem; /* libcurl takes void * and only reads */
	curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
	if (req->ca_pem) /* or the system's folder would be trusted as well */
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}
