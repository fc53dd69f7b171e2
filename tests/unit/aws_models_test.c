/*
 * The tables of core/aws against the published API models, where these are at
 * hand (../shared/facts/aws-models.json).
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

#include "core/aws/names.h"
#include "core/aws/op_table.h"
#include "core/aws/s3_names.h"
#include "core/json/tree.h"
#include "tests/unit/aws_fake.h"

#define COUNT(rows) (sizeof(rows) / sizeof(*(rows)))

/* ---------------------------------------------------------------- models */

struct models {
	struct arena *arena;
	const json_t *service; /* the model */
	const struct aws_service *ours;
};

static const json_t *shape_of(const struct models *m, const char *name)
{
	return json_object_get(json_object_get(m->service, "shapes"), name);
}

/* A text of the model that may be missing, compared with ours that may be NULL. */
static void same_text(const char *op, const char *what, const char *ours,
		      const char *theirs)
{
	cr_expect_str_eq(ours ? ours : "(none)", theirs ? theirs : "(none)", "%s: %s", op,
			 what);
}

static const char *client_token(const json_t *members)
{
	static const char *const names[] = {"ClientToken", "clientRequestToken",
					    "ClientRequestToken"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (json_object_get(members, names[i]))
			return names[i];
	return NULL;
}

static const char *member_at(const json_t *members, const char *location)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)members, key, v) {
		if (strcmp(json_str_or(v, "location", ""), location) == 0)
			return key;
	}
	return NULL;
}

static bool reads(const char *name)
{
	static const char *const verbs[] = {"Describe", "List",   "Get",    "Head",
					    "Search",   "Filter", "Assume", "Simulate"};

	for (size_t i = 0; i < COUNT(verbs); i++)
		if (str_starts(name, verbs[i]))
			return true;
	return false;
}

static void check_paging(const struct aws_op *op, const json_t *model)
{
	const json_t *p = json_object_get(model, "paginate");

	same_text(op->name, "in token", op->in_token, json_str_at(p, "inToken"));
	same_text(op->name, "out token", op->out_token, json_str_at(p, "outToken"));
	same_text(op->name, "more", op->more, json_str_at(p, "more"));
	/* The model does not say what the pages of GetLogEvents hold. */
	if (strcmp(op->name, "GetLogEvents") != 0)
		same_text(op->name, "items", op->items, json_str_at(p, "result"));
}

/* The models at hand are a selection; of these it has none. */
static bool is_left_out(const char *name)
{
	return strcmp(name, "GetPublicAccessBlock") == 0 ||
	       strcmp(name, "GetObjectLockConfiguration") == 0 ||
	       strcmp(name, "GetBucketPolicy") == 0 ||
	       strcmp(name, "PutBucketPolicy") == 0;
}

static void check_op(const struct models *m, const struct aws_op *op)
{
	const json_t *model =
		json_object_get(json_object_get(m->service, "operations"), op->name);
	const json_t *in =
		json_object_get(shape_of(m, json_str_or(model, "input", "-")), "members");
	const json_t *out = json_object_get(
		shape_of(m, json_str_or(model, "output", "-")), "members");
	const char *uri = json_str_at(model, "http.uri");
	const char *http = uri ? arena_printf(m->arena, "%s %s",
					      json_str_at(model, "http.method"), uri)
			       : NULL;

	if (!model && is_left_out(op->name))
		return;
	cr_assert(model, "%s is in no model", op->name);
	cr_expect_eq(op->mutates, !reads(op->name), "%s", op->name);
	same_text(op->name, "http", op->http, http);
	same_text(op->name, "token", op->token, client_token(in));
	check_paging(op, model);
	if (m->ours->protocol != REST_XML)
		return;
	same_text(op->name, "payload", op->payload, member_at(in, "payload"));
	same_text(op->name, "answer", op->answer, member_at(out, "payload"));
	if (json_is_true(json_object_get(model, "httpChecksum")) && op->payload &&
	    strcmp(op->payload, "Body") != 0)
		cr_expect(op->checksum, "%s", op->name);
}

static enum aws_name_kind kind_in_model(const struct models *m, const json_t *member)
{
	const char *name = json_str_or(member, "shape", "");
	const json_t *shape = shape_of(m, name);
	const char *type = json_str_or(shape, "type", name);
	bool flat = m->ours->protocol != EC2_QUERY &&
		    (json_bool_or(member, "flattened", false) ||
		     json_bool_or(shape, "flattened", false));
	const char *item =
		json_str_or(shape_of(m, json_str_or(shape, "member.shape", "-")), "type",
			    json_str_or(shape, "member.shape", ""));

	if (strcmp(type, "list") == 0 && strcasecmp(item, "integer") == 0)
		return NAME_INTS;
	if (strcmp(type, "list") == 0)
		return flat ? NAME_FLAT : NAME_LIST;
	if (strcasecmp(type, "boolean") == 0)
		return NAME_BOOL;
	if (strcasecmp(type, "integer") == 0 || strcasecmp(type, "long") == 0 ||
	    strcasecmp(type, "number") == 0)
		return NAME_INT;
	if (strcasecmp(type, "double") == 0 || strcasecmp(type, "float") == 0)
		return NAME_NUM;
	if (strcmp(type, "structure") == 0 || strcmp(type, "map") == 0)
		return NAME_OBJ;
	return strcasecmp(type, "timestamp") == 0 ? NAME_TIME : NAME_STR;
}

static void check_answer_shape(const struct models *m, const char *shape,
			       const char *within, json_t *seen);

static void check_member(const struct models *m, const char *within, const char *name,
			 const json_t *member, json_t *seen)
{
	const char *element = json_str_or(member, "x", name);
	const char *shape = json_str_or(member, "shape", "");
	const struct aws_name *row = aws_name_of(m->ours->id, within, element);
	enum aws_name_kind want = kind_in_model(m, member);
	char *capital = arena_strdup(m->arena, element);
	enum aws_name_kind kind = row ? row->kind : NAME_STR;

	*capital = (char)toupper((unsigned char)*capital);
	cr_expect_str_eq(row ? row->member : capital, name, "%s %s in %s", m->ours->name,
			 element, within);
	cr_expect(kind == want || (kind == NAME_POLICY && want == NAME_STR),
		  "%s %s in %s: kind %d, not %d", m->ours->name, element, within, kind,
		  want);
	if (want == NAME_LIST || want == NAME_FLAT)
		shape = json_str_or(shape_of(m, shape), "member.shape", "");
	if (strcmp(json_str_or(shape_of(m, shape), "type", ""), "structure") == 0)
		check_answer_shape(m, shape, name, seen);
}

/* Every member that an answer can have must come out under its own name and type. */
static void check_answer_shape(const struct models *m, const char *shape,
			       const char *within, json_t *seen)
{
	const char *mark = arena_printf(m->arena, "%s %s", shape, within);
	const char *name;
	json_t *member;

	if (json_object_get(seen, mark))
		return;
	json_object_set_new(seen, mark, json_true());
	json_object_foreach(json_object_get(shape_of(m, shape), "members"), name,
			    member) {
		if (!json_object_get(member, "location"))
			check_member(m, within, name, member, seen);
	}
}

static void check_binding(const char *within, const char *name, const json_t *member)
{
	const char *location = json_str_at(member, "location");
	const char *wire = json_str_or(member, "locationName", name);
	bool query = location && strcmp(location, "querystring") == 0;
	const char *ours = query ? s3_query_of(name) : s3_header_of(name);

	/* Rare ones are not bound; sending them is an error. */
	if (ours && location && (query || strcmp(location, "header") == 0))
		cr_expect(strcasecmp(ours, wire) == 0, "%s in %s: %s", name, within,
			  ours);
}

/* Every member that a request can have must be sent under its wire name. */
static void check_request_shape(const struct models *m, const char *shape,
				const char *within, json_t *seen)
{
	const char *mark = arena_printf(m->arena, "%s %s", shape, within);
	const char *name;
	json_t *member;

	if (json_object_get(seen, mark))
		return;
	json_object_set_new(seen, mark, json_true());
	json_object_foreach(json_object_get(shape_of(m, shape), "members"), name,
			    member) {
		char *wire = arena_strdup(m->arena, json_str_or(member, "x", name));
		const char *inner = json_str_or(member, "shape", "");

		if (m->ours->protocol == EC2_QUERY) {
			*wire = (char)toupper((unsigned char)*wire);
			wire = arena_strdup(m->arena, json_str_or(member, "q", wire));
		}
		if (m->ours->protocol == REST_XML)
			check_binding(within, name, member);
		cr_expect_str_eq(aws_wire_of(m->ours->id, within, name), wire, "%s in %s",
				 name, within);
		inner = json_str_or(shape_of(m, inner), "member.shape", inner);
		if (strcmp(json_str_or(shape_of(m, inner), "type", ""), "structure") == 0)
			check_request_shape(m, inner, name, seen);
	}
}

static void check_json_times(const struct models *m)
{
	const char *shape, *name;
	json_t *v, *member;

	json_object_foreach(json_object_get(m->service, "shapes"), shape, v) {
		json_object_foreach(json_object_get(v, "members"), name, member) {
			bool is_time = kind_in_model(m, member) == NAME_TIME;

			/* The other way round: shapes that we never see may differ. */
			if (aws_is_time(m->ours->id, name))
				cr_expect(is_time, "%s.%s is no time", shape, name);
		}
	}
}

/* JSON answers and requests: each time that one of our operations carries. */
static void check_op_times(const struct models *m, const char *shape, json_t *seen)
{
	const json_t *s = shape_of(m, shape);
	const char *name;
	json_t *member;

	if (!s || json_object_get(seen, shape))
		return;
	json_object_set_new(seen, shape, json_true());
	check_op_times(m, json_str_or(s, "member.shape", "-"), seen);
	check_op_times(m, json_str_or(s, "value.shape", "-"), seen);
	json_object_foreach(json_object_get(s, "members"), name, member) {
		if (kind_in_model(m, member) == NAME_TIME)
			cr_expect(aws_is_time(m->ours->id, name), "%s.%s is a time",
				  shape, name);
		check_op_times(m, json_str_or(member, "shape", "-"), seen);
	}
}

static void check_service(const json_t *file, const struct aws_service *s,
			  struct arena *a)
{
	const struct models m = {a, json_object_get(file, s->name), s};
	bool xml = s->protocol != JSON_1_1 && s->protocol != REST_JSON;
	json_t *seen = json_new_object(a), *asked = json_new_object(a);

	cr_assert(m.service, "%s is not modelled", s->name);
	same_text(s->name, "version", s->version, json_str_at(m.service, "version"));
	same_text(s->name, "signing", s->signing_name,
		  json_str_at(m.service, "signingName"));
	same_text(s->name, "target", s->target_prefix,
		  json_str_at(m.service, "targetPrefix"));
	for (int i = 0; i < AWS_OPS_COUNT_; i++) {
		const struct aws_op *op = aws_op((enum aws_op_id)i);
		const json_t *model;

		if (op->service != s->id)
			continue;
		check_op(&m, op);
		model = json_object_get(json_object_get(m.service, "operations"),
					op->name);
		if (xml) {
			check_answer_shape(&m, json_str_or(model, "output", "-"),
					   op->name, seen);
			check_request_shape(&m, json_str_or(model, "input", "-"),
					    op->name, asked);
			continue;
		}
		check_op_times(&m, json_str_or(model, "input", "-"), seen);
		check_op_times(&m, json_str_or(model, "output", "-"), seen);
	}
	if (!xml)
		check_json_times(&m);
}

/* The types that we let through are those of CreateCluster's own enum. */
static void check_instance_types(const json_t *file)
{
	static const char *const ours[] = {
#define INSTANCE_TYPE(name) name,
#include "core/domain/offer/instance_types.def"
#undef INSTANCE_TYPE
	};
	const json_t *theirs = json_at(file, "sagemaker.shapes.ClusterInstanceType.enum");
	size_t i, k, found = 0;
	json_t *one;

	cr_expect_eq(json_array_size(theirs), COUNT(ours));
	for (i = 0; i < COUNT(ours); i++)
		json_array_foreach(theirs, k, one)
			found += strcmp(json_string_value(one), ours[i]) == 0;
	cr_expect_eq(found, COUNT(ours));
}

Test(models, rows_are_those_of_the_published_models)
{
	struct arena a;
	json_t *file;

	arena_init(&a, 256 * 1024 * 1024);
	file = fake_json_file(&a, "../shared/facts/aws-models.json");
	if (!file)
		cr_skip_test("the models are not at hand");
	for (int i = 0; i < AWS_SERVICES_COUNT_; i++) {
		const struct aws_service *s = aws_service((enum aws_service_id)i);

		/* Its model is the AWS CLI's: the simulated cloud is strict by it. */
		if (s->id != AWS_SERVICE_ELB)
			check_service(file, s, &a);
	}
	check_instance_types(file);
	arena_free(&a);
}
