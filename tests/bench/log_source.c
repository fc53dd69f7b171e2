/*
 * A cluster with one pod that writes RATE lines a second, for bench-logs: what
 * instantstart-live asks of EKS and Kubernetes, and nothing more.
 *
 *   log_source RATE      prints its port, then, at SIGTERM, how many lines it wrote
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 64, REQUEST_MAX = 8192, LINE_BYTES = 136, BURST = 2000 };

struct connection {
	int fd; /* 0: free */
	bool follows;
	size_t n;
	char request[REQUEST_MAX];
};

struct source {
	int listener, port;
	int64_t rate, written, began_ns;
	struct connection c[CONNECTIONS];
};

static volatile sig_atomic_t over;

static void on_term(int signal)
{
	(void)signal;
	over = 1;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void drop(struct connection *c)
{
	close(c->fd);
	c->fd = 0;
	c->follows = false;
	c->n = 0;
}

static void send_all(struct connection *c, const char *p, size_t n)
{
	while (n > 0 && c->fd > 0) {
		const ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL);

		if (sent <= 0) {
			drop(c);
			return;
		}
		p += sent;
		n -= (size_t)sent;
	}
}

static void send_chunk(struct connection *c, const char *p, size_t n)
{
	char head[24];

	send_all(c, head, (size_t)snprintf(head, sizeof(head), "%zx\r\n", n));
	send_all(c, p, n);
	send_all(c, "\r\n", 2);
}

static void begin_stream(struct connection *c)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";

	send_all(c, head, sizeof(head) - 1);
}

static void answer_cluster(const struct source *s, struct connection *c)
{
	char body[256], head[128];
	const int n = snprintf(body, sizeof(body),
			       "{\"cluster\":{\"name\":\"lab\",\"status\":\"ACTIVE\","
			       "\"endpoint\":\"http://127.0.0.1:%d\"}}",
			       s->port);
	const int h = snprintf(head, sizeof(head),
			       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			       "Content-Length: %d\r\n\r\n",
			       n);

	send_all(c, head, (size_t)h);
	send_all(c, body, (size_t)n);
}

static void answer(struct source *s, struct connection *c)
{
	static const char pod[] =
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"fast\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\"},\"spec\":{\"containers\":[{\"name\":\"main\"}]},"
		"\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\","
		"\"restartCount\":0,\"state\":{\"running\":{}}}]}}}\n";

	c->request[strcspn(c->request, "\r\n")] = '\0';
	c->n = 0;
	if (strstr(c->request, "/clusters/")) {
		answer_cluster(s, c);
	} else if (strstr(c->request, "watch=true")) {
		begin_stream(c);
		send_chunk(c, pod, sizeof(pod) - 1);
	} else {
		begin_stream(c);
		c->follows = true;
	}
}

static void read_request(struct source *s, struct connection *c)
{
	const ssize_t got =
		recv(c->fd, c->request + c->n, sizeof(c->request) - 1 - c->n, 0);

	if (got <= 0) {
		drop(c);
		return;
	}
	c->n += (size_t)got;
	c->request[c->n] = '\0';
	if (strstr(c->request, "\r\n\r\n"))
		answer(s, c);
}

static size_t put_line(char *out, int64_t number)
{
	const int64_t wall = now_ns(CLOCK_REALTIME);
	const time_t seconds = (time_t)(wall / 1000000000);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(out + n, 64,
			      ".%09" PRId64 "Z seq=%" PRId64 " ns=%" PRId64 " ",
			      wall % 1000000000, number, now_ns(CLOCK_MONOTONIC));
	memset(out + n, 'x', LINE_BYTES + 31 - n);
	out[LINE_BYTES + 30] = '\n';
	return LINE_BYTES + 31;
}

/* As many as are due since the first one who follows came. */
static void write_lines(struct source *s)
{
	static char text[BURST * (LINE_BYTES + 32)];
	int64_t due;
	size_t n = 0;
	bool anyone = false;

	for (int i = 0; i < CONNECTIONS; i++)
		anyone |= s->c[i].follows;
	if (!anyone)
		return;
	if (s->began_ns == 0)
		s->began_ns = now_ns(CLOCK_MONOTONIC);
	due = (now_ns(CLOCK_MONOTONIC) - s->began_ns) / 1000 * s->rate / 1000000 -
	      s->written;
	for (int64_t i = 0; i < due && i < BURST; i++)
		n += put_line(text + n, ++s->written);
	for (int i = 0; i < CONNECTIONS && n > 0; i++)
		if (s->c[i].follows)
			send_chunk(&s->c[i], text, n);
}

static void take(struct source *s)
{
	const int fd = accept(s->listener, NULL, NULL);

	for (int i = 0; i < CONNECTIONS && fd >= 0; i++)
		if (s->c[i].fd == 0) {
			s->c[i].fd = fd;
			return;
		}
	if (fd >= 0)
		close(fd);
}

static void turn(struct source *s)
{
	struct pollfd p[CONNECTIONS + 1] = {{.fd = s->listener, .events = POLLIN}};

	for (int i = 0; i < CONNECTIONS; i++)
		p[i + 1] = (struct pollfd){.fd = s->c[i].fd ? s->c[i].fd : -1,
					   .events = POLLIN};
	poll(p, CONNECTIONS + 1, 1);
	if (p[0].revents)
		take(s);
	for (int i = 0; i < CONNECTIONS; i++)
		if (p[i + 1].fd >= 0 && p[i + 1].revents)
			read_request(s, &s->c[i]);
	write_lines(s);
}

int main(int argc, char **argv)
{
	static struct source s;
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);

	s.rate = argc > 1 ? strtoll(argv[1], NULL, 10) : 10000;
	s.listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(s.listener, (struct sockaddr *)&at, n) != 0 ||
	    listen(s.listener, 64) != 0 ||
	    getsockname(s.listener, (struct sockaddr *)&at, &n) != 0) {
		perror("log_source");
		return 1;
	}
	s.port = ntohs(at.sin_port);
	signal(SIGTERM, on_term);
	printf("%d\n", s.port);
	fflush(stdout);
	while (!over)
		turn(&s);
	printf("%" PRId64 "\n", s.written);
	return 0;
}
