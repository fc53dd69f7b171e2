#include "fcgi/fcgi.h"

#include <errno.h>
#include <fcgiapp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/limits.h"

struct fcgi {
	struct conn conn; /* first: param() and the others get back to us */
	FCGX_Request req;
};

static const char *param(struct conn *c, const char *name)
{
	return FCGX_GetParam(name, ((struct fcgi *)c)->req.envp);
}

static size_t read_body(struct conn *c, void *p, size_t n)
{
	const int got = FCGX_GetStr(p, (int)n, ((struct fcgi *)c)->req.in);

	return got > 0 ? (size_t)got : 0;
}

static void write_out(struct conn *c, const void *p, size_t n)
{
	FCGX_PutStr(p, (int)n, ((struct fcgi *)c)->req.out);
}

/* nginx closes our connection when its client has closed his. */
static bool gone(struct conn *c)
{
	struct pollfd at = {.fd = ((struct fcgi *)c)->req.ipcFd, .events = POLLRDHUP};

	return poll(&at, 1, 0) == 1 && at.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

struct fcgi *fcgi_new(struct arena *a, struct err *e)
{
	struct fcgi *f = arena_new(a, struct fcgi);
	/* Never listens: a protocol error ends FCGX_Accept_r with a failure
	 * instead of leaving it in accept(). */
	const int dummy = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	f->conn = (struct conn){param, read_body, write_out, gone};
	if (dummy < 0 || FCGX_Init() != 0 ||
	    FCGX_InitRequest(&f->req, dummy, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
		err_set(e, ERR_INTERNAL, "Cannot serve FastCGI: %s", strerror(errno));
		return NULL;
	}
	return f;
}

bool fcgi_begin(struct fcgi *f, int fd)
{
	char c;

	if (recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {
		close(fd);
		return false;
	}
	/* With a descriptor in place FCGX_Accept_r reads instead of accepting. */
	f->req.ipcFd = fd;
	f->req.keepConnection = 1;
	if (FCGX_Accept_r(&f->req) == 0)
		return true;
	/* It has closed it after a protocol error, or else we do. */
	if (f->req.ipcFd >= 0)
		close(f->req.ipcFd);
	f->req.ipcFd = -1;
	return false;
}

struct conn *fcgi_conn(struct fcgi *f)
{
	return &f->conn;
}

/*
 * Reads what nobody wanted of the body. libfcgi does not: the rest would stand
 * at the head of a kept connection and be read as records, and whoever has
 * written the body would write the next request, with parameters of his choice.
 */
static void finish_body(struct fcgi *f)
{
	char rest[16384];
	size_t n = 0, got;

	while ((got = read_body(&f->conn, rest, sizeof(rest))) > 0 &&
	       n <= LIMIT_REQUEST_BODY)
		n += got;
	/* nginx sends no longer one; whoever does, does not get another try. */
	if (got > 0)
		f->req.keepConnection = 0;
}

bool fcgi_end(struct fcgi *f)
{
	bool kept;

	finish_body(f);
	FCGX_Finish_r(&f->req);
	kept = f->req.ipcFd >= 0;
	f->req.ipcFd = -1;
	return kept;
}
