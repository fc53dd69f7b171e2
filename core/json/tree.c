#include "core/json/tree.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"

static void *alloc_or_abort(size_t size)
{
	void *p = malloc(size);

	if (!p)
		abort();
	return p;
}

void json_init(void)
{
	json_set_alloc_funcs(alloc_or_abort, free);
}

static void release(void *tree)
{
	json_decref(tree);
}

json_t *json_own(struct arena *a, json_t *tree)
{
	if (!tree)
		abort();
	arena_defer(a, release, tree);
	return tree;
}

json_t *json_new_object(struct arena *a)
{
	return json_own(a, json_object());
}

json_t *json_new_list(struct arena *a)
{
	return json_own(a, json_array());
}

/* Where the text nests deeper than allowed; n when nowhere. */
static size_t find_too_deep(struct str text)
{
	int depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < text.n; i++) {
		const char c = text.p[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (in_string)
			continue;
		else if ((c == '{' || c == '[') && ++depth > LIMIT_JSON_DEPTH)
			return i;
		else if (c == '}' || c == ']')
			depth--;
	}
	return text.n;
}

/* At least as many as there are: each stands behind a comma or an opening bracket. */
static size_t count_values(struct str text)
{
	bool in_string = false;
	size_t n = 1;

	for (size_t i = 0; i < text.n; i++) {
		const char c = text.p[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			n += c == ',' || c == '[' || c == '{';
	}
	return n;
}

json_t *json_parse_request(struct arena *a, struct str text, struct err *e)
{
	if (count_values(text) <= LIMIT_REQUEST_VALUES)
		return json_parse(a, text, e);
	err_set(e, ERR_TOO_LARGE, "The request holds more than %d values",
		LIMIT_REQUEST_VALUES);
	err_fix(e, "Send fewer values in one request.");
	return NULL;
}

json_t *json_parse(struct arena *a, struct str text, struct err *e)
{
	const size_t too_deep = find_too_deep(text);
	json_error_t why;
	json_t *tree;

	if (too_deep < text.n) {
		err_set(e, ERR_MALFORMED,
			"The JSON text nests deeper than %d levels at byte %zu",
			LIMIT_JSON_DEPTH, too_deep);
		return NULL;
	}
	tree = json_loadb(text.n ? text.p : "", text.n,
			  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
	if (!tree) {
		err_set(e, ERR_MALFORMED, "The JSON is not valid: line %d, column %d: %s",
			why.line, why.column, why.text);
		return NULL;
	}
	return json_own(a, tree);
}

static int write_part(const char *p, size_t n, void *out)
{
	buf_add(out, p, n);
	return 0;
}

void json_write_to(struct buf *b, const json_t *tree)
{
	if (!tree)
		buf_adds(b, "null");
	else
		json_dump_callback(tree, write_part, b,
				   JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

const char *json_text(struct arena *a, const json_t *tree)
{
	struct buf b;

	/* A tree in memory is bounded already; the arena's cap is the backstop. */
	buf_init(&b, a, LIMIT_ARENA);
	json_write_to(&b, tree);
	return buf_cstr(&b);
}

/* One step of a path: the member or list position of that name. */
static json_t *child(const json_t *tree, struct str name)
{
	int64_t i;

	if (json_is_object(tree))
		return json_object_getn(tree, name.p, name.n);
	if (json_is_array(tree) && str_to_i64(name, &i) && i >= 0)
		return json_array_get(tree, (size_t)i);
	return NULL;
}

json_t *json_at(const json_t *tree, const char *path)
{
	struct str rest = str_of(path);
	json_t *at = NULL;

	while (rest.p) {
		at = child(tree, str_cut(&rest, '.'));
		if (!at)
			return NULL;
		tree = at;
	}
	return at;
}

const char *json_str_at(const json_t *tree, const char *path)
{
	return json_string_value(json_at(tree, path));
}

const char *json_str_or(const json_t *tree, const char *path, const char *fallback)
{
	const char *z = json_str_at(tree, path);

	return z ? z : fallback;
}

int64_t json_int_or(const json_t *tree, const char *path, int64_t fallback)
{
	const json_t *at = json_at(tree, path);

	return json_is_integer(at) ? json_integer_value(at) : fallback;
}

double json_num_or(const json_t *tree, const char *path, double fallback)
{
	const json_t *at = json_at(tree, path);

	return json_is_number(at) ? json_number_value(at) : fallback;
}

bool json_bool_or(const json_t *tree, const char *path, bool fallback)
{
	const json_t *at = json_at(tree, path);

	return json_is_boolean(at) ? json_is_true(at) : fallback;
}

size_t json_len_at(const json_t *tree, const char *path)
{
	return json_array_size(json_at(tree, path));
}

/* Steals value. A list position that does not exist drops it. */
static void set_child(json_t *tree, struct str name, json_t *value)
{
	int64_t i;

	if (json_is_array(tree)) {
		if (str_to_i64(name, &i) && i >= 0)
			json_array_set_new(tree, (size_t)i, value);
		else
			json_decref(value);
	} else {
		json_object_setn_new(tree, name.p, name.n, value);
	}
}

void json_put(json_t *tree, const char *path, json_t *value)
{
	struct str rest = str_of(path);
	struct str name = str_cut(&rest, '.');

	while (rest.p) {
		json_t *next = child(tree, name);

		if (!json_is_object(next) && !json_is_array(next)) {
			set_child(tree, name, json_object());
			next = child(tree, name);
		}
		if (!next) {
			json_decref(value);
			return;
		}
		tree = next;
		name = str_cut(&rest, '.');
	}
	set_child(tree, name, value);
}

void json_put_str(json_t *tree, const char *path, const char *z)
{
	if (z)
		json_put(tree, path, json_of_text(str_of(z)));
}

void json_put_int(json_t *tree, const char *path, int64_t value)
{
	json_put(tree, path, json_integer(value));
}

void json_put_bool(json_t *tree, const char *path, bool value)
{
	json_put(tree, path, json_boolean(value));
}

void json_push(json_t *list, json_t *value)
{
	json_array_append_new(list, value);
}

void json_drop(json_t *tree, const char *path)
{
	struct str rest = str_of(path);
	struct str name = str_cut(&rest, '.');
	int64_t i;

	while (rest.p && tree) {
		tree = child(tree, name);
		name = str_cut(&rest, '.');
	}
	if (json_is_object(tree))
		json_object_deln(tree, name.p, name.n);
	else if (json_is_array(tree) && str_to_i64(name, &i) && i >= 0)
		json_array_remove(tree, (size_t)i);
}

void json_merge_patch(json_t *target, const json_t *patch)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)patch, name, value) {
		json_t *old = json_object_get(target, name);

		if (json_is_null(value)) {
			json_object_del(target, name);
		} else if (!json_is_object(value)) {
			json_object_set_new(target, name, json_deep_copy(value));
		} else {
			/* Also into a new object: nulls inside vanish (RFC 7396). */
			if (!json_is_object(old)) {
				json_object_set_new(target, name, json_object());
				old = json_object_get(target, name);
			}
			json_merge_patch(old, value);
		}
	}
}

json_t *json_find(const json_t *list, const char *key, const char *value)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *at = json_array_get(list, i);

		if (value && streq(json_string_value(json_object_get(at, key)), value))
			return at;
	}
	return NULL;
}

const char *json_digest(struct arena *a, const json_t *tree)
{
	const char *text = json_text(a, tree);
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_Digest(text, strlen(text), sum, &n, EVP_sha256(), NULL) != 1)
		abort();
	return str_hex(a, sum, n);
}
