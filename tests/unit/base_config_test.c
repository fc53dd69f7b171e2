/* Configuration and logs: what comes in, and what is written out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/config.h"
#include "core/base/limits.h"
#include "core/base/log.h"
#include "core/base/str.h"

struct env {
	const char *name, *value;
};

static const char *lookup(void *ctx, const char *name)
{
	for (const struct env *e = ctx; e->name; e++)
		if (streq(e->name, name))
			return e->value;
	return NULL;
}

/* Links are made by adding a path, so the address is a host's root. */
Test(config, the_public_address_is_the_root_of_a_host)
{
	static const struct {
		const char *given, *taken; /* NULL: refused */
	} rows[] = {
		{"https://hosts.example.com", "https://hosts.example.com"},
		{"https://hosts.example.com/", "https://hosts.example.com"},
		{"http://localhost:3099///", "http://localhost:3099"},
		{"http://[::1]:8080", "http://[::1]:8080"},
		{"https://example.com/instantstart", NULL},
		{"https://example.com/a/", NULL},
		{"https://example.com?x", NULL},
		{"https://me@example.com", NULL},
		{"example.com", NULL},
		{"ftp://example.com", NULL},
		{"https://", NULL},
		{"https:///", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct env some[] = {{"INSTANTSTART_PUBLIC_URL", rows[i].given},
				     {NULL, NULL}};
		struct arena a = {0};
		struct config c;
		struct err e;
		const bool ok = config_load(&c, &a, lookup, some, &e);

		cr_expect_eq(ok, rows[i].taken != NULL, "%s", rows[i].given);
		if (ok)
			cr_expect_str_eq(c.public_url, rows[i].taken);
		else
			cr_expect_str_eq(e.field, "INSTANTSTART_PUBLIC_URL");
		arena_free(&a);
	}
}

/* Neither the settings nor what /proc shows of the environment have it afterwards. */
Test(config, the_owner_is_forgotten)
{
	struct arena a = {0};
	struct config c;
	struct err e;
	const char *lies;

	setenv("INSTANTSTART_DATABASE_URL", "host=h user=worker", 1);
	setenv("INSTANTSTART_OWNER_DATABASE_URL", "host=h user=owner", 1);
	lies = getenv("INSTANTSTART_OWNER_DATABASE_URL");
	cr_assert(config_load(&c, &a, config_from_env, NULL, &e), "%s", e.detail);
	cr_expect_str_eq(secret_reveal(c.owner_database_url), "host=h user=owner");
	config_forget_owner(&c);
	cr_expect_null(secret_reveal(c.owner_database_url));
	cr_expect_null(getenv("INSTANTSTART_OWNER_DATABASE_URL"));
	cr_expect_eq(lies[0], 0);
	cr_expect_str_eq(secret_reveal(c.database_url), "host=h user=worker");
	arena_free(&a);
}

Test(config, defaults_and_values)
{
	struct env none[] = {{NULL, NULL}};
	struct env some[] = {{"INSTANTSTART_POLLERS", "3"},
			     {"INSTANTSTART_DATABASE_URL", "postgresql://u:hunter2@h/d"},
			     {"INSTANTSTART_PUBLIC_URL", ""},
			     {"INSTANTSTART_LEASE_MS", "30000"},
			     {"AWS_DEFAULT_REGION", "eu-west-1"},
			     {NULL, NULL}};
	struct arena a = {0};
	struct config c;
	struct err e;
	struct buf out;

	cr_assert(config_load(&c, &a, lookup, none, &e), "%s", e.detail);
	cr_expect_eq(c.pollers, 2);
	cr_expect_str_eq(c.public_url, "http://localhost:3099");
	cr_expect_null(c.region);
	cr_expect_null(secret_reveal(c.database_url));
	buf_init(&out, &a, 65536);
	config_dump(&c, &out);
	cr_expect_not_null(
		strstr(buf_cstr(&out), "INSTANTSTART_DATABASE_URL=(not set)\n"));

	cr_assert(config_load(&c, &a, lookup, some, &e), "%s", e.detail);
	cr_expect_eq(c.pollers, 3);
	cr_expect_str_eq(c.public_url, "http://localhost:3099", "empty is not set");
	cr_expect_str_eq(c.region, "eu-west-1");
	cr_expect_str_eq(secret_reveal(c.database_url), "postgresql://u:hunter2@h/d");
	cr_expect_str_eq(secret_reveal(c.owner_database_url),
			 secret_reveal(c.database_url));
	buf_init(&out, &a, 65536);
	config_dump(&c, &out);
	cr_expect_not_null(strstr(buf_cstr(&out), "INSTANTSTART_DATABASE_URL=(set)\n"));
	cr_expect_not_null(strstr(buf_cstr(&out), "INSTANTSTART_POLLERS=3\n"));
	cr_expect_null(strstr(buf_cstr(&out), "hunter2"));

	/* Every variable of the dump is explained by the help. */
	struct buf help;
	buf_init(&help, &a, 65536);
	config_help(&help);
	for (struct str rest = buf_str(&out); rest.p && rest.n;) {
		struct str line = str_cut(&rest, '\n');

		cr_expect_not_null(
			strstr(buf_cstr(&help), str_dup(&a, str_cut(&line, '='))));
	}
	cr_expect_not_null(strstr(buf_cstr(&help), "from 1 to 64 processes"));
	arena_free(&a);
}

Test(config, reports_every_fault_at_once)
{
	struct env wrong[] = {{"INSTANTSTART_POLLERS", "many"},
			      {"INSTANTSTART_FCGI_WORKERS", "65"},
			      {"INSTANTSTART_TICK_MS", "-1"},
			      {"INSTANTSTART_DATABASE_URL", "a"},
			      {"INSTANTSTART_DATABASE_URL_FILE", "/dev/null"},
			      {"INSTANTSTART_OWNER_DATABASE_URL_FILE", "/no/such/file"},
			      {NULL, NULL}};
	static const char *const names[] = {
		"INSTANTSTART_DATABASE_URL", "INSTANTSTART_OWNER_DATABASE_URL",
		"INSTANTSTART_FCGI_WORKERS", "INSTANTSTART_POLLERS",
		"INSTANTSTART_TICK_MS"};
	struct env crossed[] = {{"INSTANTSTART_CALL_TIMEOUT_MS", "60000"},
				{"INSTANTSTART_LOG_LEVEL", "loud"},
				{NULL, NULL}};
	struct arena a = {0};
	struct config c;
	struct err e;

	cr_assert_not(config_load(&c, &a, lookup, wrong, &e));
	cr_expect_eq(e.code, ERR_CONFIG);
	cr_assert_eq(e.n_violations, 5);
	for (size_t i = 0; i < 5; i++)
		cr_expect_str_eq(e.violations[i].field, names[i]);
	cr_expect_str_eq(e.violations[3].seen, "many");
	cr_expect_str_eq(e.violations[3].expected,
			 "a whole number from 1 to 64 (processes)");

	cr_assert_not(config_load(&c, &a, lookup, crossed, &e));
	cr_assert_eq(e.n_violations, 2);
	cr_expect_str_eq(e.violations[0].field, "INSTANTSTART_CALL_TIMEOUT_MS");
	cr_expect_str_eq(e.violations[1].field, "INSTANTSTART_LOG_LEVEL");
	arena_free(&a);
}

Test(config, secrets_by_file)
{
	char path[] = "/tmp/instantstart-test-XXXXXX";
	const int fd = mkstemp(path);
	struct env env[] = {{"INSTANTSTART_DATABASE_URL_FILE", path}, {NULL, NULL}};
	struct arena a = {0};
	struct config c;
	struct err e;

	cr_assert_geq(fd, 0);
	cr_assert(!config_load(&c, &a, lookup, env, &e), "an empty file is no secret");
	cr_assert_eq(write(fd, "s3cret\r\nmore\n", 13), 13);
	cr_expect(config_load(&c, &a, lookup, env, &e), "%s", e.detail);
	cr_expect_str_eq(secret_reveal(c.database_url), "s3cret");
	close(fd);
	unlink(path);
	arena_free(&a);
}

/* Gives what fn-less log_write() wrote through a pipe. */
static const char *logged(struct arena *a, const struct log_kv *kv, size_t n,
			  enum log_level level)
{
	struct clock_manual clock;
	char *text = arena_alloc(a, LIMIT_LOG_LINE + 1);
	int fds[2];
	ssize_t len;

	clock_manual_init(&clock, 0);
	cr_assert_eq(pipe(fds), 0);
	const struct log l = {fds[1], LOG_INFO, &clock.clock, "test"};
	log_write(&l, level, "ev", kv, n);
	close(fds[1]);
	len = read(fds[0], text, LIMIT_LOG_LINE);
	cr_assert_geq(len, 0);
	close(fds[0]);
	return text;
}

#define HEAD "ts=1970-01-01T00:00:00.000Z level=info prog=test ev=ev"

Test(log, lines)
{
	static const struct {
		const char *value, *text;
	} cases[] = {
		{"plain", "k=plain"},
		{"", "k=\"\""},
		{"two words", "k=\"two words\""},
		{"a=b", "k=\"a=b\""},
		{"say \"hi\"", "k=\"say \\\"hi\\\"\""},
		{"back\\slash", "k=\"back\\\\slash\""},
		{"line\nbreak\tand\r", "k=\"line\\nbreak\\tand\\x0d\""},
		{"\x1B[31mred", "k=\"\\x1b[31mred\""},
		{"\x7F", "k=\"\\x7f\""},
		{"gr\xC3\xB6\xC3\x9F", "k=\"gr\xC3\xB6\xC3\x9F\""},
		{"\xC2\x9B[31m", "k=\"\\x9b[31m\""}, /* CSI as one character */
		{"bad\xFF", "k=\"bad\\xff\""},
		{"arn:aws:eks:us-west-2:1:cluster/x",
		 "k=arn:aws:eks:us-west-2:1:cluster/x"},
	};
	struct arena a = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(logged(&a, &LOG_S("k", cases[i].value), 1, LOG_INFO),
				 arena_printf(&a, HEAD " %s\n", cases[i].text));
	const struct log_kv mixed[] = {LOG_N("n", -5), LOG_S("gone", NULL),
				       LOG_S("s", "x")};
	cr_expect_str_eq(logged(&a, mixed, 3, LOG_INFO), HEAD " n=-5 s=x\n");
	cr_expect_str_eq(logged(&a, NULL, 0, LOG_INFO), HEAD "\n");
	cr_expect_str_empty(logged(&a, NULL, 0, LOG_DEBUG), "below the least level");

	/* A line never grows past its cap, and says that it was cut. */
	char *big = arena_alloc(&a, 2 * LIMIT_LOG_LINE);
	memset(big, '\n', 2 * LIMIT_LOG_LINE - 1);
	const struct log_kv huge[] = {LOG_S("a", "1"), LOG_S("big", big),
				      LOG_S("b", "2")};
	cr_expect_str_eq(logged(&a, huge, 3, LOG_INFO), HEAD " a=1 cut=1\n");
	arena_free(&a);
}

Test(log, errors_with_their_causes)
{
	struct clock_manual clock;
	struct err e;
	char text[2048] = "";
	int fds[2];

	clock_manual_init(&clock, 0);
	cr_assert_eq(pipe(fds), 0);
	const struct log l = {fds[1], LOG_INFO, &clock.clock, "test"};
	err_set(&e, ERR_CLOUD_DENIED, "not allowed");
	err_because(&e, "eks:CreateCluster", "AccessDenied", "User: x", "req-1");
	err_because(&e, "sts", NULL, "expired", NULL);
	log_err(&l, "step", &e);
	log_warn(&l, "none");
	log_info(&l, "some", LOG_S("a", "b"), LOG_N("n", 1));
	cr_assert_gt(read(fds[0], text, sizeof(text) - 1), 0);
	cr_expect_str_eq(
		text,
		"ts=1970-01-01T00:00:00.000Z level=error prog=test ev=step "
		"code=cloud-denied detail=\"not allowed\" retry=human "
		"c0_source=eks:CreateCluster c0_code=AccessDenied "
		"c0_message=\"User: x\" c0_request=req-1 c1_source=sts "
		"c1_message=expired\n"
		"ts=1970-01-01T00:00:00.000Z level=warn prog=test ev=none\n"
		"ts=1970-01-01T00:00:00.000Z level=info prog=test ev=some a=b n=1\n");
	close(fds[0]);
	close(fds[1]);
}
