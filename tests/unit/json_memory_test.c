/*
 * What happens when memory runs out, at any point of parsing, decoding,
 * changing and writing: the process aborts, or the result is complete. Never a
 * tree that lost a member, never a wild pointer.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json/field.h"
#include "core/json/tree.h"

struct item {
	const char *name;
	int64_t n;
};

struct doc {
	struct field_list items;
};

static const struct field item_fields[] = {
	FIELD(struct item, name, .flags = FIELD_REQUIRED, .pattern = "[a-z]+[0-9]*"),
	FIELD(struct item, n, .dflt = "7"), FIELD_END};
static const struct field doc_fields[] = {
	FIELD_STRUCT(struct doc, items, struct item, item_fields, .flags = FIELD_MANY),
	FIELD_END};

enum { ITEMS = 4000, STEP = 64 * 1024, CHILD_WRONG = 9 };

/* The digest of the work's result. */
static const char *work(struct arena *a)
{
	struct buf b;
	struct err e;
	struct doc doc;
	json_t *tree;

	buf_init(&b, a, 1 << 20);
	buf_adds(&b, "{\"items\":[");
	for (int i = 0; i < ITEMS; i++)
		buf_printf(&b, "%s{\"name\":\"item%d\"}", i ? "," : "", i);
	buf_adds(&b, "]}");
	tree = json_parse(a, buf_str(&b), &e);
	if (!tree || !field_decode(doc_fields, tree, a, &doc, &e))
		return "refused";
	tree = field_encode(doc_fields, &doc, a);
	for (int i = 0; i < ITEMS; i++)
		json_put_int(tree, arena_printf(a, "more.m%d.x", i), i);
	return json_digest(a, tree);
}

/*
 * Runs the work in a fresh process with so much memory more than the process
 * has now (0: no limit), and takes over its digest.
 */
static int run_with(size_t spare, char digest[static 65])
{
	int fds[2], status;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		struct arena a = {0};
		char status_text[4096] = "";
		const int fd = open("/proc/self/status", O_RDONLY);
		const ssize_t got = read(fd, status_text, sizeof(status_text) - 1);
		const char *data = strstr(status_text, "VmData:");
		const rlim_t now = data ? strtoul(data + 7, NULL, 10) * 1024 : 0;
		const struct rlimit limit = {now + spare, now + spare};

		/* What the abort prints would only clutter the log. */
		if (got <= 0 || !data || dup2(open("/dev/null", O_WRONLY), 2) < 0 ||
		    (spare && setrlimit(RLIMIT_DATA, &limit) != 0))
			_exit(CHILD_WRONG);
		signal(SIGABRT, SIG_DFL);
		_exit(write(fds[1], work(&a), 64) == 64 ? 0 : CHILD_WRONG);
	}
	close(fds[1]);
	memset(digest, 0, 65);
	cr_assert_geq(read(fds[0], digest, 64), 0);
	close(fds[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

#ifdef __SANITIZE_ADDRESS__
enum { MEMORY_CAN_BE_LIMITED = 0 };
#else
enum { MEMORY_CAN_BE_LIMITED = 1 };
#endif

Test(memory, running_out_aborts_or_is_complete, .timeout = 60)
{
	char expected[65], digest[65];
	int aborted = 0, status = -1;

	json_init();
	cr_assert_eq(run_with(0, expected), 0);
	cr_assert_eq(strspn(expected, "0123456789abcdef"), 64, "%s", expected);
	/* AddressSanitizer takes its memory in its own way. */
	if (!MEMORY_CAN_BE_LIMITED)
		return;
	for (size_t spare = STEP; status != 0 && spare < (64u << 20); spare += STEP) {
		status = run_with(spare, digest);
		if (status == 0)
			cr_assert_str_eq(digest, expected);
		else
			cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
				  "with %zu bytes: status %#x", spare, (unsigned)status);
		aborted += status != 0;
	}
	cr_expect_eq(status, 0, "enough memory is enough");
	/* The limits fell into the work, not all before or behind it. */
	cr_expect_gt(aborted, 10, "%d aborted", aborted);
}
