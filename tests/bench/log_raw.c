/*
 * The limit that bench-logs compares with: a bare broadcast of frames made
 * elsewhere to WebSockets on a unix socket, behind the same nginx. No upstream, no
 * rights, no replay, no JSON to make: what is left is what the sockets cost.
 *
 *   log_raw SOCKET RATE     until SIGTERM; a frame of RATE/100 lines every 10 ms
 */
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENTS = 1024,
	FRAMES = 512,
	FRAME_MAX = 256 * 1024,
	REQUEST_MAX = 8192,
	TEXT = 136
};

struct frame {
	size_t n;
	char *p;
};

struct client {
	int fd; /* 0: free */
	bool open;
	int64_t at;  /* frame */
	size_t sent; /* of it */
	size_t n;
	char request[REQUEST_MAX];
};

struct raw {
	int listener;
	int64_t rate, lines, frames;
	struct frame frame[FRAMES];
	struct client c[CLIENTS];
};

static volatile sig_atomic_t over;

static void on_term(int signal)
{
	(void)signal;
	over = 1;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void drop(struct client *c)
{
	close(c->fd);
	memset(c, 0, offsetof(struct client, request));
}

/* RFC 6455, 4.2.2 */
static void shake_hands(struct raw *r, struct client *c)
{
	static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	const char *key = strcasestr(c->request, "sec-websocket-key: ");
	unsigned char digest[EVP_MAX_MD_SIZE], text[64];
	char joined[128], answer[512];
	unsigned n = 0;
	int len;

	if (!key) {
		drop(c);
		return;
	}
	len = snprintf(joined, sizeof(joined), "%.24s%s", key + 19, magic);
	EVP_Digest(joined, (size_t)len, digest, &n, EVP_sha1(), NULL);
	EVP_EncodeBlock(text, digest, (int)n);
	len = snprintf(answer, sizeof(answer),
		       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		       "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		       (const char *)text);
	if (send(c->fd, answer, (size_t)len, MSG_NOSIGNAL) != len)
		drop(c);
	c->open = true;
	c->at = r->frames;
}

static void make_frame(struct raw *r, int64_t lines)
{
	struct frame *f = &r->frame[r->frames % FRAMES];
	char *text;
	size_t n;

	if (!f->p)
		f->p = malloc(FRAME_MAX);
	if (!f->p)
		abort();
	text = f->p + 10;
	n = (size_t)snprintf(text, 64, "{\"t\":\"lines\",\"seq\":%" PRId64 ",\"lines\":[",
			     r->lines + 1);
	for (int64_t i = 0; i < lines; i++) {
		const size_t start = n;

		n += (size_t)snprintf(
			text + n, 128,
			"%s[\"2026-01-02T03:04:05.000000000Z\",\"seq=%" PRId64
			" ns=%" PRId64 " ",
			i ? "," : "", ++r->lines, now_ns());
		while (n - start < TEXT + 36)
			text[n++] = 'x';
		memcpy(text + n, "\"]", 2);
		n += 2;
	}
	memcpy(text + n, "]}", 2);
	n += 2;
	f->p[0] = (char)0x81;
	f->p[1] = 127;
	for (int i = 0; i < 8; i++)
		f->p[2 + i] = (char)(n >> (56 - 8 * i) & 0xff);
	f->n = n + 10;
	r->frames++;
}

/* true: there is more that the socket does not take now. */
static bool write_some(struct raw *r, struct client *c)
{
	if (r->frames - c->at >= FRAMES) {
		drop(c);
		return false;
	}
	while (c->at < r->frames) {
		const struct frame *f = &r->frame[c->at % FRAMES];
		const ssize_t n = send(c->fd, f->p + c->sent, f->n - c->sent,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0) {
			drop(c);
			return false;
		}
		c->sent += (size_t)n;
		if (c->sent == f->n) {
			c->sent = 0;
			c->at++;
		}
	}
	return false;
}

static void read_some(struct raw *r, struct client *c)
{
	const ssize_t n = recv(c->fd, c->request + c->n, sizeof(c->request) - 1 - c->n,
			       MSG_DONTWAIT);

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			drop(c);
		return;
	}
	if (c->open)
		return; /* a pong, or a close */
	c->n += (size_t)n;
	c->request[c->n] = '\0';
	if (strstr(c->request, "\r\n\r\n")) {
		c->n = 0;
		shake_hands(r, c);
	}
}

static void take(struct raw *r)
{
	const int fd = accept(r->listener, NULL, NULL);

	for (int i = 0; i < CLIENTS && fd >= 0; i++)
		if (r->c[i].fd == 0) {
			r->c[i].fd = fd;
			return;
		}
	if (fd >= 0)
		close(fd);
}

static void turn(struct raw *r, int64_t began_ns)
{
	static struct pollfd p[CLIENTS + 1];
	const int64_t due =
		(now_ns() - began_ns) / 1000 * r->rate / 1000000 / (r->rate / 100);

	for (int i = 0; r->frames < due && i < 10; i++)
		make_frame(r, r->rate / 100);
	p[0] = (struct pollfd){.fd = r->listener, .events = POLLIN};
	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &r->c[i];
		const bool more = c->fd > 0 && c->open && write_some(r, c);

		p[i + 1] =
			(struct pollfd){.fd = c->fd ? c->fd : -1,
					.events = (short)(POLLIN | (more ? POLLOUT : 0))};
	}
	poll(p, CLIENTS + 1, 1);
	if (p[0].revents)
		take(r);
	for (int i = 0; i < CLIENTS; i++)
		if (p[i + 1].fd >= 0 && p[i + 1].revents & (POLLIN | POLLHUP | POLLERR))
			read_some(r, &r->c[i]);
}

int main(int argc, char **argv)
{
	static struct raw r;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int64_t began_ns;

	if (argc < 3)
		return 2;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", argv[1]);
	unlink(at.sun_path);
	r.rate = strtoll(argv[2], NULL, 10);
	r.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(r.listener, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    chmod(at.sun_path, 0666) != 0 || listen(r.listener, 512) != 0) {
		perror("log_raw");
		return 1;
	}
	signal(SIGTERM, on_term);
	began_ns = now_ns();
	while (!over)
		turn(&r, began_ns);
	return 0;
}
