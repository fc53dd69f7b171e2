/*
 * Keys from a program that the profile names (credential_process).
 *
 * The command is cut into words as the SDKs do it: quotes and backslashes count, nothing
 * else does. No shell ever sees it. The program gets our environment without our own
 * settings, which hold the database's passwords.
 *
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
 */
#include <string.h>
#include <unistd.h>

#include "core/aws/provider.h"
#include "core/base/child.h"
#include "core/json/tree.h"

enum {
	PROCESS_MS = 15 * 1000,
	ANSWER_MAX = 64 * 1024,
	WORDS_MAX = 64,
	ENV_MAX = 1024,
	SAID_MAX = 200, /* bytes of what it complained about */
};

/* One word, or false when a quote is not closed. The blank behind it is eaten. */
static bool next_word(const char **at, struct buf *word)
{
	char quote = 0;
	const char *c = *at;

	for (; *c && (quote || !strchr(" \t\r\n", *c)); c++) {
		if (quote == '\'' ? *c == '\'' : quote == '"' && *c == '"') {
			quote = 0;
		} else if (!quote && (*c == '\'' || *c == '"')) {
			quote = *c;
		} else if (*c == '\\' && quote != '\'' && c[1] &&
			   (!quote || c[1] == '"' || c[1] == '\\')) {
			buf_addc(word, *++c);
		} else {
			buf_addc(word, *c);
		}
	}
	*at = c;
	return !quote;
}

static bool split(struct arena *a, const char *command, const char **words)
{
	size_t n = 0;

	for (const char *at = command + strspn(command, " \t\r\n"); *at;
	     at += strspn(at, " \t\r\n")) {
		struct buf word;

		buf_init(&word, a, strlen(command) + 1);
		if (n == WORDS_MAX || !next_word(&at, &word))
			return false;
		words[n++] = arena_strdup(a, buf_cstr(&word));
	}
	words[n] = NULL;
	return n > 0;
}

/* Our own settings stay here. */
static void environment(const char **env)
{
	size_t n = 0;

	for (char **one = environ; *one && n < ENV_MAX; one++)
		if (!str_starts(*one, "INSTANTSTART_"))
			env[n++] = *one;
	env[n] = NULL;
}

/* The last line of what it complained about. */
static const char *complaint(struct arena *a, const char *tail)
{
	struct str rest = str_trim(str_of(tail)), line = rest;

	while (rest.p)
		line = str_cut(&rest, '\n');
	if (line.n > SAID_MAX)
		line.n = SAID_MAX;
	return str_as_utf8(a, str_dup(a, str_trim(line)));
}

static enum provided read_answer(struct provider *p, const char *name,
				 const struct child_end *end, struct aws_keys *ret)
{
	static const char fix[] =
		"Correct the program. It must print {\"Version\": 1, \"AccessKeyId\": …, "
		"\"SecretAccessKey\": …}.";
	struct err ignored = {0};
	json_t *doc =
		json_parse(p->arena, (struct str){end->out, end->out_len}, &ignored);
	const char *id = json_str_at(doc, "AccessKeyId");
	const char *secret = json_str_at(doc, "SecretAccessKey");
	const char *expires = json_str_at(doc, "Expiration");
	const int64_t version = json_int_or(doc, "Version", 0);

	if (!doc || version != 1)
		return provider_broken(p, fix, name,
				       "credential_process did not print JSON of version "
				       "1");
	if (!id || !*id || !secret || !*secret)
		return provider_broken(p, fix, name,
				       "credential_process did not print keys");
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(json_str_at(doc, "SessionToken")),
	};
	if (expires && !time_parse_rfc3339(expires, &ret->expires_ms))
		return provider_broken(p, fix, name,
				       "credential_process printed an Expiration that is "
				       "not a valid time");
	p->source = arena_printf(p->arena, "credential_process of the profile %s", name);
	return PROVIDED_KEYS;
}

enum provided provide_process(struct provider *p, const char *profile,
			      const char *command, struct aws_keys *ret)
{
	const char **words = arena_array(p->arena, const char *, WORDS_MAX + 1);
	const char **env = arena_array(p->arena, const char *, ENV_MAX + 1);
	const char *path = provider_setting(p, "PATH");
	struct child child = {.argv = words,
			      .env = env,
			      .folder = "/",
			      .timeout_ms = PROCESS_MS,
			      .out_max = ANSWER_MAX};
	struct child_end end;
	struct err e = {0};

	if (!split(p->arena, command, words))
		return provider_broken(p, "Close the quotes in credential_process.",
				       profile,
				       "credential_process cannot be split into words");
	child.binary = child_find(words[0], path ? path : "/usr/bin:/bin", p->arena);
	if (!child.binary)
		return provider_broken(
			p,
			"Set credential_process to the absolute path of a program that "
			"this user can run.",
			profile, "credential_process: %s cannot be run", words[0]);
	environment(env);
	if (!child_run(&child, p->arena, &end, &e))
		return provider_failed(p, profile, "credential_process: %s", e.detail);
	if (end.out_too_long)
		return provider_broken(
			p, "Correct the program. It must print nothing else.", profile,
			"credential_process printed more than %d bytes", ANSWER_MAX);
	if (end.timed_out)
		return provider_failed(p, profile,
				       "credential_process did not end within %d s",
				       PROCESS_MS / 1000);
	if (end.signal || end.exit_code != 0)
		return provider_broken(
			p,
			arena_printf(
				p->arena,
				"Run it by hand as this user and follow its message: %s",
				command),
			profile, "credential_process ended with %s %d: %s",
			end.signal ? "signal" : "status",
			end.signal ? end.signal : end.exit_code,
			complaint(p->arena, end.tail));
	return read_answer(p, profile, &end, ret);
}
