/* Errors for the wire, and each service's words for a refused request. */
#include <string.h>

#include "core/json/writer.h"
#include "tests/cloud/core.h"

static void xml_text(struct buf *b, const char *name, const char *z)
{
	buf_printf(b, "<%s>", name);
	for (; *z; z++) {
		if (*z == '<')
			buf_adds(b, "&lt;");
		else if (*z == '&')
			buf_adds(b, "&amp;");
		else if (*z == '>')
			buf_adds(b, "&gt;");
		else
			buf_addc(b, *z);
	}
	buf_printf(b, "</%s>", name);
}

/* The error shape of that code: by its name, or by the code it states. */
static const json_t *error_shape(struct cloud *c, const char *service, const char *code,
				 const char **ret_name)
{
	json_t *shapes = json_object_get(model_service(c->model, service), "shapes");
	json_t *shape;
	const char *name;

	*ret_name = code;
	json_object_foreach(shapes, name, shape) {
		const char *own = json_str_at(shape, "error.code");

		if (model_flag(shape, "exception") &&
		    (streq(name, code) || streq(own, code))) {
			*ret_name = name;
			return shape;
		}
	}
	return NULL;
}

static int default_status(const char *code)
{
	static const struct {
		const char *code;
		int status;
	} row[] = {
		{"RequestLimitExceeded", 503},
		{"SlowDown", 503},
		{"InternalFailure", 500},
		{"InternalError", 500},
		{"ServiceUnavailable", 503},
		{"TooManyRequestsException", 429},
		{"AccessDenied", 403},
		{"UnauthorizedOperation", 403},
		{"NoSuchBucket", 404},
		{"NoSuchKey", 404},
		{"NoSuchUpload", 404},
		{"NoSuchTagSet", 404},
		{"NotFound", 404},
		{"BucketNotEmpty", 409},
		{"BucketAlreadyExists", 409},
		{"BucketAlreadyOwnedByYou", 409},
		{"OperationAborted", 409},
		{"PreconditionFailed", 412},
		{"DryRunOperation", 412},
		{"NoSuchPublicAccessBlockConfiguration", 404},
		{"PermanentRedirect", 301},
		{"MethodNotAllowed", 405},
		{"NoSuchTagSetError", 404},
		{"NoSuchBucketPolicy", 404},
		{"ServerSideEncryptionConfigurationNotFoundError", 404},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].code, code))
			return row[i].status;
	return 400;
}

static void body_json(struct buf *b, const struct fault_answer *f, const json_t *shape)
{
	struct json_writer w;
	const char *name;
	json_t *one;

	jw_begin(&w, b);
	jw_open_object(&w);
	jw_kv_str(&w, "__type", f->code);
	jw_kv_str(&w, shape && json_at(shape, "members.Message") ? "Message" : "message",
		  f->message);
	json_object_foreach((json_t *)(uintptr_t)f->members, name, one) {
		jw_key(&w, name);
		jw_tree(&w, one);
	}
	jw_end(&w);
}

static void body_xml(struct buf *b, const struct wire *w, const struct fault_answer *f,
		     const char *ns)
{
	const char *name;
	json_t *one;

	buf_adds(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	if (f->protocol == PROTO_EC2)
		buf_adds(b, "<Response><Errors><Error>");
	else if (f->protocol == PROTO_QUERY)
		buf_printf(b, "<ErrorResponse xmlns=\"%s\"><Error><Type>%s</Type>",
			   ns ? ns : "", f->status >= 500 ? "Receiver" : "Sender");
	else
		buf_adds(b, "<Error>");
	xml_text(b, "Code", f->code);
	xml_text(b, "Message", f->message);
	json_object_foreach((json_t *)(uintptr_t)f->members, name, one)
		if (json_is_string(one))
			xml_text(b, name, json_string_value(one));
	if (f->protocol == PROTO_EC2)
		buf_printf(b, "</Error></Errors><RequestID>%s</RequestID></Response>",
			   w->request_id);
	else if (f->protocol == PROTO_QUERY)
		buf_printf(b, "</Error><RequestId>%s</RequestId></ErrorResponse>",
			   w->request_id);
	else
		buf_printf(b, "<RequestId>%s</RequestId><HostId>%s</HostId></Error>",
			   w->request_id, w->request_id);
}

void encode_fault(struct cloud *c, struct arena *a, const struct wire *w,
		  const struct fault_answer *f, struct cloud_response *ret)
{
	struct fault_answer g = *f;
	const char *shape_name;
	const json_t *shape = error_shape(c, f->service, f->code, &shape_name);
	const json_t *meta =
		json_object_get(model_service(c->model, f->service), "metadata");
	bool json = f->protocol == PROTO_JSON || f->protocol == PROTO_REST_JSON;
	struct buf b;

	if (g.status == 0)
		g.status = (int)json_int_or(shape, "error.httpStatusCode",
					    default_status(f->code));
	ret->n_headers = 0;
	ret->status = g.status;
	buf_init(&b, a, WIRE_BODY_MAX);
	if (json)
		body_json(&b, &g, shape);
	else
		body_xml(&b, w, &g, model_str(meta, "xmlNamespace"));
	response_header(ret, "Content-Type",
			f->protocol == PROTO_JSON        ? "application/x-amz-json-1.1"
			: f->protocol == PROTO_REST_JSON ? "application/json"
							 : "text/xml;charset=UTF-8");
	if (f->protocol == PROTO_REST_JSON)
		response_header(ret, "x-amzn-ErrorType", f->code);
	if (f->bucket_region)
		response_header(ret, "x-amz-bucket-region", f->bucket_region);
	ret->body = buf_cstr(&b);
	ret->body_len = b.len;
	if (streq(w->req->method, "HEAD"))
		ret->body_len = 0;
}

/* --- refusals ------------------------------------------------------------- */

enum family { FAMILY_JSON, FAMILY_REST_JSON, FAMILY_QUERY, FAMILY_EC2, FAMILY_S3 };

struct words {
	const char *code;
	int status;
};

static const struct words refusal_table[REFUSED_COUNT_][5] = {
	[REFUSED_NO_SIGNATURE] = {{"MissingAuthenticationTokenException", 400},
				  {"MissingAuthenticationTokenException", 403},
				  {"MissingAuthenticationToken", 403},
				  {"AuthFailure", 401},
				  {"AccessDenied", 403}},
	[REFUSED_UNKNOWN_KEY] = {{"UnrecognizedClientException", 400},
				 {"UnrecognizedClientException", 403},
				 {"InvalidClientTokenId", 403},
				 {"AuthFailure", 401},
				 {"InvalidAccessKeyId", 403}},
	[REFUSED_SIGNATURE] = {{"InvalidSignatureException", 400},
			       {"InvalidSignatureException", 403},
			       {"SignatureDoesNotMatch", 403},
			       {"SignatureDoesNotMatch", 403},
			       {"SignatureDoesNotMatch", 403}},
	[REFUSED_SKEW] = {{"InvalidSignatureException", 400},
			  {"InvalidSignatureException", 403},
			  {"SignatureDoesNotMatch", 403},
			  {"RequestExpired", 400},
			  {"RequestTimeTooSkewed", 403}},
	[REFUSED_EXPIRED_TOKEN] = {{"ExpiredTokenException", 400},
				   {"ExpiredTokenException", 403},
				   {"ExpiredToken", 403},
				   {"RequestExpired", 400},
				   {"ExpiredToken", 400}},
	[REFUSED_BAD_TOKEN] = {{"UnrecognizedClientException", 400},
			       {"UnrecognizedClientException", 403},
			       {"InvalidClientTokenId", 403},
			       {"AuthFailure", 401},
			       {"InvalidToken", 400}},
	[REFUSED_SCOPE] = {{"InvalidSignatureException", 400},
			   {"InvalidSignatureException", 403},
			   {"SignatureDoesNotMatch", 403},
			   {"AuthFailure", 401},
			   {"AuthorizationHeaderMalformed", 400}},
	[REFUSED_UNKNOWN_OP] = {{"UnknownOperationException", 400},
				{"UnknownOperationException", 404},
				{"InvalidAction", 400},
				{"InvalidAction", 400},
				{"NotImplemented", 501}},
	[REFUSED_SERIALIZATION] = {{"SerializationException", 400},
				   {"SerializationException", 400},
				   {"MalformedInput", 400},
				   {"MalformedInput", 400},
				   {"MalformedXML", 400}},
	[REFUSED_THROTTLE] = {{"ThrottlingException", 400},
			      {"ThrottlingException", 429},
			      {"Throttling", 400},
			      {"RequestLimitExceeded", 503},
			      {"SlowDown", 503}},
	[REFUSED_DENIED] = {{"AccessDeniedException", 400},
			    {"AccessDeniedException", 403},
			    {"AccessDenied", 403},
			    {"UnauthorizedOperation", 403},
			    {"AccessDenied", 403}},
};

static const char *const refusal_message[REFUSED_COUNT_] = {
	[REFUSED_NO_SIGNATURE] = "Request is missing Authentication Token",
	[REFUSED_UNKNOWN_KEY] = "The security token included in the request is invalid.",
	[REFUSED_SIGNATURE] =
		"The request signature we calculated does not match the signature you "
		"provided. Check your AWS Secret Access Key and signing method.",
	[REFUSED_SKEW] = "Request has expired.",
	[REFUSED_EXPIRED_TOKEN] = "The security token included in the request is expired",
	[REFUSED_BAD_TOKEN] = "The security token included in the request is invalid.",
	[REFUSED_SCOPE] = "Credential should be scoped to a valid region.",
	[REFUSED_UNKNOWN_OP] = "The action or operation requested is invalid.",
	[REFUSED_SERIALIZATION] = "The request could not be read.",
	[REFUSED_THROTTLE] = "Rate exceeded",
	[REFUSED_DENIED] = "User is not authorized to perform this operation.",
};

void refusal_words(const char *service, enum protocol protocol, const struct refused *r,
		   struct fault_answer *ret)
{
	static const enum family family[] = {
		[PROTO_JSON] = FAMILY_JSON,   [PROTO_REST_JSON] = FAMILY_REST_JSON,
		[PROTO_QUERY] = FAMILY_QUERY, [PROTO_EC2] = FAMILY_EC2,
		[PROTO_REST_XML] = FAMILY_S3,
	};
	const struct words *w = &refusal_table[r->why][family[protocol]];

	memset(ret, 0, sizeof(*ret));
	ret->service = service;
	ret->protocol = protocol;
	ret->code = w->code;
	ret->status = w->status;
	ret->message = r->message ? r->message : refusal_message[r->why];
	/* The quota service has its own word for too many requests. */
	if (r->why == REFUSED_THROTTLE && streq(service, "service-quotas")) {
		ret->code = "TooManyRequestsException";
		ret->status = 429;
	}
}
