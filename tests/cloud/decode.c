/* Requests to trees with the model's member names: JSON, query and EC2 query. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/cloud/core.h"

json_t *decode_text(const struct model_op *op, const json_t *ref, const char *text)
{
	const json_t *shape = model_ref_shape(op, ref);
	int64_t ms;
	char *end;

	switch (model_type(shape)) {
	case SHAPE_INTEGER: {
		int64_t v;

		if (str_to_i64(str_of(text), &v))
			return json_integer(v);
		break;
	}
	case SHAPE_FLOAT: {
		errno = 0;
		double v = strtod(text, &end);

		if (*text && !*end && errno == 0)
			return json_real(v);
		break;
	}
	case SHAPE_BOOLEAN:
		if (strcasecmp(text, "true") == 0)
			return json_true();
		if (strcasecmp(text, "false") == 0)
			return json_false();
		break;
	case SHAPE_TIMESTAMP:
		if (time_parse_rfc3339(text, &ms) || time_parse_http(text, &ms))
			return cloud_seconds(ms);
		break;
	case SHAPE_STRUCTURE:
	case SHAPE_LIST:
	case SHAPE_MAP:
	case SHAPE_STRING:
	case SHAPE_BLOB:
		break;
	}
	return json_string(text);
}

/* --- query --------------------------------------------------------------- */

struct query {
	struct arena *a;
	const struct model_op *op;
	struct pairs *form;
	bool ec2;
};

static const char *query_name(struct query *q, const char *member, const json_t *ref)
{
	const char *name = model_str(ref, "queryName");

	if (name)
		return name;
	name = model_str(ref, "locationName");
	if (!name)
		return member;
	if (!q->ec2)
		return name;
	char *cap = arena_strdup(q->a, name);

	cap[0] = (char)toupper((unsigned char)cap[0]);
	return cap;
}

static bool has_prefix(struct query *q, const char *prefix)
{
	size_t n = strlen(prefix);

	for (size_t i = 0; i < q->form->n; i++) {
		const char *name = q->form->v[i].name;

		if (strncmp(name, prefix, n) == 0 && (name[n] == '.' || name[n] == '\0'))
			return true;
	}
	return false;
}

static json_t *read_value(struct query *q, const json_t *ref, const char *prefix);

static json_t *read_structure(struct query *q, const json_t *shape, const char *prefix)
{
	json_t *members = json_object_get(shape, "members");
	json_t *ret = json_object();
	const char *member;
	json_t *ref;

	json_object_foreach(members, member, ref) {
		const char *name = query_name(q, member, ref);

		if (*prefix)
			name = arena_printf(q->a, "%s.%s", prefix, name);
		if (has_prefix(q, name))
			json_object_set_new(ret, member, read_value(q, ref, name));
	}
	return ret;
}

static json_t *read_list(struct query *q, const json_t *shape, const char *prefix)
{
	const json_t *member = json_object_get(shape, "member");
	json_t *ret = json_array();
	const char *base = prefix;
	struct pair *empty = pair_find(q->form, prefix);

	if (empty && !*empty->value) {
		empty->used = true;
		return ret;
	}
	if (!q->ec2 && !model_flag(shape, "flattened")) {
		const char *name = model_str(member, "locationName");

		base = arena_printf(q->a, "%s.%s", prefix, name ? name : "member");
	}
	for (int i = 1;; i++) {
		const char *name = arena_printf(q->a, "%s.%d", base, i);

		if (!has_prefix(q, name))
			return ret;
		json_array_append_new(ret, read_value(q, member, name));
	}
}

static json_t *read_map(struct query *q, const json_t *shape, const char *prefix)
{
	const json_t *key = json_object_get(shape, "key");
	const json_t *value = json_object_get(shape, "value");
	const char *key_name = model_str(key, "locationName");
	const char *value_name = model_str(value, "locationName");
	json_t *ret = json_object();

	for (int i = 1;; i++) {
		const char *entry = arena_printf(q->a, "%s.entry.%d", prefix, i);
		struct pair *k =
			pair_find(q->form, arena_printf(q->a, "%s.%s", entry,
							key_name ? key_name : "key"));

		if (!k)
			return ret;
		k->used = true;
		json_object_set_new(
			ret, k->value,
			read_value(q, value,
				   arena_printf(q->a, "%s.%s", entry,
						value_name ? value_name : "value")));
	}
}

static json_t *read_value(struct query *q, const json_t *ref, const char *prefix)
{
	const json_t *shape = model_ref_shape(q->op, ref);
	struct pair *p;

	switch (model_type(shape)) {
	case SHAPE_STRUCTURE:
		return read_structure(q, shape, prefix);
	case SHAPE_LIST:
		return read_list(q, shape, prefix);
	case SHAPE_MAP:
		return read_map(q, shape, prefix);
	case SHAPE_STRING:
	case SHAPE_INTEGER:
	case SHAPE_FLOAT:
	case SHAPE_BOOLEAN:
	case SHAPE_TIMESTAMP:
	case SHAPE_BLOB:
		break;
	}
	p = pair_find(q->form, prefix);
	if (!p)
		return json_null();
	p->used = true;
	return decode_text(q->op, ref, p->value);
}

/* What no member took: a name that the model does not know. */
static void add_unknown(struct query *q, json_t *in)
{
	static const char *const envelope[] = {"Action", "Version"};

	for (size_t i = 0; i < q->form->n; i++) {
		const struct pair *p = &q->form->v[i];
		bool known = p->used || str_starts(p->name, "X-Amz-");

		for (size_t k = 0; k < sizeof(envelope) / sizeof(*envelope); k++)
			known |= strcmp(envelope[k], p->name) == 0;
		if (!known)
			json_object_set_new(in, p->name, json_string(p->value));
	}
}

static bool decode_query(struct arena *a, const struct model_op *op, struct wire *w,
			 json_t **ret_in)
{
	struct query q = {a, op, &w->form, op->protocol == PROTO_EC2};
	const json_t *shape = model_shape(op, op->in);
	json_t *in = shape ? read_structure(&q, shape, "") : json_object();

	add_unknown(&q, in);
	*ret_in = json_own(a, in);
	return true;
}

static bool decode_json(struct arena *a, struct wire *w, json_t **ret_in,
			struct refused *r)
{
	struct err e = {0};

	*ret_in = json_parse(a, (struct str){w->body, w->body_len}, &e);
	if (*ret_in && json_is_object(*ret_in))
		return true;
	r->why = REFUSED_SERIALIZATION;
	r->message = arena_strdup(a, *ret_in ? "Start of structure or map expected"
					     : e.detail);
	return false;
}

bool decode_input(struct arena *a, const struct model_op *op, struct wire *w,
		  json_t **ret_in, struct refused *r)
{
	switch (op->protocol) {
	case PROTO_JSON:
		return decode_json(a, w, ret_in, r);
	case PROTO_QUERY:
	case PROTO_EC2:
		return decode_query(a, op, w, ret_in);
	case PROTO_REST_JSON:
	case PROTO_REST_XML:
		return decode_rest(a, op, w, ret_in, r);
	}
	return false;
}
