#include "tests/cloud/model.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"

struct pattern {
	struct pattern *next;
	const char *text;
	pcre2_code *code; /* NULL: not one that PCRE2 takes */
	pcre2_match_data *match;
};

enum { PATTERN_SLOTS = 256 };

struct model {
	struct arena *arena;
	json_t *root;
	struct pattern *slot[PATTERN_SLOTS];
};

static void free_code(void *p)
{
	pcre2_code_free(p);
}

static void free_match(void *p)
{
	pcre2_match_data_free(p);
}

struct model *model_load(struct arena *a, const char *path, struct err *e)
{
	json_error_t je;
	json_t *root = json_load_file(path, 0, &je);

	if (!root) {
		err_set(e, ERR_INTERNAL, "API models %s: %s", path, je.text);
		return NULL;
	}
	struct model *m = arena_new(a, struct model);

	m->arena = a;
	m->root = json_own(a, root);
	return m;
}

const json_t *model_service(const struct model *m, const char *service)
{
	return json_object_get(m->root, service);
}

const char *model_signing_name(const json_t *service)
{
	const json_t *meta = json_object_get(service, "metadata");
	const char *name = model_str(meta, "signingName");

	return name ? name : model_str(meta, "endpointPrefix");
}

const char *model_service_of(const struct model *m, const char *signing_name)
{
	const char *id;
	json_t *service;

	json_object_foreach(m->root, id, service)
		if (streq(model_signing_name(service), signing_name))
			return id;
	return NULL;
}

static enum protocol protocol_of(const char *name)
{
	static const struct {
		const char *name;
		enum protocol protocol;
	} row[] = {
		{"json", PROTO_JSON},         {"rest-json", PROTO_REST_JSON},
		{"query", PROTO_QUERY},       {"ec2", PROTO_EC2},
		{"rest-xml", PROTO_REST_XML},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].name, name))
			return row[i].protocol;
	return PROTO_JSON;
}

bool model_find(struct model *m, const char *service, const char *op,
		struct model_op *ret)
{
	const json_t *s = model_service(m, service);
	json_t *ops = json_object_get(s, "operations");
	json_t *def = json_object_get(ops, op);

	if (!def)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->model = m;
	ret->service = json_object_iter_key(json_object_iter_at(m->root, service));
	ret->name = json_object_iter_key(json_object_iter_at(ops, op));
	ret->metadata = json_object_get(s, "metadata");
	ret->protocol = protocol_of(model_str(ret->metadata, "protocol"));
	ret->shapes = json_object_get(s, "shapes");
	ret->def = def;
	ret->in = model_str(json_object_get(def, "input"), "shape");
	ret->out = model_str(json_object_get(def, "output"), "shape");
	return true;
}

const json_t *model_shape(const struct model_op *op, const char *name)
{
	return name ? json_object_get(op->shapes, name) : NULL;
}

const json_t *model_ref_shape(const struct model_op *op, const json_t *ref)
{
	return model_shape(op, model_str(ref, "shape"));
}

enum shape_type model_type(const json_t *shape)
{
	static const struct {
		const char *name;
		enum shape_type type;
	} row[] = {
		{"structure", SHAPE_STRUCTURE},
		{"list", SHAPE_LIST},
		{"map", SHAPE_MAP},
		{"string", SHAPE_STRING},
		{"character", SHAPE_STRING},
		{"integer", SHAPE_INTEGER},
		{"long", SHAPE_INTEGER},
		{"float", SHAPE_FLOAT},
		{"double", SHAPE_FLOAT},
		{"boolean", SHAPE_BOOLEAN},
		{"timestamp", SHAPE_TIMESTAMP},
		{"blob", SHAPE_BLOB},
	};
	const char *type = model_str(shape, "type");

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].name, type))
			return row[i].type;
	return SHAPE_STRING;
}

const char *model_time_format(const struct model_op *op, const json_t *ref)
{
	const char *format = model_str(ref, "timestampFormat");

	if (!format)
		format = model_str(model_ref_shape(op, ref), "timestampFormat");
	return format;
}

static struct pattern *pattern_get(struct model *m, const char *text)
{
	size_t hash = 5381;

	for (const char *p = text; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	struct pattern **slot = &m->slot[hash % PATTERN_SLOTS];

	for (struct pattern *p = *slot; p; p = p->next)
		if (strcmp(p->text, text) == 0)
			return p;
	struct pattern *p = arena_new(m->arena, struct pattern);
	int code;
	PCRE2_SIZE at;

	p->text = arena_strdup(m->arena, text);
	p->code = pcre2_compile((PCRE2_SPTR)p->text, PCRE2_ZERO_TERMINATED,
				PCRE2_UTF | PCRE2_UCP | PCRE2_ALT_BSUX | PCRE2_ANCHORED |
					PCRE2_ENDANCHORED,
				&code, &at, NULL);
	if (p->code) {
		arena_defer(m->arena, free_code, p->code);
		p->match = pcre2_match_data_create(1, NULL);
		arena_defer(m->arena, free_match, p->match);
	}
	p->next = *slot;
	*slot = p;
	return p;
}

bool model_pattern_matches(struct model *m, const char *pattern, const char *text)
{
	struct pattern *p = pattern_get(m, pattern);

	if (!p->code || !p->match)
		return true;
	return pcre2_match(p->code, (PCRE2_SPTR)text, strlen(text), 0, 0, p->match,
			   NULL) != PCRE2_ERROR_NOMATCH;
}

const char *model_token_member(const struct model_op *op)
{
	static const char *const names[] = {"ClientToken", "ClientRequestToken",
					    "clientRequestToken", "clientToken"};
	json_t *members = json_object_get(model_shape(op, op->in), "members");
	const char *name;
	json_t *ref;

	json_object_foreach(members, name, ref)
		if (model_flag(ref, "idempotencyToken"))
			return name;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (json_object_get(members, names[i]))
			return names[i];
	return NULL;
}

const char *model_str(const json_t *def, const char *key)
{
	return json_string_value(json_object_get(def, key));
}

bool model_flag(const json_t *def, const char *key)
{
	return json_is_true(json_object_get(def, key));
}
