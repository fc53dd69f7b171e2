/* The sockets in RUN_DIR: who may connect, what was left there, and what an exec keeps.
 */
#include "core/base/listener.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char *const files[] = {"a.sock", "b.sock"};
static const char variable[] = "INSTANTSTART_TEST_LISTENERS";
static char dir[] = "/tmp/listenerXXXXXX";
static struct config cfg;

static const char *path_of(int i)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
	return path;
}

static void begin(void)
{
	cr_assert(mkdtemp(dir));
	cfg.run_dir = dir;
}

static void end(void)
{
	for (int i = 0; i < 2; i++)
		unlink(path_of(i));
	rmdir(dir);
}

static bool can_connect(int i)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path_of(i));
	ok = connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
	close(fd);
	return ok;
}

TestSuite(base_listener, .init = begin, .fini = end);

Test(base_listener, owner_and_group_may_connect_and_what_was_left_is_replaced)
{
	struct err e = {0};
	int fds[2];

	fclose(fopen(path_of(0), "w"));
	cr_assert(listeners_open(files, fds, 2, variable, &cfg, &e), "%s", e.detail);
	for (int i = 0; i < 2; i++) {
		struct stat st;

		cr_assert_eq(stat(path_of(i), &st), 0);
		cr_expect_eq(st.st_mode & 0777, 0660);
		cr_expect(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		cr_expect(can_connect(i));
	}
}

Test(base_listener, what_is_handed_down_is_taken_over_once)
{
	struct err e = {0};
	int fds[2], later[2];

	cr_assert(listeners_open(files, fds, 2, variable, &cfg, &e), "%s", e.detail);
	listeners_hand_down(fds, 2, variable);
	cr_assert(getenv(variable));
	for (int i = 0; i < 2; i++)
		cr_expect_not(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
	cr_assert(listeners_open(files, later, 2, variable, &cfg, &e), "%s", e.detail);
	cr_expect_not(getenv(variable));
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(later[i], fds[i]);
		cr_expect(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		cr_expect(can_connect(i));
	}
}

Test(base_listener, a_variable_that_names_no_open_sockets_is_not_followed)
{
	static const char *const texts[] = {"", "x", "3", "900 901", "-1 -1"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err e = {0};
		int fds[2];

		setenv(variable, texts[i], 1);
		cr_assert(listeners_open(files, fds, 2, variable, &cfg, &e), "%s",
			  e.detail);
		cr_expect(can_connect(0) && can_connect(1), "%s", texts[i]);
		close(fds[0]);
		close(fds[1]);
	}
}

Test(base_listener, a_path_too_long_and_a_group_that_is_not_there_are_said)
{
	char deep[200];
	struct config bad = cfg;
	struct err e = {0};
	int fds[2];

	snprintf(deep, sizeof(deep), "%0199d", 0);
	bad.run_dir = deep;
	cr_expect_not(listeners_open(files, fds, 2, variable, &bad, &e));
	cr_expect_eq(e.code, ERR_CONFIG);
	bad = cfg;
	bad.socket_group = "no-such-group";
	cr_expect_not(listeners_open(files, fds, 2, variable, &bad, &e));
	cr_expect(!can_connect(0));
}
