/* One request through the cloud: signature, operation, faults, handler, answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/core.h"

/* A request on its way. */
struct passage {
	struct cloud *c;
	struct arena *a;
	struct wire w;
	struct model_op op;
	const char *service;
	enum protocol protocol;
	const struct cloud_op *handler;
	struct caller caller;
	json_t *in;
	const char *fault; /* of the rule that made the answer */
	struct cloud_response *ret;
};

bool cloud_fault(struct cloud_call *call, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	call->fault_code = arena_strdup(call->arena, code);
	call->fault_message = arena_vprintf(call->arena, fmt, ap);
	va_end(ap);
	return false;
}

static void answer_refusal(struct passage *p, const struct refused *r)
{
	struct fault_answer f;

	refusal_words(p->service, p->protocol, r, &f);
	encode_fault(p->c, p->a, &p->w, &f, p->ret);
}

static bool refuse(struct passage *p, enum refusal why, const char *message)
{
	answer_refusal(p, &(struct refused){why, message});
	return false;
}

/* --- which service, which operation --------------------------------------- */

/* Without a signature the host or the action tells who is spoken to. */
static const char *guess_service(const struct passage *p)
{
	struct pair *action = pair_find(&p->w.form, "Action");
	const char *host = p->w.req->host ? p->w.req->host : "";

	for (size_t i = 0; cloud_services[i]; i++) {
		const char *id = cloud_services[i]->id;
		const json_t *service = model_service(p->c->model, id);
		const char *prefix = json_str_at(service, "metadata.endpointPrefix");
		size_t n = prefix ? strlen(prefix) : 0;
		struct model_op op;

		if (n > 0 && strncmp(host, prefix, n) == 0 && host[n] == '.')
			return id;
		if (action && model_find(p->c->model, id, action->value, &op) &&
		    (op.protocol == PROTO_QUERY || op.protocol == PROTO_EC2))
			return id;
		if (wire_header(&p->w, "x-amz-target") &&
		    str_starts(wire_header(&p->w, "x-amz-target"),
			       json_str_or(service, "metadata.targetPrefix", "-")))
			return id;
	}
	return "s3"; /* anonymous */
}

static bool find_service(struct passage *p)
{
	struct model_op any;
	const char *name;
	json_t *ops, *def;

	if (sigv4_scope(p->a, &p->w))
		p->service = model_service_of(p->c->model, p->w.scope_service);
	else
		p->service = guess_service(p);
	if (!p->service)
		return false;
	ops = json_object_get(model_service(p->c->model, p->service), "operations");
	json_object_foreach(ops, name, def)
		if (model_find(p->c->model, p->service, name, &any)) {
			p->protocol = any.protocol;
			return true;
		}
	return false;
}

static bool find_json_op(struct passage *p)
{
	const char *target = wire_header(&p->w, "x-amz-target");
	const json_t *meta =
		json_object_get(model_service(p->c->model, p->service), "metadata");
	const char *prefix = model_str(meta, "targetPrefix");
	const char *dot = target ? strchr(target, '.') : NULL;

	if (!dot || strncmp(target, prefix, (size_t)(dot - target)) != 0)
		return false;
	return model_find(p->c->model, p->service, dot + 1, &p->op);
}

static bool find_op(struct passage *p)
{
	struct pair *action = pair_find(&p->w.form, "Action");
	struct pair *version = pair_find(&p->w.form, "Version");
	bool found = false;

	switch (p->protocol) {
	case PROTO_JSON:
		found = find_json_op(p);
		break;
	case PROTO_QUERY:
	case PROTO_EC2:
		found = action &&
			model_find(p->c->model, p->service, action->value, &p->op) &&
			version &&
			streq(version->value, model_str(p->op.metadata, "apiVersion"));
		break;
	case PROTO_REST_JSON:
	case PROTO_REST_XML:
		found = rest_route(p->c, p->a, p->service, &p->w, &p->op);
		break;
	}
	if (found)
		p->handler = cloud_op_find(cloud_service_find(p->service), p->op.name);
	return p->handler;
}

/* --- faults ---------------------------------------------------------------- */

static const char *junk(struct arena *a, size_t n)
{
	char *z = arena_alloc(a, n + 1);

	memset(z, '{', n);
	return z;
}

static void answer_raw(struct passage *p, const char *body, size_t n)
{
	p->ret->status = 200;
	p->ret->body = body;
	p->ret->body_len = n;
	response_header(p->ret, "Content-Type", "application/octet-stream");
}

/* Whether the rule ends the exchange before the handler runs. */
static bool fault_before(struct passage *p, const json_t *rule)
{
	const char *fault = json_str_or(rule, "fault", "");
	struct fault_answer f = {
		.service = p->service,
		.protocol = p->protocol,
		.code = json_str_or(rule, "code", "InternalFailure"),
		.message =
			json_str_or(rule, "message", "We encountered an internal error."),
		.status = (int)json_int_or(rule, "status", 0),
	};
	enum { BIG = 11 * 1024 * 1024 };

	if (streq(fault, "lose_request"))
		p->ret->fate = FATE_LOSE_REQUEST;
	else if (streq(fault, "hang"))
		p->ret->fate = FATE_HANG;
	else if (streq(fault, "throttle"))
		refuse(p, REFUSED_THROTTLE, NULL);
	else if (streq(fault, "expired"))
		refuse(p, REFUSED_EXPIRED_TOKEN, NULL);
	else if (streq(fault, "denied"))
		refuse(p, REFUSED_DENIED, json_str_at(rule, "message"));
	else if (streq(fault, "error"))
		encode_fault(p->c, p->a, &p->w, &f, p->ret);
	else if (streq(fault, "garbage"))
		answer_raw(p, "<html><body>502 Bad Gateway</body>\x01\x02{\"", 39);
	else if (streq(fault, "big"))
		answer_raw(p, junk(p->a, BIG), BIG);
	else
		return false;
	return true;
}

/* --- the handler ------------------------------------------------------------ */

static void answer_fault(struct passage *p, const struct cloud_call *call)
{
	struct fault_answer f = {
		.service = p->service,
		.protocol = p->protocol,
		.code = call->fault_code ? call->fault_code : "InternalFailure",
		.message = call->fault_message ? call->fault_message : "",
		.status = call->fault_status,
		.members = call->fault_members,
		.bucket_region = call->bucket_region,
	};

	encode_fault(p->c, p->a, &p->w, &f, p->ret);
}

/* Runs check and handler; the answer is checked too: a handler that makes up
 * members would teach the product something that AWS never says. */
static bool run(struct cloud_call *call, const struct model_op *op,
		const struct cloud_op *handler, json_t **ret_out)
{
	struct problems problems;

	check_tree(call->arena, op, op->in, call->in, &problems);
	if (problems.n > 0) {
		problems_to_fault(call, op, &problems);
		return false;
	}
	/* EC2's rehearsal: success is this error. */
	if (op->protocol == PROTO_EC2 && json_bool_or(call->in, "DryRun", false))
		return cloud_fault(
			call, "DryRunOperation",
			"Request would have succeeded, but DryRun flag is set.");
	if (!handler->handle(call, ret_out)) {
		if (!call->fault_code)
			cloud_fault(call, "InternalFailure",
				    "%s refused without a reason", op->name);
		return false;
	}
	if (!*ret_out)
		*ret_out = json_new_object(call->arena);
	check_answer(call->arena, op, *ret_out, &problems);
	if (problems.n == 0)
		return true;
	fprintf(stderr, "cloud: %s %s answers %s: %s\n", op->service, op->name,
		problems.v[0].path, problems.v[0].constraint);
	cloud_fault(call, "InternalFailure", "simulator: %s: %s", problems.v[0].path,
		    problems.v[0].constraint);
	call->fault_status = 500;
	return false;
}

/* --- what is young --------------------------------------------------------- */

static json_t *without_young(const json_t *table, int64_t since_ms)
{
	json_t *old = json_object(), *object;
	const char *id;

	json_object_foreach((json_t *)(uintptr_t)table, id, object)
		if (json_int_or(object, "_created_ms", 0) <= since_ms)
			json_object_set(old, id, object);
	return old;
}

/*
 * A read from outside sees the tables of its service without what was made within
 * settings.hidden_ms.SERVICE: by name and id as well as in lists. Gives what was there,
 * to be put back; NULL: nothing is hidden.
 */
static json_t *hide_young(struct cloud_call *call)
{
	const json_t *ms = json_object_get(
		json_object_get(call->cloud->settings, "hidden_ms"), call->service);
	const size_t n = strlen(call->service);
	json_t *whole, *table;
	const char *name;

	if (!ms)
		return NULL;
	whole = json_copy(call->cloud->state);
	json_object_foreach(whole, name, table)
		if (strncmp(name, call->service, n) == 0 && name[n] == '.')
			json_object_set_new(
				call->cloud->state, name,
				without_young(table,
					      call->now_ms - json_integer_value(ms)));
	return whole;
}

static void show_young(struct cloud_call *call, json_t *whole)
{
	const char *name;
	json_t *table;

	json_object_foreach(whole, name, table)
		json_object_set(call->cloud->state, name, table);
	json_decref(whole);
}

static const char *token_of(const struct model_op *op, const json_t *in)
{
	const char *member = model_token_member(op);

	return member ? json_string_value(json_object_get(in, member)) : NULL;
}

static void serve(struct passage *p)
{
	struct cloud_call call = {
		.cloud = p->c,
		.arena = p->a,
		.service = p->service,
		.op = p->op.name,
		.in = p->in,
		.caller_arn = p->caller.arn,
		.now_ms = p->c->o.clock->wall_ms(p->c->o.clock),
	};
	const json_t *rule =
		cloud_take_fault(p->c, p->service, p->op.name, NULL, p->handler->mutates);
	json_t *out = NULL, *entry = NULL;
	const char *denied;
	bool lost = streq(json_str_at(rule, "fault"), "lose_answer");

	if (rule && fault_before(p, rule)) {
		p->fault = json_str_or(rule, "fault", "");
		return;
	}
	denied = cloud_may(p->c, p->a, p->caller.access_key, p->caller.arn, p->service,
			   p->op.name, p->in);
	if (denied) {
		refuse(p, REFUSED_DENIED, denied);
		return;
	}
	if (p->handler->mutates)
		entry = cloud_ledger_open(p->c, "aws", p->service, p->op.name,
					  p->caller.arn, token_of(&p->op, p->in), p->in);
	p->c->acting = p->caller.access_key;
	json_t *whole = p->handler->mutates ? NULL : hide_young(&call);
	bool ok = run(&call, &p->op, p->handler, &out);

	show_young(&call, whole);
	p->c->acting = NULL;
	if (entry) {
		json_put_bool(entry, "answer_lost", lost);
		cloud_ledger_close(p->c, ok ? "ok" : call.fault_code);
	}
	if (lost)
		p->ret->fate = FATE_LOSE_ANSWER;
	if (ok)
		encode_answer(p->a, &p->op, &p->w, out, p->ret);
	else
		answer_fault(p, &call);
}

/* --- one request ------------------------------------------------------------ */

static bool is_unsigned_op(const struct passage *p)
{
	return streq(p->op.name, "AssumeRoleWithWebIdentity");
}

static void handle_aws(struct passage *p)
{
	struct refused r = {REFUSED_NOT, NULL};
	bool known;

	if (!find_service(p)) {
		p->service = "sts";
		p->protocol = PROTO_QUERY;
		refuse(p, REFUSED_UNKNOWN_OP, "No such service here");
		return;
	}
	known = find_op(p);
	/* Who asks comes before what is asked for. */
	if (!(known && is_unsigned_op(p)) &&
	    !sigv4_verify(p->c, p->a, &p->w, &p->caller, &r)) {
		answer_refusal(p, &r);
		return;
	}
	if (!known) {
		refuse(p, REFUSED_UNKNOWN_OP, NULL);
		return;
	}
	if (!decode_input(p->a, &p->op, &p->w, &p->in, &r))
		answer_refusal(p, &r);
	else
		serve(p);
}

static void common_headers(struct passage *p)
{
	bool s3 = streq(p->service, "s3");
	int64_t now = p->c->auth_clock->wall_ms(p->c->auth_clock);
	json_t *seconds = json_own(p->a, cloud_seconds(now));

	response_header(p->ret, s3 ? "x-amz-request-id" : "x-amzn-RequestId",
			p->w.request_id);
	if (s3)
		response_header(p->ret, "x-amz-id-2", p->w.request_id);
	response_header(p->ret, "Date", encode_time(p->a, seconds, "rfc822"));
}

void cloud_handle(struct cloud *c, struct arena *a, const struct cloud_request *req,
		  struct cloud_response *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->body = "";
	if (str_starts(req->target, "/_cloud/")) {
		cloud_control(c, a, req, ret);
		return;
	}
	cloud_advance(c);
	if (str_starts(req->target, "/k8s/")) {
		cloud_kube_handle(c, a, req, ret);
		return;
	}
	struct passage *p = arena_new(a, struct passage);

	p->c = c;
	p->a = a;
	p->ret = ret;
	wire_read(&p->w, a, req);
	const char *id = cloud_id(c, a, "", 32);

	p->w.request_id = arena_printf(a, "%.8s-%.4s-%.4s-%.4s-%.12s", id, id + 8,
				       id + 12, id + 16, id + 20);
	handle_aws(p);
	common_headers(p);
	cloud_record(c, a, req, ret, p->fault);
}

bool cloud_invoke(struct cloud *c, struct arena *a, const char *service, const char *op,
		  const json_t *in, const char *as, json_t **ret_out,
		  const char **ret_code, const char **ret_message)
{
	const struct cloud_op *handler = cloud_op_find(cloud_service_find(service), op);
	struct model_op mop;
	struct cloud_call call = {
		.cloud = c,
		.arena = a,
		.service = service,
		.op = op,
		.in = in,
		.caller_arn = as ? as : c->o.caller_arn,
		.now_ms = c->o.clock->wall_ms(c->o.clock),
	};
	json_t *out = NULL;

	*ret_code = *ret_message = NULL;
	if (!handler || !model_find(c->model, service, op, &mop)) {
		*ret_code = "InvalidAction";
		*ret_message = arena_printf(a, "%s %s is not played here", service, op);
		return false;
	}
	if (handler->mutates)
		cloud_ledger_open(c, "internal", service, op, call.caller_arn,
				  token_of(&mop, in), in);
	bool ok = run(&call, &mop, handler, &out);

	if (handler->mutates)
		cloud_ledger_close(c, ok ? "ok" : call.fault_code);
	if (ret_out)
		*ret_out = out;
	*ret_code = call.fault_code;
	*ret_message = call.fault_message;
	return ok;
}
