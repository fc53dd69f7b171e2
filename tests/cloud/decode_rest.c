/* REST requests: which operation a method and path mean, and their members. */
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "tests/cloud/core.h"

/* Fills `labels` (name -> decoded text) when the template takes the path. */
static bool match_path(struct arena *a, const char *template, const char *path,
		       json_t *labels)
{
	struct str t = str_of(template), p = str_of(path);

	while (t.p && p.p) {
		struct str want = str_cut(&t, '/');

		if (want.n > 2 && want.p[0] == '{') {
			bool greedy = want.p[want.n - 2] == '+';
			const char *name =
				arena_strndup(a, want.p + 1, want.n - 2 - greedy);
			struct str got = greedy ? p : str_cut(&p, '/');

			if (greedy)
				p.p = NULL;
			if (got.n == 0)
				return false;
			json_object_set_new(
				labels, name,
				json_string(percent_decode(a, got.p, got.n, false)));
			if (greedy)
				return !t.p;
			continue;
		}
		struct str got = str_cut(&p, '/');

		if (!str_eq(want, got))
			return false;
	}
	/* "/bucket/" is the bucket itself. */
	return !t.p && (!p.p || p.n == 0);
}

/* Points for the fixed query of the template; -1 when one is missing. */
static int match_query(struct arena *a, const char *query, const struct wire *w)
{
	struct pairs want = form_parse(a, query, strlen(query));
	int score = 0;

	for (size_t i = 0; i < want.n; i++) {
		struct pair *got = pair_find(&w->query_pairs, want.v[i].name);

		if (!got || (*want.v[i].value && !streq(got->value, want.v[i].value)))
			return -1;
		score += 10;
	}
	return score;
}

/* Points for required query members that are there; minus one for each missing. */
static int match_required(const struct model_op *op, const struct wire *w)
{
	const json_t *shape = model_shape(op, op->in);
	json_t *members = json_object_get(shape, "members");
	json_t *name;
	size_t i;
	int score = 0;

	json_array_foreach(json_object_get(shape, "required"), i, name) {
		const json_t *ref = json_object_get(members, json_string_value(name));
		const char *where = model_str(ref, "location");

		if (streq(where, "querystring"))
			score +=
				pair_find(&w->query_pairs, model_str(ref, "locationName"))
					? 3
					: -3;
		else if (streq(where, "header"))
			score += wire_header(w, model_str(ref, "locationName")) ? 2 : -2;
	}
	return score;
}

bool rest_route(struct cloud *c, struct arena *a, const char *service, struct wire *w,
		struct model_op *ret)
{
	json_t *ops = json_object_get(model_service(c->model, service), "operations");
	const char *name;
	json_t *def;
	int best = -1000;

	json_object_foreach(ops, name, def) {
		const json_t *http = json_object_get(def, "http");
		struct str uri = str_of(model_str(http, "requestUri"));
		const char *path = str_dup(a, str_cut(&uri, '?'));
		json_t *labels = json_new_object(a);
		struct model_op op;

		if (!streq(model_str(http, "method"), w->req->method) ||
		    !match_path(a, path, w->rest_path, labels))
			continue;
		int score = match_query(a, uri.p ? uri.p : "", w);

		if (score < 0 || !model_find(c->model, service, name, &op))
			continue;
		score += match_required(&op, w);
		if (score > best) {
			best = score;
			*ret = op;
		}
	}
	return best > -1000;
}

static void read_query_list(const struct model_op *op, const json_t *shape,
			    const char *name, struct wire *w, json_t *ret)
{
	const json_t *member = json_object_get(shape, "member");

	for (size_t i = 0; i < w->query_pairs.n; i++) {
		struct pair *p = &w->query_pairs.v[i];

		if (strcmp(p->name, name) != 0)
			continue;
		p->used = true;
		json_array_append_new(ret, decode_text(op, member, p->value));
	}
}

static json_t *read_querystring(const struct model_op *op, const json_t *ref,
				const char *name, struct wire *w)
{
	const json_t *shape = model_ref_shape(op, ref);
	struct pair *p = pair_find(&w->query_pairs, name);

	if (!p)
		return NULL;
	if (model_type(shape) == SHAPE_LIST) {
		json_t *list = json_array();

		read_query_list(op, shape, name, w, list);
		return list;
	}
	p->used = true;
	return decode_text(op, ref, p->value);
}

static json_t *read_header_map(const char *prefix, const struct wire *w)
{
	json_t *ret = json_object();
	size_t n = strlen(prefix);

	for (size_t i = 0; i < w->req->n_headers; i++)
		if (strncasecmp(w->req->header[i].name, prefix, n) == 0)
			json_object_set_new(ret, w->req->header[i].name + n,
					    json_string(w->req->header[i].value));
	if (json_object_size(ret) > 0)
		return ret;
	json_decref(ret);
	return NULL;
}

static json_t *read_bound(const struct model_op *op, const json_t *ref, const char *where,
			  struct wire *w, const json_t *labels)
{
	const char *name = model_str(ref, "locationName");

	if (streq(where, "uri")) {
		const char *text = json_str_at(labels, name);

		return text ? decode_text(op, ref, text) : NULL;
	}
	if (streq(where, "querystring"))
		return read_querystring(op, ref, name, w);
	if (streq(where, "header")) {
		const char *text = wire_header(w, name);

		return text ? decode_text(op, ref, text) : NULL;
	}
	return streq(where, "headers") ? read_header_map(name, w) : NULL;
}

static json_t *read_blob(struct arena *a, const char *p, size_t n)
{
	json_t *text = json_stringn(p, n);

	if (text)
		return text;
	/* Not UTF-8: kept as base64, see cloud.h. */
	size_t cap = (n + 2) / 3 * 4 + 1;
	char *b64 = arena_alloc(a, cap);

	EVP_EncodeBlock((unsigned char *)b64, (const unsigned char *)p, (int)n);
	return json_pack("{s:s}", "$base64", b64);
}

static bool read_payload(struct arena *a, const struct model_op *op, const json_t *ref,
			 struct wire *w, json_t **ret, struct refused *r)
{
	enum shape_type type = model_type(model_ref_shape(op, ref));

	*ret = NULL;
	if (type == SHAPE_BLOB || type == SHAPE_STRING) {
		*ret = read_blob(a, w->body, w->body_len);
		return true;
	}
	if (w->body_len == 0)
		return true;
	if (op->protocol == PROTO_REST_XML) {
		*ret = decode_xml(a, op, ref, w->body, w->body_len, r);
		return *ret;
	}
	struct err e = {0};
	json_t *tree = json_parse(a, (struct str){w->body, w->body_len}, &e);

	*ret = json_incref(tree);
	r->why = tree ? REFUSED_NOT : REFUSED_SERIALIZATION;
	return tree;
}

/* Query parameters that no member takes: another operation, or a misspelling. */
static void add_unknown_query(struct arena *a, struct wire *w, json_t *in,
			      const char *fixed)
{
	struct pairs ours = form_parse(a, fixed, strlen(fixed));

	for (size_t i = 0; i < w->query_pairs.n; i++) {
		const struct pair *p = &w->query_pairs.v[i];

		if (p->used || str_starts(p->name, "X-Amz-") ||
		    strcmp(p->name, "x-id") == 0 || pair_find(&ours, p->name))
			continue;
		json_object_set_new(in, arena_printf(a, "?%s", p->name),
				    json_string(p->value));
	}
}

/* S3 chooses by headers too: a copy, an ACL, a lock that nobody plays here. */
static void add_unknown_headers(struct arena *a, const struct wire *w, json_t *in,
				json_t *members)
{
	static const char *const common[] = {
		"x-amz-date",
		"x-amz-content-sha256",
		"x-amz-security-token",
		"x-amz-trailer",
		"x-amz-decoded-content-length",
		"x-amz-user-agent",
		"x-amz-sdk-",
		"x-amz-checksum-",
		"x-amz-meta-",
	};

	for (size_t i = 0; i < w->req->n_headers; i++) {
		const char *header = w->req->header[i].name, *name;
		bool known = strncasecmp(header, "x-amz-", 6) != 0;
		json_t *ref;

		for (size_t k = 0; k < sizeof(common) / sizeof(*common); k++)
			known |= strncasecmp(header, common[k], strlen(common[k])) == 0;
		json_object_foreach(members, name, ref) {
			const char *bound = model_str(ref, "locationName");

			known |= bound && strcasecmp(bound, header) == 0;
		}
		if (!known)
			json_object_set_new(in, arena_printf(a, "?%s", header),
					    json_string(w->req->header[i].value));
	}
}

static bool merge_body(struct arena *a, struct wire *w, json_t *in, json_t *members,
		       struct refused *r)
{
	struct err e = {0};
	const char *name;
	json_t *value;

	if (w->body_len == 0)
		return true;
	json_t *body = json_parse(a, (struct str){w->body, w->body_len}, &e);

	if (!body || !json_is_object(body)) {
		r->why = REFUSED_SERIALIZATION;
		r->message = body ? "An object is expected" : arena_strdup(a, e.detail);
		return false;
	}
	json_object_foreach(body, name, value) {
		/* A body must not set what travels in the path or query. */
		const json_t *ref = json_object_get(members, name);
		const char *key = model_str(ref, "location")
					  ? arena_printf(a, "body.%s", name)
					  : name;

		json_object_set(in, key, value);
	}
	return true;
}

bool decode_rest(struct arena *a, const struct model_op *op, struct wire *w,
		 json_t **ret_in, struct refused *r)
{
	const json_t *shape = model_shape(op, op->in);
	json_t *members = json_object_get(shape, "members");
	struct str uri =
		str_of(model_str(json_object_get(op->def, "http"), "requestUri"));
	const char *path = str_dup(a, str_cut(&uri, '?'));
	json_t *labels = json_new_object(a), *in = json_new_object(a), *ref, *value;
	const char *payload = model_str(shape, "payload"), *name;

	match_path(a, path, w->rest_path, labels);
	json_object_foreach(members, name, ref) {
		const char *where = model_str(ref, "location");

		value = where ? read_bound(op, ref, where, w, labels) : NULL;
		if (value)
			json_object_set_new(in, name, value);
	}
	add_unknown_query(a, w, in, uri.p ? uri.p : "");
	if (op->protocol == PROTO_REST_XML)
		add_unknown_headers(a, w, in, members);
	*ret_in = in;
	if (!payload)
		return op->protocol != PROTO_REST_JSON ||
		       merge_body(a, w, in, members, r);
	if (!read_payload(a, op, json_object_get(members, payload), w, &value, r))
		return false;
	if (value)
		json_object_set_new(in, payload, value);
	return true;
}
