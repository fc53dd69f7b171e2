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

static bool too_large(struct ks_req *q, int64_t version)
{
	json_t *causes = json_new_list(q->a);
	json_t *status = NULL;

	ks_add_cause(causes, "ResourceVersionTooLarge", "", "Too large resource version");
	status = ks_status(
		q->a, 504, "Timeout",
		arena_printf(q->a,
			     "Timeout: Too large resource version: %lld, current: "
			     "%lld",
			     (long long)version, (long long)ks_rv(&q->k)),
		NULL, NULL, causes);
	json_put_int(status, "details.retryAfterSeconds", 1);
	return ks_answer(q, 504, status);
}

bool ks_version_asked(struct ks_req *q, int64_t *ret)
{
	const char *text = ks_query(q, "resourceVersion");
	const bool list = !q->name && !ks_query(q, "watch");

	*ret = 0;
	if (!text || !*text)
		return true;
	if (!str_to_i64(str_of(text), ret) || *ret < 0)
		return ks_fail(q, list ? 400 : 500, list ? "BadRequest" : "",
			       "%sresourceVersion: Invalid value: \"%s\": "
			       "strconv.ParseUint: parsing \"%s\": invalid syntax",
			       list ? "invalid resource version: " : "", text, text);
	if (*ret > ks_rv(&q->k) && !ks_query(q, "watch"))
		return too_large(q, *ret);
	return true;
}

static const char *table_objects(const struct ks_req *q)
{
	const char *include = ks_query(q, "includeObject");

	return include && *include ? include : "Metadata";
}

void ks_serve_get(struct ks_req *q)
{
	json_t *obj = ks_get(&q->k, q->kind, q->ns, q->name);
	int64_t version = 0;

	if (!ks_version_asked(q, &version))
		return;
	if (!obj) {
		ks_not_found(q);
		return;
	}
	obj = as_served(q, obj);
	if (ks_wants_table(q)) {
		json_t *items = json_packf(q->a, "[O]", obj);

		obj = ks_table(&q->k, q->a, q->kind, items, json_at(obj, "metadata"),
			       table_objects(q));
	} else if (ks_wants_metadata(q)) {
		obj = ks_metadata_only(q->a, obj);
	}
	ks_answer(q, 200, obj);
}

/* --- continue tokens: {"rv", "after", "at"} in base64 ----------------------- */

static const char *make_token(struct ks_req *q, const char *after, int64_t version)
{
	const char *text = json_text(q->a, json_packf(q->a, "{s:I,s:s,s:I}", "rv",
						      (json_int_t)version, "after", after,
						      "at", (json_int_t)q->k.now_ms));
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

/* Objects as they were at an earlier version: the changes since then, undone. */
static json_t *objects_at(struct ks_req *q, int64_t version)
{
	json_t *now = ks_objects(&q->k, q->kind);
	json_t *then = json_own(q->a, json_copy(now));
	json_t *events = ks_history(&q->k);
	const char *resource = ks_resource(q->a, q->kind);

	for (size_t i = json_array_size(events); i > 0; i--) {
		const json_t *e = json_array_get(events, i - 1);
		json_t *was = json_at(e, "was");
		const json_t *one = was && !json_is_null(was) ? was : json_at(e, "now");
		const char *key = NULL;

		if (json_int_or(e, "rv", 0) <= version)
			break;
		if (!streq(json_str_at(e, "resource"), resource))
			continue;
		key = ks_key(q->a,
			     q->kind->namespaced ? json_str_at(one, "metadata.namespace")
						 : NULL,
			     json_str_or(one, "metadata.name", ""));
		if (json_is_object(was))
			json_object_set(then, key, was);
		else
			json_object_del(then, key);
	}
	return then;
}

struct chunk {
	json_t *objects;
	const struct ks_selector *sel;
	const char *after;
	int64_t limit, version;
};

/* One chunk into items; sets metadata.continue. */
static void collect(struct ks_req *q, const struct chunk *c, json_t *items, json_t *meta)
{
	const char **keys = sorted_keys(q, c->objects);
	const char *last = NULL;
	int64_t more = 0;

	for (size_t i = 0; keys[i]; i++) {
		json_t *obj = json_object_get(c->objects, keys[i]);

		if ((c->after && strcmp(keys[i], c->after) <= 0) ||
		    (q->ns && !streq(json_str_at(obj, "metadata.namespace"), q->ns)) ||
		    !ks_matches(q->a, c->sel, obj))
			continue;
		if (c->limit > 0 && (int64_t)json_array_size(items) >= c->limit) {
			more++;
			continue;
		}
		json_array_append(items, as_served(q, obj));
		last = keys[i];
	}
	if (more == 0 || !last)
		return;
	json_put_str(meta, "continue", make_token(q, last, c->version));
	if (!c->sel->label && !c->sel->field)
		json_put_int(meta, "remainingItemCount", more);
}

/* Items of a built-in list do not say what they are: the list does. */
static json_t *bare_items(struct ks_req *q, json_t *items)
{
	json_t *bare = json_new_list(q->a);
	json_t *item = NULL;
	size_t i = 0;

	if (q->kind->schema)
		return items;
	json_array_foreach(items, i, item) {
		json_t *copy = json_copy(item);

		json_object_del(copy, "kind");
		json_object_del(copy, "apiVersion");
		json_array_append_new(bare, copy);
	}
	return bare;
}

void ks_answer_items(struct ks_req *q, json_t *items, json_t *meta)
{
	const char *api = ks_api_version(q->a, q->kind);
	const char *kind = arena_printf(q->a, "%sList", q->kind->kind);
	json_t *some = json_new_list(q->a);
	json_t *item = NULL;
	size_t i = 0;

	if (ks_wants_table(q)) {
		ks_answer(q, 200,
			  ks_table(&q->k, q->a, q->kind, items, meta, table_objects(q)));
		return;
	}
	if (ks_wants_metadata(q)) {
		api = "meta.k8s.io/v1";
		kind = "PartialObjectMetadataList";
		json_array_foreach(items, i, item) {
			json_array_append(some, ks_metadata_only(q->a, item));
		}
	} else {
		some = bare_items(q, items);
	}
	ks_answer(q, 200,
		  json_packf(q->a, "{s:s,s:s,s:O,s:O}", "kind", kind, "apiVersion", api,
			     "metadata", meta, "items", some));
}

/* With a token to go on from there, at the cost of a list that is not of one moment. */
static bool token_expired(struct ks_req *q, const char *after)
{
	json_t *status = ks_status(
		q->a, 410, "Expired",
		"The provided continue parameter is too old to display a consistent list "
		"result. You can start a new list without the continue parameter, or use the "
		"continue token in this response to retrieve the remainder of the results. "
		"Continuing with the provided token results in an inconsistent list - objects "
		"that were created, modified, or deleted between the time the first chunk was "
		"returned and now may show up in the list.",
		NULL, NULL, NULL);

	json_put_str(status, "metadata.continue", make_token(q, after, ks_rv(&q->k)));
	return ks_answer(q, 410, status);
}

/* What is listed: now, or as it was. */
static bool choose_version(struct ks_req *q, const json_t *token, struct chunk *c)
{
	const bool exact = streq(ks_query(q, "resourceVersionMatch"), "Exact");

	if (!ks_version_asked(q, &c->version))
		return false;
	if (token && c->version > 0)
		return ks_fail(
			q, 400, "BadRequest",
			"specifying resource version is not allowed when using continue");
	if (token)
		c->version = json_int_or(token, "rv", 0);
	else if (!exact)
		c->version = 0;
	if (c->version == 0) {
		c->version = ks_rv(&q->k);
		c->objects = ks_objects(&q->k, q->kind);
		return true;
	}
	if (c->version < ks_history_floor(&q->k))
		return token ? token_expired(q, c->after)
			     : ks_fail(q, 410, "Expired",
				       "The resourceVersion for the provided list is too "
				       "old.");
	c->objects = objects_at(q, c->version);
	return true;
}

void ks_serve_list(struct ks_req *q)
{
	const struct ks_selector sel = {ks_query(q, "labelSelector"),
					ks_query(q, "fieldSelector")};
	const char *cont = ks_query(q, "continue");
	const char *limit = ks_query(q, "limit");
	const json_t *token = cont && *cont ? read_token(q, cont) : NULL;
	struct chunk c = {.sel = &sel, .after = json_str_at(token, "after")};
	json_t *items = json_new_list(q->a);
	json_t *meta = NULL;

	if (!ks_selectors_fit(q, &sel))
		return;
	if (cont && *cont && !token) {
		ks_fail(q, 400, "BadRequest",
			"invalid continue token: continue key is not valid: illegal base64 "
			"data at input byte 4");
		return;
	}
	if (token && q->k.now_ms - json_int_or(token, "at", 0) > CONTINUE_LIFE_MS) {
		token_expired(q, c.after);
		return;
	}
	if (!choose_version(q, token, &c))
		return;
	if (limit && !str_to_i64(str_of(limit), &c.limit))
		c.limit = 0;
	meta = json_packf(q->a, "{s:o}", "resourceVersion",
			  json_sprintf("%lld", (long long)c.version));
	collect(q, &c, items, meta);
	ks_answer_items(q, items, meta);
}
