#include "core/live/keyring.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/op/world.h"

enum {
	CLUSTER_MAX = 128,
	TOKEN_MAX = 4096,
	ENTRIES = 64,
	RENEW_MS = 4 * 60 * 1000, /* a new one is asked for, the old one used on */
	OLD_MS = 10 * 60 * 1000,  /* of the 15 minutes it lives */
	ASK_AGAIN_MS = 20000,
	FAILURE_MS = 1000 /* a failure is an answer for so long */
};

enum order { MAKE, DROP };

/* One message each way. */
struct wish {
	enum order order;
	char cluster[CLUSTER_MAX];
};

struct gift {
	char cluster[CLUSTER_MAX];
	bool ok;
	char text[TOKEN_MAX + 1]; /* the token, or why there is none */
};

struct entry {
	char cluster[CLUSTER_MAX];
	char token[TOKEN_MAX + 1];
	char why[256];
	int64_t got_ms, asked_ms, failed_ms; /* 0: never */
};

struct keyring {
	int fd;
	struct clock *clock;
	struct loop *loop;
	struct loop_watch answers;
	void (*gone)(void *ctx);
	void *ctx;
	struct gift gift;
	struct entry entry[ENTRIES];
};

/* --- the child -----------------------------------------------------------------------
 */

static void serve_wish(struct world *w, const struct wish *wish, int fd)
{
	const struct kube_target t = {.cluster_name = wish->cluster};
	struct gift g = {0};
	struct secret token;
	struct arena a;
	struct err e = {0};

	if (wish->order == DROP) {
		kube_token_drop(&w->kube, &t);
		return;
	}
	arena_init(&a, 0);
	str_copy(g.cluster, sizeof(g.cluster), wish->cluster);
	g.ok = kube_token(&w->kube, &t, &a, &token, &e);
	str_copy(g.text, sizeof(g.text), g.ok ? secret_reveal(token) : e.detail);
	arena_free(&a);
	if (send(fd, &g, sizeof(g), MSG_NOSIGNAL) < 0)
		_exit(0);
}

static _Noreturn void child(const struct config *cfg, const struct log *log, int fd)
{
	struct arena process;
	struct world w;
	struct wish wish;
	struct err e = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Sockets of the parent must close when the parent closes them. */
	if (dup2(fd, 3) < 0 || close_range(4, ~0u, 0) != 0)
		_exit(1);
	arena_init(&process, 0);
	if (!world_init(&w, &process, cfg, NULL, clock_system(), rng_system(), log, NULL,
			"live", &e)) {
		log_err(log, "keyring", &e);
		_exit(1);
	}
	while (recv(3, &wish, sizeof(wish), 0) == (ssize_t)sizeof(wish))
		serve_wish(&w, &wish, 3);
	arena_free(&process);
	exit(0);
}

static void close_keyring(void *at)
{
	close(((struct keyring *)at)->fd);
}

struct keyring *keyring_fork(struct arena *a, const struct config *cfg,
			     const struct log *log, struct clock *clock, struct err *e)
{
	struct keyring *k = arena_new(a, struct keyring);
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		err_set(e, ERR_INTERNAL, "socketpair: %s", strerror(errno));
		return NULL;
	}
	pid = fork();
	if (pid == 0)
		child(cfg, log, pair[1]);
	close(pair[1]);
	k->fd = pair[0];
	k->clock = clock;
	arena_defer(a, close_keyring, k);
	if (pid < 0) {
		err_set(e, ERR_INTERNAL, "fork: %s", strerror(errno));
		return NULL;
	}
	return k;
}

/* --- the parent ------------------------------------------------------------------------
 */

static struct entry *find(struct keyring *k, const char *cluster)
{
	struct entry *oldest = &k->entry[0];

	for (int i = 0; i < ENTRIES; i++) {
		struct entry *en = &k->entry[i];

		if (streq(en->cluster, cluster))
			return en;
		if (en->got_ms < oldest->got_ms)
			oldest = en;
	}
	*oldest = (struct entry){0};
	str_copy(oldest->cluster, sizeof(oldest->cluster), cluster);
	return oldest;
}

static void wish_for(struct keyring *k, enum order order, const char *cluster)
{
	struct wish w = {.order = order};

	str_copy(w.cluster, sizeof(w.cluster), cluster);
	/* A full queue: whoever waits asks again. */
	if (send(k->fd, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

static void take(struct keyring *k, const struct gift *g)
{
	struct entry *en = find(k, g->cluster);

	en->asked_ms = 0;
	if (g->ok) {
		en->got_ms = k->clock->mono_ms(k->clock);
		en->failed_ms = 0;
		str_copy(en->token, sizeof(en->token), g->text);
	} else {
		en->failed_ms = k->clock->mono_ms(k->clock);
		str_copy(en->why, sizeof(en->why), g->text);
	}
}

static void on_answers(void *ctx)
{
	struct keyring *k = ctx;
	const ssize_t n = recv(k->fd, &k->gift, sizeof(k->gift), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(k->gift)) {
		take(k, &k->gift);
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		loop_remove(k->loop, &k->answers);
		k->gone(k->ctx);
	}
}

bool keyring_join(struct keyring *k, struct loop *loop, void (*gone)(void *ctx),
		  void *ctx, struct err *e)
{
	k->loop = loop;
	k->gone = gone;
	k->ctx = ctx;
	k->answers = (struct loop_watch){on_answers, k, k->fd};
	return loop_add(loop, &k->answers, e);
}

enum keyring_has keyring_get(struct keyring *k, const char *cluster, struct arena *a,
			     struct secret *ret, struct err *e)
{
	struct entry *en = find(k, cluster);
	const int64_t now = k->clock->mono_ms(k->clock);
	const int64_t age = now - en->got_ms;

	if ((en->got_ms == 0 || age > RENEW_MS) &&
	    (en->failed_ms == 0 || now - en->failed_ms > FAILURE_MS) &&
	    (en->asked_ms == 0 || now - en->asked_ms > ASK_AGAIN_MS)) {
		en->asked_ms = now;
		wish_for(k, MAKE, cluster);
	}
	if (en->got_ms != 0 && age < OLD_MS) {
		*ret = secret_of(arena_strdup(a, en->token));
		return KEYRING_READY;
	}
	if (en->failed_ms == 0 || now - en->failed_ms > FAILURE_MS)
		return KEYRING_PENDING;
	err_set(e, ERR_CREDENTIALS, "%s", en->why);
	return KEYRING_FAILED;
}

void keyring_drop(struct keyring *k, const char *cluster)
{
	struct entry *en = find(k, cluster);

	en->got_ms = en->asked_ms = en->failed_ms = 0;
	wish_for(k, DROP, cluster);
}
