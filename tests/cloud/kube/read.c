#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "tests/cloud/kube/server.h"

enum { CONTINUE_LIFE_MS = 5 * 60 * 1000 };

static bool accepts(const struct ks_req *q, const char *word)
{
	const char *accept = ks_header(q, "accept");

	return accept && strstr(accept, word);
}

bool ks_wants_table(const struct ks_req *q)
{
	return accepts(q, "as=Table");
}

bool ks_wants_metadata(const struct ks_req *q)
{
	return accepts(q, "as=PartialObjectMetadata");
}

json_t *ks_metadata_only(struct arena *a, const json_t *obj)
{
	return json_packf(a, "{s:s,s:s,s:O}", "kind", "PartialObjectMetadata",
			  "apiVersion", "meta.k8s.io/v1", "metadata",
			  json_at(obj, "metadata"));
}

/* What is stored carries the version it was written with. */
static json_t *as_served(struct ks_req *q, json_t *obj)
{
	const char *api = ks_api_version(q->a, q->kind);
	json_t *copy = NULL;

	if (streq(json_str_at(obj, "apiVersion"), api))
		return obj;
	copy = json_own(q->a, json_copy(obj));
	json_put_str(copy, "apiVersion", api);
	return copy;
}

void ks_serve_get(struct ks_req *q)
{
	json_t *obj = ks_get(&q->k, q->kind, q->ns, q->name);

	if (!obj) {
		ks_not_found(q);
		return;
	}
	obj = as_served(q, obj);
	if (ks_wants_table(q)) {
		json_t *items = json_packf(q->a, "[O]", obj);

		obj = ks_table(&q->k, q->a, q->kind, items, json_at(obj, "metadata"));
	} else if (ks_wants_metadata(q)) {
		obj = ks_metadata_only(q->a, obj);
	}
	ks_answer(q, 200, obj);
}

/* --- continue tokens: {"rv", "after", "at"} in base64 ----------------------- */

static const char *make_token(struct ks_req *q, const char *after)
{
	const char *text = json_text(
		q->a, json_packf(q->a, "{s:I,s:s,s:I}", "rv", (json_int_t)ks_rv(&q->k),
				 "after", after, "at", (json_int_t)q->k.now_ms));
	const size_t n = strlen(text);
	char *out = arena_alloc(q->a, (n + 2) / 3 * 4 + 1);

	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)n);
	return out;
}

static json_t *read_token(struct ks_req *q, const char *token)
{
	const size_t n = strlen(token);
	char *text = arena_alloc(q->a, n + 1);
	struct err e;

	if (n == 0 || n % 4 != 0 ||
	    EVP_DecodeBlock((unsigned char *)text, (const unsigned char *)token, (int)n) <
		    0)
		return NULL;
	return json_parse(q->a, str_trim(str_of(text)), &e);
}

static int by_key(const void *x, const void *y)
{
	const char *const *a = x;
	const char *const *b = y;

	return strcmp(*a, *b);
}

static const char **sorted_keys(struct ks_req *q, json_t *objects)
{
	const char **keys =
		arena_array(q->a, const char *, json_object_size(objects) + 1);
	const char *key = NULL;
	json_t *obj = NULL;
	size_t n = 0;

	json_object_foreach(objects, key, obj) {
		keys[n++] = key;
	}
	if (n > 0)
		qsort(keys, n, sizeof(keys[0]), by_key);
	return keys;
}

static json_t *list_meta(struct ks_req *q, const json_t *token)
{
	return json_packf(
		q->a, "{s:o}", "resourceVersion",
		json_sprintf("%lld", (long long)json_int_or(token, "rv", ks_rv(&q->k))));
}

/* One chunk into items; sets metadata.continue. */
static void collect(struct ks_req *q, const struct ks_selector *sel, const char *after,
		    int64_t limit, json_t *items, json_t *meta)
{
	json_t *objects = ks_objects(&q->k, q->kind);
	const char **keys = sorted_keys(q, objects);
	const char *last = NULL;
	int64_t more = 0;

	for (size_t i = 0; keys[i]; i++) {
		json_t *obj = json_object_get(objects, keys[i]);

		if ((after && strcmp(keys[i], after) <= 0) ||
		    (q->ns && !streq(json_str_at(obj, "metadata.namespace"), q->ns)) ||
		    !ks_matches(q->a, sel, obj))
			continue;
		if (limit > 0 && (int64_t)json_array_size(items) >= limit) {
			more++;
			continue;
		}
		json_array_append(items, as_served(q, obj));
		last = keys[i];
	}
	if (more == 0 || !last)
		return;
	json_put_str(meta, "continue", make_token(q, last));
	if (!sel->label && !sel->field)
		json_put_int(meta, "remainingItemCount", more);
}

static void answer_list(struct ks_req *q, json_t *items, json_t *meta)
{
	const char *api = ks_api_version(q->a, q->kind);
	const char *kind = arena_printf(q->a, "%sList", q->kind->kind);
	json_t *some = json_new_list(q->a);
	json_t *item = NULL;
	size_t i = 0;

	if (ks_wants_table(q)) {
		ks_answer(q, 200, ks_table(&q->k, q->a, q->kind, items, meta));
		return;
	}
	if (ks_wants_metadata(q)) {
		api = "meta.k8s.io/v1";
		kind = "PartialObjectMetadataList";
		json_array_foreach(items, i, item) {
			json_array_append(some, ks_metadata_only(q->a, item));
		}
		items = some;
	}
	ks_answer(q, 200,
		  json_packf(q->a, "{s:s,s:s,s:O,s:O}", "kind", kind, "apiVersion", api,
			     "metadata", meta, "items", items));
}

void ks_serve_list(struct ks_req *q)
{
	const struct ks_selector sel = {ks_query(q, "labelSelector"),
					ks_query(q, "fieldSelector")};
	const char *cont = ks_query(q, "continue");
	const char *limit_text = ks_query(q, "limit");
	const json_t *token = cont && *cont ? read_token(q, cont) : NULL;
	json_t *items = json_new_list(q->a);
	json_t *meta = NULL;
	int64_t limit = 0;

	if (limit_text && !str_to_i64(str_of(limit_text), &limit)) {
		ks_fail(q, 400, "BadRequest", "limit is not a number");
		return;
	}
	if (!ks_selector_valid(q->a, &sel)) {
		ks_fail(q, 400, "BadRequest", "unable to parse requirement: %s",
			sel.label ? sel.label : sel.field);
		return;
	}
	if (cont && *cont && !token) {
		ks_fail(q, 400, "BadRequest", "continue key is not valid");
		return;
	}
	if (token && q->k.now_ms - json_int_or(token, "at", 0) > CONTINUE_LIFE_MS) {
		ks_fail(q, 410, "Expired",
			"The provided continue parameter is too old to display a consistent "
			"list result. You can start a new list without the continue parameter.");
		return;
	}
	meta = list_meta(q, token);
	collect(q, &sel, json_str_at(token, "after"), limit, items, meta);
	answer_list(q, items, meta);
}
