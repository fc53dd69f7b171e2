#include "core/base/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/str.h"

enum { PATH_BYTES = 512 };

/* Another version's file has another size or name. */
static const char magic[16] = "counters 1";

struct counter {
	char name[COUNTER_NAME_MAX];
	char help[COUNTER_HELP_MAX];
	_Atomic uint64_t value;
};

struct counters {
	char magic[sizeof(magic)];
	int64_t pid;
	uint64_t n;
	struct counter c[COUNTERS_MAX];
};

static bool path_of(char *path, const char *run_dir, const char *program,
		    const char *suffix)
{
	return snprintf(path, PATH_BYTES, "%s/%s.counters%s", run_dir, program, suffix) <
	       PATH_BYTES;
}

static struct counters *map(int fd, int protection)
{
	void *p = mmap(NULL, sizeof(struct counters), protection, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct counters *counters_open(const char *run_dir, const char *program,
			       const struct counter_def *defs, size_t n, struct err *e)
{
	char path[PATH_BYTES], made[PATH_BYTES];
	struct counters *c = NULL;
	int fd = -1;

	if (n > COUNTERS_MAX || !path_of(path, run_dir, program, "") ||
	    !path_of(made, run_dir, program, ".new")) {
		err_set(e, ERR_CONFIG, "%s/%s.counters is not a valid path", run_dir,
			program);
		return NULL;
	}
	fd = open(made, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	if (fd >= 0 && ftruncate(fd, sizeof(struct counters)) == 0)
		c = map(fd, PROT_READ | PROT_WRITE);
	if (fd >= 0)
		close(fd);
	if (c) {
		memcpy(c->magic, magic, sizeof(magic));
		c->pid = getpid();
		c->n = n;
	}
	for (size_t i = 0; c && i < n; i++) {
		str_copy(c->c[i].name, sizeof(c->c[i].name), defs[i].name);
		str_copy(c->c[i].help, sizeof(c->c[i].help), defs[i].help);
	}
	if (c && rename(made, path) == 0)
		return c;
	err_set(e, ERR_CONFIG, "%s: %s", path, strerror(errno));
	return NULL;
}

void counters_add(struct counters *c, size_t which, uint64_t n)
{
	if (c)
		atomic_fetch_add_explicit(&c->c[which].value, n, memory_order_relaxed);
}

void counters_set(struct counters *c, size_t which, uint64_t value)
{
	if (c)
		atomic_store_explicit(&c->c[which].value, value, memory_order_relaxed);
}

/* NULL: nobody counts there, or another version does. */
static const struct counters *look(const char *run_dir, const char *program)
{
	char path[PATH_BYTES];
	struct stat st;
	const struct counters *c = NULL;
	const int fd = path_of(path, run_dir, program, "")
			       ? open(path, O_RDONLY | O_CLOEXEC)
			       : -1;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size == sizeof(struct counters))
		c = map(fd, PROT_READ);
	close(fd);
	return c;
}

static bool is_alive(int64_t pid)
{
	return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static void print(const struct counters *c, const char *program, struct buf *out)
{
	for (uint64_t i = 0; i < c->n; i++) {
		const char *name = c->c[i].name;
		const bool grows = str_has_suffix(str_of(name), STR("_total"));

		buf_printf(out,
			   "# HELP instantstart_%s_%s %s\n"
			   "# TYPE instantstart_%s_%s %s\n"
			   "instantstart_%s_%s %" PRIu64 "\n",
			   program, name, c->c[i].help, program, name,
			   grows ? "counter" : "gauge", program, name,
			   atomic_load_explicit(&c->c[i].value, memory_order_relaxed));
	}
}

void counters_text(const char *run_dir, const char *program, struct buf *out)
{
	const struct counters *c = look(run_dir, program);
	const bool ours =
		c && memcmp(c->magic, magic, sizeof(magic)) == 0 && c->n <= COUNTERS_MAX;
	const bool up = ours && is_alive(c->pid);

	buf_printf(out,
		   "# TYPE instantstart_%s_up gauge\n"
		   "instantstart_%s_up %d\n",
		   program, program, up);
	if (up)
		print(c, program, out);
	if (c)
		munmap((void *)(uintptr_t)c, sizeof(*c));
}
