/*
 * names.def beside the published models: what an XML answer does not say itself
 * (lists, numbers, times) has a row, for every member of every answer that we read.
 */
#include <criterion/criterion.h>

#include "core/aws/names.h"
#include "core/aws/op_table.h"
#include "tests/unit/cloud_lab.h"

struct walk {
	struct arena *a;
	const json_t *shapes;
	const struct aws_op *op;
	json_t *seen;
	size_t members;
};

static const json_t *shape_of(const struct walk *w, const json_t *ref)
{
	return json_object_get(w->shapes, json_str_or(ref, "shape", ""));
}

static bool is_kind(const struct walk *w, const json_t *shape, enum aws_name_kind kind)
{
	const char *type = json_str_or(shape, "type", "");
	const char *of = json_str_or(shape_of(w, json_at(shape, "member")), "type", "");

	if (streq(type, "list") && json_bool_or(shape, "flattened", false))
		return kind == NAME_FLAT;
	if (streq(type, "list"))
		return kind == (streq(of, "integer") || streq(of, "long") ? NAME_INTS
									  : NAME_LIST);
	if (streq(type, "boolean"))
		return kind == NAME_BOOL;
	if (streq(type, "integer") || streq(type, "long"))
		return kind == NAME_INT;
	if (streq(type, "double") || streq(type, "float"))
		return kind == NAME_NUM;
	if (streq(type, "timestamp"))
		return kind == NAME_TIME;
	if (streq(type, "structure") || streq(type, "map"))
		return kind == NAME_OBJ;
	return kind == NAME_STR || kind == NAME_POLICY;
}

/* How the member is called on the wire. */
static const char *element_of(const char *member, const json_t *ref, const json_t *shape)
{
	const char *own = json_str_at(ref, "locationName");

	if (!own && json_bool_or(shape, "flattened", false))
		own = json_str_at(shape, "member.locationName");
	return own ? own : member;
}

static void walk(struct walk *w, const json_t *structure, const char *within)
{
	const char *member;
	json_t *ref;

	json_object_foreach(json_at(structure, "members"), member, ref) {
		const json_t *shape = shape_of(w, ref), *inner = shape;
		const char *element = element_of(member, ref, shape);
		const struct aws_name *row = aws_name_of(w->op->service, within, element);
		const char *key = arena_printf(w->a, "%s %s %s", within, member,
					       json_str_or(ref, "shape", ""));

		if (json_at(ref, "location") || json_object_get(w->seen, key))
			continue; /* a header, or known */
		json_object_set_new(w->seen, key, json_true());
		w->members++;
		/* A body that is one member has no element of its own. */
		cr_expect(streq(w->op->answer, member) ||
				  is_kind(w, shape, row ? row->kind : NAME_STR),
			  "%s.%s: %s in %s is a %s", aws_op_service(w->op), w->op->name,
			  element, within, json_str_or(shape, "type", "?"));
		if (row)
			cr_expect_str_eq(row->member, member, "%s.%s", w->op->name,
					 element);
		if (streq(json_str_or(shape, "type", ""), "list"))
			inner = shape_of(w, json_at(shape, "member"));
		if (streq(json_str_or(inner, "type", ""), "structure"))
			walk(w, inner, member);
	}
}

Test(names, every_member_of_an_xml_answer_has_its_kind)
{
	struct arena a;
	arena_init(&a, 1 << 28);
	json_t *models = json_own(&a, json_load_file(lab_models(&a), 0, NULL));
	size_t members = 0;

	cr_assert(models);
	for (int id = 0; id < AWS_OPS_COUNT_; id++) {
		const struct aws_op *op = aws_op((enum aws_op_id)id);
		const struct aws_service *s = aws_service(op->service);
		const json_t *model = json_object_get(models, s->name);
		const json_t *out = json_at(
			model, arena_printf(&a, "operations.%s.output", op->name));
		struct walk w = {.a = &a,
				 .shapes = json_object_get(model, "shapes"),
				 .op = op,
				 .seen = json_new_object(&a)};

		if (s->protocol != QUERY && s->protocol != EC2_QUERY &&
		    s->protocol != REST_XML)
			continue;
		if (out)
			walk(&w, shape_of(&w, out), op->name);
		members += w.members;
	}
	cr_expect_gt(members, 500, "%zu members", members);
	arena_free(&a);
}
