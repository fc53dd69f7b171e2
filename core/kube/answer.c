#include "core/kube/kube.h"

#include <string.h>

#include "core/json/mask_tree.h"
#include "core/json/tree.h"
#include "core/kube/webhook.h"

enum { TEXT_KEPT = 2048 };

struct reason_row {
	int status;         /* 0: any */
	const char *reason; /* NULL: any */
	const char *says;   /* part of the message; NULL: anything */
	const char *cause;  /* reason of one of details.causes; NULL: anything */
	enum errc errc;
};

/* First match wins. https://github.com/kubernetes/apimachinery meta/v1 StatusReason */
static const struct reason_row reasons[] = {
	{401, NULL, NULL, NULL, ERR_CREDENTIALS},
	{403, NULL, NULL, "NamespaceTerminating", ERR_CLOUD_CONFLICT},
	{403, NULL, "exceeded quota", NULL, ERR_QUOTA},
	{403, NULL, "denied the request", NULL, ERR_CLOUD_REFUSED},
	{403, NULL, NULL, NULL, ERR_CLOUD_DENIED},
	{404, NULL, NULL, NULL, ERR_CLOUD_NOT_FOUND},
	{409, NULL, NULL, "FieldManagerConflict", ERR_FOREIGN_OBJECT},
	{409, NULL, NULL, NULL, ERR_CLOUD_CONFLICT},
	{410, NULL, NULL, NULL, ERR_CLOUD_UNAVAILABLE},
	/* An eviction that a disruption budget forbids for now. */
	{429, NULL, NULL, "DisruptionBudget", ERR_CLOUD_CONFLICT},
	{429, NULL, NULL, NULL, ERR_CLOUD_THROTTLED},
	{500, NULL, KUBE_WEBHOOK_FAILED, NULL, ERR_WEBHOOK_UNSERVED},
	/* Server-side apply answers a member it does not know so, with 500. */
	{500, NULL, "field not declared in schema", NULL, ERR_CLOUD_REFUSED},
	{500, NULL, "failed to create typed patch object", NULL, ERR_CLOUD_REFUSED},
};

static bool has_cause(const json_t *status, const char *reason)
{
	return json_find(json_at(status, "details.causes"), "reason", reason);
}

static enum errc errc_of(int http, const json_t *status, const char *code,
			 const char *message)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const struct reason_row *row = &reasons[i];

		if ((row->status && row->status != http) ||
		    (row->reason && !streq(row->reason, code)) ||
		    (row->says && !strstr(message, row->says)) ||
		    (row->cause && !has_cause(status, row->cause)))
			continue;
		return row->errc;
	}
	if (http >= 500)
		return ERR_CLOUD_UNAVAILABLE;
	return http >= 400 ? ERR_CLOUD_REFUSED : ERR_CLOUD_GARBAGE;
}

/* A proxy's 502 or 504, and a server that lost patience with its store, say
 * nothing about what the store has done. */
static bool tells_nothing(int http, const json_t *status, const char *code,
			  const char *message)
{
	if (http == 502 || http == 504)
		return true;
	if (http < 500)
		return false;
	return !status || streq(code, "ServerTimeout") || streq(code, "Timeout") ||
	       strstr(message, "request timed out") != NULL;
}

static int64_t retry_after(const struct http_answer *ans, const json_t *status)
{
	const char *text = http_header_of(ans, "retry-after");
	int64_t seconds = 0;

	if (text && str_to_i64(str_of(text), &seconds) && seconds > 0)
		return seconds;
	return json_int_or(status, "details.retryAfterSeconds", 0);
}

static json_t *status_of(const struct http_answer *ans, struct arena *a)
{
	struct err ignored;
	json_t *tree = NULL;

	if (ans->body_len > 0 && ans->body[0] == '{')
		tree = json_parse(a, (struct str){ans->body, ans->body_len}, &ignored);
	mask_tree(a, tree, NULL);
	return streq(json_str_at(tree, "kind"), "Status") ? tree : NULL;
}

/* A proxy's 404 says nothing of the object. A group that is not served is answered by
 * the server's own mux, in these words. */
static bool says_absence(const struct http_answer *ans)
{
	return str_starts(ans->body, "404 page not found");
}

static void parse_failure(const struct kube_request *r, const struct http_answer *ans,
			  struct arena *a, struct kube_result *ret)
{
	const size_t kept = ans->body_len < TEXT_KEPT ? ans->body_len : TEXT_KEPT;
	json_t *status = status_of(ans, a);

	ret->out = status;
	ret->code = json_str_or(status, "reason", "");
	ret->message = json_str_or(status, "message", "");
	if (!status) /* a proxy's page: any bytes */
		ret->message = mask_z(
			a, str_as_utf8(a, arena_strndup(a, ans->body, kept)), NULL);
	ret->retry_after_s = retry_after(ans, status);
	ret->errc = errc_of(ans->status, status, ret->code, ret->message);
	if (ans->status == 404 && !status && !says_absence(ans)) {
		ret->message = "the answer is not of a Kubernetes API";
		ret->ambiguous = kube_verb_mutates(r->verb);
		ret->errc = ret->ambiguous ? ERR_AMBIGUOUS : ERR_CLOUD_GARBAGE;
		return;
	}
	if (kube_verb_mutates(r->verb) && ret->errc != ERR_WEBHOOK_UNSERVED &&
	    tells_nothing(ans->status, status, ret->code, ret->message)) {
		ret->ambiguous = true;
		ret->errc = ERR_AMBIGUOUS;
	}
}

static void parse_silence(const struct kube_request *r, const struct http_answer *ans,
			  struct kube_result *ret)
{
	ret->ambiguous = ans->outcome == NET_AMBIGUOUS && kube_verb_mutates(r->verb);
	ret->errc = ret->ambiguous ? ERR_AMBIGUOUS : ERR_CLOUD_UNREACHABLE;
	ret->message = ans->outcome == NET_AMBIGUOUS
			       ? "no answer"
			       : "the API server could not be reached";
}

static void parse_success(const struct kube_request *r, const struct http_answer *ans,
			  struct arena *a, struct kube_result *ret)
{
	struct err e;

	if (r->verb == KUBE_LOG || r->verb == KUBE_RAW) {
		ret->ok = true;
		ret->text = mask_z(a, ans->body, NULL);
		return;
	}
	if (r->verb == KUBE_WATCH) { /* the body went to on_data */
		ret->ok = true;
		return;
	}
	ret->out = json_parse(a, (struct str){ans->body, ans->body_len}, &e);
	ret->ok = json_is_object(ret->out) &&
		  json_is_string(json_object_get(ret->out, "kind"));
	if (ret->ok) {
		mask_tree(a, ret->out, NULL);
		return;
	}
	ret->out = NULL;
	ret->message = "the answer is not a Kubernetes object";
	ret->ambiguous = kube_verb_mutates(r->verb);
	ret->errc = ret->ambiguous ? ERR_AMBIGUOUS : ERR_CLOUD_GARBAGE;
}

void kube_parse(const struct kube_request *r, const struct http_answer *ans,
		struct arena *a, struct kube_result *ret)
{
	const char *audit = NULL;

	*ret = (struct kube_result){.code = "", .message = "", .audit_id = ""};
	if (ans->outcome != NET_ANSWERED) {
		parse_silence(r, ans, ret);
		return;
	}
	ret->status = ans->status;
	audit = http_header_of(ans, "audit-id");
	ret->audit_id = audit ? str_as_utf8(a, audit) : "";
	if (ans->status >= 200 && ans->status < 300)
		parse_success(r, ans, a, ret);
	else
		parse_failure(r, ans, a, ret);
}

static const char *fix_of(enum errc code)
{
	switch ((int)code) {
	case ERR_CREDENTIALS:
		return "Check that the clock is correct and that the InstantStart role "
		       "has an access entry on the EKS cluster.";
	case ERR_CLOUD_DENIED:
		return "Associate AmazonEKSClusterAdminPolicy with the access entry of "
		       "the InstantStart role, or grant the missing permission.";
	case ERR_FOREIGN_OBJECT:
		return "Another manager owns these fields. Remove them there, or take "
		       "the object over.";
	default:
		return NULL;
	}
}

bool kube_err(const struct kube_request *r, const struct kube_result *res, struct err *e)
{
	const char *name = r->name ? r->name : json_str_at(r->body, "metadata.name");
	const char *fix = fix_of(res->errc);

	err_set(e, res->errc, "kubernetes: %s %s%s%s%s%s failed: %s",
		kube_verb_name(r->verb),
		r->verb == KUBE_LOG ? "pods"
		: r->plural         ? r->plural
				    : "",
		r->ns ? " " : "", r->ns ? r->ns : "", name ? (r->ns ? "/" : " ") : "",
		name ? name : "", res->message);
	if (fix)
		err_fix(e, "%s", fix);
	return err_because(e, "kubernetes", res->code, res->message, res->audit_id);
}
