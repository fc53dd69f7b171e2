#include <string.h>

#include <openssl/evp.h>

#include "tests/cloud/kube/server.h"

/*
 * "k8s\0" and a runtime.Unknown around the object.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */

static const struct {
	const char *name, *fields;
} messages[] = {
#define P(name, fields) {#name, fields},
#include "tests/cloud/kube/proto.def"
#undef P
};

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct value {
	uint64_t number;
	struct str bytes;
};

struct reader {
	struct arena *a;
	struct str rest;
};

static bool varint(struct reader *r, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && r->rest.n > 0; shift += 7) {
		const unsigned char c = (unsigned char)r->rest.p[0];

		r->rest = (struct str){r->rest.p + 1, r->rest.n - 1};
		*ret |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return true;
	}
	return false;
}

static bool take(struct reader *r, uint64_t n, struct str *ret)
{
	if (n > r->rest.n)
		return false;
	*ret = (struct str){r->rest.p, (size_t)n};
	r->rest = (struct str){r->rest.p + n, r->rest.n - (size_t)n};
	return true;
}

static bool next(struct reader *r, unsigned *ret_field, struct value *ret)
{
	uint64_t tag = 0;
	uint64_t n = 0;

	*ret = (struct value){0, {"", 0}};
	if (!varint(r, &tag))
		return false;
	*ret_field = (unsigned)(tag >> 3);
	switch (tag & 7) {
	case VARINT:
		return varint(r, &ret->number);
	case BYTES:
		return varint(r, &n) && take(r, n, &ret->bytes);
	case FIXED64:
		return take(r, 8, &ret->bytes);
	case FIXED32:
		return take(r, 4, &ret->bytes);
	default:
		return false;
	}
}

static const char *fields_of(struct str name)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		if (str_is(name, messages[i].name))
			return messages[i].fields;
	}
	return NULL;
}

static bool field(const char *fields, unsigned number, struct str *ret_name,
		  struct str *ret_type)
{
	struct str rest = str_of(fields);

	while (rest.p) {
		int64_t n = 0;
		struct str word;

		if (!str_to_i64(str_cut(&rest, ' '), &n))
			return false;
		word = str_cut(&rest, ' ');
		if ((unsigned)n != number)
			continue;
		*ret_name = str_cut(&word, ':');
		*ret_type = word;
		return true;
	}
	return false;
}

static json_t *base64(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, (s.n + 2) / 3 * 4 + 1);

	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)s.p, (int)s.n);
	return json_string(out);
}

static json_t *message(struct arena *a, struct str type, struct str bytes);

static json_t *time_of(struct arena *a, struct str bytes)
{
	char when[TIME_TEXT];
	struct reader r = {a, bytes};
	struct value v;
	unsigned f = 0;

	while (next(&r, &f, &v)) {
		if (f == 1 && (int64_t)v.number > 0)
			return json_string(ks_time((int64_t)v.number * 1000, when));
	}
	return NULL;
}

/* NULL: empty, as JSON leaves it out. */
static json_t *scalar(struct arena *a, struct str type, const struct value *v)
{
	if (str_is(type, "s"))
		return v->bytes.n > 0 ? json_stringn(v->bytes.p, v->bytes.n) : NULL;
	if (str_is(type, "i"))
		return json_integer((json_int_t)v->number);
	if (str_is(type, "z"))
		return v->number ? json_integer((json_int_t)v->number) : NULL;
	if (str_is(type, "b"))
		return json_boolean(v->number != 0);
	if (str_is(type, "d"))
		return base64(a, v->bytes);
	if (str_is(type, "t"))
		return time_of(a, v->bytes);
	return message(a, type, v->bytes);
}

static void add_entry(struct arena *a, json_t *map, struct str bytes, bool is_bytes)
{
	struct reader r = {a, bytes};
	struct value v;
	const char *key = "";
	json_t *value = json_string("");
	unsigned f = 0;

	while (next(&r, &f, &v)) {
		if (f == 1) {
			key = str_dup(a, v.bytes);
		} else if (f == 2) {
			json_decref(value);
			value = is_bytes ? base64(a, v.bytes)
					 : json_stringn(v.bytes.p, v.bytes.n);
		}
	}
	json_object_set_new(map, key, value);
}

static json_t *member(json_t *out, const char *name, json_t *fresh)
{
	json_t *have = json_object_get(out, name);

	if (have) {
		json_decref(fresh);
		return have;
	}
	json_object_set_new(out, name, fresh);
	return fresh;
}

static void put(struct arena *a, json_t *out, const char *name, struct str type,
		const struct value *v)
{
	json_t *value = NULL;

	if (str_is(type, "m") || str_is(type, "md")) {
		add_entry(a, member(out, name, json_object()), v->bytes, type.n == 2);
		return;
	}
	if (type.p[0] == '[') {
		value = scalar(a, (struct str){type.p + 1, type.n - 2}, v);
		json_array_append_new(member(out, name, json_array()),
				      value ? value : json_string(""));
		return;
	}
	value = scalar(a, type, v);
	if (value)
		json_object_set_new(out, name, value);
}

static json_t *message(struct arena *a, struct str type, struct str bytes)
{
	const char *fields = fields_of(type);
	struct reader r = {a, bytes};
	json_t *out = json_object();
	struct value v;
	unsigned f = 0;

	while (fields && r.rest.n > 0 && next(&r, &f, &v)) {
		struct str name;
		struct str of;

		if (field(fields, f, &name, &of))
			put(a, out, str_dup(a, name), of, &v);
	}
	return out;
}

json_t *ks_proto_decode(struct arena *a, struct str body)
{
	struct reader r = {a, body};
	struct str raw = {"", 0};
	struct str magic;
	struct str api = {"", 0};
	struct str kind = {"", 0};
	struct value v;
	unsigned f = 0;
	json_t *out = NULL;

	if (!take(&r, 4, &magic) || memcmp(magic.p, "k8s", 4) != 0)
		return NULL;
	while (r.rest.n > 0 && next(&r, &f, &v)) {
		struct reader type = {a, v.bytes};
		struct value t;
		unsigned tf = 0;

		if (f == 2)
			raw = v.bytes;
		while (f == 1 && type.rest.n > 0 && next(&type, &tf, &t)) {
			if (tf == 1)
				api = t.bytes;
			else if (tf == 2)
				kind = t.bytes;
		}
	}
	if (!fields_of(kind))
		return NULL;
	out = json_own(a, message(a, kind, raw));
	json_object_set_new(out, "apiVersion", json_stringn(api.p, api.n));
	json_object_set_new(out, "kind", json_stringn(kind.p, kind.n));
	return out;
}
