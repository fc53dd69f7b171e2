#include "core/kube/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

struct tail {
	char *p;
	size_t len;
};

static void tail_add(struct tail *t, const char *p, size_t n)
{
	if (n > CHILD_TAIL) {
		p += n - CHILD_TAIL;
		n = CHILD_TAIL;
	}
	if (t->len + n > CHILD_TAIL) {
		const size_t drop = t->len + n - CHILD_TAIL;

		memmove(t->p, t->p + drop, t->len - drop);
		t->len -= drop;
	}
	memcpy(t->p + t->len, p, n);
	t->len += n;
	t->p[t->len] = '\0';
}

/* exec wants char *const *, and promises not to write. */
union words {
	const char *const *in;
	char *const *out;
};

/* Only async-signal-safe calls: the parent may be anything. */
static void become(const struct child *c, int out, pid_t parent)
{
	const union words argv = {.in = c->argv};
	const union words env = {.in = c->env};
	const int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(CHILD_NOT_RUN);
	if (!argv.out || !env.out || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0 || chdir(c->folder) != 0)
		_exit(CHILD_NOT_RUN);
	closefrom(3);
	execve(c->binary, argv.out, env.out);
	_exit(CHILD_NOT_RUN);
}

static bool read_some(int fd, struct tail *t)
{
	char piece[4096];
	const ssize_t n = read(fd, piece, sizeof(piece));

	if (n > 0)
		tail_add(t, piece, (size_t)n);
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Reads until the child is gone. A grandchild that keeps the pipe open is not
 * waited for. */
static bool attend(int out, int pidfd, int64_t timeout_ms, struct tail *t)
{
	struct clock *clock = clock_system();
	const int64_t deadline = clock->mono_ms(clock) + timeout_ms;
	struct pollfd fd[2] = {{.fd = out, .events = POLLIN},
			       {.fd = pidfd, .events = POLLIN}};

	for (;;) {
		const int64_t left = deadline - clock->mono_ms(clock);

		if (left <= 0)
			return false;
		if (poll(fd, 2, left < 1000 ? (int)left : 1000) < 0 && errno != EINTR)
			return false;
		if (fd[0].revents) {
			if (!read_some(out, t))
				fd[0].fd = -1;
		} else if (fd[1].revents) {
			return true;
		}
		fd[0].revents = 0;
	}
}

static void close_fd(void *p)
{
	const int *fd = p;

	if (*fd >= 0)
		close(*fd);
}

static int *owned_fd(struct arena *a, int fd)
{
	int *kept = arena_new(a, int);

	*kept = fd;
	arena_defer(a, close_fd, kept);
	return kept;
}

static void reap(pid_t pid, struct child_end *ret)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	ret->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool child_run(const struct child *c, struct arena *a, struct child_end *ret,
	       struct err *e)
{
	struct tail tail = {.p = arena_alloc(a, CHILD_TAIL + 1)};
	const pid_t self = getpid();
	int *reader = NULL;
	int *pidfd = NULL;
	int ends[2];
	pid_t pid = 0;

	*ret = (struct child_end){.tail = tail.p};
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_set(e, ERR_INTERNAL, "cannot make a pipe: %s",
			       strerror(errno));
	reader = owned_fd(a, ends[0]);
	pid = fork();
	if (pid == 0)
		become(c, ends[1], self);
	close(ends[1]);
	if (pid < 0)
		return err_set(e, ERR_INTERNAL, "cannot fork: %s", strerror(errno));
	pidfd = owned_fd(a, pidfd_open(pid, 0));
	if (*pidfd < 0 || !attend(*reader, *pidfd, c->timeout_ms, &tail)) {
		ret->timed_out = true;
		/* The group may not exist yet: the child is killed by itself too. */
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	reap(pid, ret);
	kill(-pid, SIGKILL); /* a straggler of the group */
	return true;
}
