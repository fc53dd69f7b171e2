/* XML answers of the query, EC2 and S3 protocols, shaped by the model. */
#include <string.h>

#include "tests/cloud/core.h"

static void escape(struct buf *b, const char *z)
{
	for (; *z; z++) {
		switch (*z) {
		case '<':
			buf_adds(b, "&lt;");
			break;
		case '>':
			buf_adds(b, "&gt;");
			break;
		case '&':
			buf_adds(b, "&amp;");
			break;
		case '"':
			buf_adds(b, "&quot;");
			break;
		case '\r':
			buf_adds(b, "&#13;");
			break;
		default:
			buf_addc(b, *z);
		}
	}
}

static void write_value(struct buf *b, struct arena *a, const struct model_op *op,
			const json_t *ref, const char *name, const json_t *value);

static void write_list(struct buf *b, struct arena *a, const struct model_op *op,
		       const json_t *shape, const char *name, const json_t *value)
{
	const json_t *member = json_object_get(shape, "member");
	const char *item = model_str(member, "locationName");
	json_t *one;
	size_t i;

	if (model_flag(shape, "flattened")) {
		json_array_foreach(value, i, one)
			write_value(b, a, op, member, item ? item : name, one);
		return;
	}
	buf_printf(b, "<%s>", name);
	json_array_foreach(value, i, one)
		write_value(b, a, op, member, item ? item : "member", one);
	buf_printf(b, "</%s>", name);
}

static void write_map(struct buf *b, struct arena *a, const struct model_op *op,
		      const json_t *shape, const char *name, const json_t *value)
{
	const json_t *k = json_object_get(shape, "key");
	const json_t *v = json_object_get(shape, "value");
	const char *key_name = model_str(k, "locationName");
	const char *value_name = model_str(v, "locationName");
	const char *key;
	json_t *one;

	buf_printf(b, "<%s>", name);
	json_object_foreach((json_t *)(uintptr_t)value, key, one) {
		buf_printf(b, "<entry><%s>", key_name ? key_name : "key");
		escape(b, key);
		buf_printf(b, "</%s>", key_name ? key_name : "key");
		write_value(b, a, op, v, value_name ? value_name : "value", one);
		buf_adds(b, "</entry>");
	}
	buf_printf(b, "</%s>", name);
}

static void write_value(struct buf *b, struct arena *a, const struct model_op *op,
			const json_t *ref, const char *name, const json_t *value)
{
	const json_t *shape = model_ref_shape(op, ref);
	const char *prefix = model_str(json_object_get(shape, "xmlNamespace"), "uri");

	switch (model_type(shape)) {
	case SHAPE_LIST:
		write_list(b, a, op, shape, name, value);
		return;
	case SHAPE_MAP:
		write_map(b, a, op, shape, name, value);
		return;
	case SHAPE_STRUCTURE:
		if (prefix)
			buf_printf(b, "<%s xmlns:xsi=\"%s\">", name, prefix);
		else
			buf_printf(b, "<%s>", name);
		encode_xml_members(b, a, op, shape, value);
		buf_printf(b, "</%s>", name);
		return;
	case SHAPE_STRING:
	case SHAPE_INTEGER:
	case SHAPE_FLOAT:
	case SHAPE_BOOLEAN:
	case SHAPE_TIMESTAMP:
	case SHAPE_BLOB:
		break;
	}
	buf_printf(b, "<%s>", name);
	escape(b, encode_text(a, op, ref, value, "iso8601"));
	buf_printf(b, "</%s>", name);
}

void encode_xml_members(struct buf *b, struct arena *a, const struct model_op *op,
			const json_t *shape, const json_t *value)
{
	json_t *members = json_object_get(shape, "members"), *ref;
	const char *name;

	/* In the model's order, as the services do. */
	json_object_foreach(members, name, ref) {
		const json_t *one = json_object_get(value, name);
		const char *wire = model_str(ref, "locationName");

		if (!one || json_is_null(one) || model_str(ref, "location"))
			continue;
		write_value(b, a, op, ref, wire ? wire : name, one);
	}
}

/* --- envelopes ----------------------------------------------------------- */

static const char *s3_root(const struct model_op *op)
{
	static const struct {
		const char *op, *root;
	} row[] = {
		{"ListObjectsV2", "ListBucketResult"},
		{"ListObjects", "ListBucketResult"},
		{"ListObjectVersions", "ListVersionsResult"},
		{"ListBuckets", "ListAllMyBucketsResult"},
		{"GetBucketTagging", "Tagging"},
		{"GetObjectTagging", "Tagging"},
		{"GetBucketVersioning", "VersioningConfiguration"},
		{"DeleteObjects", "DeleteResult"},
		{"ListMultipartUploads", "ListMultipartUploadsResult"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].op, op->name))
			return row[i].root;
	return model_str(json_object_get(op->def, "output"), "shape");
}

static void write_s3(struct buf *b, struct arena *a, const struct model_op *op,
		     const json_t *out)
{
	static const char ns[] = "http://s3.amazonaws.com/doc/2006-03-01/";
	const json_t *shape = model_shape(op, op->out);
	const char *payload = model_str(shape, "payload");
	const char *root = s3_root(op);

	if (streq(op->name, "GetBucketLocation")) {
		/* The only answer whose root element is the value. */
		const char *where = json_str_or(out, "LocationConstraint", "");

		buf_printf(b, "<LocationConstraint xmlns=\"%s\">%s</LocationConstraint>",
			   ns, where);
		return;
	}
	if (payload) {
		const json_t *ref =
			json_object_get(json_object_get(shape, "members"), payload);

		out = json_object_get(out, payload);
		root = model_str(ref, "locationName");
		if (!root)
			root = model_str(ref, "shape");
		shape = model_ref_shape(op, ref);
	}
	buf_printf(b, "<%s xmlns=\"%s\">", root, ns);
	encode_xml_members(b, a, op, shape, out);
	buf_printf(b, "</%s>", root);
}

static bool has_body_members(const json_t *shape)
{
	json_t *ref;
	const char *name;

	json_object_foreach(json_object_get(shape, "members"), name, ref)
		if (!model_str(ref, "location"))
			return true;
	return false;
}

void encode_xml(struct arena *a, const struct model_op *op, const struct wire *w,
		const json_t *out, struct cloud_response *ret)
{
	const json_t *shape = model_shape(op, op->out);
	const char *ns = model_str(op->metadata, "xmlNamespace");
	const char *wrapper =
		model_str(json_object_get(op->def, "output"), "resultWrapper");
	struct buf b;

	buf_init(&b, a, WIRE_BODY_MAX);
	ret->body = "";
	if (op->protocol == PROTO_REST_XML && !has_body_members(shape))
		return;
	buf_adds(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	if (op->protocol == PROTO_REST_XML) {
		write_s3(&b, a, op, out);
	} else if (op->protocol == PROTO_EC2) {
		buf_printf(&b, "<%sResponse xmlns=\"%s/\"><requestId>%s</requestId>",
			   op->name, ns, w->request_id);
		if (shape)
			encode_xml_members(&b, a, op, shape, out);
		else
			buf_adds(&b, "<return>true</return>");
		buf_printf(&b, "</%sResponse>", op->name);
	} else {
		buf_printf(&b, "<%sResponse xmlns=\"%s\">", op->name, ns);
		if (wrapper) {
			buf_printf(&b, "<%s>", wrapper);
			encode_xml_members(&b, a, op, shape, out);
			buf_printf(&b, "</%s>", wrapper);
		}
		buf_printf(
			&b,
			"<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata>"
			"</%sResponse>",
			w->request_id, op->name);
	}
	ret->body = buf_cstr(&b);
	ret->body_len = b.len;
	response_header(ret, "Content-Type",
			op->protocol == PROTO_REST_XML ? "application/xml"
						       : "text/xml;charset=UTF-8");
}
