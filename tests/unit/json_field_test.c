#include "core/json/field.h"

#include <criterion/criterion.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/tree.h"

struct port {
	int64_t number;
	const char *protocol;
};

struct sample {
	const char *name;
	const char *zone;
	const char *password;
	int64_t count;
	bool spot;
	double share;
	struct str_list zones;
	struct port probe;
	struct field_list ports;
	json_t *tags;
	json_t *extra;
};

static const char *const protocols[] = {"tcp", "udp", NULL};

static const struct field port_fields[] = {
	FIELD(struct port, number, .flags = FIELD_REQUIRED, .min = 1, .max = 65535),
	FIELD(struct port, protocol, .one_of = protocols, .dflt = "\"tcp\""), FIELD_END};

static const struct field fields[] = {
	FIELD(struct sample, name, .flags = FIELD_REQUIRED, .min = 1, .max = 8,
	      .pattern = "[a-z][a-z0-9-]*", .example = "\"lab\"", .doc = "The name."),
	FIELD(struct sample, zone, .one_of = protocols),
	FIELD(struct sample, password, .flags = FIELD_SECRET, .min = 4, .max = 64),
	FIELD(struct sample, count, .min = 0, .max = 100, .dflt = "3", .unit = "nodes",
	      .doc = "How many."),
	FIELD(struct sample, spot),
	FIELD(struct sample, share, .min = 0, .max = 1),
	FIELD(struct sample, zones, .min = 1, .max = 2, .pattern = "z[0-9]"),
	FIELD_STRUCT(struct sample, probe, struct port, port_fields),
	FIELD_STRUCT(struct sample, ports, struct port, port_fields, .flags = FIELD_MANY),
	FIELD_MAP_OF(struct sample, tags, .max = 2),
	FIELD(struct sample, extra),
	FIELD_END};

static json_t *parse(struct arena *a, const char *text)
{
	struct err e;
	json_t *tree = json_parse(a, str_of(text), &e);

	cr_assert(tree, "%s: %s", text, e.detail);
	return tree;
}

/* Everything that can be wrong, and what is said of it. */
static const struct refusal {
	const char *input;
	const char *field, *detail, *seen, *expected;
} refusals[] = {
	{"{}", "/name", "is missing", "",
	 "a string of 1 to 8 characters matching [a-z][a-z0-9-]*, for example \"lab\""},
	{"[]", "", "has the wrong type", "a list of 0", "an object"},
	{"{\"name\":5}", "/name", "has the wrong type", "5", NULL},
	{"{\"name\":null}", "/name", "has the wrong type", "null", NULL},
	{"{\"name\":\"\"}", "/name", "must not be empty", "\"\"", NULL},
	{"{\"name\":\"abcdefghi\"}", "/name", "is too long", "\"abcdefghi\"", NULL},
	{"{\"name\":\"9a\"}", "/name", "has an invalid format", "\"9a\"", NULL},
	{"{\"name\":\"a\\nb\"}", "/name", "has an invalid format", "\"a\\nb\"", NULL},
	{"{\"name\":\"ab\\n\"}", "/name", "has an invalid format", "\"ab\\n\"", NULL},
	{"{\"name\":\"a\",\"zone\":\"TCP\"}", "/zone", "is not one of the allowed values",
	 "\"TCP\"", "one of tcp, udp"},
	{"{\"name\":\"a\",\"password\":\"abc\"}", "/password", "is too short", "(secret)",
	 "a string of 4 to 64 characters"},
	{"{\"name\":\"a\",\"password\":12345}", "/password", "has the wrong type",
	 "(secret)", NULL},
	{"{\"name\":\"a\",\"count\":101}", "/count", "is out of range", "101",
	 "a whole number of 0 to 100 (nodes)"},
	{"{\"name\":\"a\",\"count\":-1}", "/count", "is out of range", "-1", NULL},
	{"{\"name\":\"a\",\"count\":2.5}", "/count", "has the wrong type", "2.5", NULL},
	{"{\"name\":\"a\",\"count\":\"2\"}", "/count", "has the wrong type", "\"2\"",
	 NULL},
	{"{\"name\":\"a\",\"spot\":1}", "/spot", "has the wrong type", "1",
	 "true or false"},
	{"{\"name\":\"a\",\"share\":1.5}", "/share", "is out of range", "1.5",
	 "a number of 0 to 1"},
	{"{\"name\":\"a\",\"share\":\"x\"}", "/share", "has the wrong type", "\"x\"",
	 NULL},
	{"{\"name\":\"a\",\"zones\":\"z1\"}", "/zones", "has the wrong type", "\"z1\"",
	 "a list of 1 to 2 strings matching z[0-9]"},
	{"{\"name\":\"a\",\"zones\":[]}", "/zones", "must not be empty", "a list of 0",
	 NULL},
	{"{\"name\":\"a\",\"zones\":[\"z1\",\"z2\",\"z3\"]}", "/zones", "is too long",
	 "a list of 3", NULL},
	{"{\"name\":\"a\",\"zones\":[\"z1\",\"y\"]}", "/zones/1", "has an invalid format",
	 "\"y\"", "a string matching z[0-9]"},
	{"{\"name\":\"a\",\"zones\":[\"z1\",7]}", "/zones/1", "has the wrong type", "7",
	 NULL},
	{"{\"name\":\"a\",\"zones\":[\"z1\",\"z1\"]}", "/zones/1",
	 "has the same value as item 0 of the list (counted from 0)", "\"z1\"",
	 "each value once"},
	{"{\"name\":\"a\",\"probe\":[]}", "/probe", "has the wrong type", "a list of 0",
	 "an object"},
	{"{\"name\":\"a\",\"probe\":{}}", "/probe/number", "is missing", "",
	 "a whole number of 1 to 65535"},
	{"{\"name\":\"a\",\"ports\":{}}", "/ports", "has the wrong type", "{}",
	 "a list of objects"},
	{"{\"name\":\"a\",\"ports\":[{\"number\":1},{\"number\":0}]}", "/ports/1/number",
	 "is out of range", "0", NULL},
	{"{\"name\":\"a\",\"ports\":[{\"number\":1,\"proto/col\":\"x\"}]}",
	 "/ports/0/proto~1col", "is not a known member", "proto/col",
	 "did you mean protocol?"},
	{"{\"name\":\"a\",\"tags\":{\"k\":1}}", "/tags/k", "has the wrong type", "1",
	 NULL},
	{"{\"name\":\"a\",\"tags\":[]}", "/tags", "has the wrong type", "a list of 0",
	 "an object of strings with 0 to 2 members"},
	{"{\"name\":\"a\",\"tags\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}}", "/tags",
	 "is too long", "an object of 3", NULL},
	{"{\"name\":\"a\",\"Count\":1}", "/Count", "is not a known member", "Count",
	 "did you mean count?"},
	{"{\"name\":\"a\",\"pasword\":\"hunter2\"}", "/pasword", "is not a known member",
	 "pasword", "did you mean password?"},
	{"{\"name\":\"a\",\"instance_type\":\"x\"}", "/instance_type",
	 "is not a known member", "instance_type",
	 "one of name, zone, password, count, spot, share, zones, probe, ports, tags, extra"},
};

Test(field, refuses_by_name)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct arena a = {0};
		struct sample s;
		struct err e;

		cr_assert_not(field_decode(fields, parse(&a, r->input), &a, &s, &e), "%s",
			      r->input);
		cr_assert_eq(e.code, ERR_INVALID_INPUT);
		cr_assert_eq(e.n_violations, 1, "%s: %zu violations", r->input,
			     e.n_violations);
		cr_expect_str_eq(e.violations[0].field, r->field, "%s", r->input);
		cr_expect_str_eq(e.violations[0].detail, r->detail, "%s", r->input);
		cr_expect_str_eq(e.violations[0].seen, r->seen, "%s", r->input);
		if (r->expected)
			cr_expect_str_eq(e.violations[0].expected, r->expected, "%s",
					 r->input);
		cr_expect_str_eq(e.field, r->field);
		cr_expect_null(strstr(e.detail, "hunter2"));
		arena_free(&a);
	}
}

Test(field, reports_all_at_once)
{
	struct arena a = {0};
	struct sample s;
	struct err e;
	json_t *in = parse(&a, "{\"count\":500,\"spot\":\"yes\",\"zones\":[\"a\",\"b\"],"
			       "\"probe\":{\"number\":0,\"protocol\":\"x\"},\"zzz\":1}");
	static const char *const places[] = {
		"/name",    "/count",        "/spot",           "/zones/0",
		"/zones/1", "/probe/number", "/probe/protocol", "/zzz"};

	cr_assert_not(field_decode(fields, in, &a, &s, &e));
	cr_assert_eq(e.n_violations, 8);
	for (size_t i = 0; i < 8; i++)
		cr_expect_str_eq(e.violations[i].field, places[i]);
	cr_expect_str_eq(e.detail, "8 values are not valid; /name is missing");

	/* Where no more can be told, checking ends. */
	in = parse(&a, "{\"name\":\"a\"}");
	for (int i = 0; i < 100; i++)
		json_object_set_new(in, arena_printf(&a, "unknown_member_%d", i),
				    json_null());
	cr_assert_not(field_decode(fields, in, &a, &s, &e));
	cr_expect_eq(e.n_violations, LIMIT_VIOLATIONS);
	cr_expect_eq(strncmp(e.detail, "At least 32 values", 18), 0, "%s", e.detail);
	arena_free(&a);
}

Test(field, decodes_and_defaults)
{
	struct arena a = {0};
	struct err e;
	struct sample s;
	json_t *in = parse(
		&a,
		"{\"name\":\"größe\",\"zone\":\"udp\",\"password\":\"hunter2\","
		"\"count\":0,\"spot\":true,\"share\":1,\"zones\":[\"z1\",\"z2\"],"
		"\"probe\":{\"number\":443.0},\"ports\":[{\"number\":1},{\"number\":2,"
		"\"protocol\":\"udp\"}],\"tags\":{\"k\":\"v\"},\"extra\":[1,{}]}");
	static const struct field any_name[] = {
		FIELD(struct sample, name, .min = 5, .max = 5), FIELD_END};

	memset(&s, 0xAA, sizeof(s));
	cr_assert_not(field_decode(fields, in, &a, &s, &e), "ö is not in the pattern");
	json_put_str(in, "name", "gr");
	cr_assert(field_decode(fields, in, &a, &s, &e), "%s", e.detail);
	cr_expect_str_eq(s.name, "gr");
	cr_expect_str_eq(s.zone, "udp");
	cr_expect_str_eq(s.password, "hunter2");
	cr_expect_eq(s.count, 0, "a value wins over the default");
	cr_expect(s.spot);
	cr_expect_float_eq(s.share, 1.0, 0);
	cr_assert_eq(s.zones.n, 2);
	cr_expect_str_eq(s.zones.v[1], "z2");
	cr_expect_eq(s.probe.number, 443);
	cr_expect_str_eq(s.probe.protocol, "tcp", "default inside of a nested object");
	cr_assert_eq(s.ports.n, 2);
	const struct port *ports = s.ports.v;
	cr_expect_eq(ports[1].number, 2);
	cr_expect_str_eq(ports[0].protocol, "tcp");
	cr_expect_str_eq(ports[1].protocol, "udp");
	cr_expect_str_eq(json_str_at(s.tags, "k"), "v");
	cr_expect_eq(json_array_size(s.extra), 2);

	memset(&s, 0xAA, sizeof(s));
	cr_assert(field_decode(fields, parse(&a, "{\"name\":\"a\"}"), &a, &s, &e));
	cr_expect_null(s.zone);
	cr_expect_null(s.password);
	cr_expect_eq(s.count, 3);
	cr_expect_not(s.spot);
	cr_expect_eq(s.zones.n, 0);
	cr_expect_eq(s.probe.number, 0);
	cr_expect_str_eq(s.probe.protocol, "tcp", "default of an absent nested object");
	cr_expect_eq(s.ports.n, 0);
	cr_expect_null(s.tags);

	/* Lengths are characters, not bytes. */
	cr_expect(field_decode(any_name, parse(&a, "{\"name\":\"größe\"}"), &a, &s, &e));
	/* No input at all is an empty object. */
	cr_expect(field_decode(any_name, NULL, &a, &s, &e));
	arena_free(&a);
}

Test(field, encode_is_canonical_and_mask_hides)
{
	struct arena a = {0};
	struct err e;
	struct sample one, two;
	json_t *in = parse(&a, "{\"name\":\"a\",\"password\":\"hunter2\"}");

	cr_assert(field_decode(fields, in, &a, &one, &e));
	/* What the defaults say, said by the caller: the same request. */
	cr_assert(field_decode(fields,
			       parse(&a, "{\"count\":3,\"password\":\"hunter2\","
					 "\"name\":\"a\",\"spot\":false}"),
			       &a, &two, &e));
	cr_expect_str_eq(json_digest(&a, field_encode(fields, &one, &a)),
			 json_digest(&a, field_encode(fields, &two, &a)));
	two.count = 4;
	cr_expect_str_neq(json_digest(&a, field_encode(fields, &one, &a)),
			  json_digest(&a, field_encode(fields, &two, &a)));
	/* Decoding what was encoded gives the same again. */
	json_t *again = field_encode(fields, &one, &a);
	json_drop(again, "zones");
	json_drop(again, "probe");
	cr_assert(field_decode(fields, again, &a, &two, &e), "%s", e.detail);
	cr_expect_str_eq(json_text(&a, field_encode(fields, &two, &a)),
			 json_text(&a, field_encode(fields, &one, &a)));

	cr_expect_str_eq(json_text(&a, field_mask(fields, in, &a)),
			 "{\"name\":\"a\",\"password\":\"(secret)\"}");
	cr_expect_str_eq(json_str_at(in, "password"), "hunter2", "the input is kept");
	json_put_str(in, "pasword", "hunter2");
	cr_expect_null(strstr(json_text(&a, field_mask(fields, in, &a)), "hunter2"));

	static const struct field outer[] = {
		OUT("inner", FIELD_OBJECT, .fields = fields),
		OUT("list", FIELD_OBJECT, .fields = fields, .flags = FIELD_MANY),
		FIELD_END};
	cr_expect_str_eq(
		json_text(&a, field_mask(outer,
					 parse(&a, "{\"inner\":{\"password\":\"x\"},"
						   "\"list\":[{\"password\":\"y\"}]}"),
					 &a)),
		"{\"inner\":{\"password\":\"(secret)\"},"
		"\"list\":[{\"password\":\"(secret)\"}]}");
	arena_free(&a);
}

Test(field, texts_of_paths_and_queries)
{
	static const struct field rows[] = {OUT("s", FIELD_STR),
					    OUT("i", FIELD_INT),
					    OUT("b", FIELD_BOOL),
					    OUT("n", FIELD_NUM),
					    OUT("l", FIELD_STRS),
					    OUT("m", FIELD_MAP),
					    OUT("k", FIELD_INT, .flags = FIELD_MANY),
					    FIELD_END};
	static const struct {
		const char *name, *text, *json;
	} cases[] = {
		{"s", "12", "\"12\""},
		{"s", "", "\"\""},
		{"i", "12", "12"},
		{"i", "-3", "-3"},
		{"i", "12x", "\"12x\""},
		{"i", "9223372036854775808", "\"9223372036854775808\""},
		{"i", "", "\"\""},
		{"b", "true", "true"},
		{"b", "0", "false"},
		{"b", "maybe", "\"maybe\""},
		{"n", "2.5", "2.5"},
		{"n", "inf", "\"inf\""},
		{"n", "1e999", "\"1e999\""},
		{"n", "0x10", "\"0x10\""},
		{"l", "a,b", "[\"a\",\"b\"]"},
		{"l", "", "[]"},
		{"l", "a,,b", "[\"a\",\"\",\"b\"]"},
		{"m", "{\"a\":\"b\"}", "{\"a\":\"b\"}"},
		{"m", "{", "\"{\""},
		{"k", "1,2,x", "[1,2,\"x\"]"},
	};
	struct arena a = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *value =
			field_from_text(field_find(rows, cases[i].name), cases[i].text);

		cr_expect_str_eq(json_text(&a, json_own(&a, value)), cases[i].json,
				 "%s=%s", cases[i].name, cases[i].text);
	}
	cr_expect_null(field_from_text(&rows[0], "\xFF"));
	cr_expect_null(field_find(rows, "x"));
	arena_free(&a);
}

Test(field, schema)
{
	static const struct field answer[] = {
		OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Its id."),
		OUT("zone", FIELD_STR, .flags = FIELD_NULLABLE, .one_of = protocols),
		OUT("raw", FIELD_OBJECT), OUT("any", FIELD_ANY), FIELD_END_OPEN};
	struct arena a = {0};
	json_t *s = field_schema(fields, &a);

	cr_expect_str_eq(json_text(&a, json_at(s, "required")), "[\"name\"]");
	cr_expect_str_eq(json_text(&a, json_at(s, "additionalProperties")), "false");
	cr_expect_str_eq(json_text(&a, json_at(s, "properties.name")),
			 "{\"description\":\"The name.\",\"examples\":[\"lab\"],"
			 "\"maxLength\":8,\"minLength\":1,"
			 "\"pattern\":\"^[a-z][a-z0-9-]*$\",\"type\":\"string\"}");
	cr_expect_str_eq(json_text(&a, json_at(s, "properties.count")),
			 "{\"default\":3,\"description\":\"How many. Unit: nodes.\","
			 "\"maximum\":100,\"minimum\":0,\"type\":\"integer\"}");
	cr_expect_str_eq(
		json_text(&a, json_at(s, "properties.zones")),
		"{\"items\":{\"pattern\":\"^z[0-9]$\",\"type\":\"string\"},"
		"\"maxItems\":2,\"minItems\":1,\"type\":\"array\",\"uniqueItems\":true}");
	cr_expect_str_eq(json_text(&a, json_at(s, "properties.ports.items.required")),
			 "[\"number\"]");
	cr_expect_str_eq(
		json_text(&a, json_at(s, "properties.ports.items.additionalProperties")),
		"false");
	cr_expect_str_eq(json_text(&a, json_at(s, "properties.tags")),
			 "{\"additionalProperties\":{\"type\":\"string\"},"
			 "\"maxProperties\":2,\"type\":\"object\"}");
	cr_expect_str_eq(json_text(&a, json_at(s, "properties.spot")),
			 "{\"type\":\"boolean\"}");
	/* An input's schema has nothing that MCP clients choke on. */
	const char *text = json_text(&a, s);
	static const char *const banned[] = {"$ref",  "anyOf",      "oneOf",  "allOf",
					     "$defs", "\"type\":[", "$schema"};
	for (size_t i = 0; i < sizeof(banned) / sizeof(banned[0]); i++)
		cr_expect_null(strstr(text, banned[i]), "%s", banned[i]);

	cr_expect_str_eq(
		json_text(&a, field_schema(answer, &a)),
		"{\"additionalProperties\":true,\"properties\":{\"any\":{},"
		"\"id\":{\"description\":\"Its id.\",\"type\":\"string\"},"
		"\"raw\":{\"type\":\"object\"},\"zone\":{\"enum\":[\"tcp\",\"udp\","
		"null],\"type\":[\"string\",\"null\"]}},\"required\":[\"id\"],"
		"\"type\":\"object\"}");
	arena_free(&a);
}

Test(field, validates_answers)
{
	static const struct field item[] = {OUT("n", FIELD_INT, .flags = FIELD_REQUIRED),
					    FIELD_END};
	static const struct field closed[] = {
		OUT("id", FIELD_STR, .flags = FIELD_REQUIRED),
		OUT("note", FIELD_STR, .flags = FIELD_NULLABLE),
		OUT("items", FIELD_OBJECT, .fields = item, .flags = FIELD_MANY),
		OUT("open", FIELD_OBJECT, .fields = item, .flags = FIELD_OPEN),
		OUT("raw", FIELD_OBJECT),
		OUT("names", FIELD_STR, .flags = FIELD_MANY),
		FIELD_END};
	static const struct {
		const char *tree, *field; /* NULL: valid */
	} cases[] = {
		{"{\"id\":\"a\"}", NULL},
		{"{\"id\":\"a\",\"note\":null}", NULL},
		{"{\"id\":null}", "/id"},
		{"{\"id\":\"a\",\"more\":1}", "/more"},
		{"{\"id\":\"a\",\"items\":[{\"n\":1},{\"n\":2}]}", NULL},
		{"{\"id\":\"a\",\"items\":[{\"n\":1},{\"n\":\"2\"}]}", "/items/1/n"},
		{"{\"id\":\"a\",\"items\":[{\"n\":1,\"m\":1}]}", "/items/0/m"},
		{"{\"id\":\"a\",\"open\":{\"n\":1,\"m\":1}}", NULL},
		{"{\"id\":\"a\",\"open\":{\"m\":1}}", "/open/n"},
		{"{\"id\":\"a\",\"raw\":{\"x\":[1]}}", NULL},
		{"{\"id\":\"a\",\"raw\":[]}", "/raw"},
		{"{\"id\":\"a\",\"names\":[\"x\",\"y\"]}", NULL},
		{"{\"id\":\"a\",\"names\":[\"x\",1]}", "/names/1"},
	};
	struct arena a = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e;
		const bool valid =
			field_validate(closed, parse(&a, cases[i].tree), &a, &e);

		cr_assert_eq(valid, cases[i].field == NULL, "%s", cases[i].tree);
		if (!valid)
			cr_expect_str_eq(e.field, cases[i].field, "%s", cases[i].tree);
	}
	arena_free(&a);
}

/* --- refused already ---------------------------------------------------------------- */

struct placed {
	json_t *tags;
	const char *path;
};

static const char *meant_path(struct arena *a, const char *text, const char **ret_why)
{
	(void)ret_why;
	cr_expect_not_null(text);
	return arena_printf(a, "%s/", text ? text : "");
}

static const struct field placed_fields[] = {
	FIELD_MAP_OF(struct placed, tags),
	FIELD(struct placed, path, .normal = meant_path), FIELD_END};

/* When no more refusals are taken, one more is no approval. */
Test(field, what_is_refused_is_not_read_on)
{
	struct arena a = {0};
	json_t *tags = json_new_object(&a);
	struct placed p;
	struct err e = {0};

	for (int i = 0; i < LIMIT_VIOLATIONS; i++)
		json_put_int(tags, arena_printf(&a, "k%d", i), i);
	cr_expect_not(field_decode(placed_fields,
				   json_packf(&a, "{s:O, s:i}", "tags", tags, "path", 5),
				   &a, &p, &e));
	cr_expect_eq(e.n_violations, LIMIT_VIOLATIONS);
	arena_free(&a);
}
