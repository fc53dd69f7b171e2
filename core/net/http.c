#include "core/net/transport.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"

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

/* 127.0.0.0/8, in full: a resolver may take "127.1" for something else. */
static bool is_loopback_v4(struct str host)
{
	int parts = 0;

	if (!str_has_prefix(host, STR("127.")))
		return false;
	while (host.p) {
		int64_t v;

		if (!str_to_i64(str_cut(&host, '.'), &v) || v < 0 || v > 255)
			return false;
		parts++;
	}
	return parts == 4;
}

/* What stands between "http://" and the port or the path; empty when it is no host. */
static struct str host_of(const char *url)
{
	struct str host = str_of(url + strlen("http://"));
	const char *end;

	host.n = strcspn(host.p, "/?");
	if (host.n == 0 || *host.p != '[') {
		host.n = strcspn(host.p, ":/?");
		return host;
	}
	end = memchr(host.p, ']', host.n);
	if (!end || (end + 1 < host.p + host.n && end[1] != ':'))
		return (struct str){0};
	host.n = (size_t)(end + 1 - host.p);
	return host;
}

bool http_is_private(const char *url)
{
	static const char *const hosts[] = {
		"localhost",       "[::1]",          "169.254.170.2",  "169.254.170.23",
		"169.254.169.254", "[fd00:ec2::23]", "[fd00:ec2::254]"};
	const char *authority = strstr(url, "://");
	struct str host;

	if (!authority ||
	    strcspn(authority + 3, " \t\r\n@\\#") < strcspn(authority + 3, "/?"))
		return false;
	if (str_starts(url, "https://"))
		return url[8] && url[8] != '/';
	if (!str_starts(url, "http://"))
		return false;
	host = host_of(url);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		if (str_is(host, hosts[i]))
			return true;
	return is_loopback_v4(host);
}

bool http_may_send(const struct http_request *req, struct err *e)
{
	bool secret = secret_reveal(req->authorization) != NULL;

	for (size_t i = 0; i < req->n_headers; i++)
		secret = secret || strstr(req->header[i].name, "token");
	if (!secret || http_is_private(req->url))
		return true;
	err_set(e, ERR_CONFIG, "Credentials are sent only over https, not to %.120s",
		req->url);
	return err_fix(e, "Use an https:// address.");
}
