/*
 * The token of a session of IAM Identity Center, renewed as the AWS CLI and the SDKs
 * do it: a refresh token gives a new one, which goes back into the same file.
 *
 * A refresh token may be good for one use. So one process renews at a time, the others
 * find what it wrote; and nothing is asked before the new file can be written.
 *
 * https://docs.aws.amazon.com/singlesignon/latest/OIDCAPIReference/API_CreateToken.html
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "core/aws/partition.h"
#include "core/aws/provider.h"
#include "core/json/tree.h"

enum {
	RENEW_EARLY_MS = 5 * 60 * 1000,
	OIDC_TIMEOUT_MS = 5000,
	LOCK_TRIES = 60,
	LOCK_PAUSE_NS = 100 * 1000 * 1000,
};

struct renewal {
	struct provider *p;
	const char *profile;
	const struct sso_session *session;
	const char *fix;
	const char *path;
	json_t *file;
	int64_t ends_ms; /* of the token in the file */
};

static bool read_token(struct renewal *r)
{
	const char *ends;

	r->file = provider_json(r->p, r->path);
	ends = json_str_at(r->file, "expiresAt");
	return json_str_at(r->file, "accessToken") && ends &&
	       time_parse_rfc3339(ends, &r->ends_ms);
}

static bool lasts(const struct renewal *r, int64_t for_ms)
{
	return r->ends_ms > r->p->clock->wall_ms(r->p->clock) + for_ms;
}

static bool is_renewable(const struct renewal *r)
{
	const char *until = json_str_at(r->file, "registrationExpiresAt");
	int64_t until_ms;

	return json_str_at(r->file, "refreshToken") && json_str_at(r->file, "clientId") &&
	       json_str_at(r->file, "clientSecret") && until &&
	       time_parse_rfc3339(until, &until_ms) &&
	       until_ms > r->p->clock->wall_ms(r->p->clock);
}

/* ---------------------------------------------------------------- the file */

static void close_fd(void *fd)
{
	close(*(const int *)fd);
}

/* Until the arena ends. The lock is on the file that was there, which is replaced: who
 * waited for it reads the new one. */
static bool lock(struct renewal *r)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	int *fd = arena_new(r->p->arena, int);

	*fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return false;
	arena_defer(r->p->arena, close_fd, fd);
	for (int i = 0; flock(*fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* The new file beside the old one, or -1. Only the holder of the lock makes it. */
static int open_new(const char *path)
{
	unlink(path); /* of a process that was killed */
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static bool write_new(struct renewal *r, int fd, const char *path)
{
	const char *text = json_text(r->p->arena, r->file);
	const size_t n = strlen(text);

	return write(fd, text, n) == (ssize_t)n && fsync(fd) == 0 &&
	       rename(path, r->path) == 0;
}

/* ---------------------------------------------------------------- CreateToken */

static const char *oidc_url(const struct renewal *r)
{
	const char *own = provider_setting(r->p, "AWS_ENDPOINT_URL_SSO_OIDC");
	const char *region = r->session->region;

	if (own)
		return arena_printf(r->p->arena, "%s/token", own);
	return arena_printf(r->p->arena, "https://oidc.%s.%s/token", region,
			    aws_partition_of(region)->dns_suffix);
}

/* The answer into r->file. */
static bool take(struct renewal *r, const struct http_answer *ans)
{
	struct err ignored = {0};
	const json_t *doc =
		json_parse(r->p->arena, (struct str){ans->body, ans->body_len}, &ignored);
	const char *token = json_str_at(doc, "accessToken");
	const int64_t seconds = json_int_or(doc, "expiresIn", 0);
	char text[TIME_TEXT];

	if (!token || seconds <= 0 || seconds > INT32_MAX)
		return false;
	r->ends_ms = r->p->clock->wall_ms(r->p->clock) + seconds * 1000;
	time_rfc3339(r->ends_ms, text);
	json_put_str(r->file, "accessToken", token);
	/* As the AWS CLI writes it: without a fraction. */
	json_put_str(r->file, "expiresAt",
		     arena_printf(r->p->arena, "%.*sZ", (int)strcspn(text, ".Z"), text));
	json_put_str(r->file, "refreshToken", json_str_at(doc, "refreshToken"));
	return true;
}

static enum provided ask(struct renewal *r)
{
	struct http_request req = {.method = "POST", .timeout_ms = OIDC_TIMEOUT_MS};
	struct http_answer ans = {.body = ""};
	struct err e = {0};

	req.url = oidc_url(r);
	if (!http_is_private(req.url))
		return provider_broken(
			r->p, "Set AWS_ENDPOINT_URL_SSO_OIDC to an https:// address.",
			r->profile, "%s is not encrypted", req.url);
	req.body = json_text(
		r->p->arena,
		json_packf(r->p->arena, "{s:s,s:s,s:s,s:s}", "grantType", "refresh_token",
			   "clientId", json_str_at(r->file, "clientId"), "clientSecret",
			   json_str_at(r->file, "clientSecret"), "refreshToken",
			   json_str_at(r->file, "refreshToken")));
	req.body_len = strlen(req.body);
	http_add_header(&req, "content-type", "application/json");
	if (!r->p->net->send(r->p->net, r->p->arena, &req, &ans, &e))
		return provider_failed(
			r->p, r->profile,
			"IAM Identity Center did not renew the session: %s", e.detail);
	/* invalid_grant, expired_token, invalid_client: only a person signs in again. */
	if (ans.status >= 400 && ans.status < 500 && ans.status != 429)
		return provider_broken(
			r->p, r->fix, r->profile,
			"IAM Identity Center no longer renews the session (%d)",
			ans.status);
	if (ans.status != 200 || !take(r, &ans))
		return provider_failed(r->p, r->profile,
				       "IAM Identity Center did not renew the session "
				       "(%d)",
				       ans.status);
	return PROVIDED_KEYS;
}

static enum provided ended(struct renewal *r)
{
	return provider_broken(r->p, r->fix, r->profile,
			       "the IAM Identity Center session ended at %s",
			       json_str_or(r->file, "expiresAt", "an unknown time"));
}

static enum provided renew(struct renewal *r)
{
	const char *path = arena_printf(r->p->arena, "%s.new", r->path);
	enum provided got;
	int fd;

	if (!lock(r))
		return provider_failed(r->p, r->profile,
				       "another process is renewing the session");
	if (read_token(r) && lasts(r, RENEW_EARLY_MS))
		return PROVIDED_KEYS;
	if (!is_renewable(r))
		return ended(r);
	fd = open_new(path);
	if (fd < 0)
		return provider_broken(
			r->p,
			arena_printf(r->p->arena,
				     "Allow this user to write to the folder of %s, or "
				     "use a role instead.",
				     r->path),
			r->profile,
			"the session needs to be renewed, and its file cannot be "
			"written: %s",
			strerror(errno));
	got = ask(r);
	/* A token that was not kept is good for now. */
	if (got != PROVIDED_KEYS || !write_new(r, fd, path))
		unlink(path);
	close(fd);
	return got;
}

enum provided sso_token(struct provider *p, const char *profile,
			const struct sso_session *s, const char *path, const char *fix,
			const char **ret)
{
	struct renewal r = {
		.p = p, .profile = profile, .session = s, .fix = fix, .path = path};
	const size_t said = p->tried->len;
	enum provided got = PROVIDED_KEYS;
	bool still;

	if (!read_token(&r))
		return provider_broken(
			p, fix, profile,
			"no user has signed in to IAM Identity Center here");
	*ret = json_str_at(r.file, "accessToken");
	still = lasts(&r, 0);
	if (!still || !lasts(&r, RENEW_EARLY_MS))
		got = is_renewable(&r) ? renew(&r) : ended(&r);
	if (got == PROVIDED_KEYS) {
		*ret = json_str_at(r.file, "accessToken");
	} else if (still) {
		/* The old one lasts for some minutes; it is tried again later. */
		buf_truncate(p->tried, said);
		p->fix = NULL;
		got = PROVIDED_KEYS;
	}
	return got;
}
