#include "core/aws/parse.h"

#include <math.h>
#include <string.h>

#include "core/aws/errors.h"
#include "core/aws/s3_names.h"
#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/json/tree.h"

/* ---------------------------------------------------------------- JSON */

/* The last second of the year 9999; larger numbers are no times. */
static const double last_second = 253402300799.0;

static json_t *time_text(double seconds)
{
	char text[TIME_TEXT];

	return json_string(time_rfc3339(llround(seconds * 1000.0), text));
}

static bool is_time_number(const json_t *v)
{
	return json_is_number(v) && fabs(json_number_value(v)) <= last_second;
}

static void times_to_text(enum aws_service_id service, json_t *v)
{
	const char *key;
	json_t *child;
	size_t i;
	void *next;

	json_array_foreach(v, i, child)
		times_to_text(service, child);
	json_object_foreach_safe(v, next, key, child) {
		if (is_time_number(child) && aws_is_time(service, key))
			json_object_set_new(v, key, time_text(json_number_value(child)));
		else
			times_to_text(service, child);
	}
}

json_t *parse_json_answer(const struct aws_op *op, struct str body, struct arena *a)
{
	struct err ignored = {0};
	json_t *out;

	if (str_trim(body).n == 0)
		return json_new_object(a);
	out = json_parse(a, body, &ignored);
	if (!json_is_object(out))
		return NULL;
	times_to_text(op->service, out);
	return out;
}

static const char *first_text(const json_t *o, const char *const *names)
{
	for (; *names; names++) {
		const char *z = json_string_value(json_object_get(o, *names));

		if (z && *z)
			return z;
	}
	return NULL;
}

bool parse_json_fault(const struct http_answer *ans, struct arena *a,
		      struct aws_fault *ret)
{
	static const char *const codes[] = {"__type", "code", "Code", NULL};
	static const char *const messages[] = {"message", "Message", "errorMessage",
					       NULL};
	struct err ignored = {0};
	json_t *body = json_parse(a, (struct str){ans->body, ans->body_len}, &ignored);

	if (json_is_object(body)) {
		ret->code = first_text(body, codes);
		ret->message = first_text(body, messages);
	}
	if (http_header_of(ans, "x-amzn-errortype")) /* the same, or the only one */
		ret->code = http_header_of(ans, "x-amzn-errortype");
	return ret->code != NULL;
}

/* ---------------------------------------------------------------- S3 */

/* Of an object these are members; of other answers they describe the answer. */
static bool describes_body(const char *header)
{
	return str_starts(header, "content-") || streq(header, "last-modified");
}

/* Bytes of an object, the text of a policy; any other body that is one member is XML. */
static bool gives_bytes(const struct aws_op *op)
{
	return streq(op->answer, "Body") || streq(op->answer, "Policy");
}

static void put_headers(json_t *out, const struct aws_op *op,
			const struct http_answer *ans, struct arena *a)
{
	bool object = streq(op->answer, "Body") || str_starts(op->http, "HEAD /{Key");

	for (const struct s3_answer_header *h = s3_answer_headers; h->header; h++) {
		const char *value = http_header_of(ans, h->header);

		if (describes_body(h->header) && !object)
			continue;
		if (value && !json_object_get(out, h->member))
			json_object_set_new(out, h->member,
					    aws_typed(h->kind, str_of(value), a));
	}
}

static void put_body(json_t *out, const char *member, const struct http_answer *ans,
		     struct arena *a)
{
	struct str body = {ans->body, ans->body_len};

	if (str_is_utf8(body)) {
		json_object_set_new(out, member, json_stringn(body.p, body.n));
		return;
	}
	json_object_set_new(out, arena_printf(a, "%sBase64", member),
			    json_string(base64_encode(a, body.p, body.n)));
}

static json_t *parse_s3_answer(const struct aws_op *op, const struct http_answer *ans,
			       struct arena *a)
{
	struct str body = {ans->body, ans->body_len};
	json_t *out;

	/* Headers describe an object, or say what little there is to say. */
	if (!gives_bytes(op) && str_trim(body).n > 0)
		return parse_xml_answer(op, body, a);
	out = json_new_object(a);
	if (gives_bytes(op))
		put_body(out, op->answer, ans, a);
	put_headers(out, op, ans, a);
	return out;
}

/* ---------------------------------------------------------------- any */

static json_t *parse_answer(const struct aws_op *op, const struct http_answer *ans,
			    struct arena *a)
{
	struct str body = {ans->body, ans->body_len};

	switch (aws_service(op->service)->protocol) {
	case JSON_1_1:
	case REST_JSON:
		return parse_json_answer(op, body, a);
	case QUERY:
	case EC2_QUERY:
		return parse_xml_answer(op, body, a);
	case REST_XML:
		return parse_s3_answer(op, ans, a);
	}
	return NULL;
}

static bool parse_fault(const struct aws_op *op, const struct http_answer *ans,
			struct arena *a, struct aws_fault *ret)
{
	enum aws_protocol protocol = aws_service(op->service)->protocol;

	if (protocol == JSON_1_1 || protocol == REST_JSON)
		return parse_json_fault(ans, a, ret);
	return parse_xml_fault(ans, a, ret);
}

/* Answers to HEAD have no body; the status is all there is. */
static const char *code_of_status(int status)
{
	switch (status) {
	case 301:
		return "MovedPermanently";
	case 307:
		return "TemporaryRedirect";
	case 400:
		return "BadRequest";
	case 403:
		return "Forbidden";
	case 404:
		return "NotFound";
	case 412:
		return "PreconditionFailed";
	default:
		return "";
	}
}

static int64_t retry_after_ms(const struct http_answer *ans)
{
	const char *ms = http_header_of(ans, "x-amz-retry-after");
	const char *s = http_header_of(ans, "retry-after");
	int64_t v;

	if (ms && str_to_i64(str_of(ms), &v) && v > 0)
		return v;
	if (s && str_to_i64(str_of(s), &v) && v > 0 && v < 24 * 3600)
		return v * 1000;
	return 0;
}

static const char *request_id_of(const struct http_answer *ans)
{
	const char *id = http_header_of(ans, "x-amzn-requestid");

	return id ? id : http_header_of(ans, "x-amz-request-id");
}

static void no_answer(const struct aws_op *op, const struct http_answer *ans,
		      struct aws_result *ret)
{
	ret->ambiguous = op->mutates && ans->outcome == NET_AMBIGUOUS;
	ret->errc = ret->ambiguous ? ERR_AMBIGUOUS : ERR_CLOUD_UNREACHABLE;
	ret->message = ans->outcome == NET_AMBIGUOUS ? "no answer"
						     : "the request could not be sent";
}

static void bad_answer(const struct aws_op *op, struct aws_result *ret)
{
	ret->ambiguous = op->mutates;
	ret->errc = op->mutates ? ERR_AMBIGUOUS : ERR_CLOUD_GARBAGE;
	ret->message = "the answer could not be parsed";
}

/* A proxy's 404 says nothing of the thing; only HEAD has no body to tell them apart. */
static bool says_absence(const struct aws_op *op)
{
	return op->http && str_starts(op->http, "HEAD ");
}

static void refusal(const struct aws_op *op, const struct http_answer *ans,
		    struct arena *a, struct aws_result *ret)
{
	struct aws_fault fault = {0};

	if (!parse_fault(op, ans, a, &fault)) {
		if (ans->status == 404 && !says_absence(op)) {
			bad_answer(op, ret);
			return;
		}
		fault.code = code_of_status(ans->status);
	}
	ret->code = aws_clean_code(a, fault.code);
	ret->message = fault.message ? fault.message
				     : arena_printf(a, "HTTP status %d", ans->status);
	if (fault.request_id && !ret->request_id[0])
		ret->request_id = fault.request_id;
	ret->retry_after_ms = retry_after_ms(ans);
	ret->errc = aws_errc(op->service, ret->code, ret->message, ans->status);
	/* A fault of the service says nothing of what it did before. */
	ret->ambiguous =
		op->mutates && ans->status >= 500 && ret->errc == ERR_CLOUD_UNAVAILABLE;
	if (ret->ambiguous)
		ret->errc = ERR_AMBIGUOUS;
}

void aws_parse(const struct aws_op *op, const struct http_answer *ans, struct arena *a,
	       struct aws_result *ret)
{
	*ret = (struct aws_result){.code = "", .message = "", .request_id = ""};
	if (ans->outcome != NET_ANSWERED) {
		no_answer(op, ans, ret);
		return;
	}
	ret->status = ans->status;
	ret->bucket_region = http_header_of(ans, "x-amz-bucket-region");
	if (request_id_of(ans))
		ret->request_id = request_id_of(ans);
	if (ans->status < 200 || ans->status > 299) {
		refusal(op, ans, a, ret);
		return;
	}
	ret->out = parse_answer(op, ans, a);
	ret->ok = ret->out != NULL;
	if (!ret->ok)
		bad_answer(op, ret);
}
