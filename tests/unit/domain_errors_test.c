/*
 * Every row of errors.def with its fix, held to the same rules: what is wrong and what to
 * do agree, a fix names only what there is, and each code is given somewhere. A new row
 * is in these tests by being there.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/str.h"
#include "core/domain/capability.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const char *const names[ERR_COUNT_] = {
#define E(name, slug, http, rpc, retry, title) [ERR_##name] = #name,
#include "core/base/errors.def"
#undef E
};

#define EACH_ROW(code) for (enum errc code = ERR_NONE + 1; code < ERR_COUNT_; code++)

static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || !isalpha((unsigned char)at[-1])) &&
		    !isalpha((unsigned char)at[n]))
			return true;
	return false;
}

Test(errors, a_title_says_what_is_wrong)
{
	EACH_ROW(code)
	{
		const char *title = errc_info(code)->title;

		cr_expect(isupper((unsigned char)title[0]), "%s", names[code]);
		cr_expect(isalpha((unsigned char)title[strlen(title) - 1]), "%s: %s",
			  names[code], title);
		cr_expect_not(strpbrk(title, "%{}<>_"), "%s: %s", names[code], title);
		for (enum errc other = ERR_NONE + 1; other < code; other++)
			cr_expect(strcmp(title, errc_info(other)->title) != 0 &&
					  strcmp(errc_info(code)->slug,
						 errc_info(other)->slug) != 0,
				  "%s and %s are the same", names[code], names[other]);
	}
}

Test(errors, a_slug_is_one_path_segment_and_is_found)
{
	EACH_ROW(code)
	{
		const char *slug = errc_info(code)->slug;

		cr_expect_eq(strspn(slug, "abcdefghijklmnopqrstuvwxyz-"), strlen(slug),
			     "%s", slug);
		cr_expect_eq(errc_from_slug(slug), code, "%s", slug);
	}
}

Test(errors, a_fix_says_what_to_do_in_sentences)
{
	EACH_ROW(code)
	{
		const char *fix = errc_fix(code);

		if (errc_info(code)->retry == RETRY_HUMAN)
			cr_expect(fix[0], "%s asks for a person and says nothing",
				  names[code]);
		if (!fix[0])
			continue;
		cr_expect(isupper((unsigned char)fix[0]), "%s: %s", names[code], fix);
		cr_expect_eq(fix[strlen(fix) - 1], '.', "%s: %s", names[code], fix);
		cr_expect_not(strpbrk(fix, "%{}<>"), "%s: %s", names[code], fix);
		cr_expect_lt(strlen(fix), sizeof((struct err *)0)->fix, "%s: cut",
			     names[code]);
	}
}

/* What a code says in general is true wherever it is given: there may be nothing wrong
 * with what is there. */
Test(errors, no_fix_takes_away_what_may_be_healthy)
{
	static const char *const takes[] = {"delete",    "Delete",    "remove",
					    "Remove",    "destroy",   "Destroy",
					    "terminate", "Terminate", "overwrite"};

	EACH_ROW(code)
	for (size_t i = 0; i < COUNT(takes); i++)
		cr_expect_not(has_word(errc_fix(code), takes[i]), "%s: %s", names[code],
			      errc_fix(code));
}

static bool is_option(const char *word)
{
	for (const struct capability *const *cap = capabilities; *cap; cap++)
		for (const struct field *f = capability_options(*cap); f && f->name; f++)
			if (streq(f->name, word))
				return true;
	return false;
}

Test(errors, a_fix_names_only_what_there_is)
{
	EACH_ROW(code)
	{
		for (const char *at = errc_fix(code); *at;) {
			const size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
			char word[64];

			snprintf(word, sizeof(word), "%.*s", (int)n, at);
			if (strchr(word, '_'))
				cr_expect(capability_find(word) || is_option(word),
					  "%s: there is no %s: %s", names[code], word,
					  errc_fix(code));
			at += n ? n : 1;
		}
	}
}

/* Status, retry word and fix tell the same. */
Test(errors, what_may_be_repeated_is_said_alike)
{
	EACH_ROW(code)
	{
		const struct errc_info *info = errc_info(code);
		const char *fix = errc_fix(code);
		const bool again = has_word(fix, "repeat") || has_word(fix, "Repeat") ||
				   has_word(fix, "retry") || has_word(fix, "Retry");

		cr_expect(info->http_status >= 400 && info->http_status < 600, "%s",
			  names[code]);
		if (info->retry == RETRY_NEVER) {
			cr_expect_not(again, "%s: never, but: %s", names[code], fix);
			cr_expect_not(has_word(fix, "confirm"), "%s: %s", names[code],
				      fix);
			cr_expect(info->http_status != 429 && info->http_status != 503 &&
					  info->http_status != 504,
				  "%s: the status says later, the word never",
				  names[code]);
		}
		/* Nothing passes by itself that lies in the request. */
		if (info->http_status == 400 || info->http_status == 422)
			cr_expect(info->retry == RETRY_NEVER ||
					  info->retry == RETRY_HUMAN,
				  "%s", names[code]);
		if (info->jsonrpc_code)
			cr_expect(info->jsonrpc_code >= -32700 &&
					  info->jsonrpc_code <= -32600,
				  "%s", names[code]);
	}
}

/* A denial is of one of three, by who can change it. */
Test(errors, a_denial_says_who_can_change_it)
{
	static const struct {
		enum errc code;
		const char *who;
	} rows[] = {
		{ERR_CLOUD_DENIED, "the policy of the InstantStart role"},
		{ERR_CLOUD_FORBIDDEN, "the owner of the policy"},
		{ERR_CLOUD_ACCOUNT, "the administrator of the AWS account"},
	};
	size_t denials = 0;

	EACH_ROW(code)
	denials += errc_is_denial(code);
	cr_assert_eq(denials, COUNT(rows));
	for (size_t i = 0; i < COUNT(rows); i++) {
		cr_expect(errc_is_denial(rows[i].code));
		cr_expect(strstr(errc_fix(rows[i].code), rows[i].who), "%s",
			  errc_fix(rows[i].code));
	}
}

static bool given[ERR_COUNT_];
static size_t n_files;

static bool ends(const char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	return n >= m && streq(s + n - m, end);
}

/* A code is given by C as ERR_NAME, by a table as NAME, by SQL as 'slug'. */
static void look(const char *text, const char *before, const char *after, bool slugs)
{
	EACH_ROW(code)
	{
		char word[80];

		snprintf(word, sizeof(word), "%s%s%s", before,
			 slugs ? errc_info(code)->slug : names[code], after);
		for (const char *at = strstr(text, word); at && !given[code];
		     at = strstr(at + 1, word))
			given[code] =
				!strchr("_ABCDEFGHIJKLMNOPQRSTUVWXYZ", at[strlen(word)]);
	}
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char *text;
	FILE *f;

	(void)ftw;
	if (type != FTW_F || ends(path, "core/base/errors.def") ||
	    ends(path, "core/base/fixes.def") || ends(path, "core/base/err.c"))
		return 0;
	if (!ends(path, ".c") && !ends(path, ".def") && !ends(path, ".sql"))
		return 0;
	f = fopen(path, "r");
	text = calloc(1, (size_t)st->st_size + 1);
	cr_assert(f && text);
	cr_assert_eq(fread(text, 1, (size_t)st->st_size, f), (size_t)st->st_size);
	if (ends(path, ".sql"))
		look(text, "'", "'", true);
	else if (ends(path, ".def"))
		look(text, " ", "", false);
	else
		look(text, "ERR_", "", false);
	free(text);
	fclose(f);
	n_files++;
	return 0;
}

Test(errors, each_is_given_somewhere)
{
	static const char *const dirs[] = {"core", "fcgi", "sql/migrations"};

	for (size_t i = 0; i < COUNT(dirs); i++)
		cr_assert_eq(nftw(dirs[i], visit, 16, FTW_PHYS), 0, "%s", dirs[i]);
	cr_assert_gt(n_files, 200);
	EACH_ROW(code)
	cr_expect(given[code], "nothing gives %s", names[code]);
}
