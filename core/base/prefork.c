#include "core/base/prefork.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 10000, SOUND_MS = 5000 };

struct slot {
	pid_t pid; /* 0: none */
	int64_t started_ms;
	int64_t not_before_ms;
	int64_t backoff_ms;
};

enum { IMAGE_MAX = 4096 };

struct master {
	struct prefork *p;
	char image[IMAGE_MAX]; /* empty: not known */
	struct clock *clock;
	struct slot slots[PREFORK_MAX];
	int draining; /* workers of before, still ending */
	int signals;
	bool stopping;
	int64_t kill_at_ms;
};

static int64_t now(const struct master *m)
{
	return m->clock->mono_ms(m->clock);
}

/* --- the child ----------------------------------------------------------- */

static void run_child(struct master *m, int slot, pid_t master) __attribute__((noreturn));
static void run_child(struct master *m, int slot, pid_t master)
{
	struct prefork *p = m->p;
	sigset_t term, none;
	int stop;

	close(m->signals);
	/* Ctrl-C and SIGHUP reach the whole group: they are the master's. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_SETMASK, &term, NULL);
	stop = signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->child)
		p->child(p->ctx);
	/* The master may have died before prctl: nobody would tell us. */
	if (stop < 0 || getppid() != master)
		_exit(1);
#ifdef __SANITIZE_ADDRESS__
	/* Leaks are told at exit. */
	exit(p->work(p->ctx, slot, stop));
#else
	_exit(p->work(p->ctx, slot, stop));
#endif
}

static void start(struct master *m, int slot)
{
	struct slot *s = &m->slots[slot];
	const pid_t master = getpid();
	const pid_t pid = fork();

	s->started_ms = now(m);
	if (pid == 0)
		run_child(m, slot, master);
	if (pid < 0) {
		s->not_before_ms = now(m) + BACKOFF_MAX_MS;
		return;
	}
	s->pid = pid;
}

static void start_missing(struct master *m)
{
	for (int i = 0; i < m->p->workers && !m->stopping; i++)
		if (!m->slots[i].pid && now(m) >= m->slots[i].not_before_ms)
			start(m, i);
}

/* --- the end of one ------------------------------------------------------ */

static void log_end(const struct master *m, pid_t pid, int status)
{
	if (!m->p->log)
		return;
	if (WIFSIGNALED(status))
		log_warn(m->p->log, "worker_died", LOG_N("pid", pid),
			 LOG_N("signal", WTERMSIG(status)));
	else
		log_warn(m->p->log, "worker_died", LOG_N("pid", pid),
			 LOG_N("status", WEXITSTATUS(status)));
}

/* One that lived long enough was sound: it is replaced at once. */
static void back_off(struct master *m, struct slot *s)
{
	if (now(m) - s->started_ms >= SOUND_MS)
		s->backoff_ms = 0;
	s->not_before_ms = now(m) + s->backoff_ms;
	s->backoff_ms = s->backoff_ms ? s->backoff_ms * 2 : BACKOFF_MIN_MS;
	if (s->backoff_ms > BACKOFF_MAX_MS)
		s->backoff_ms = BACKOFF_MAX_MS;
}

static void reap(struct master *m)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		int i = 0;

		while (i < m->p->workers && m->slots[i].pid != pid)
			i++;
		if (i == m->p->workers) {
			if (m->draining > 0)
				m->draining--;
			continue;
		}
		m->slots[i].pid = 0;
		if (!m->stopping) {
			log_end(m, pid, status);
			back_off(m, &m->slots[i]);
		}
		if (m->p->ended)
			m->p->ended(m->p->ctx, i, m->stopping);
	}
}

/* --- what is asked of the master ----------------------------------------- */

static void tell(const struct master *m, int sig)
{
	for (int i = 0; i < m->p->workers; i++)
		if (m->slots[i].pid)
			kill(m->slots[i].pid, sig);
}

/* Whether both names lead to one file. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool absolute(const char *argv0, char *ret, size_t size)
{
	char folder[IMAGE_MAX];
	int n;

	if (argv0[0] == '/')
		return str_copy(ret, size, argv0);
	if (!strchr(argv0, '/') || !getcwd(folder, sizeof(folder)))
		return false; /* found in PATH: the link below knows where */
	n = snprintf(ret, size, "%s/%s", folder, argv0);
	return n > 0 && (size_t)n < size;
}

bool prefork_image(const char *argv0, char *ret, size_t size)
{
	static const char self[] = "/proc/self/exe";
	ssize_t n;

	if (argv0 && absolute(argv0, ret, size) && same_file(ret, self))
		return true;
	n = readlink(self, ret, size - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return same_file(ret, self);
}

/* The workers go on when there is nothing to become. */
static bool can_become(const struct master *m)
{
	if (m->p->reload && (!m->image[0] || access(m->image, X_OK) != 0)) {
		if (m->p->log)
			log_warn(m->p->log, "reload_failed", LOG_S("image", m->image),
				 LOG_S("why", strerror(errno)));
		return false;
	}
	return true;
}

static void reload(struct master *m)
{
	char *const *argv;

	if (!can_become(m))
		return;
	argv = m->p->reload ? m->p->reload(m->p->ctx) : NULL;
	tell(m, SIGTERM);
	for (int i = 0; i < m->p->workers; i++) {
		m->draining += m->slots[i].pid != 0;
		m->slots[i] = (struct slot){0};
	}
	if (!argv)
		return;
	/* The descriptor closes by itself; blocked signals stay pending. */
	execv(m->image, argv);
	if (m->p->log)
		log_warn(m->p->log, "reload_failed", LOG_S("image", m->image),
			 LOG_S("why", strerror(errno)));
}

static void handle_signals(struct master *m)
{
	struct signalfd_siginfo info;

	while (read(m->signals, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGHUP:
			if (!m->stopping)
				reload(m);
			break;
		case SIGTERM:
		case SIGINT:
			/* Asked twice: no more patience. */
			m->kill_at_ms =
				now(m) + (m->stopping ? 0 : m->p->drain_s * 1000LL);
			m->stopping = true;
			tell(m, SIGTERM);
			break;
		default:
			break;
		}
	}
	reap(m);
}

static bool any_left(const struct master *m)
{
	for (int i = 0; i < m->p->workers; i++)
		if (m->slots[i].pid)
			return true;
	return false;
}

static bool watch_signals(struct master *m, struct err *e)
{
	static const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaddset(&set, handled[i]);
	if (sigprocmask(SIG_SETMASK, &set, NULL) != 0)
		return err_set(e, ERR_INTERNAL, "sigprocmask: %s", strerror(errno));
	m->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (m->signals < 0)
		return err_set(e, ERR_INTERNAL, "signalfd: %s", strerror(errno));
	return true;
}

bool prefork_run(struct prefork *p, struct err *e)
{
	struct master m = {.p = p, .clock = clock_system()};

	if (p->workers > PREFORK_MAX)
		return err_set(e, ERR_CONFIG, "At most %d workers", PREFORK_MAX);
	if (p->image)
		str_copy(m.image, sizeof(m.image), p->image);
	if (!watch_signals(&m, e))
		return false;
	/* Workers that ended while an image was being replaced. */
	reap(&m);
	for (;;) {
		struct pollfd fd = {.fd = m.signals, .events = POLLIN};

		start_missing(&m);
		if (m.stopping && !any_left(&m))
			break;
		if (m.stopping && now(&m) >= m.kill_at_ms)
			tell(&m, SIGKILL);
		poll(&fd, 1, 200);
		handle_signals(&m);
	}
	close(m.signals);
	return true;
}

bool prefork_lock(const char *path, int *ret_fd, struct err *e)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	char text[32] = "";

	if (fd < 0)
		return err_set(e, ERR_CONFIG, "%s: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
		return err_set(e, ERR_CONFIG,
			       "Another instance is running: %s (pid %.20s)", path, text);
	}
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) != 0 || write(fd, text, strlen(text)) < 0) {
		close(fd);
		return err_set(e, ERR_CONFIG, "%s: %s", path, strerror(errno));
	}
	*ret_fd = fd;
	return true;
}
