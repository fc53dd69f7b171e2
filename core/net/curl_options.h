/*
 * curl_options.h - what both ways of using libcurl set alike.
 *
 * Private to core/net. Everything borrowed from the request must stay until the
 * exchange has ended.
 */
#ifndef INSTANTSTART_NET_CURL_OPTIONS_H
#define INSTANTSTART_NET_CURL_OPTIONS_H

#include <curl/curl.h>

#include "core/net/transport.h"

/* Released with the arena. NULL: a header would break the request apart. */
struct curl_slist *curl_headers(const struct http_request *req, struct arena *a);
void curl_common(CURL *easy);
/* The request's own authorities, else ca_pem, else (NULL) libcurl's default. */
void curl_trust(CURL *easy, const struct http_request *req, const char *ca_pem);

#endif
