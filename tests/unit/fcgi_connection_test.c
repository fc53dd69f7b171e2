/* Requests on a kept connection, as nginx sends them. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "fcgi/fcgi.h"

enum { BEGIN_REQUEST = 1, PARAMS = 4, STDIN = 5, BODY = 40000, LIBFCGI_BUFFER = 8192 };

static void add_record(struct buf *b, char type, struct str content)
{
	const char head[8] = {
		1, type, 0, 1, (char)(content.n >> 8), (char)(content.n & 255), 0, 0};

	buf_add(b, head, sizeof(head));
	buf_add_str(b, content);
}

static void add_param(struct buf *b, const char *name, const char *value)
{
	buf_addc(b, (char)strlen(name));
	buf_addc(b, (char)strlen(value));
	buf_adds(b, name);
	buf_adds(b, value);
}

/* A request's head; a responder that keeps its connection. */
static void add_head(struct buf *b, struct arena *a, const char *uri)
{
	struct buf params;

	buf_init(&params, a, 4096);
	add_param(&params, "REQUEST_URI", uri);
	add_record(b, BEGIN_REQUEST, STR("\0\1\1\0\0\0\0\0"));
	add_record(b, PARAMS, buf_str(&params));
	add_record(b, PARAMS, STR(""));
}

static void add_request(struct buf *b, struct arena *a, const char *uri, struct str body)
{
	add_head(b, a, uri);
	if (body.n)
		add_record(b, STDIN, body);
	add_record(b, STDIN, STR(""));
}

/* A body that is a request of its own from where libfcgi's first read ends. */
static struct str forged(struct arena *a, const char *uri)
{
	char *body = arena_alloc(a, BODY);
	struct buf head, inner;

	buf_init(&head, a, 4096);
	add_head(&head, a, uri);
	buf_init(&inner, a, 4096);
	add_request(&inner, a, "/forged", STR(""));
	memset(body, 'A', BODY);
	memcpy(body + LIBFCGI_BUFFER - head.len - 8, inner.p, inner.len);
	return (struct str){body, BODY};
}

/* However much of a body a handler reads, the next request is the next one sent. */
Test(fcgi_connection, a_body_is_never_a_request)
{
	static const size_t reads[] = {0, 1, 5000, LIBFCGI_BUFFER, BODY};

	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		static char got[BODY];
		struct err e = {0};
		struct arena a;
		struct buf sent;
		struct fcgi *f;
		struct conn *c;
		int ends[2];

		arena_init(&a, 0);
		buf_init(&sent, &a, 1 << 20);
		add_request(&sent, &a, "/one", forged(&a, "/one"));
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		cr_assert_eq(write(ends[0], sent.p, sent.len), (ssize_t)sent.len);
		f = fcgi_new(&a, &e);
		cr_assert_not_null(f);

		cr_assert(fcgi_begin(f, ends[1]));
		c = fcgi_conn(f);
		cr_expect_str_eq(c->param(c, "REQUEST_URI"), "/one");
		cr_expect_eq(c->read(c, got, reads[i]), reads[i]);
		c->write(c, "Status: 200\r\n\r\n", 15);
		cr_assert(fcgi_end(f), "kept after %zu bytes", reads[i]);

		/* One at a time, as nginx does. */
		buf_truncate(&sent, 0);
		add_request(&sent, &a, "/two", STR("{}"));
		cr_assert_eq(write(ends[0], sent.p, sent.len), (ssize_t)sent.len);
		cr_assert(fcgi_begin(f, ends[1]), "after %zu bytes", reads[i]);
		cr_expect_str_eq(c->param(c, "REQUEST_URI"), "/two", "after %zu bytes",
				 reads[i]);
		cr_expect_eq(c->read(c, got, sizeof(got)), 2);
		cr_expect(fcgi_end(f));
		close(ends[0]);
		close(ends[1]);
		arena_free(&a);
	}
}
