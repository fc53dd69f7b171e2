#include "core/base/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, VARIABLE_MAX = 128 };

/* Only the owner and the group (nginx's) may connect. */
static bool restrict_access(const struct config *cfg, const char *path, struct err *e)
{
	const struct group *g;

	if (cfg->socket_group && *cfg->socket_group) {
		g = getgrnam(cfg->socket_group);
		if (!g || chown(path, (uid_t)-1, g->gr_gid) != 0)
			return err_set(e, ERR_CONFIG,
				       "%s cannot be assigned to the group %s", path,
				       cfg->socket_group);
	}
	if (chmod(path, 0660) != 0)
		return err_set(e, ERR_CONFIG, "chmod %s: %s", path, strerror(errno));
	return true;
}

static bool listen_at(int fd, struct sockaddr_un *at, const struct config *cfg,
		      struct err *e)
{
	const mode_t before = umask(0177);
	bool ok;

	unlink(at->sun_path);
	ok = bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0;
	umask(before);
	if (!ok)
		return err_set(e, ERR_CONFIG, "%s: %s", at->sun_path, strerror(errno));
	/* Access before listening: nobody connects in between. */
	if (!restrict_access(cfg, at->sun_path, e))
		return false;
	if (listen(fd, BACKLOG) != 0)
		return err_set(e, ERR_CONFIG, "listen: %s", strerror(errno));
	return true;
}

static bool open_one(const char *file, int *ret, const struct config *cfg, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd;

	if (snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", cfg->run_dir, file) >=
	    (int)sizeof(at.sun_path))
		return err_set(e, ERR_CONFIG, "%s is too long for a socket's path",
			       cfg->run_dir);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(e, ERR_CONFIG, "socket: %s", strerror(errno));
	if (!listen_at(fd, &at, cfg, e)) {
		close(fd);
		return false;
	}
	*ret = fd;
	return true;
}

/* All of them, or none. */
static bool take_over(int *fds, int n, const char *variable)
{
	const char *at = getenv(variable);
	char *end;

	for (int i = 0; i < n; i++, at = end) {
		const long fd = at ? strtol(at, &end, 10) : -1;

		if (!at || end == at || fd < 0 || fcntl((int)fd, F_GETFD) < 0)
			return false;
		fds[i] = (int)fd;
	}
	unsetenv(variable);
	for (int i = 0; i < n; i++)
		fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	return true;
}

bool listeners_open(const char *const *files, int *fds, int n, const char *variable,
		    const struct config *cfg, struct err *e)
{
	if (take_over(fds, n, variable))
		return true;
	for (int i = 0; i < n; i++)
		if (!open_one(files[i], &fds[i], cfg, e))
			return false;
	return true;
}

void listeners_hand_down(const int *fds, int n, const char *variable)
{
	char text[VARIABLE_MAX] = "";
	size_t len = 0;

	for (int i = 0; i < n && len < sizeof(text); i++) {
		fcntl(fds[i], F_SETFD, 0);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%d ", fds[i]);
	}
	setenv(variable, text, 1);
}
