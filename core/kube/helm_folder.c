#include "core/kube/helm_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/json/tree.h"
#include "core/net/transport.h"

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	/* What cannot be removed must not keep the rest from being removed. */
	(void)!remove(path);
	return 0;
}

static void remove_folder(void *path)
{
	/* FTW_PHYS: a link that a chart planted is removed, never followed. */
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		const ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static void close_fd(void *p)
{
	close(*(const int *)p);
}

/* Never on a disk, and gone with the last process that holds it. */
static bool in_memory(struct arena *a, const char *text, int *ret_fd, struct err *e)
{
	int *fd = arena_new(a, int);

	*fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	if (*fd < 0)
		return err_set(e, ERR_INTERNAL, "Helm: cannot create a memory file: %s",
			       strerror(errno));
	arena_defer(a, close_fd, fd);
	*ret_fd = *fd;
	return (fchmod(*fd, 0600) == 0 && write_all(*fd, text, strlen(text))) ||
	       err_set(e, ERR_INTERNAL, "Helm: cannot write to memory: %s",
		       strerror(errno));
}

static bool write_file(const char *path, const char *text, struct err *e)
{
	const int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool ok = fd >= 0 && write_all(fd, text, strlen(text));

	if (fd >= 0 && close(fd) != 0)
		ok = false;
	if (!ok)
		return err_set(e, ERR_INTERNAL, "Helm: cannot write %s: %s", path,
			       strerror(errno));
	return true;
}

static json_t *kubeconfig(struct arena *a, const struct kube_target *t, const char *token)
{
	json_t *cluster = json_packf(a, "{s:s}", "server", t->endpoint);

	if (t->ca_pem)
		json_put_str(cluster, "certificate-authority-data",
			     base64_encode(a, t->ca_pem, strlen(t->ca_pem)));
	return json_packf(
		a, "{s:s,s:s,s:s,s:[{s:s,s:O}],s:[{s:s,s:{s:s}}],s:[{s:s,s:{s:s,s:s}}]}",
		"apiVersion", "v1", "kind", "Config", "current-context", "target",
		"clusters", "name", "target", "cluster", cluster, "users", "name",
		"target", "user", "token", token, "contexts", "name", "target", "context",
		"cluster", "target", "user", "target");
}

/* --- the mirror of images ------------------------------------------------------ */

static const char RENDERER[] = "mirror";

bool helm_mirror_check(const char *mirror, struct err *e)
{
	static const char legal[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/";
	const size_t n = strlen(mirror);

	if (n > 0 && n <= 255 && strspn(mirror, legal) == n && mirror[0] != '/' &&
	    mirror[n - 1] != '/' && !strstr(mirror, "//"))
		return true;
	err_set(e, ERR_CONFIG, "INSTANTSTART_IMAGE_MIRROR: \"%.64s\" is not a registry",
		mirror);
	return err_fix(
		e,
		"Use host[:port][/path], such as registry.example.com/mirror, without a "
		"scheme and without a final slash.");
}

/*
 * A plugin of Helm's kind "postrenderer": sed over what the chart renders. The
 * registry of an image is its first part when that has a dot or a port; an image
 * without one is Docker Hub's.
 */
static bool write_renderer(struct arena *a, const char *mirror, struct helm_folder *ret,
			   struct err *e)
{
	static const char image[] = "([[:space:]]*(- +)?|[^#]*[{,] *)image: +[\"']?";
	const char *folder = arena_printf(a, "%s/plugins/%s", ret->path, RENDERER);
	const char *script = arena_printf(a, "%s/images.sed", folder);

	ret->plugins = arena_printf(a, "%s/plugins", ret->path);
	ret->renderer = RENDERER;
	if (mkdir(ret->plugins, 0700) != 0 || mkdir(folder, 0700) != 0)
		return err_set(e, ERR_INTERNAL, "Helm: cannot create %s: %s", folder,
			       strerror(errno));
	return write_file(
		       script,
		       arena_printf(a,
				    "s#^(%s)([A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+(:[0-9]+)?|"
				    "[A-Za-z0-9-]+:[0-9]+|localhost)/#\\1%s/#\nt\n"
				    "s#^(%s)([A-Za-z0-9._-]+/)#\\1%s/\\4#\nt\n"
				    "s#^(%s)([A-Za-z0-9])#\\1%s/library/\\4#\n",
				    image, mirror, image, mirror, image, mirror),
		       e) &&
	       write_file(arena_printf(a, "%s/plugin.yaml", folder),
			  arena_printf(a,
				       "apiVersion: v1\ntype: postrenderer/v1\n"
				       "name: %s\nversion: 1.0.0\nruntime: subprocess\n"
				       "runtimeConfig:\n  platformCommand:\n"
				       "  - command: /bin/sed\n"
				       "    args: [\"-E\", \"-f\", \"%s\"]\n",
				       RENDERER, script),
			  e);
}

bool helm_folder_make(struct arena *a, const struct helm *h, const struct kube_target *t,
		      const char *token, const struct helm_request *r,
		      struct helm_folder *ret, struct err *e)
{
	const char *parent = h->tmp_dir;
	char *path = arena_printf(a, "%s/" HELM_FOLDER_PREFIX "XXXXXX",
				  parent ? parent : "/tmp");

	*ret = (struct helm_folder){0};
	if (!http_is_private(t->endpoint))
		return err_set(e, ERR_CONFIG,
			       "The cluster token is sent only over https, not to %s",
			       t->endpoint);
	if (!mkdtemp(path)) /* makes it with mode 0700 */
		return err_set(e, ERR_INTERNAL,
			       "Helm: cannot create a directory in %s: %s", parent,
			       strerror(errno));
	arena_defer(a, remove_folder, path);
	ret->path = path;
	if (!in_memory(a, json_text(a, kubeconfig(a, t, token)), &ret->kubeconfig_fd,
		       e) ||
	    (h->image_mirror && !write_renderer(a, h->image_mirror, ret, e)))
		return false;
	if (!r->values)
		return true;
	ret->values = arena_printf(a, "%s/values.json", path);
	return write_file(ret->values, json_text(a, r->values), e);
}

void helm_folders_sweep(const char *parent, int64_t older_than_s)
{
	DIR *dir = opendir(parent);
	char path[512];
	struct dirent *one;
	struct stat st;

	while (dir && (one = readdir(dir))) {
		if (!str_starts(one->d_name, HELM_FOLDER_PREFIX) ||
		    fstatat(dirfd(dir), one->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		    time(NULL) - st.st_mtime < older_than_s)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", parent, one->d_name) <
		    (int)sizeof(path))
			remove_folder(path);
	}
	if (dir)
		closedir(dir);
}
