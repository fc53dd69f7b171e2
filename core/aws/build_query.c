/*
 * The Query protocols: a form of dotted names.
 *
 * IAM, STS, CloudFormation: lists are Name.member.1, an empty list is "Name=",
 * maps are Name.entry.1.key and .value. EC2: lists are Name.1 and an empty one
 * is not sent. Spaces are %20, never '+'.
 */
#include <string.h>

#include "core/aws/build.h"
#include "core/aws/names.h"
#include "core/aws/uri.h"
#include "core/base/limits.h"

struct form {
	const struct aws_building *b;
	struct buf body;
	bool ec2;
};

static void add_pair(struct form *f, const char *name, const char *value)
{
	if (f->body.len)
		buf_addc(&f->body, '&');
	uri_encode(&f->body, str_of(name), false);
	buf_addc(&f->body, '=');
	uri_encode(&f->body, str_of(value), false);
}

static bool add_value(struct form *f, const char *name, const char *within,
		      const json_t *v, int depth, struct err *e);

static bool add_members(struct form *f, const char *prefix, const char *within,
			const json_t *object, int depth, struct err *e)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)object, key, v) {
		const char *wire = aws_wire_of(f->b->service->id, within, key);
		const char *name = arena_printf(f->b->arena, "%s%s%s", prefix,
						*prefix ? "." : "", wire);

		if (!add_value(f, name, key, v, depth + 1, e))
			return false;
	}
	return true;
}

static bool add_list(struct form *f, const char *name, const char *within,
		     const json_t *list, int depth, struct err *e)
{
	json_t *v;
	size_t i;

	if (json_array_size(list) == 0 && !f->ec2)
		add_pair(f, name, "");
	json_array_foreach(list, i, v) {
		const char *item = arena_printf(f->b->arena, "%s%s.%zu", name,
						f->ec2 ? "" : ".member", i + 1);

		if (!add_value(f, item, within, v, depth + 1, e))
			return false;
	}
	return true;
}

static bool add_value(struct form *f, const char *name, const char *within,
		      const json_t *v, int depth, struct err *e)
{
	const char *text;

	if (depth > LIMIT_JSON_DEPTH)
		return err_set(e, ERR_INTERNAL, "The input of %s is nested too deeply",
			       f->b->op->name);
	if (json_is_object(v))
		return add_members(f, name, within, v, depth, e);
	if (json_is_array(v))
		return add_list(f, name, within, v, depth, e);
	text = scalar_text(f->b->arena, v);
	if (text) /* null is the same as absent */
		add_pair(f, name, text);
	return true;
}

bool build_query(const struct aws_building *b, struct err *e)
{
	struct form f = {.b = b, .ec2 = b->service->protocol == EC2_QUERY};

	buf_init(&f.body, b->arena, AWS_REQUEST_MAX);
	add_pair(&f, "Action", b->op->name);
	add_pair(&f, "Version", b->service->version);
	if (!add_members(&f, "", b->op->name, b->in, 0, e))
		return false;
	if (!request_fits(b, &f.body, e))
		return false;
	b->req->method = "POST";
	b->req->url = arena_printf(b->arena, "%s/", b->endpoint);
	http_add_header(b->req, "content-type", "application/x-www-form-urlencoded");
	b->req->body = buf_cstr(&f.body);
	b->req->body_len = f.body.len;
	return true;
}
