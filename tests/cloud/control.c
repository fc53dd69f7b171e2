/*
 * What tests ask the server for, under /_cloud/:
 *
 *   GET  state | ledger | settings | clock | ready
 *   POST settings   merge patch
 *   POST faults     one rule, or a list of them
 *   DELETE faults
 *   POST clock      {"advance_ms": N}
 *   POST review/CLUSTER   TokenReview or SubjectAccessReview of its API server
 *   POST fleet      {"cluster", "groups", "nodes", "type", "pods"}
 *   POST kube       {"name", "id"}: an API server under /k8s/<id> without an EKS
 *                   cluster; who may use it: the setting kube_tokens
 *   POST balancer   {"name", "vpc"}: a load balancer that no Service has made
 */
#include <string.h>

#include "tests/cloud/core.h"
#include "tests/cloud/eks/eks.h"
#include "tests/cloud/elb.h"

static void answer(struct arena *a, struct cloud_response *ret, int status,
		   const json_t *body)
{
	ret->status = status;
	ret->body = json_text(a, body);
	ret->body_len = strlen(ret->body);
	response_header(ret, "Content-Type", "application/json");
}

static void answer_error(struct arena *a, struct cloud_response *ret, int status,
			 const char *message)
{
	answer(a, ret, status, json_packf(a, "{s:s}", "message", message));
}

static bool add_faults(struct cloud *c, const json_t *body)
{
	json_t *rule;
	size_t i;

	if (!json_is_array(body))
		return cloud_add_fault(c, body);
	json_array_foreach(body, i, rule)
		if (!cloud_add_fault(c, rule))
			return false;
	return true;
}

static void post(struct cloud *c, struct arena *a, const char *what, const json_t *body,
		 struct cloud_response *ret)
{
	if (streq(what, "settings")) {
		cloud_configure(c, body);
		answer(a, ret, 200, c->settings);
	} else if (streq(what, "faults")) {
		if (add_faults(c, body))
			answer(a, ret, 200, c->faults);
		else
			answer_error(a, ret, 400, "not a fault rule");
	} else if (streq(what, "kube") && json_str_at(body, "name") &&
		   json_str_at(body, "id")) {
		cloud_kube_create(c, json_str_at(body, "name"), json_str_at(body, "id"));
		answer(a, ret, 200, body);
	} else if (streq(what, "balancer")) {
		elb_make(c, a,
			 &(struct elb_spec){.name = json_str_or(body, "name", ""),
					    .kind = "net",
					    .vpc = json_str_or(body, "vpc", ""),
					    .owner = ""});
		answer(a, ret, 200, body);
	} else if (streq(what, "fleet")) {
		if (cloud_fleet(c, a, body))
			answer(a, ret, 200, body);
		else
			answer_error(a, ret, 400, "no such cluster");
	} else if (streq(what, "clock") && c->move_clock) {
		c->move_clock(c->o.clock, json_int_or(body, "advance_ms", 0));
		cloud_advance(c);
		answer(a, ret, 200,
		       json_packf(a, "{s:I}", "wall_ms",
				  (json_int_t)c->o.clock->wall_ms(c->o.clock)));
	} else if (str_starts(what, "review/")) {
		const json_t *review = eks_review(c, a, what + strlen("review/"), body);

		if (review)
			answer(a, ret, 200, review);
		else
			answer_error(a, ret, 400, "not a review");
	} else {
		answer_error(a, ret, 404, "no such control");
	}
}

static void get(struct cloud *c, struct arena *a, const char *what,
		struct cloud_response *ret)
{
	if (streq(what, "state")) {
		cloud_advance(c);
		answer(a, ret, 200, c->state);
	} else if (streq(what, "ledger")) {
		answer(a, ret, 200, c->ledger);
	} else if (streq(what, "settings")) {
		answer(a, ret, 200, c->settings);
	} else if (streq(what, "faults")) {
		answer(a, ret, 200, c->faults);
	} else if (streq(what, "clock") || streq(what, "ready")) {
		answer(a, ret, 200,
		       json_packf(a, "{s:I}", "wall_ms",
				  (json_int_t)c->o.clock->wall_ms(c->o.clock)));
	} else {
		answer_error(a, ret, 404, "no such control");
	}
}

void cloud_control(struct cloud *c, struct arena *a, const struct cloud_request *req,
		   struct cloud_response *ret)
{
	const char *at = req->target + strlen("/_cloud/");
	/* An API server adds its ?timeout= to what it asks. */
	const char *what = arena_strndup(a, at, strcspn(at, "?"));
	struct err e = {0};

	if (streq(req->method, "GET")) {
		get(c, a, what, ret);
		return;
	}
	if (streq(req->method, "DELETE") && streq(what, "faults")) {
		cloud_clear_faults(c);
		answer(a, ret, 200, c->faults);
		return;
	}
	json_t *body = json_parse(
		a, (struct str){req->body ? req->body : "", req->body_len}, &e);

	if (!body)
		answer_error(a, ret, 400, e.detail);
	else
		post(c, a, what, body, ret);
}
