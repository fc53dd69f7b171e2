/* What tests make a server do. */
#include <string.h>

#include "tests/cloud/kube/server.h"

static void say(struct ks_req *q, int status, const char *body, size_t n)
{
	ks_answer_text(q, status, "text/html", body);
	q->res->body_len = n;
}

/* Whether the rule ends the exchange before anything is done. */
bool ks_fault_before(struct ks_req *q, const json_t *rule)
{
	enum { BIG = 11 * 1024 * 1024 };
	const char *fault = json_str_or(rule, "fault", "");
	char *junk = NULL;

	if (streq(fault, "lose_request"))
		q->res->fate = FATE_LOSE_REQUEST;
	else if (streq(fault, "hang"))
		q->res->fate = FATE_HANG;
	else if (streq(fault, "throttle"))
		ks_fail(q, 429, "TooManyRequests",
			"Too many requests, please try again later.");
	else if (streq(fault, "expired"))
		ks_fail(q, 401, "Unauthorized", "Unauthorized");
	else if (streq(fault, "denied"))
		ks_fail(q, 403, "Forbidden", "%s",
			json_str_or(rule, "message",
				    "forbidden: denied by a fault rule"));
	else if (streq(fault, "error"))
		ks_fail(q, (int)json_int_or(rule, "status", 500),
			json_str_or(rule, "code", "InternalError"), "%s",
			json_str_or(rule, "message", "Internal error occurred"));
	else if (streq(fault, "garbage"))
		say(q, 200, "<html><body>502 Bad Gateway</body>\x01\x02{\"", 38);
	else if (streq(fault, "big")) {
		junk = arena_alloc(q->a, BIG + 1);
		memset(junk, '{', BIG);
		say(q, 200, junk, BIG);
	} else {
		return false;
	}
	return true;
}
