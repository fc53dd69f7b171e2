/*
 * Keeps AWS exchanges for a judge that was written against the published models:
 * with CLOUD_RECORD=FILE set, one line of JSON an exchange is appended. Many
 * processes may share the file: a line is one write.
 *
 * Never part of the product: it sees what arrived here, whoever sent it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "tests/cloud/core.h"

enum { RECORD_BODY_MAX = 4 * 1024 * 1024 };

static void close_record(void *p)
{
	close((int)(intptr_t)p);
}

void cloud_record_open(struct cloud *c)
{
	const char *path = getenv("CLOUD_RECORD");

	c->record_fd = -1;
	if (!path || !*path)
		return;
	c->record_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (c->record_fd < 0) {
		fprintf(stderr, "cloud: CLOUD_RECORD=%s cannot be written\n", path);
		exit(2);
	}
	arena_defer(&c->arena, close_record, (void *)(intptr_t)c->record_fd);
}

static json_t *headers(struct arena *a, const struct http_header *h, size_t n)
{
	json_t *list = json_own(a, json_array());

	for (size_t i = 0; i < n; i++) {
		/* A key's id tells nothing; its signature is nobody's business. */
		bool secret = strcasecmp(h[i].name, "x-amz-security-token") == 0;

		json_array_append_new(
			list, json_pack("[s,s]", h[i].name, secret ? "-" : h[i].value));
	}
	return list;
}

static void put_body(json_t *one, struct arena *a, const char *body, size_t n)
{
	json_t *text = json_stringn(body, n);

	if (text)
		json_object_set_new(one, "body", text);
	else
		json_put_str(one, "base64", base64_encode(a, body, n));
}

void cloud_record(struct cloud *c, struct arena *a, const struct cloud_request *req,
		  const struct cloud_response *res, const char *fault)
{
	if (c->record_fd < 0 || req->body_len > RECORD_BODY_MAX ||
	    res->body_len > RECORD_BODY_MAX)
		return;
	json_t *asked = json_packf(a, "{s:s,s:s,s:s,s:O}", "method", req->method, "host",
				   req->host ? req->host : "", "target", req->target,
				   "headers", headers(a, req->header, req->n_headers));
	json_t *told = json_packf(a, "{s:i,s:O}", "status", res->status, "headers",
				  headers(a, res->header, res->n_headers));

	put_body(asked, a, req->body ? req->body : "", req->body_len);
	put_body(told, a, res->body, res->body_len);
	json_t *line = json_packf(a, "{s:O,s:O,s:s?}", "request", asked, "answer", told,
				  "fault", fault);
	const char *text = arena_printf(a, "%s\n", json_text(a, line));

	if (write(c->record_fd, text, strlen(text)) != (ssize_t)strlen(text))
		fprintf(stderr, "cloud: an exchange could not be recorded\n");
}
