/*
 * Viewers of a log, for bench-logs: WebSocket clients that check every frame.
 *
 *   log_viewers PORT PATH TOKEN STEADY STORM SECONDS
 *
 * STEADY connections stay, and come back when they are cut; STORM more come and go
 * all the time, half of them without a goodbye. All resume by epoch, number and
 * time. Prints one JSON object: what came, how late, which gaps were marked, and
 * what was missing without a mark (which must be nothing).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 160 * 1024, TIME_MAX = 40, BUCKETS = 4000, RETRY_MS = 100 };

struct client {
	int fd; /* -1: not connected */
	bool storm, abrupt, shaken, greeted;
	int64_t again_ms, leave_ms; /* when it comes back, and goes */
	char epoch[48], time[TIME_MAX];
	int64_t next, offset; /* of feed and source numbers */
	size_t n;
	char buf[BUFFER];
};

struct bench {
	int port, epoll;
	const char *path, *token;
	struct client *c;
	int n;
	int64_t lines, frames, bytes, gaps, missed, faults, connects, refused, cut;
	int64_t lag[BUCKETS]; /* by 1/16 powers of two of microseconds */
	uint64_t seed;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t any(struct bench *b)
{
	b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
	return b->seed >> 33;
}

/* --- lag --------------------------------------------------------------------------- */

static int bucket_of(int64_t us)
{
	int power = 0;

	if (us < 16)
		return us < 0 ? 0 : (int)us;
	while (us >> (power + 1) >= 16)
		power++;
	return 16 * (power + 1) + (int)(us >> power) - 16;
}

static double value_of(int bucket)
{
	if (bucket < 16)
		return bucket;
	return (double)((int64_t)(16 + bucket % 16) << (bucket / 16 - 1));
}

static double percentile_ms(const struct bench *b, double share)
{
	int64_t all = 0, sum = 0;

	for (int i = 0; i < BUCKETS; i++)
		all += b->lag[i];
	for (int i = 0; i < BUCKETS; i++) {
		sum += b->lag[i];
		if (all > 0 && (double)sum >= (double)all * share)
			return value_of(i) / 1000;
	}
	return 0;
}

/* --- frames --------------------------------------------------------------------------
 */

static int64_t number_behind(const char *p, const char *end, const char *name)
{
	const char *at = memmem(p, (size_t)(end - p), name, strlen(name));

	return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

static void copy_word(const char *p, const char *end, const char *name, char *out,
		      size_t size)
{
	const char *at = memmem(p, (size_t)(end - p), name, strlen(name));
	size_t n = 0;

	if (!at)
		return;
	for (at += strlen(name); at < end && *at != '"' && n + 1 < size; at++)
		out[n++] = *at;
	out[n] = '\0';
}

static const char *last_line(const char *p, const char *end)
{
	const char *at = end - 4;

	while (at > p && memcmp(at, "[\"20", 4) != 0)
		at--;
	return at;
}

static void take_lines(struct bench *b, struct client *c, const char *p, const char *end)
{
	const int64_t now = now_ns();
	const int64_t seq = number_behind(p, end, "\"seq\":");
	const char *last = last_line(p, end);
	const int64_t from = number_behind(p, end, "seq=");
	const int64_t to = number_behind(last, end, "seq=");

	if (c->greeted && seq != c->next)
		b->faults++;
	/* The source's own numbers keep their distance from the feed's. */
	if (c->offset && from - seq != c->offset)
		b->faults++;
	c->offset = from - seq;
	c->greeted = true;
	c->next = seq + (to - from) + 1;
	b->frames++;
	b->lines += to - from + 1;
	b->lag[bucket_of((now - number_behind(p, end, "ns=")) / 1000)] +=
		(to - from) / 2 + 1;
	b->lag[bucket_of((now - number_behind(last, end, "ns=")) / 1000)] +=
		(to - from + 1) / 2;
	copy_word(last, end, "[\"", c->time, sizeof(c->time));
}

static void take_text(struct bench *b, struct client *c, const char *p, const char *end)
{
	if (strncmp(p, "{\"t\":\"lines\"", 12) == 0) {
		take_lines(b, c, p, end);
	} else if (strncmp(p, "{\"t\":\"hello\"", 12) == 0) {
		char epoch[48] = "";

		copy_word(p, end, "\"epoch\":\"", epoch, sizeof(epoch));
		if (strcmp(epoch, c->epoch) != 0 || c->next == 0) {
			c->next = number_behind(p, end, "\"seq\":");
			c->offset = 0;
		}
		memcpy(c->epoch, epoch, sizeof(c->epoch));
		c->greeted = true;
	} else if (strncmp(p, "{\"t\":\"gap\"", 10) == 0) {
		const int64_t missed = number_behind(p, end, "\"missed\":");

		b->gaps++;
		b->missed += missed > 0 ? missed : 0;
		c->next = number_behind(p, end, "\"seq\":");
		if (strstr(p, "\"missed\":null"))
			c->offset = 0;
	}
}

/* --- connections -----------------------------------------------------------------------
 */

static void leave(struct client *c, int64_t now_ms, int64_t pause_ms)
{
	close(c->fd);
	c->fd = -1;
	c->n = 0;
	c->shaken = false;
	c->again_ms = now_ms + pause_ms;
}

static void come(struct bench *b, struct client *c, int64_t now_ms)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)b->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
	char request[1024], resume[160] = "";
	int n;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) != 0) {
		b->refused++;
		leave(c, now_ms, RETRY_MS);
		return;
	}
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	if (c->epoch[0] && c->next > 1)
		snprintf(resume, sizeof(resume), "&epoch=%s&after=%" PRId64 "&time=%s",
			 c->epoch, c->next - 1, c->time);
	n = snprintf(request, sizeof(request),
		     "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
		     "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
		     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		     "Authorization: Bearer %s\r\n\r\n",
		     b->path, resume, b->port, b->token);
	epoll_ctl(b->epoll, EPOLL_CTL_ADD, c->fd, &ev);
	if (send(c->fd, request, (size_t)n, MSG_NOSIGNAL) != n)
		leave(c, now_ms, RETRY_MS);
	b->connects++;
	c->leave_ms = c->storm ? now_ms + 100 + (int64_t)(any(b) % 900) : INT64_MAX;
	c->abrupt = any(b) % 2 == 0;
}

static void go(struct client *c, int64_t now_ms)
{
	static const unsigned char bye[] = {0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8};
	const struct linger reset = {.l_onoff = 1};

	if (c->abrupt)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	else if (c->shaken)
		(void)!send(c->fd, bye, sizeof(bye), MSG_NOSIGNAL);
	leave(c, now_ms, 0);
}

static void pong(struct client *c)
{
	static const unsigned char frame[] = {0x8a, 0x80, 0, 0, 0, 0};

	(void)!send(c->fd, frame, sizeof(frame), MSG_NOSIGNAL);
}

/* One frame; returns its bytes, or 0 when it is not all here. */
static size_t take_frame(struct bench *b, struct client *c, char *p, size_t n,
			 bool *ret_end)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t head = 2, len;
	char kept;

	if (n < 2)
		return 0;
	len = u[1] & 127;
	if (len >= 126) {
		const size_t more = len == 126 ? 2 : 8;

		head += more;
		if (n < head)
			return 0;
		len = 0;
		for (size_t i = 0; i < more; i++)
			len = len << 8 | u[2 + i];
	}
	if (n < head + len)
		return 0;
	kept = p[head + len];
	p[head + len] = '\0';
	if ((u[0] & 15) == 1)
		take_text(b, c, p + head, p + head + len);
	else if ((u[0] & 15) == 9)
		pong(c);
	else if ((u[0] & 15) == 8)
		*ret_end = true;
	p[head + len] = kept;
	return head + len;
}

static void take_bytes(struct bench *b, struct client *c, int64_t now_ms)
{
	size_t at = 0, used;
	bool end = false;

	if (!c->shaken) {
		char *body;

		c->buf[c->n] = '\0';
		body = strstr(c->buf, "\r\n\r\n");
		if (!body)
			return;
		if (!strstr(c->buf, " 101 ")) {
			b->refused++;
			leave(c, now_ms, RETRY_MS);
			return;
		}
		c->shaken = true;
		at = (size_t)(body + 4 - c->buf);
	}
	while (!end && (used = take_frame(b, c, c->buf + at, c->n - at, &end)) > 0)
		at += used;
	memmove(c->buf, c->buf + at, c->n - at);
	c->n -= at;
	if (end) {
		b->cut++;
		leave(c, now_ms, RETRY_MS);
	}
}

static void receive(struct bench *b, struct client *c, int64_t now_ms)
{
	const ssize_t n = recv(c->fd, c->buf + c->n, BUFFER - 1 - c->n, 0);

	if (n > 0) {
		c->n += (size_t)n;
		b->bytes += n;
		take_bytes(b, c, now_ms);
	} else if (n == 0 || errno != EAGAIN) {
		b->cut++;
		leave(c, now_ms, RETRY_MS);
	}
}

static void turn(struct bench *b)
{
	struct epoll_event ev[64];
	const int n = epoll_wait(b->epoll, ev, 64, 20);
	const int64_t now_ms = now_ns() / 1000000;

	for (int i = 0; i < n; i++) {
		struct client *c = ev[i].data.ptr;

		if (c->fd >= 0)
			receive(b, c, now_ms);
	}
	for (int i = 0; i < b->n; i++) {
		struct client *c = &b->c[i];

		if (c->fd < 0 && now_ms >= c->again_ms)
			come(b, c, now_ms);
		else if (c->fd >= 0 && now_ms >= c->leave_ms)
			go(c, now_ms);
	}
}

int main(int argc, char **argv)
{
	static struct bench b;
	int64_t until;

	if (argc < 7)
		return 2;
	b.port = (int)strtol(argv[1], NULL, 10);
	b.path = argv[2];
	b.token = argv[3];
	b.n = (int)strtol(argv[4], NULL, 10) + (int)strtol(argv[5], NULL, 10);
	b.seed = 42;
	b.epoll = epoll_create1(0);
	b.c = calloc((size_t)b.n, sizeof(*b.c));
	if (!b.c)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < b.n; i++) {
		b.c[i].fd = -1;
		b.c[i].storm = i >= (int)strtol(argv[4], NULL, 10);
	}
	until = now_ns() + strtoll(argv[6], NULL, 10) * 1000000000;
	while (now_ns() < until)
		turn(&b);
	printf("{\"lines\":%" PRId64 ",\"frames\":%" PRId64 ",\"bytes\":%" PRId64
	       ",\"p50\":%.2f,\"p99\":%.2f,\"max\":%.2f,\"gaps\":%" PRId64
	       ",\"missed\":%" PRId64 ",\"faults\":%" PRId64 ",\"connects\":%" PRId64
	       ",\"refused\":%" PRId64 ",\"cut\":%" PRId64 "}\n",
	       b.lines, b.frames, b.bytes, percentile_ms(&b, 0.5),
	       percentile_ms(&b, 0.99), percentile_ms(&b, 1), b.gaps, b.missed, b.faults,
	       b.connects, b.refused, b.cut);
	return 0;
}
