/* XML bodies of REST-XML requests, read by the model. */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <string.h>

#include "tests/cloud/core.h"

struct xml_reader {
	struct arena *a;
	const struct model_op *op;
};

static const char *text_of(struct xml_reader *x, const xmlNode *node)
{
	struct buf b;

	buf_init(&b, x->a, WIRE_BODY_MAX);
	for (const xmlNode *n = node->children; n; n = n->next)
		if ((n->type == XML_TEXT_NODE || n->type == XML_CDATA_SECTION_NODE) &&
		    n->content)
			buf_adds(&b, (const char *)n->content);
	return buf_cstr(&b);
}

static const char *element_name(const struct model_op *op, const char *member,
				const json_t *ref)
{
	const json_t *shape = model_ref_shape(op, ref);
	const char *name = NULL;

	if (model_type(shape) == SHAPE_LIST && model_flag(shape, "flattened"))
		name = model_str(json_object_get(shape, "member"), "locationName");
	if (!name)
		name = model_str(ref, "locationName");
	return name ? name : member;
}

static json_t *read_node(struct xml_reader *x, const json_t *ref, const xmlNode *node);

static json_t *read_items(struct xml_reader *x, const json_t *shape, const xmlNode *node)
{
	const json_t *member = json_object_get(shape, "member");
	json_t *ret = json_array();

	for (const xmlNode *n = node->children; n; n = n->next)
		if (n->type == XML_ELEMENT_NODE)
			json_array_append_new(ret, read_node(x, member, n));
	return ret;
}

static void read_member(struct xml_reader *x, json_t *members, const xmlNode *node,
			json_t *ret)
{
	const char *member;
	json_t *ref;

	json_object_foreach(members, member, ref) {
		const json_t *shape = model_ref_shape(x->op, ref);

		if (strcmp(element_name(x->op, member, ref), (const char *)node->name) !=
		    0)
			continue;
		if (model_type(shape) != SHAPE_LIST || !model_flag(shape, "flattened")) {
			json_object_set_new(ret, member, read_node(x, ref, node));
			return;
		}
		json_t *list = json_object_get(ret, member);

		if (!list) {
			list = json_array();
			json_object_set_new(ret, member, list);
		}
		json_array_append_new(
			list, read_node(x, json_object_get(shape, "member"), node));
		return;
	}
	json_object_set_new(ret, (const char *)node->name, json_string(text_of(x, node)));
}

static json_t *read_node(struct xml_reader *x, const json_t *ref, const xmlNode *node)
{
	const json_t *shape = model_ref_shape(x->op, ref);
	enum shape_type type = model_type(shape);

	if (type == SHAPE_LIST)
		return read_items(x, shape, node);
	if (type != SHAPE_STRUCTURE)
		return decode_text(x->op, ref, text_of(x, node));
	json_t *ret = json_object();

	for (const xmlNode *n = node->children; n; n = n->next)
		if (n->type == XML_ELEMENT_NODE)
			read_member(x, json_object_get(shape, "members"), n, ret);
	return ret;
}

json_t *decode_xml(struct arena *a, const struct model_op *op, const json_t *ref,
		   const char *text, size_t n, struct refused *r)
{
	struct xml_reader x = {a, op};
	xmlDoc *doc =
		xmlReadMemory(text, (int)n, NULL, NULL,
			      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	const xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;
	const char *want = model_str(ref, "locationName");
	json_t *ret = NULL;

	if (root && (!want || strcmp(want, (const char *)root->name) == 0))
		ret = read_node(&x, ref, root);
	if (!ret) {
		r->why = REFUSED_SERIALIZATION;
		r->message =
			"The XML you provided was not well-formed or did not validate "
			"against our published schema";
	}
	xmlFreeDoc(doc);
	return ret;
}
