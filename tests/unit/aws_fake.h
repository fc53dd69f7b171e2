/*
 * aws_fake.h - a scripted transport, a lookup table and small readers, for the
 * tests of core/aws. Everything static: helper .c files would be linked into
 * every unit test, whatever layer it tests.
 */
#ifndef INSTANTSTART_TESTS_UNIT_AWS_FAKE_H
#define INSTANTSTART_TESTS_UNIT_AWS_FAKE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/json/tree.h"
#include "core/net/transport.h"

#define FAKE __attribute__((unused)) static

struct fake_answer {
	const char *url; /* must be part of the request's URL; NULL: any */
	enum net_outcome outcome;
	int status;
	const char *body;
	struct http_header header; /* name NULL: none */
};

enum { FAKE_MAX = 64 };

struct fake_net {
	struct transport transport; /* first */
	const struct fake_answer *answers;
	size_t n_answers;
	size_t n_sent;
	struct http_request sent[FAKE_MAX];
	struct arena *keep; /* outlives the exchanges; NULL: theirs lives long enough */
	void (*after)(void *ctx); /* runs after each answer */
	void *after_ctx;
};

FAKE struct http_request fake_kept(struct arena *a, const struct http_request *r)
{
	struct http_request k = *r;
	const char *authorization = secret_reveal(r->authorization);

	k.url = arena_strdup(a, r->url);
	k.body = r->body ? arena_strndup(a, r->body, r->body_len) : NULL;
	k.authorization =
		secret_of(authorization ? arena_strdup(a, authorization) : NULL);
	for (size_t n = 0; n < r->n_headers; n++)
		k.header[n] = (struct http_header){arena_strdup(a, r->header[n].name),
						   arena_strdup(a, r->header[n].value)};
	return k;
}

FAKE bool fake_send(struct transport *t, struct arena *a, const struct http_request *req,
		    struct http_answer *ret, struct err *e)
{
	struct fake_net *f = (struct fake_net *)t;
	const struct fake_answer *ans;

	cr_assert_lt(f->n_sent, f->n_answers, "an exchange too many: %s %s", req->method,
		     req->url);
	ans = &f->answers[f->n_sent];
	if (ans->url)
		cr_assert(strstr(req->url, ans->url), "%s instead of %s", req->url,
			  ans->url);
	f->sent[f->n_sent++] = f->keep ? fake_kept(f->keep, req) : *req;
	*ret = (struct http_answer){
		.outcome = ans->outcome,
		.status = ans->status,
		.body = ans->body ? ans->body : "",
	};
	ret->body_len = strlen(ret->body);
	if (ans->header.name) {
		ret->header = arena_new(a, struct http_header);
		*ret->header = ans->header;
		ret->n_headers = 1;
	}
	if (f->after)
		f->after(f->after_ctx);
	if (ans->outcome == NET_ANSWERED)
		return true;
	return err_set(
		e, ans->outcome == NET_AMBIGUOUS ? ERR_AMBIGUOUS : ERR_CLOUD_UNREACHABLE,
		"the fake is silent");
}

FAKE void fake_script(struct fake_net *f, const struct fake_answer *answers, size_t n)
{
	struct arena *keep = f->keep;

	*f = (struct fake_net){.transport.send = fake_send, .keep = keep};
	f->answers = answers;
	f->n_answers = n;
}
#define FAKE_SCRIPT(f, ...)                                                              \
	fake_script((f), (const struct fake_answer[]){__VA_ARGS__},                      \
		    sizeof((const struct fake_answer[]){__VA_ARGS__}) /                  \
			    sizeof(struct fake_answer))

/* A table of settings ended by a NULL name; the ctx of fake_lookup. */
struct fake_setting {
	const char *name;
	const char *value;
};
FAKE const char *fake_lookup(void *ctx, const char *name)
{
	for (const struct fake_setting *s = ctx; s && s->name; s++)
		if (strcmp(s->name, name) == 0)
			return s->value;
	return NULL;
}

FAKE const char *fake_header(const struct http_request *r, const char *name)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (strcasecmp(r->header[i].name, name) == 0)
			return r->header[i].value;
	return NULL;
}

/* A JSON file, or NULL when there is no such file. */
FAKE json_t *fake_json_file(struct arena *a, const char *path)
{
	json_error_t error;
	json_t *tree = json_load_file(path, 0, &error);

	if (!tree && json_error_code(&error) == json_error_cannot_open_file)
		return NULL;
	cr_assert(tree, "%s: %s", path, error.text);
	return json_own(a, tree);
}

#endif
