/*
 * A session of IAM Identity Center is renewed in the file of `aws sso login`: when, by
 * which request, what the file holds afterwards, and what is said when it cannot be.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/aws/aws.h"
#include "tests/unit/aws_fake.h"

static const int64_t start_ms = 1767323045000; /* 2026-01-02T03:04:05Z */

#define CONFIG                                                                           \
	"[profile p]\nsso_session = my-sso\nsso_account_id = 111122223333\n"             \
	"sso_role_name = Admin\n[sso-session my-sso]\nsso_region = eu-west-1\n"          \
	"sso_start_url = https://d-1.awsapps.com/start\n"
#define TOKEN_OF(token, until)                                                           \
	"{\"startUrl\":\"u\",\"accessToken\":\"" token "\",\"expiresAt\":\"" until "\""
#define CLIENT_UNTIL(time)                                                               \
	",\"clientId\":\"c\",\"clientSecret\":\"s\",\"refreshToken\":\"r1\","            \
	"\"registrationExpiresAt\":\"" time "\"}"
#define CLIENT CLIENT_UNTIL("2026-03-02T03:04:05Z")
#define LATER  "2026-01-02T04:00:00Z"
#define SOON   "2026-01-02T03:07:00Z"
#define ENDED  "2026-01-02T03:00:00Z"
#define PORTAL                                                                           \
	{                                                                                \
		"https://portal.sso.eu-west-1.amazonaws.com/federation/", NET_ANSWERED,  \
			200,                                                             \
			"{\"roleCredentials\":{\"accessKeyId\":\"K\","                   \
			"\"secretAccessKey\":\"s\",\"sessionToken\":\"t\","              \
			"\"expiration\":1767326645000}}",                                \
		{                                                                        \
			0                                                                \
		}                                                                        \
	}
#define OIDC(status, text)                                                               \
	{                                                                                \
		"https://oidc.eu-west-1.amazonaws.com/token", NET_ANSWERED, status,      \
			text,                                                            \
		{                                                                        \
			0                                                                \
		}                                                                        \
	}
#define NEW_TOKEN                                                                        \
	OIDC(200, "{\"accessToken\":\"new\",\"expiresIn\":3600,\"refreshToken\":\"r2\"," \
		  "\"tokenType\":\"Bearer\"}")
#define REQUEST                                                                          \
	"{\"clientId\":\"c\",\"clientSecret\":\"s\",\"grantType\":\"refresh_token\","    \
	"\"refreshToken\":\"r1\"}"

struct renewal_case {
	const char *what;
	const char *text; /* of the file */
	struct fake_answer answers[2];
	const char *bearer;      /* that the portal gets; NULL: refused */
	const char *words, *fix; /* of the refusal; fix NULL: it may pass */
	const char *after;       /* what the file has then; NULL: as it was */
	const char *oidc;        /* another endpoint */
	bool read_only;          /* its folder */
};

static const struct renewal_case cases[] = {
	{.what = "one that lasts is left alone",
	 .text = TOKEN_OF("old", LATER) CLIENT,
	 .answers = {PORTAL},
	 .bearer = "old"},
	{.what = "one that has ended is renewed, and all else in the file is kept",
	 .text = TOKEN_OF("old", ENDED) CLIENT,
	 .answers = {NEW_TOKEN, PORTAL},
	 .bearer = "new",
	 .after = "{\"accessToken\":\"new\",\"clientId\":\"c\",\"clientSecret\":\"s\","
		  "\"expiresAt\":\"2026-01-02T04:04:05Z\",\"refreshToken\":\"r2\","
		  "\"registrationExpiresAt\":\"2026-03-02T03:04:05Z\","
		  "\"startUrl\":\"u\"}"},
	{.what = "one that ends soon is renewed; the refresh token may stay the same",
	 .text = TOKEN_OF("old", SOON) CLIENT,
	 .answers = {OIDC(200, "{\"accessToken\":\"new\",\"expiresIn\":60}"), PORTAL},
	 .bearer = "new",
	 .after = "\"refreshToken\":\"r1\""},
	{.what = "one that ends soon is used when it cannot be renewed",
	 .text = TOKEN_OF("old", SOON) CLIENT,
	 .answers = {OIDC(400, "{\"error\":\"invalid_grant\"}"), PORTAL},
	 .bearer = "old"},
	{.what = "one that ends soon and has nothing to renew it is used",
	 .text = TOKEN_OF("old", SOON) "}",
	 .answers = {PORTAL},
	 .bearer = "old"},
	{.what = "a refresh token that is no longer good needs the person",
	 .text = TOKEN_OF("old", ENDED) CLIENT,
	 .answers = {OIDC(400, "{\"error\":\"invalid_grant\"}")},
	 .words = "no longer renews the session (400)",
	 .fix = "`aws sso login --sso-session my-sso`"},
	{.what = "a registration that has ended needs the person",
	 .text = TOKEN_OF("old", ENDED) CLIENT_UNTIL("2026-01-01T00:00:00Z"),
	 .words = "session ended at " ENDED,
	 .fix = "`aws sso login --sso-session my-sso`"},
	{.what = "a fault of the service may pass",
	 .text = TOKEN_OF("old", ENDED) CLIENT,
	 .answers = {OIDC(503, "")},
	 .words = "did not renew the session (503)"},
	{.what = "throttling may pass",
	 .text = TOKEN_OF("old", ENDED) CLIENT,
	 .answers = {OIDC(429, "{}")},
	 .words = "did not renew the session (429)"},
	{.what = "an answer without a token",
	 .text = TOKEN_OF("old", ENDED) CLIENT,
	 .answers = {OIDC(200, "{\"accessToken\":\"new\"}")},
	 .words = "did not renew the session"},
	{.what = "an endpoint that would be read on the way",
	 .text = TOKEN_OF("old", ENDED) CLIENT,
	 .oidc = "http://oidc.example.com",
	 .words = "is not encrypted",
	 .fix = "AWS_ENDPOINT_URL_SSO_OIDC"},
	{.what = "nothing is asked when the new file could not be written",
	 .text = TOKEN_OF("old", ENDED) CLIENT,
	 .read_only = true,
	 .words = "its file cannot be written",
	 .fix = "write to the folder"},
};

struct home {
	char path[64];
	const char *cache, *file;
	struct arena arena;
};

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

static const char *read_text(struct home *h, const char *path)
{
	static char text[4096];
	FILE *f = fopen(path, "re");
	size_t n;

	cr_assert_not_null(f, "%s", path);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	return arena_strdup(&h->arena, text);
}

static void open_home(struct home *h)
{
	static const char *const folders[] = {".aws", ".aws/sso", ".aws/sso/cache"};

	*h = (struct home){.path = "/tmp/instantstart-sso-XXXXXX"};
	arena_init(&h->arena, 0);
	cr_assert(mkdtemp(h->path));
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(mkdir(arena_printf(&h->arena, "%s/%s", h->path, folders[i]),
				   0700),
			     0);
	h->cache = arena_printf(&h->arena, "%s/.aws/sso/cache", h->path);
	h->file = arena_printf(&h->arena, "%s/%s", h->cache,
			       "0ad374308c5a4e22f723adf10145eafad7c4031c.json");
	write_text(arena_printf(&h->arena, "%s/.aws/config", h->path), CONFIG);
}

static void close_home(struct home *h)
{
	unlink(h->file);
	unlink(arena_printf(&h->arena, "%s/.aws/config", h->path));
	/* Nothing is left beside the file: else this fails. */
	cr_expect_eq(rmdir(h->cache), 0);
	rmdir(arena_printf(&h->arena, "%s/.aws/sso", h->path));
	rmdir(arena_printf(&h->arena, "%s/.aws", h->path));
	rmdir(h->path);
	arena_free(&h->arena);
}

/* Whether keys came; net has what was sent. */
static bool ask(struct home *h, struct fake_net *net, const char *oidc, struct err *e)
{
	const struct fake_setting settings[] = {
		{"AWS_PROFILE", "p"},
		{"HOME", h->path},
		{oidc ? "AWS_ENDPOINT_URL_SSO_OIDC" : NULL, oidc},
		{0}};
	struct clock_manual clock;
	struct aws_credentials *creds;
	struct aws_keys keys;

	clock_manual_init(&clock, start_ms);
	net->keep = &h->arena;
	creds = aws_credentials_new(&h->arena, &net->transport, &clock.clock, "us-west-2",
				    fake_lookup, (void *)(uintptr_t)settings);
	return aws_credentials_get(creds, &h->arena, &keys, e);
}

static void check_case(struct home *h, const struct renewal_case *c)
{
	struct fake_net net = {0};
	struct err e = {0};
	struct stat st;
	size_t n = 0;
	bool ok;

	while (n < 2 && c->answers[n].url)
		n++;
	fake_script(&net, c->answers, n);
	write_text(h->file, c->text);
	/* Root writes everywhere, but not over a folder. */
	if (c->read_only)
		cr_assert_eq(mkdir(arena_printf(&h->arena, "%s.new", h->file), 0700), 0);
	ok = ask(h, &net, c->oidc, &e);
	if (c->read_only)
		rmdir(arena_printf(&h->arena, "%s.new", h->file));
	cr_expect_eq(net.n_sent, n, "%s: %zu exchanges", c->what, net.n_sent);
	cr_expect_eq(ok, c->bearer != NULL, "%s: %s", c->what, e.detail);
	if (ok)
		cr_expect_str_eq(fake_header(&net.sent[n - 1], "x-amz-sso_bearer_token"),
				 c->bearer, "%s", c->what);
	else
		cr_expect(strstr(e.detail, c->words), "%s: %s", c->what, e.detail);
	cr_expect_eq(!ok && err_retry(&e) == RETRY_HUMAN, c->fix != NULL, "%s", c->what);
	if (c->fix)
		cr_expect(strstr(e.fix, c->fix), "%s: %s", c->what, e.fix);
	if (n > 0 && strstr(net.sent[0].url, "/token"))
		cr_expect_str_eq(net.sent[0].body, REQUEST, "%s", c->what);
	if (c->after) {
		cr_expect(strstr(read_text(h, h->file), c->after), "%s: %s", c->what,
			  read_text(h, h->file));
		cr_expect(stat(h->file, &st) == 0 && (st.st_mode & 0777) == 0600, "%s",
			  c->what);
	} else {
		cr_expect_str_eq(read_text(h, h->file), c->text, "%s", c->what);
	}
}

Test(sso_renewal, table)
{
	struct home h;

	open_home(&h);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&h, &cases[i]);
	close_home(&h);
}

/* Holds the lock, as a process does that renews, and leaves a new file. */
static void renew_elsewhere(const struct home *h, int ready)
{
	const struct timespec pause = {.tv_nsec = 250 * 1000 * 1000};
	const int fd = open(h->file, O_RDONLY | O_CLOEXEC);
	char made[256];

	snprintf(made, sizeof(made), "%s.other", h->file);
	if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready, "x", 1) != 1)
		_exit(1);
	nanosleep(&pause, NULL);
	write_text(made, TOKEN_OF("other", LATER) CLIENT);
	_exit(rename(made, h->file) == 0 ? 0 : 1);
}

Test(sso_renewal, one_process_renews_and_the_others_take_what_it_got)
{
	static const struct fake_answer portal[] = {PORTAL};
	struct fake_net net = {0};
	struct err e = {0};
	struct home h;
	int ready[2], status = -1;
	char x;
	pid_t child;

	open_home(&h);
	write_text(h.file, TOKEN_OF("old", ENDED) CLIENT);
	cr_assert_eq(pipe(ready), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		renew_elsewhere(&h, ready[1]);
	cr_assert_eq(read(ready[0], &x, 1), 1);
	fake_script(&net, portal, 1);
	cr_expect(ask(&h, &net, NULL, &e), "%s", e.detail);
	cr_expect_str_eq(fake_header(&net.sent[0], "x-amz-sso_bearer_token"), "other");
	cr_expect(waitpid(child, &status, 0) == child && status == 0);
	close(ready[0]);
	close(ready[1]);
	close_home(&h);
}
