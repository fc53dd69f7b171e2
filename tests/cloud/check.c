/*
 * Checks a tree against the published model: required and unknown members,
 * types, enums, lengths, ranges, patterns. The wording is that of the services
 * ("Value … at … failed to satisfy constraint: Member must …").
 */
#include <ctype.h>
#include <string.h>

#include "core/aws/partition.h"
#include "tests/cloud/core.h"

struct checker {
	struct arena *a;
	const struct model_op *op;
	struct problems *p;
	bool answer;
};

static void check_value(struct checker *k, const json_t *shape, const json_t *value,
			const char *path, const char *member);

static const char *value_text(struct checker *k, const json_t *value)
{
	if (!value)
		return NULL;
	if (json_is_string(value))
		return json_string_value(value);
	return json_text(k->a, value);
}

static void report(struct checker *k, enum problem_kind kind, const char *path,
		   const char *member, const json_t *value, const char *constraint)
{
	if (k->p->n >= sizeof(k->p->v) / sizeof(*k->p->v))
		return;
	k->p->v[k->p->n++] = (struct problem){
		.kind = kind,
		.path = path,
		.member = member,
		.value = value_text(k, value),
		.constraint = constraint,
	};
}

/* Services name members in lower camel case in their messages. */
static const char *step(struct checker *k, const char *path, const char *member)
{
	char *name = arena_strdup(k->a, member);

	name[0] = (char)tolower((unsigned char)name[0]);
	return *path ? arena_printf(k->a, "%s.%s", path, name) : name;
}

static bool type_fits(enum shape_type type, const json_t *value, bool answer)
{
	switch (type) {
	case SHAPE_STRUCTURE:
	case SHAPE_MAP:
		return json_is_object(value);
	case SHAPE_LIST:
		return json_is_array(value);
	case SHAPE_STRING:
		return json_is_string(value);
	case SHAPE_INTEGER:
		return json_is_integer(value);
	case SHAPE_FLOAT:
		return json_is_number(value);
	case SHAPE_BOOLEAN:
		return json_is_boolean(value);
	case SHAPE_TIMESTAMP:
		/* Answers may carry a text that is an ISO time already. */
		return json_is_number(value) || (answer && json_is_string(value));
	case SHAPE_BLOB:
		return json_is_string(value) ||
		       (json_is_object(value) && json_object_get(value, "$base64"));
	}
	return false;
}

static void check_bounds(struct checker *k, const json_t *shape, const json_t *value,
			 double size, const char *what, const char *path,
			 const char *member)
{
	const json_t *min = json_object_get(shape, "min"),
		     *max = json_object_get(shape, "max");
	enum problem_kind kind = *what == 'v' ? PROBLEM_RANGE : PROBLEM_LENGTH;

	if (json_is_number(min) && size < json_number_value(min))
		report(k, kind, path, member, value,
		       arena_printf(k->a,
				    "Member must have %s greater than or equal to %.0f",
				    what, json_number_value(min)));
	if (json_is_number(max) && size > json_number_value(max))
		report(k, kind, path, member, value,
		       arena_printf(k->a,
				    "Member must have %s less than or equal to %.0f",
				    what, json_number_value(max)));
}

static size_t code_points(const char *z)
{
	size_t n = 0;

	for (; *z; z++)
		n += ((unsigned char)*z & 0xc0) != 0x80;
	return n;
}

/* The model lists regions of three partitions as those of a bucket; S3 takes its own
 * in the others, too. */
static bool is_unlisted_region(const char *member, const char *text)
{
	static const char *const listed[] = {"aws", "aws-cn", "aws-us-gov"};

	if (!streq(member, "LocationConstraint") || !aws_is_region(text))
		return false;
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		if (streq(aws_partition_of(text)->id, listed[i]))
			return false;
	return true;
}

static void check_string(struct checker *k, const json_t *shape, const json_t *value,
			 const char *path, const char *member)
{
	const json_t *values = json_object_get(shape, "enum");
	const char *pattern = model_str(shape, "pattern");
	const char *text = json_string_value(value);
	json_t *one;
	size_t i;

	check_bounds(k, shape, value, (double)code_points(text), "length", path, member);
	if (pattern && !model_pattern_matches(k->op->model, pattern, text))
		report(k, PROBLEM_PATTERN, path, member, value,
		       arena_printf(k->a,
				    "Member must satisfy regular expression pattern: %s",
				    pattern));
	if (!values || is_unlisted_region(member, text))
		return;
	struct buf set;

	buf_init(&set, k->a, 65536);
	json_array_foreach(values, i, one) {
		if (streq(json_string_value(one), text))
			return;
		buf_printf(&set, "%s%s", i ? ", " : "", json_string_value(one));
	}
	report(k, PROBLEM_ENUM, path, member, value,
	       arena_printf(k->a, "Member must satisfy enum value set: [%s]",
			    buf_cstr(&set)));
}

static void check_structure(struct checker *k, const json_t *shape, const json_t *value,
			    const char *path)
{
	json_t *members = json_object_get(shape, "members"), *one, *ref;
	const char *name;
	size_t i;

	if (!k->answer)
		json_array_foreach(json_object_get(shape, "required"), i, one) {
			name = json_string_value(one);
			const json_t *v = json_object_get(value, name);

			if (!v || json_is_null(v))
				report(k, PROBLEM_MISSING, step(k, path, name), name,
				       NULL, "Member must not be null");
		}
	json_object_foreach((json_t *)(uintptr_t)value, name, one) {
		ref = json_object_get(members, name);
		if (json_is_null(one) || (k->answer && name[0] == '_'))
			continue;
		if (!ref)
			report(k, PROBLEM_UNKNOWN, step(k, path, name), name, one,
			       "Member is not known");
		else
			check_value(k, model_ref_shape(k->op, ref), one,
				    step(k, path, name), name);
	}
	if (!k->answer && model_flag(shape, "union") && json_object_size(value) != 1)
		report(k, PROBLEM_TYPE, path, path, value,
		       "Exactly one member of the union must be set");
}

static void check_items(struct checker *k, const json_t *shape, const json_t *value,
			const char *path, const char *member)
{
	const json_t *item = model_ref_shape(k->op, json_object_get(shape, "member"));
	json_t *one;
	size_t i;

	json_array_foreach(value, i, one)
		check_value(k, item, one,
			    arena_printf(k->a, "%s.%zu.member", path, i + 1), member);
}

static void check_map(struct checker *k, const json_t *shape, const json_t *value,
		      const char *path, const char *member)
{
	const json_t *key = model_ref_shape(k->op, json_object_get(shape, "key"));
	const json_t *item = model_ref_shape(k->op, json_object_get(shape, "value"));
	const char *name;
	json_t *one;

	json_object_foreach((json_t *)(uintptr_t)value, name, one) {
		json_t *text = json_own(k->a, json_string(name));

		check_value(k, key, text, path, member);
		check_value(k, item, one, arena_printf(k->a, "%s.%s", path, name),
			    member);
	}
}

static void check_value(struct checker *k, const json_t *shape, const json_t *value,
			const char *path, const char *member)
{
	enum shape_type type = model_type(shape);

	if (!type_fits(type, value, k->answer)) {
		report(k, PROBLEM_TYPE, path, member, value,
		       arena_printf(k->a, "Member must be of type %s",
				    model_str(shape, "type")));
		return;
	}
	if (type == SHAPE_STRUCTURE)
		check_structure(k, shape, value, path);
	if (type == SHAPE_LIST)
		check_items(k, shape, value, path, member);
	if (type == SHAPE_MAP)
		check_map(k, shape, value, path, member);
	if (k->answer)
		return;
	if (type == SHAPE_STRING)
		check_string(k, shape, value, path, member);
	if (type == SHAPE_INTEGER || type == SHAPE_FLOAT)
		check_bounds(k, shape, value, json_number_value(value), "value", path,
			     member);
	if (type == SHAPE_LIST)
		check_bounds(k, shape, value, (double)json_array_size(value), "length",
			     path, member);
	if (type == SHAPE_MAP)
		check_bounds(k, shape, value, (double)json_object_size(value), "length",
			     path, member);
}

void check_tree(struct arena *a, const struct model_op *op, const char *shape,
		const json_t *tree, struct problems *ret)
{
	struct checker k = {a, op, ret, false};
	const json_t *s = model_shape(op, shape);

	ret->n = 0;
	if (s)
		check_structure(&k, s, tree, "");
	else if (json_object_size(tree) > 0)
		report(&k, PROBLEM_UNKNOWN, "", op->name, tree,
		       "The operation takes no members");
}

void check_answer(struct arena *a, const struct model_op *op, const json_t *tree,
		  struct problems *ret)
{
	struct checker k = {a, op, ret, true};
	const json_t *s = model_shape(op, op->out);

	ret->n = 0;
	if (s)
		check_structure(&k, s, tree, "");
}
