/*
 * XML answers, by libxml2. Documents with a DOCTYPE are refused: no service
 * sends one, and entities are how XML is abused.
 */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <math.h>
#include <string.h>

#include "core/aws/parse.h"
#include "core/aws/uri.h"
#include "core/base/clock.h"
#include "core/base/limits.h"
#include "core/json/tree.h"

struct reading {
	const struct aws_op *op;
	struct arena *arena;
	bool too_deep;
};

static void free_doc(void *doc)
{
	xmlFreeDoc(doc);
}

/* The root element, or NULL. */
static const xmlNode *parse_xml(struct str body, struct arena *a)
{
	xmlDoc *doc;

	if (body.n == 0 || body.n > LIMIT_CLOUD_BODY)
		return NULL;
	doc = xmlReadMemory(body.p, (int)body.n, NULL, NULL,
			    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	if (!doc)
		return NULL;
	arena_defer(a, free_doc, doc);
	return doc->intSubset ? NULL : xmlDocGetRootElement(doc);
}

static const char *name_of(const xmlNode *n)
{
	return (const char *)n->name;
}

static bool is_element(const xmlNode *n, const char *name)
{
	return n->type == XML_ELEMENT_NODE && (!name || streq(name_of(n), name));
}

static const xmlNode *next_element(const xmlNode *n, const char *name)
{
	while (n && !is_element(n, name))
		n = n->next;
	return n;
}

static bool is_text(const xmlNode *n)
{
	return (n->type == XML_TEXT_NODE || n->type == XML_CDATA_SECTION_NODE) &&
	       n->content;
}

/* Mostly the document's own bytes: an answer has ten thousands of texts. */
static struct str text_of(const xmlNode *n, struct arena *a)
{
	const xmlNode *only = n->children;
	struct buf b;

	if (only && !only->next && is_text(only))
		return str_of((const char *)only->content);
	buf_init(&b, a, LIMIT_CLOUD_BODY);
	for (const xmlNode *c = n->children; c; c = c->next)
		if (is_text(c))
			buf_adds(&b, (const char *)c->content);
	return (struct str){buf_cstr(&b), b.len};
}

/* ---------------------------------------------------------------- values */

static json_t *typed_time(struct str text, struct arena *a)
{
	char formatted[TIME_TEXT];
	const char *z = str_dup(a, text);
	int64_t ms;

	if (!time_parse_rfc3339(z, &ms) && !time_parse_http(z, &ms))
		return NULL;
	return json_string(time_rfc3339(ms, formatted));
}

static json_t *typed_number(struct str text, struct arena *a)
{
	const char *z = str_dup(a, text);
	char *end;
	double v = strtod(z, &end);

	return *z && !*end && isfinite(v) ? json_real(v) : NULL;
}

json_t *aws_typed(enum aws_name_kind kind, struct str text, struct arena *a)
{
	json_t *v = NULL;
	int64_t number;

	switch (kind) {
	case NAME_BOOL:
		if (str_is(text, "true") || str_is(text, "false"))
			v = json_boolean(str_is(text, "true"));
		break;
	case NAME_INT:
	case NAME_INTS:
		if (str_to_i64(text, &number))
			v = json_integer(number);
		break;
	case NAME_NUM:
		v = typed_number(text, a);
		break;
	case NAME_TIME:
		v = typed_time(text, a);
		break;
	case NAME_POLICY:
		text = uri_decode(a, text);
		break;
	case NAME_OBJ:
		if (str_trim(text).n == 0)
			v = json_object();
		break;
	case NAME_STR:
	case NAME_LIST:
	case NAME_FLAT:
		break;
	}
	if (!v)
		v = json_stringn(text.p, text.n);
	return v ? v : json_string(""); /* bytes that are no UTF-8 */
}

static json_t *structure_of(struct reading *r, const xmlNode *n, const char *within,
			    int depth);

static json_t *value_of(struct reading *r, const xmlNode *n, const char *within,
			enum aws_name_kind kind, int depth)
{
	if (next_element(n->children, NULL))
		return structure_of(r, n, within, depth + 1);
	return aws_typed(kind, text_of(n, r->arena), r->arena);
}

static json_t *list_of(struct reading *r, const xmlNode *n, const char *within,
		       enum aws_name_kind kind, int depth)
{
	json_t *list = json_array();

	for (const xmlNode *c = next_element(n->children, NULL); c;
	     c = next_element(c->next, NULL))
		json_array_append_new(list,
				      value_of(r, c, within,
					       kind == NAME_INTS ? NAME_INT : NAME_STR,
					       depth + 1));
	return list;
}

/* An element that we have no row for, but whose children say that it is a list. */
static bool looks_like_list(const xmlNode *n)
{
	const xmlNode *c = next_element(n->children, NULL);

	return c && (is_element(c, "item") || is_element(c, "member"));
}

static const char *capitalised(const char *name, struct arena *a)
{
	char *z = arena_strdup(a, name);

	if (*z >= 'a' && *z <= 'z')
		*z = (char)(*z - 'a' + 'A');
	return z;
}

static void put_flat(json_t *out, const char *member, json_t *v)
{
	json_t *list = json_object_get(out, member);

	if (!list) {
		list = json_array();
		json_object_set_new(out, member, list);
	}
	json_array_append_new(list, v);
}

static void put_element(struct reading *r, json_t *out, const xmlNode *n,
			const char *within, int depth)
{
	const struct aws_name *row = aws_name_of(r->op->service, within, name_of(n));
	const char *member = row ? row->member : capitalised(name_of(n), r->arena);
	enum aws_name_kind kind = row ? row->kind : NAME_STR;

	if (!row && looks_like_list(n))
		kind = NAME_LIST;
	if (kind == NAME_FLAT)
		put_flat(out, member, value_of(r, n, member, NAME_STR, depth));
	else if (kind == NAME_LIST || kind == NAME_INTS)
		json_object_set_new(out, member, list_of(r, n, member, kind, depth));
	else
		json_object_set_new(out, member, value_of(r, n, member, kind, depth));
}

static json_t *structure_of(struct reading *r, const xmlNode *n, const char *within,
			    int depth)
{
	json_t *out = json_object();

	if (depth > LIMIT_JSON_DEPTH) {
		r->too_deep = true;
		return out;
	}
	for (const xmlNode *c = next_element(n->children, NULL); c;
	     c = next_element(c->next, NULL))
		put_element(r, out, c, within, depth);
	return out;
}

json_t *parse_xml_answer(const struct aws_op *op, struct str body, struct arena *a)
{
	struct reading r = {.op = op, .arena = a};
	const struct aws_service *service = aws_service(op->service);
	const xmlNode *root = parse_xml(body, a);
	json_t *out;

	if (!root)
		return NULL;
	if (service->protocol == QUERY) {
		if (!streq(name_of(root), arena_printf(a, "%sResponse", op->name)))
			return NULL;
		root = next_element(root->children,
				    arena_printf(a, "%sResult", op->name));
		if (!root)
			return json_new_object(a);
	}
	/* The one answer whose root is the value itself. */
	if (service->protocol == REST_XML && is_element(root, "LocationConstraint"))
		return json_packf(a, "{s:o}", "LocationConstraint",
				  aws_typed(NAME_STR, text_of(root, a), a));
	out = json_own(a, structure_of(&r, root, op->name, 0));
	if (service->protocol == EC2_QUERY) {
		if (!streq(name_of(root), arena_printf(a, "%sResponse", op->name)))
			return NULL;
		json_object_del(out, "RequestId");
	}
	if (r.too_deep)
		return NULL;
	/* A body that is one member: its name is that of the element. */
	if (service->protocol == REST_XML && op->answer && is_element(root, op->answer))
		return json_packf(a, "{s:O}", op->answer, out);
	return out;
}

/* ---------------------------------------------------------------- faults */

/* First element of that name within three levels. */
static const xmlNode *find(const xmlNode *n, const char *name, int levels)
{
	for (n = next_element(n, NULL); n; n = next_element(n->next, NULL)) {
		const xmlNode *inner;

		if (is_element(n, name))
			return n;
		inner = levels > 0 ? find(n->children, name, levels - 1) : NULL;
		if (inner)
			return inner;
	}
	return NULL;
}

static const char *child_text(const xmlNode *n, const char *name, struct arena *a)
{
	n = next_element(n->children, name);
	return n ? text_of(n, a).p : NULL;
}

bool parse_xml_fault(const struct http_answer *ans, struct arena *a,
		     struct aws_fault *ret)
{
	const xmlNode *root = parse_xml((struct str){ans->body, ans->body_len}, a);
	const xmlNode *error = root ? find(root, "Error", 3) : NULL;
	const xmlNode *id;

	if (!error)
		return false;
	ret->code = child_text(error, "Code", a);
	ret->message = child_text(error, "Message", a);
	id = find(root, "RequestId", 3);
	if (!id)
		id = find(root, "RequestID", 3);
	ret->request_id = id ? text_of(id, a).p : NULL;
	return ret->code != NULL;
}
