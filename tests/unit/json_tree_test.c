/* Trees and the writer. */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/tree.h"
#include "core/json/writer.h"

static json_t *parse(struct arena *a, const char *text)
{
	struct err e;
	json_t *tree = json_parse(a, str_of(text), &e);

	cr_assert(tree, "%s: %s", text, e.detail);
	return tree;
}

Test(tree, parse_accepts_and_refuses)
{
	static const struct {
		const char *text;
		const char *why; /* part of the detail; NULL: accepted */
	} cases[] = {
		{"{}", NULL},
		{" [1, 2.5, \"x\", null, true] ", NULL},
		{"\"scalar\"", NULL},
		{"{\"a\":{\"a\":1}}", NULL},
		{"\"\\u00e9\\ud83d\\ude00\"", NULL},
		{"\"\xF0\x9F\x98\x80\"", NULL},
		{"", "line 1"},
		{"   ", "end of file"},
		{"{", "line 1, column 1"},
		{"{\"a\":1,}", "near '}'"},
		{"{\n \"a\": x}", "line 2, column 7"},
		{"[1] []", "near '['"},
		{"{\"a\":1,\"a\":2}", "duplicate"},
		{"{'a':1}", "line 1"},
		{"[01]", "line 1"},
		{"[NaN]", "line 1"},
		{"[1e999]", "overflow"},
		{"[99999999999999999999]", "too big"},
		{"\"\xFF\"", "unable to decode byte"},
		{"\"\xC0\x80\"", "unable to decode byte"},
		{"\"\\ud800\"", "line 1"},
		{"\"\\u0000\"", "line 1"},
		{"\"a\nb\"", "line 1"},
		{"// c\n{}", "line 1"},
	};
	struct arena a = {0};
	struct err e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const json_t *tree = json_parse(&a, str_of(cases[i].text), &e);

		cr_assert_eq(tree == NULL, cases[i].why != NULL, "%s", cases[i].text);
		if (tree)
			continue;
		cr_expect_eq(e.code, ERR_MALFORMED);
		cr_expect_not_null(strstr(e.detail, cases[i].why), "%s: %s",
				   cases[i].text, e.detail);
	}
	cr_expect_null(json_parse(&a, (struct str){"[1]\0", 4}, &e), "a NUL behind it");
	cr_expect_not_null(json_parse(&a, (struct str){"[1]]]]", 3}, &e), "only n bytes");
	cr_expect_null(json_parse(&a, (struct str){NULL, 0}, &e));
	arena_free(&a);
}

Test(tree, parse_depth)
{
	struct arena a = {0};
	struct err e;
	char text[2 * LIMIT_JSON_DEPTH + 3] = "";
	struct buf b;

	memset(text, '[', LIMIT_JSON_DEPTH);
	memset(text + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
	cr_expect_not_null(json_parse(&a, str_of(text), &e));
	memset(text, '[', LIMIT_JSON_DEPTH + 1);
	memset(text + LIMIT_JSON_DEPTH + 1, ']', LIMIT_JSON_DEPTH + 1);
	cr_expect_null(json_parse(&a, str_of(text), &e));
	cr_expect_not_null(strstr(e.detail, "deeper than 64"), "%s", e.detail);
	/* A megabyte of brackets neither recurses nor takes long. */
	buf_init(&b, &a, 1 << 20);
	for (int i = 0; i < (1 << 20) / 5; i++)
		buf_adds(&b, "{\"a\":");
	cr_expect_null(json_parse(&a, buf_str(&b), &e));
	/* Brackets inside of strings do not count. */
	buf_init(&b, &a, 4096);
	buf_adds(&b, "[\"\\\"");
	for (int i = 0; i < 100; i++)
		buf_adds(&b, "[{");
	buf_adds(&b, "\"]");
	cr_expect_not_null(json_parse(&a, buf_str(&b), &e), "%s", e.detail);
	/* Wide and shallow is fine. */
	buf_init(&b, &a, 4096);
	buf_addc(&b, '[');
	for (int i = 0; i < 500; i++)
		buf_adds(&b, "[],");
	buf_adds(&b, "1]");
	cr_expect_not_null(json_parse(&a, buf_str(&b), &e));
	arena_free(&a);
}

Test(tree, paths_read)
{
	struct arena a = {0};
	const json_t *t = parse(&a, "{\"c\":{\"g\":[{\"n\":4,\"s\":\"x\"},{\"n\":2.5}]},"
				    "\"b\":true,\"z\":null,\"k.d\":1}");

	cr_expect_eq(json_int_or(t, "c.g.0.n", -1), 4);
	cr_expect_eq(json_int_or(t, "c.g.1.n", -1), -1, "a real is no integer");
	cr_expect_float_eq(json_num_or(t, "c.g.1.n", 0), 2.5, 0);
	cr_expect_float_eq(json_num_or(t, "c.g.0.n", 0), 4, 0);
	cr_expect_str_eq(json_str_at(t, "c.g.0.s"), "x");
	cr_expect_null(json_str_at(t, "c.g.0.n"));
	cr_expect_null(json_str_at(t, "c.g.2.s"));
	cr_expect_null(json_str_at(t, "c.g.-1.s"));
	cr_expect_null(json_str_at(t, "c.g.x.s"));
	cr_expect_null(json_at(t, "b.c"));
	cr_expect_null(json_at(t, ""));
	cr_expect_null(json_at(t, "k.d"), "dots always separate");
	cr_expect_null(json_at(NULL, "a"));
	cr_expect(json_is_null(json_at(t, "z")));
	cr_expect_str_eq(json_str_or(t, "z", "none"), "none");
	cr_expect(json_bool_or(t, "b", false));
	cr_expect(json_bool_or(t, "c", true));
	cr_expect_eq(json_len_at(t, "c.g"), 2);
	cr_expect_eq(json_len_at(t, "c"), 0);
	cr_expect_eq(json_find(json_at(t, "c.g"), "s", "x"), json_at(t, "c.g.0"));
	cr_expect_null(json_find(json_at(t, "c.g"), "s", "y"));
	cr_expect_null(json_find(json_at(t, "c.g"), "s", NULL));
	cr_expect_null(json_find(NULL, "s", "x"));
	arena_free(&a);
}

Test(tree, paths_write)
{
	struct arena a = {0};
	json_t *t = json_new_object(&a);

	json_put_str(t, "a.b.c", "x");
	json_put_str(t, "a.b.none", NULL);
	json_put_int(t, "a.n", 5);
	json_put_bool(t, "a.on", true);
	json_put(t, "l", json_pack("[{}]"));
	json_put_str(t, "l.0.name", "first");
	json_put(t, "l.7", json_string("dropped: no such position"));
	json_put(t, "l.7.x", json_string("dropped too"));
	json_put_str(t, "a.n.m", "an object takes the number's place");
	json_push(json_at(t, "l"), json_integer(2));
	cr_expect_str_eq(
		json_text(&a, t),
		"{\"a\":{\"b\":{\"c\":\"x\"},\"n\":{\"m\":\"an object takes the "
		"number's place\"},\"on\":true},\"l\":[{\"name\":\"first\"},2]}");
	json_drop(t, "a.n");
	json_drop(t, "a.b.c");
	json_drop(t, "l.1");
	json_drop(t, "no.such.thing");
	json_drop(t, "l.9");
	cr_expect_str_eq(json_text(&a, t),
			 "{\"a\":{\"b\":{},\"on\":true},\"l\":[{\"name\":\"first\"}]}");
	cr_expect_str_eq(json_text(&a, json_packf(&a, "{s:s, s:[i]}", "k", "v", "n", 1)),
			 "{\"k\":\"v\",\"n\":[1]}");
	cr_expect_str_eq(json_text(&a, NULL), "null");
	cr_expect_str_eq(json_text(&a, json_new_list(&a)), "[]");
	arena_free(&a);
}

/* RFC 7396, appendix A. */
Test(tree, merge_patch)
{
	static const struct {
		const char *target, *patch, *result;
	} cases[] = {
		{"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
		{"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
		{"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
		{"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
		 "{\"a\":{\"b\":\"d\"}}"},
		{"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
		{"{\"e\":null}", "{\"a\":1}", "{\"a\":1,\"e\":null}"},
		{"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
	};
	struct arena a = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *target = parse(&a, cases[i].target);
		const json_t *patch = parse(&a, cases[i].patch);

		json_merge_patch(target, patch);
		cr_expect_str_eq(json_text(&a, target), cases[i].result, "case %zu", i);
		cr_expect_str_eq(json_text(&a, patch),
				 json_text(&a, parse(&a, cases[i].patch)),
				 "the patch is not touched");
	}
	arena_free(&a);
}

Test(tree, equal_trees_have_equal_digests)
{
	struct arena a = {0};

	cr_expect_str_eq(
		json_digest(&a, parse(&a, "{\"b\":1,\"a\":[true,null]}")),
		json_digest(&a, parse(&a, "{ \"a\" : [true, null], \"b\" : 1}")));
	cr_expect_str_neq(json_digest(&a, parse(&a, "[1,2]")),
			  json_digest(&a, parse(&a, "[2,1]")));
	/* printf '{}' | sha256sum */
	cr_expect_str_eq(
		json_digest(&a, json_new_object(&a)),
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
	arena_free(&a);
}

Test(writer, balances_and_escapes)
{
	struct arena a = {0};
	struct json_writer w;
	struct buf b;

	buf_init(&b, &a, 4096);
	jw_begin(&w, &b);
	jw_open_object(&w);
	jw_kv_str(&w, "s", "q\" b\\ n\n t\t r\r e\x1B \xC3\xB6");
	jw_kv_str(&w, "none", NULL);
	jw_kv_int(&w, "i", INT64_MIN);
	jw_kv_bool(&w, "b", true);
	jw_key(&w, "l");
	jw_open_list(&w);
	jw_int(&w, 1);
	jw_str(&w, NULL);
	jw_strn(&w, "a\0b", 3);
	jw_num(&w, 0.1);
	jw_num(&w, 1.0 / 3);
	jw_num(&w, INFINITY);
	jw_null(&w);
	jw_open_object(&w);
	jw_close(&w);
	jw_close(&w);
	jw_key(&w, "tree");
	jw_tree(&w, parse(&a, "{\"z\":1,\"a\":2}"));
	jw_key(&w, "raw");
	jw_raw(&w, "[1, 2]", 6);
	jw_key(&w, "bad\xFF");
	jw_str(&w, "\xFFx\xC3");
	jw_key(&w, "open");
	jw_open_list(&w);
	jw_open_object(&w);
	jw_end(&w);
	cr_expect_str_eq(
		buf_cstr(&b),
		"{\"s\":\"q\\\" b\\\\ n\\n t\\t r\\r e\\u001b \xC3\xB6\","
		"\"i\":-9223372036854775808,\"b\":true,"
		"\"l\":[1,null,\"a\\u0000b\",0.1,0.33333333333333331,null,null,{}],"
		"\"tree\":{\"a\":2,\"z\":1},\"raw\":[1, 2],"
		"\"bad\xEF\xBF\xBD\":\"\xEF\xBF\xBDx\xEF\xBF\xBD\",\"open\":[{}]}");
	arena_free(&a);
}

/* Texts of libraries, proxies and containers hold any bytes. */
Test(tree, text_of_any_bytes_ends_nothing)
{
	static const char odd[] = "a\xff"
				  "b\0c\xc3";
	struct arena a;
	json_t *t, *text;

	arena_init(&a, 0);
	t = json_packf(&a, "{s:s, s:s#, s:s?, s:[s%, n], s:s*, s:O?}", "z", "\xe9", "n",
		       odd, (int)sizeof(odd) - 1, "null", NULL, "list", odd, (size_t)2,
		       "none", NULL, "tree", NULL);
	cr_expect_str_eq(json_text(&a, t),
			 "{\"list\":[\"a\xEF\xBF\xBD\",null],\"n\":\"a\xEF\xBF\xBD"
			 "b\\u0000c\xEF\xBF\xBD\",\"null\":null,\"tree\":null,"
			 "\"z\":\"\xEF\xBF\xBD\"}");
	json_put_str(t, "z", "\x80x");
	cr_expect_str_eq(json_str_at(t, "z"), "\xEF\xBF\xBDx");
	for (int byte = 1; byte < 256; byte++) {
		const char z[] = {(char)byte, (char)(byte ^ 0x55), 0};

		text = json_own(&a, json_of_text(str_of(z)));
		cr_expect(str_is_utf8(str_of(json_string_value(text))), "%d", byte);
	}
	arena_free(&a);
}

Test(writer, a_member_without_a_name_is_a_bug, .signal = SIGABRT)
{
	struct arena a = {0};
	struct json_writer w;
	struct buf b;

	buf_init(&b, &a, 64);
	jw_begin(&w, &b);
	jw_open_object(&w);
	jw_int(&w, 1);
	exit(0);
}

/* What is sent is counted before it is read: a value costs more than its bytes. */
Test(tree, a_request_holds_a_bounded_number_of_values)
{
	static const char *const each[] = {"1,", "\"a,b\",", "[],", "{\"a\":1},"};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct arena a = {0};
		struct err e = {0};
		struct buf b;

		buf_init(&b, &a, LIMIT_REQUEST_BODY);
		buf_addc(&b, '[');
		for (int n = 0; n < LIMIT_REQUEST_VALUES / 4; n++)
			buf_adds(&b, each[i]);
		buf_adds(&b, "1]");
		cr_expect(json_parse_request(&a, buf_str(&b), &e), "%s: %s", each[i],
			  e.detail);
		b.p[b.len - 1] = ',';
		for (int n = 0; n < LIMIT_REQUEST_VALUES; n++)
			buf_adds(&b, each[i]);
		buf_adds(&b, "1]");
		cr_expect_null(json_parse_request(&a, buf_str(&b), &e));
		cr_expect_eq(e.code, ERR_TOO_LARGE);
		arena_free(&a);
	}
}
