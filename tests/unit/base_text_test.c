/* Strings, buffers and error values. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/limits.h"
#include "core/base/str.h"

Test(str, compare_trim_cut)
{
	static const struct {
		const char *in, *out;
	} trims[] = {{"", ""},          {" \t\r\n", ""}, {"a", "a"},
		     {" a b\n", "a b"}, {"\ta", "a"},    {"a\r\n", "a"}};
	struct arena a = {0};
	struct str rest;

	for (size_t i = 0; i < sizeof(trims) / sizeof(trims[0]); i++)
		cr_expect(str_is(str_trim(str_of(trims[i].in)), trims[i].out), "%s",
			  trims[i].in);
	cr_expect(str_eq(str_of(NULL), STR("")));
	cr_expect_not(str_eq(STR("a"), STR("ab")));
	cr_expect(str_has_prefix(STR("arn:aws:x"), STR("arn:")));
	cr_expect_not(str_has_prefix(STR("ar"), STR("arn:")));
	cr_expect(str_has_suffix(STR("x.yaml"), STR(".yaml")));
	cr_expect_not(str_has_suffix(STR("yaml"), STR(".yaml")));
	cr_expect(str_has_suffix(STR("x"), STR("")));

	static const struct {
		const char *text, *pieces; /* joined by | */
	} cuts[] = {{"", "|"}, {"a", "a|"}, {"a,b", "a|b|"}, {",a,,", "|a|||"}};
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct buf b;

		buf_init(&b, &a, 64);
		for (rest = str_of(cuts[i].text); rest.p;) {
			buf_add_str(&b, str_cut(&rest, ','));
			buf_addc(&b, '|');
		}
		cr_expect_str_eq(buf_cstr(&b), cuts[i].pieces, "%s", cuts[i].text);
	}
	cr_expect(streq(NULL, NULL));
	cr_expect_not(streq("a", NULL));
	cr_expect(str_starts("abc", "ab"));
	cr_expect_not(str_starts("a", "ab"));
	cr_expect_not(str_starts(NULL, "a"));
	cr_expect_str_eq(str_dup(&a, (struct str){"abcdef", 3}), "abc");
	arena_free(&a);
}

Test(str, numbers)
{
	static const struct {
		const char *text;
		bool valid;
		int64_t value;
	} cases[] = {
		{"0", true, 0},
		{"-0", true, 0},
		{"7", true, 7},
		{"007", true, 7},
		{"-12", true, -12},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, 0},
		{"-9223372036854775808", true, INT64_MIN},
		{"-9223372036854775809", false, 0},
		{"99999999999999999999999", false, 0},
		{"", false, 0},
		{"-", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1 ", false, 0},
		{"1.0", false, 0},
		{"0x10", false, 0},
		{"--1", false, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = 42;
		const bool valid = str_to_i64(str_of(cases[i].text), &value);

		cr_expect_eq(valid, cases[i].valid, "%s", cases[i].text);
		cr_expect_eq(value, valid ? cases[i].value : 42, "%s", cases[i].text);
	}
}

Test(str, utf8)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
		{"", true},
		{"plain", true},
		{"gr\xC3\xB6\xC3\x9F"
		 "e",
		 true},
		{"\xE2\x82\xAC", true},
		{"\xF0\x9F\x98\x80", true},
		{"\xF4\x8F\xBF\xBF", true},  /* U+10FFFF */
		{"\xF4\x90\x80\x80", false}, /* past it */
		{"\xC0\xAF", false},         /* overlong / */
		{"\xC1\xBF", false},
		{"\xE0\x9F\xBF", false}, /* overlong */
		{"\xF0\x8F\xBF\xBF", false},
		{"\xED\xA0\x80", false}, /* surrogate */
		{"\xED\x9F\xBF", true},
		{"\x80", false},
		{"a\xC3", false},
		{"\xE2\x82", false},
		{"\xE2(\xA1", false},
		{"\xFF", false},
		{"\xF8\x88\x80\x80\x80", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(str_is_utf8(str_of(cases[i].text)), cases[i].valid,
			     "case %zu", i);
	cr_expect_not(str_is_utf8((struct str){"a\0b", 3}), "NUL");
	cr_expect_eq(str_utf8_sequence(STR("\xE2\x82\xAC!")), 3);
	cr_expect_eq(str_utf8_sequence(STR("")), 0);
}

Test(str, lists_and_copies)
{
	struct arena a = {0};
	struct str_list l = {0};
	char dst[6];

	cr_expect_not(str_list_has(&l, "x"));
	for (int i = 0; i < 100; i++)
		str_list_add(&a, &l, arena_printf(&a, "n%d", i));
	cr_assert_eq(l.n, 100);
	for (int i = 0; i < 100; i++)
		cr_expect_str_eq(l.v[i], arena_printf(&a, "n%d", i));
	cr_expect(str_list_has(&l, "n63"));

	cr_expect(str_copy(dst, sizeof(dst), "12345"));
	cr_expect_not(str_copy(dst, sizeof(dst), "123456"));
	cr_expect_str_eq(dst, "12345");
	cr_expect_not(str_copy(dst, sizeof(dst), "1234\xE2\x82\xAC"));
	cr_expect_str_eq(dst, "1234", "no half character");
	cr_expect(str_copy(dst, sizeof(dst), NULL));
	cr_expect_str_empty(dst);
	arena_free(&a);
}

Test(buf, grows_to_its_maximum)
{
	struct arena a = {0};
	struct buf b;

	buf_init(&b, &a, 1000);
	cr_expect_str_empty(buf_cstr(&b));
	for (int i = 0; i < 100; i++)
		buf_printf(&b, "%09d,", i);
	cr_expect_eq(b.len, 1000);
	cr_expect_not(b.overflow, "exactly the maximum fits");
	cr_expect_eq(strlen(buf_cstr(&b)), 1000);
	cr_expect_eq(memcmp(b.p + 990, "000000099,", 10), 0);
	buf_addc(&b, 'x');
	cr_expect(b.overflow);
	cr_expect_eq(b.len, 1000, "what is too much is dropped");
	cr_expect_eq(b.p[1000], '\0');
	buf_truncate(&b, 5);
	cr_expect_str_eq(buf_cstr(&b), "00000");
	buf_addc(&b, 'x');
	cr_expect_eq(b.len, 5, "after an overflow nothing is added: it would have a gap");
	cr_expect(str_is(buf_str(&b), "00000"));

	buf_init(&b, &a, 0);
	buf_adds(&b, "");
	cr_expect_not(b.overflow);
	buf_addc(&b, 'x');
	cr_expect(b.overflow);

	/* One write much larger than the first block, and bytes of any value. */
	buf_init(&b, &a, 1 << 20);
	char *big = arena_alloc(&a, 1 << 20);
	memset(big, 'z', 1 << 20);
	big[7] = '\0';
	buf_add(&b, big, 1 << 20);
	cr_expect_eq(b.len, 1 << 20);
	cr_expect_eq(memcmp(b.p, big, b.len), 0);
	arena_free(&a);
}

Test(err, codes_are_complete)
{
	for (int i = ERR_NONE + 1; i < ERR_COUNT_; i++) {
		const struct errc_info *info = errc_info((enum errc)i);

		cr_assert_not_null(info->slug, "%d", i);
		cr_expect(info->http_status >= 400 && info->http_status < 600, "%s",
			  info->slug);
		cr_expect_eq(errc_from_slug(info->slug), i, "slug %s twice", info->slug);
		cr_expect_neq(info->retry, RETRY_UNSET);
		cr_expect(info->title[0] != '\0');
		/* JSON-RPC: reserved codes only where they mean the same. */
		cr_expect(info->jsonrpc_code == 0 || info->jsonrpc_code < -32599);
	}
	cr_expect_eq(errc_from_slug("no such"), ERR_NONE);
	cr_expect_eq(errc_info((enum errc)9999), errc_info(ERR_INTERNAL));
}

/* Whoever is told that a person must act is told what to do, whatever the code. */
Test(err, a_person_is_always_told_what_to_do)
{
	for (int i = ERR_NONE + 1; i < ERR_COUNT_; i++) {
		const struct errc_info *info = errc_info((enum errc)i);
		const char *fix = errc_fix((enum errc)i);
		const size_t n = strlen(fix);
		struct err e = {.code = (enum errc)i};

		cr_expect(info->retry != RETRY_HUMAN || n > 0, "%s has no fix",
			  info->slug);
		cr_expect(n < sizeof(e.fix), "%s: too long", info->slug);
		cr_expect(n == 0 || fix[n - 1] == '.', "%s: no sentence", info->slug);
		/* "never" and "repeat it" are two answers. */
		if (info->retry == RETRY_NEVER)
			cr_expect(!strstr(fix, "epeat") && !strstr(fix, "etry"), "%s: %s",
				  info->slug, fix);
		if (strstr(fix, "confirm"))
			cr_expect_eq(info->retry, RETRY_HUMAN, "%s", info->slug);
		e.retry = RETRY_HUMAN;
		cr_expect(*err_fix_text(&e), "%s with a person's retry", info->slug);
		err_fix(&e, "Its own words.");
		cr_expect_str_eq(err_fix_text(&e), "Its own words.");
	}
}

Test(err, causes_details_and_cuts)
{
	struct err e;
	char text[700];

	cr_expect_not(err_set(&e, ERR_CONFLICT, "cluster %s is busy", "lab"));
	cr_expect_str_eq(e.detail, "cluster lab is busy");
	cr_expect_eq(err_retry(&e), RETRY_BACKOFF);
	e.retry = RETRY_HUMAN;
	cr_expect_str_eq(retry_word_name(err_retry(&e)), "human");
	cr_expect_not(err_field(&e, "/name", "x", "y"));
	cr_expect_not(err_fix(&e, "wait %d s", 5));
	cr_expect_str_eq(e.fix, "wait 5 s");
	for (int i = 0; i < 6; i++)
		err_because(&e, "eks:CreateCluster", i == 0 ? NULL : "Code", "text",
			    "id");
	cr_expect_eq(e.n_causes, ERR_CAUSES_MAX);
	cr_expect_str_empty(e.cause[0].code);
	cr_expect_str_eq(e.cause[3].code, "Code");

	/* Parts of the same error may go into its new text. */
	err_set(&e, ERR_INTERNAL, "%s (%s)", e.detail, e.field);
	cr_expect_str_eq(e.detail, "cluster lab is busy (/name)");
	cr_expect_str_empty(e.field);
	cr_expect_eq(e.n_causes, 0);

	/* Longer texts are cut at a character border, wherever that falls. */
	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'a', shift);
		for (size_t i = shift; i + 4 < sizeof(text); i += 3)
			memcpy(text + i, "\xE2\x82\xAC", 4);
		err_set(&e, ERR_INTERNAL, "%s", text);
		cr_expect(strlen(e.detail) > sizeof(e.detail) - 5);
		cr_expect(str_is_utf8(str_of(e.detail)), "shift %zu", shift);
		cr_expect(str_starts(text, e.detail));
	}
	/* Whatever is quoted, the error can be written as JSON. */
	err_set(&e, ERR_INTERNAL, "near '%s'", "\xDC\x82\xFF\xC3\xB6");
	cr_expect_str_eq(e.detail, "near '\xDC\x82?\xC3\xB6'");
	err_because(&e, "x", "\xFF", "a\x80", "\xC3");
	err_field(&e, "/a", "\xFE", "\xED\xA0\x80");
	cr_expect_str_eq(e.cause[0].message, "a?");
	cr_expect_str_eq(e.cause[0].request_id, "?");
	cr_expect_str_eq(e.seen, "?");
	cr_expect_str_eq(e.expected, "???");
	err_clear(&e);
	cr_expect_eq(e.code, ERR_NONE);
}

/* RFC 4648, section 10, and what is no base64. */
Test(base64, vectors)
{
	static const struct {
		const char *plain, *text, *url;
	} good[] = {
		{"", "", ""},
		{"f", "Zg==", "Zg"},
		{"fo", "Zm8=", "Zm8"},
		{"foo", "Zm9v", "Zm9v"},
		{"foob", "Zm9vYg==", "Zm9vYg"},
		{"fooba", "Zm9vYmE=", "Zm9vYmE"},
		{"foobar", "Zm9vYmFy", "Zm9vYmFy"},
		{"\xFB\xEF\xFF", "++//", "--__"},
	};
	static const char *const bad[] = {
		"Z",    "Zg",   "Zg=",   "Zg===",   "Z===", "Zm8=Zg==", "Z=8v",
		"Zm9-", "--__", "Zm9v!", "Zm9\xC3", "====", "=Zm9"};
	struct arena a = {0};
	size_t n;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const size_t len = strlen(good[i].plain);

		cr_expect_str_eq(base64_encode(&a, good[i].plain, len), good[i].text);
		cr_expect_str_eq(base64url_encode(&a, good[i].plain, len), good[i].url);
		cr_expect_str_eq(base64_decode(&a, good[i].text, &n), good[i].plain);
		cr_expect_eq(n, len);
	}
	cr_expect_str_eq(base64_decode(&a, "Zm9v\r\n YmFy\n", NULL), "foobar");
	cr_expect_not_null(base64_decode(&a, "AAAA", &n));
	cr_expect_eq(n, 3, "bytes of zero are bytes");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_null(base64_decode(&a, bad[i], &n), "%s", bad[i]);
	arena_free(&a);
}
