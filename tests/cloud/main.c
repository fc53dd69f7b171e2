/* The simulated cloud as a server: see usage(). */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "tests/cloud/core.h"
#include "tests/cloud/server.h"

struct flags {
	int port, tls_port;
	bool any_address;
	const char *models, *ca_file, *ready_file, *settings;
	struct cloud_options o;
};

/* The system's time, moved on by tests. */
struct moved_clock {
	struct clock clock;
	int64_t by_ms;
};

enum { TICK_MS = 40 };

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int64_t moved_wall(struct clock *c)
{
	return clock_system()->wall_ms(clock_system()) + ((struct moved_clock *)c)->by_ms;
}

static int64_t moved_mono(struct clock *c)
{
	return clock_system()->mono_ms(clock_system()) + ((struct moved_clock *)c)->by_ms;
}

static void move_clock(struct clock *c, int64_t ms)
{
	((struct moved_clock *)c)->by_ms += ms;
}

static int usage(FILE *to, int status)
{
	fputs("usage: instantstart-cloud --models FILE [options]\n"
	      "  --port N          plain HTTP (4566; 0: a free one)\n"
	      "  --tls-port N      TLS (4567; 0: a free one), also the Kubernetes API servers\n"
	      "  --any             listen on every address, not only 127.0.0.1\n"
	      "  --ca-file FILE    where to write the authority's certificate\n"
	      "  --ready-file FILE where to write {\"http\":N,\"https\":N} once it listens\n"
	      "  --speed N         life cycles run N times faster (1)\n"
	      "  --seed N          of ids and chance (1)\n"
	      "  --list-lag-ms N   how long lists miss a new object (0)\n"
	      "  --region R        us-west-2\n"
	      "  --account A       123456789012\n"
	      "  --settings FILE   what POST /_cloud/settings takes, from the start on\n"
	      "The caller's keys are taken from CLOUD_ACCESS_KEY_ID and\n"
	      "CLOUD_SECRET_ACCESS_KEY; without them they are AWS's documented examples.\n",
	      to);
	return status;
}

static int64_t number(const char *text)
{
	int64_t v;

	if (str_to_i64(str_of(text), &v) && v >= 0)
		return v;
	fprintf(stderr, "instantstart-cloud: %s is no number\n", text);
	exit(2);
}

static void take_flag(struct flags *f, int flag)
{
	switch (flag) {
	case 'p':
		f->port = (int)number(optarg);
		break;
	case 't':
		f->tls_port = (int)number(optarg);
		break;
	case 'a':
		f->any_address = true;
		break;
	case 'm':
		f->models = optarg;
		break;
	case 'c':
		f->ca_file = optarg;
		break;
	case 'r':
		f->ready_file = optarg;
		break;
	case 's':
		f->o.speed = (int)number(optarg);
		break;
	case 'S':
		f->o.seed = (uint64_t)number(optarg);
		break;
	case 'l':
		f->o.list_lag_ms = number(optarg);
		break;
	case 'R':
		f->o.region = optarg;
		break;
	case 'A':
		f->o.account = optarg;
		break;
	case 'j':
		f->settings = optarg;
		break;
	default:
		exit(usage(flag == 'h' ? stdout : stderr, flag == 'h' ? 0 : 2));
	}
}

static void read_flags(struct flags *f, int argc, char **argv)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 'p'},
		{"tls-port", required_argument, NULL, 't'},
		{"any", no_argument, NULL, 'a'},
		{"models", required_argument, NULL, 'm'},
		{"ca-file", required_argument, NULL, 'c'},
		{"ready-file", required_argument, NULL, 'r'},
		{"speed", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'S'},
		{"list-lag-ms", required_argument, NULL, 'l'},
		{"region", required_argument, NULL, 'R'},
		{"account", required_argument, NULL, 'A'},
		{"settings", required_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int flag;

	while ((flag = getopt_long(argc, argv, "", options, NULL)) != -1)
		take_flag(f, flag);
	if (optind < argc || !f->models)
		exit(usage(stderr, 2));
}

/* Whole or not at all: who waits for the file must not read half of it. */
static bool write_file(struct arena *a, const char *path, const char *text)
{
	const char *tmp = arena_printf(a, "%s.new", path);
	FILE *out = fopen(tmp, "w");

	if (!out)
		return false;
	bool ok = fputs(text, out) >= 0;

	return fclose(out) == 0 && ok && rename(tmp, path) == 0;
}

static bool configure(struct cloud *c, const char *path)
{
	json_error_t why;
	json_t *settings = json_load_file(path, 0, &why);

	if (!settings) {
		fprintf(stderr, "instantstart-cloud: %s: %s\n", path, why.text);
		return false;
	}
	cloud_configure(c, settings);
	json_decref(settings);
	return true;
}

static int serve(struct arena *a, const struct flags *f, struct cloud *c, int fd,
		 int tls_fd, const struct tls_pems *pems)
{
	struct server *s = server_start(c, fd, tls_fd, pems);

	if (!s)
		return 1;
	if (f->ca_file && !write_file(a, f->ca_file, pems->ca))
		return 1;
	if (f->ready_file && !write_file(a, f->ready_file,
					 arena_printf(a, "{\"http\":%d,\"https\":%d}\n",
						      f->port, f->tls_port)))
		return 1;
	while (!stop) {
		poll(NULL, 0, TICK_MS);
		server_tick(s);
	}
	server_stop(s);
	return 0;
}

int main(int argc, char **argv)
{
	struct moved_clock clock = {{moved_wall, moved_mono}, 0};
	struct flags f = {
		.port = 4566,
		.tls_port = 4567,
		.o = {.clock = &clock.clock,
		      .seed = 1,
		      .access_key = getenv("CLOUD_ACCESS_KEY_ID"),
		      .secret_key = getenv("CLOUD_SECRET_ACCESS_KEY")},
	};
	struct sigaction sa = {.sa_handler = on_signal};
	struct tls_pems pems;
	struct arena a;

	read_flags(&f, argc, argv);
	arena_init(&a, 0);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	int fd = server_listen(f.any_address, &f.port);
	int tls_fd = server_listen(f.any_address, &f.tls_port);

	if (fd < 0 || tls_fd < 0 || !tls_make(&a, &pems)) {
		fprintf(stderr, "instantstart-cloud: cannot listen: %s\n",
			strerror(errno));
		return 1;
	}
	f.o.models = f.models;
	f.o.kube_base_url = arena_printf(&a, "https://127.0.0.1:%d", f.tls_port);
	f.o.kube_ca_pem = pems.ca;
	struct cloud *c = cloud_new(&f.o);

	if (!c || (f.settings && !configure(c, f.settings)))
		return 1;
	cloud_set_auth_clock(c, clock_system());
	c->move_clock = move_clock;
	int status = serve(&a, &f, c, fd, tls_fd, &pems);

	cloud_free(c);
	arena_free(&a);
	return status;
}
