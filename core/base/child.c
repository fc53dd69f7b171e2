#include "core/base/child.h"

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

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"

/* What a child writes, as far as it is kept. */
struct tail {
	char *p;
	size_t len;
};

struct ends {
	int *read; /* of the parent; -1 inside: there is none */
	int write; /* of the child */
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
static void become(const struct child *c, int out, int err, pid_t parent)
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
	    dup2(err, 2) < 0 || chdir(c->folder) != 0)
		_exit(CHILD_NOT_RUN);
	if (c->keep_fd > 0 && c->keep_fd != CHILD_KEPT)
		dup2(c->keep_fd, CHILD_KEPT);
	else if (c->keep_fd > 0)
		fcntl(CHILD_KEPT, F_SETFD, 0);
	closefrom(CHILD_KEPT + (c->keep_fd > 0));
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

/* From its beginning; false at its end, or when there is no more room. */
static bool read_answer(int fd, struct buf *b)
{
	char piece[4096];
	const ssize_t n = read(fd, piece, sizeof(piece));

	if (n > 0)
		buf_add(b, piece, (size_t)n);
	explicit_bzero(piece, sizeof(piece));
	return (n > 0 && !b->overflow) || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Reads until the child is gone. A grandchild that keeps a pipe open is not
 * waited for. */
static bool attend(int err, int out, int pidfd, int64_t timeout_ms, struct tail *t,
		   struct buf *answer)
{
	struct clock *clock = clock_system();
	const int64_t deadline = clock->mono_ms(clock) + timeout_ms;
	struct pollfd fd[3] = {{.fd = err, .events = POLLIN},
			       {.fd = out, .events = POLLIN},
			       {.fd = pidfd, .events = POLLIN}};

	for (;;) {
		const int64_t left = deadline - clock->mono_ms(clock);

		if (left <= 0 || answer->overflow)
			return false;
		if (poll(fd, 3, left < 1000 ? (int)left : 1000) < 0 && errno != EINTR)
			return false;
		if (fd[0].revents && !read_some(fd[0].fd, t))
			fd[0].fd = -1;
		if (fd[1].revents && !read_answer(fd[1].fd, answer))
			fd[1].fd = -1;
		if (!fd[0].revents && !fd[1].revents && fd[2].revents)
			return true;
		fd[0].revents = fd[1].revents = 0;
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

static bool open_ends(struct arena *a, bool wanted, struct ends *ret, struct err *e)
{
	int fd[2] = {-1, -1};

	if (wanted && pipe2(fd, O_CLOEXEC) != 0)
		return err_set(e, ERR_INTERNAL, "Cannot create a pipe: %s",
			       strerror(errno));
	ret->read = owned_fd(a, fd[0]);
	ret->write = fd[1];
	return true;
}

static void close_write(const struct ends *ends)
{
	if (ends->write >= 0)
		close(ends->write);
}

bool child_run(const struct child *c, struct arena *a, struct child_end *ret,
	       struct err *e)
{
	struct tail tail = {.p = arena_alloc(a, CHILD_TAIL + 1)};
	const pid_t self = getpid();
	struct ends err, out;
	struct buf answer;
	int *pidfd = NULL;
	pid_t pid = 0;

	*ret = (struct child_end){.tail = tail.p, .out = ""};
	buf_init(&answer, a, c->out_max);
	if (!open_ends(a, true, &err, e) || !open_ends(a, c->out_max > 0, &out, e))
		return false;
	pid = fork();
	if (pid == 0)
		become(c, out.write >= 0 ? out.write : err.write, err.write, self);
	close_write(&err);
	close_write(&out);
	if (pid < 0)
		return err_set(e, ERR_INTERNAL, "Cannot fork: %s", strerror(errno));
	pidfd = owned_fd(a, pidfd_open(pid, 0));
	if (*pidfd < 0 ||
	    !attend(*err.read, *out.read, *pidfd, c->timeout_ms, &tail, &answer)) {
		ret->timed_out = !answer.overflow;
		/* The group may not exist yet: the child is killed by itself too. */
		kill(pid, SIGKILL);
	}
	/* Stragglers of the group, while the child is not reaped: afterwards the number
	 * may be another's. */
	kill(-pid, SIGKILL);
	reap(pid, ret);
	ret->out_too_long = answer.overflow;
	ret->out_len = answer.len;
	ret->out = answer.overflow ? "" : buf_cstr(&answer);
	return true;
}

const char *child_find(const char *name, const char *path, struct arena *a)
{
	struct str rest = str_of(path);

	if (strchr(name, '/'))
		return *name == '/' && access(name, X_OK) == 0 ? name : NULL;
	while (*name && rest.p) {
		const char *folder = str_dup(a, str_cut(&rest, ':'));
		const char *full = arena_printf(a, "%s/%s", folder, name);

		if (*folder == '/' && access(full, X_OK) == 0)
			return full;
	}
	return NULL;
}
