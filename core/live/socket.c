#include "core/live/socket.h"

#include <assert.h>
#include <libwebsockets.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PING_S = 20,
	HANGUP_S = 45,
	HEADERS_MAX = 8192,
	RX_MAX = 1024,
	RECEIVED_MAX = 4096,
	ACCEPTS = 64
};

static_assert(FEED_FRAME_PRE >= LWS_PRE, "room for the header of a message");

struct socket_server {
	struct lws_context *lws;
	struct lws_vhost *vhost;
	struct loop *loop;
	struct viewers *viewers;
	struct loop_watch accept;
};

/* What libwebsockets keeps for a connection. */
struct session {
	struct viewer viewer;
	char grant[VIEWER_GRANT_MAX];
	size_t received; /* a viewer has nothing to say */
};

static struct socket_server *server_of(struct lws *wsi)
{
	return lws_context_user(lws_get_context(wsi));
}

/* Only now can the header be read. */
static int take_grant(struct lws *wsi, struct session *s)
{
	static const char name[] = "x-live:";
	const int n = lws_hdr_custom_copy(wsi, s->grant, sizeof(s->grant), name,
					  sizeof(name) - 1);

	return n > 0 ? 0 : 1;
}

static int close_it(struct lws *wsi, struct viewer *v)
{
	lws_close_reason(wsi, (enum lws_close_status)v->close_code,
			 (unsigned char *)v->close_why, strlen(v->close_why));
	return -1;
}

static int write_some(struct lws *wsi, struct viewer *v)
{
	struct frame *f = &v->all->frame;

	switch (viewer_take(v)) {
	case FEED_CLOSE:
		return close_it(wsi, v);
	case FEED_FRAME:
		if (lws_write(wsi, (unsigned char *)f->text, f->n, LWS_WRITE_TEXT) < 0)
			return -1;
		break;
	case FEED_NOTHING:
		return 0;
	}
	if (viewer_has_more(v))
		lws_callback_on_writable(wsi);
	return 0;
}

static int on_connection(struct lws *wsi, enum lws_callback_reasons reason, void *user,
			 void *in, size_t len)
{
	struct session *s = user;

	(void)in;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum" /* of hundreds these few are ours */
	switch (reason) {
	case LWS_CALLBACK_HTTP: /* not an upgrade */
		return -1;
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return take_grant(wsi, s);
	case LWS_CALLBACK_ESTABLISHED:
		s->viewer = (struct viewer){.connection = wsi};
		viewer_open(server_of(wsi)->viewers, &s->viewer, s->grant);
		return 0;
	case LWS_CALLBACK_RECEIVE:
		s->received += len;
		if (s->received > RECEIVED_MAX)
			viewer_refuse(&s->viewer, 1008, "viewers only listen");
		return 0;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return write_some(wsi, &s->viewer);
	case LWS_CALLBACK_CLOSED:
		viewer_close(&s->viewer);
		return 0;
	default:
		return 0;
	}
#pragma GCC diagnostic pop
}

static int on_loop(struct lws *wsi, enum lws_callback_reasons reason, void *user,
		   void *in, size_t len)
{
	(void)user, (void)in, (void)len;
	if (reason == LWS_CALLBACK_RAW_RX_FILE)
		loop_turn(server_of(wsi)->loop);
	return 0;
}

/* libwebsockets 4.1 keeps the list as it is. */
static const struct lws_protocols protocols[] = {
	{.name = "live",
	 .callback = on_connection,
	 .per_session_data_size = sizeof(struct session),
	 .rx_buffer_size = RX_MAX,
	 /* Or messages go out in pieces as small as those that come in. */
	 .tx_packet_size = FEED_FRAME_MAX},
	{.name = "loop", .callback = on_loop},
	{.name = NULL}};

static const lws_retry_bo_t liveness = {.secs_since_valid_ping = PING_S,
					.secs_since_valid_hangup = HANGUP_S};

static void wake(struct viewer *v)
{
	lws_callback_on_writable(v->connection);
}

static void take_connections(void *ctx)
{
	struct socket_server *s = ctx;

	for (int i = 0; i < ACCEPTS; i++) {
		const int fd =
			accept4(s->accept.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		/* It closes fd when it does not take it. */
		lws_adopt_socket_vhost(s->vhost, fd);
	}
}

static void destroy(void *at)
{
	struct socket_server *s = at;

	lws_context_destroy(s->lws);
}

static bool make_context(struct socket_server *s, struct err *e)
{
	const struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN_SERVER,
		.protocols = protocols,
		.gid = -1,
		.uid = -1,
		.user = s,
		.max_http_header_data2 = HEADERS_MAX,
		.pt_serv_buf_size = FEED_FRAME_MAX,
		.retry_and_idle_policy = &liveness,
		.options =
			LWS_SERVER_OPTION_UNIX_SOCK | LWS_SERVER_OPTION_EXPLICIT_VHOSTS};

	lws_set_log_level(0, NULL);
	s->lws = lws_create_context(&info);
	s->vhost = s->lws ? lws_create_vhost(s->lws, &info) : NULL;
	return s->vhost || err_set(e, ERR_INTERNAL, "libwebsockets does not start");
}

struct socket_server *socket_open(struct arena *a, struct loop *loop,
				  struct viewers *viewers, int listen_fd, struct err *e)
{
	struct socket_server *s = arena_new(a, struct socket_server);
	lws_sock_file_fd_type fd;

	s->loop = loop;
	s->viewers = viewers;
	s->accept = (struct loop_watch){take_connections, s, listen_fd};
	viewers->wake = wake;
	if (!make_context(s, e))
		return NULL;
	arena_defer(a, destroy, s);
	/* libwebsockets closes what it has adopted. */
	fd.filefd = dup(loop_fd(loop));
	if (fd.filefd < 0 ||
	    !lws_adopt_descriptor_vhost(s->vhost, LWS_ADOPT_RAW_FILE_DESC, fd, "loop",
					NULL)) {
		err_set(e, ERR_INTERNAL, "libwebsockets does not take the loop");
		return NULL;
	}
	return loop_add(loop, &s->accept, e) ? s : NULL;
}

void socket_run_once(struct socket_server *s)
{
	lws_service(s->lws, 0);
}
