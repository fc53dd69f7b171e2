#include "tests/cloud/server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"

enum { BODY_MAX = 32 * 1024 * 1024, HEADERS_MAX = 64, IDLE_S = 300 };

struct server {
	struct cloud *cloud;
	struct MHD_Daemon *plain, *tls;
	pthread_mutex_t lock; /* of the cloud and of the list of waiting ones */
	struct exchange *first;
	bool stopping;
	unsigned ticks;
};

/* One request on a connection, from its first byte to its last. */
struct exchange {
	struct exchange *next, *prev;
	struct server *server;
	struct MHD_Connection *con;
	struct arena arena;
	struct buf body;
	const char *target;
	struct http_header header[HEADERS_MAX];
	size_t n_headers;
	struct cloud_response res;
	bool suspended; /* a stream without news, or a hung answer */
	bool hung;
	struct arena piece_arena; /* of one piece: a long watch must not add up */
	const char *piece;        /* of the stream, not yet sent */
	size_t piece_len;
};

static void link_exchange(struct server *s, struct exchange *x)
{
	pthread_mutex_lock(&s->lock);
	x->next = s->first;
	if (s->first)
		s->first->prev = x;
	s->first = x;
	pthread_mutex_unlock(&s->lock);
}

static void unlink_exchange(struct server *s, struct exchange *x)
{
	if (x->prev)
		x->prev->next = x->next;
	else if (s->first == x)
		s->first = x->next;
	if (x->next)
		x->next->prev = x->prev;
}

/* MHD decodes the path before the handler sees it; signatures need it raw. */
static void *keep_target(void *ctx, const char *uri, struct MHD_Connection *con)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		abort();
	x->server = ctx;
	x->con = con;
	arena_init(&x->arena, 256 * 1024 * 1024);
	arena_init(&x->piece_arena, BODY_MAX);
	buf_init(&x->body, &x->arena, BODY_MAX);
	x->target = arena_strdup(&x->arena, uri);
	link_exchange(x->server, x);
	return x;
}

static void exchange_done(void *ctx, struct MHD_Connection *con, void **con_ctx,
			  enum MHD_RequestTerminationCode how)
{
	struct exchange *x = *con_ctx;

	(void)ctx;
	(void)con;
	(void)how;
	if (!x)
		return;
	struct server *s = x->server;

	pthread_mutex_lock(&s->lock);
	unlink_exchange(s, x);
	if (x->res.more && x->res.more_end)
		x->res.more_end(x->res.more_ctx);
	pthread_mutex_unlock(&s->lock);
	arena_free(&x->piece_arena);
	arena_free(&x->arena);
	free(x);
	*con_ctx = NULL;
}

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct exchange *x = ctx;

	(void)kind;
	if (x->n_headers == HEADERS_MAX)
		return MHD_NO;
	x->header[x->n_headers++] = (struct http_header){name, value ? value : ""};
	return MHD_YES;
}

static ssize_t stream_some(void *ctx, uint64_t at, char *out, size_t max)
{
	struct exchange *x = ctx;
	bool open = true;

	(void)at;
	if (x->piece_len == 0) {
		pthread_mutex_lock(&x->server->lock);
		arena_reset(&x->piece_arena);
		open = !x->server->stopping &&
		       x->res.more(x->res.more_ctx, &x->piece_arena, &x->piece,
				   &x->piece_len);
		if (open && x->piece_len == 0) {
			x->suspended = true;
			MHD_suspend_connection(x->con);
		}
		pthread_mutex_unlock(&x->server->lock);
	}
	if (x->piece_len == 0)
		return open ? 0 : MHD_CONTENT_READER_END_OF_STREAM;
	size_t n = x->piece_len < max ? x->piece_len : max;

	memcpy(out, x->piece, n);
	x->piece += n;
	x->piece_len -= n;
	return (ssize_t)n;
}

/* The length that an answer to HEAD speaks of, without a body to measure. */
static const char *stated_length(const struct exchange *x)
{
	for (size_t i = 0; i < x->res.n_headers; i++)
		if (strcasecmp(x->res.header[i].name, "Content-Length") == 0)
			return x->res.header[i].value;
	return NULL;
}

static ssize_t no_body(void *ctx, uint64_t at, char *out, size_t max)
{
	(void)ctx;
	(void)at;
	(void)out;
	(void)max;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static enum MHD_Result send_answer(struct exchange *x, bool head)
{
	const char *length = stated_length(x);
	struct MHD_Response *r;

	if (head && length)
		r = MHD_create_response_from_callback(strtoull(length, NULL, 10), 1024,
						      no_body, x, NULL);
	else if (x->res.more)
		r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384,
						      stream_some, x, NULL);
	else
		r = MHD_create_response_from_buffer(x->res.body_len,
						    (void *)(uintptr_t)x->res.body,
						    MHD_RESPMEM_PERSISTENT);
	/* MHD writes the length itself. */
	for (size_t i = 0; i < x->res.n_headers; i++)
		if (strcasecmp(x->res.header[i].name, "Content-Length") != 0)
			MHD_add_response_header(r, x->res.header[i].name,
						x->res.header[i].value);
	enum MHD_Result ok = MHD_queue_response(x->con, (unsigned)x->res.status, r);

	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result answer(struct exchange *x, const char *method)
{
	const char *host = MHD_lookup_connection_value(x->con, MHD_HEADER_KIND, "Host");

	MHD_get_connection_values(x->con, MHD_HEADER_KIND, take_header, x);
	struct cloud_request req = {
		.method = method,
		.host = host ? host : "",
		.target = x->target,
		.header = x->header,
		.n_headers = x->n_headers,
		.body = buf_cstr(&x->body),
		.body_len = x->body.len,
	};

	pthread_mutex_lock(&x->server->lock);
	cloud_handle(x->server->cloud, &x->arena, &req, &x->res);
	if (x->res.fate == FATE_HANG) {
		x->hung = x->suspended = true;
		MHD_suspend_connection(x->con);
	}
	pthread_mutex_unlock(&x->server->lock);
	if (x->hung)
		return MHD_YES;
	/* MHD_NO cuts the connection: the client cannot know what arrived. */
	return x->res.fate == FATE_ANSWER ? send_answer(x, strcmp(method, "HEAD") == 0)
					  : MHD_NO;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *con, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **con_ctx)
{
	struct exchange *x = *con_ctx;

	(void)ctx;
	(void)con;
	(void)url;
	(void)version;
	if (x->hung)
		return MHD_NO; /* woken only when the server stops */
	if (x->n_headers == 0 && !x->body.p && *size == 0 && !x->res.status) {
		/* The first call only announces the request. */
		buf_adds(&x->body, "");
		x->res.status = -1;
		return MHD_YES;
	}
	if (*size > 0) {
		buf_add(&x->body, data, *size);
		*size = 0;
		return x->body.overflow ? MHD_NO : MHD_YES;
	}
	return answer(x, method);
}

int server_listen(bool any_address, int *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)*port)};
	socklen_t len = sizeof(sa);
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sa.sin_addr.s_addr = htonl(any_address ? INADDR_ANY : INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 ||
	    listen(fd, 128) != 0 || getsockname(fd, (struct sockaddr *)&sa, &len) != 0)
		return -1;
	*port = ntohs(sa.sin_port);
	return fd;
}

static struct MHD_Daemon *start(struct server *s, int fd, const struct tls_pems *pems)
{
	unsigned flags =
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0,
		 pems ? (void *)(uintptr_t)pems->cert : NULL},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, pems ? (void *)(uintptr_t)pems->key : NULL},
		{MHD_OPTION_END, 0, NULL},
	};

	if (pems)
		flags |= MHD_USE_TLS;
	return MHD_start_daemon(flags, 0, NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET,
				fd, MHD_OPTION_URI_LOG_CALLBACK, keep_target, s,
				MHD_OPTION_NOTIFY_COMPLETED, exchange_done, s,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
				MHD_OPTION_ARRAY, pems ? tls : tls + 2, MHD_OPTION_END);
}

struct server *server_start(struct cloud *c, int fd, int tls_fd,
			    const struct tls_pems *pems)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->cloud = c;
	pthread_mutex_init(&s->lock, NULL);
	s->plain = start(s, fd, NULL);
	s->tls = tls_fd >= 0 ? start(s, tls_fd, pems) : NULL;
	if (s->plain && (s->tls || tls_fd < 0))
		return s;
	server_stop(s);
	return NULL;
}

static void wake(struct server *s, bool hung_too)
{
	pthread_mutex_lock(&s->lock);
	for (struct exchange *x = s->first; x; x = x->next) {
		if (!x->suspended || (x->hung && !hung_too))
			continue;
		x->suspended = false;
		MHD_resume_connection(x->con);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Time passes without requests too: a chain of resources in a stack must not
 * move one link a poll. */
static void pass_time(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	cloud_advance(s->cloud);
	pthread_mutex_unlock(&s->lock);
}

void server_tick(struct server *s)
{
	enum { TICKS_AN_ADVANCE = 5 };

	if (++s->ticks % TICKS_AN_ADVANCE == 0)
		pass_time(s);
	wake(s, false);
}

void server_stop(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_mutex_unlock(&s->lock);
	wake(s, true);
	if (s->plain)
		MHD_stop_daemon(s->plain);
	if (s->tls)
		MHD_stop_daemon(s->tls);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
