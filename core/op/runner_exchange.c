/* The only place where a request leaves: one exchange, and its answer. */
#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"
#include "core/op/walk.h"

enum { SILENCE_MS = 2500 }; /* less than the shortest patience */

bool exchange_mutates(const struct exchange *x)
{
	switch (x->via) {
	case VIA_AWS:
		return aws_op_mutates(aws_op(x->aws));
	case VIA_KUBE:
		return kube_verb_mutates(x->kube.verb);
	case VIA_HELM:
		return helm_verb_mutates(x->helm.verb);
	case VIA_NONE:
		break;
	}
	return false;
}

/* --- time -------------------------------------------------------------- */

int64_t runner_margin_ms(int64_t lease_ms)
{
	return lease_ms / 10 < 5000 ? lease_ms / 10 : 5000;
}

int64_t runner_call_ms(const struct runner *r, const struct exchange *x)
{
	if (x->via == VIA_HELM)
		return r->helm ? r->helm->timeout_ms : r->cfg->call_timeout_ms;
	/* aws_call and kube_call repeat once after a refusal of stale credentials. */
	return 2 * r->cfg->call_timeout_ms;
}

/* At least what the longest exchange needs, or no claim could ever make it. */
int64_t runner_lease_ms(const struct runner *r)
{
	int64_t longest = 2 * r->cfg->call_timeout_ms;
	int64_t lease = r->cfg->lease_ms;

	if (r->helm && r->helm->timeout_ms > longest)
		longest = r->helm->timeout_ms;
	if (lease - 2 * runner_margin_ms(lease) < longest)
		lease = longest * 5 / 4 + 1;
	return lease;
}

/* --- the exchange ------------------------------------------------------ */

static void ask_aws(struct runner *r, const struct exchange *x, const char *token,
		    struct arena *a, struct answer *ret)
{
	const char *member = aws_op_token_member(aws_op(x->aws));
	struct aws_result res = {0};
	json_t *in = x->in;

	if (token && member) {
		in = json_own(a, in ? json_copy(in) : json_object());
		json_object_set_new(in, member, json_string(token));
	} else if (!in) {
		in = json_new_object(a);
	}
	aws_call(r->aws, x->aws, in, a, &res);
	ret->ok = res.ok;
	ret->ambiguous = res.ambiguous;
	ret->out = res.out;
	ret->status = res.status;
	ret->code = res.code;
	ret->message = res.message;
	ret->request_id = res.request_id;
	ret->bucket_region = res.bucket_region;
	ret->errc = res.errc;
}

static void ask_kube(struct runner *r, const struct exchange *x, struct arena *a,
		     struct answer *ret)
{
	struct kube_result res = {0};

	kube_call(r->kube, &x->target, &x->kube, a, &res);
	ret->ok = res.ok;
	ret->ambiguous = res.ambiguous;
	ret->out = res.out;
	ret->text = res.text;
	ret->status = res.status;
	ret->code = res.code;
	ret->message = res.message;
	ret->request_id = res.audit_id; /* by which its audit log knows the request */
	ret->errc = res.errc;
}

static void ask_helm(struct runner *r, const struct exchange *x, struct arena *a,
		     struct answer *ret)
{
	struct helm_result res = {0};

	helm_call(r->helm, r->kube, &x->target, &x->helm, a, &res);
	ret->ok = res.ok;
	ret->ambiguous = res.ambiguous;
	ret->out = res.out;
	ret->text = res.output;
	ret->status = res.exit_code;
	ret->code = res.ok ? "" : arena_printf(a, "exit %d", res.exit_code);
	ret->message = res.output;
	ret->errc = res.errc;
}

void runner_exchange(struct runner *r, const struct exchange *x, const char *token,
		     struct arena *a, struct answer *ret)
{
	*ret = (struct answer){
		.via = x->via, .call = exchange_name(x, a), .may_fail = x->may_fail};
	if (r->exchange)
		r->exchange(r, x, token, a, ret);
	else if (x->via == VIA_AWS)
		ask_aws(r, x, token, a, ret);
	else if (x->via == VIA_KUBE)
		ask_kube(r, x, a, ret);
	else if (x->via == VIA_HELM)
		ask_helm(r, x, a, ret);
	/* A proxy's page, a log, the tail of Helm's output: cut anywhere, any bytes. */
	ret->text = str_as_utf8(a, ret->text);
	ret->code = ret->code ? str_as_utf8(a, ret->code) : "";
	ret->message = ret->message ? str_as_utf8(a, ret->message) : "";
	ret->request_id = ret->request_id ? str_as_utf8(a, ret->request_id) : "";
	if (!ret->ok && ret->errc == ERR_NONE)
		ret->errc = ret->ambiguous ? ERR_AMBIGUOUS : ERR_CLOUD_REFUSED;
}

/* --- budget ------------------------------------------------------------ */

static const char *service_of(const struct exchange *x)
{
	return x->via == VIA_AWS ? aws_op_service(aws_op(x->aws)) : NULL;
}

/* Who must answer: a service of AWS, or the API of one cluster. */
static const char *peer_of(const struct exchange *x, struct arena *a)
{
	const char *host = x->target.endpoint ? strstr(x->target.endpoint, "://") : NULL;
	size_t n = host ? strcspn(host + 3, "/") : 0;

	if (x->via == VIA_AWS)
		return service_of(x);
	return n > 0 ? arena_strndup(a, host + 3, n < BUDGET_NAME ? n : BUDGET_NAME - 1)
		     : NULL;
}

int64_t runner_budget_ms(struct runner *r, const struct exchange *x)
{
	const char *service = service_of(x);

	if (!r->budget || !service)
		return 0;
	return budget_wait_ms(r->budget, service, r->clock->mono_ms(r->clock));
}

int64_t runner_open_ms(struct runner *r, const struct exchange *x, struct arena *a)
{
	const char *peer = r->budget ? peer_of(x, a) : NULL;

	return peer ? budget_open_ms(r->budget, peer, r->clock->mono_ms(r->clock)) : 0;
}

/* No answer for so long is silence, be it before the connection or after it. */
static bool has_hung(const struct answer *ans, int64_t took_ms)
{
	return !ans->ok && ans->status == 0 && took_ms >= SILENCE_MS &&
	       (ans->errc == ERR_AMBIGUOUS || ans->errc == ERR_CLOUD_UNREACHABLE);
}

/* A read is given up sooner when its peer has hung before; a change never is. */
static void exchange_in_time(struct runner *r, const struct exchange *x,
			     const char *token, struct arena *a, struct answer *ret)
{
	const char *peer = peer_of(x, a);
	const int64_t full_ms = r->cfg->call_timeout_ms;
	const int64_t began_ms = r->clock->mono_ms(r->clock);
	int64_t patience_ms = full_ms, now_ms;

	if (peer && !exchange_mutates(x))
		patience_ms = budget_patience_ms(r->budget, peer, full_ms, began_ms);
	if (r->aws)
		r->aws->timeout_ms = patience_ms;
	if (r->kube)
		r->kube->timeout_ms = patience_ms;
	runner_exchange(r, x, token, a, ret);
	if (r->aws)
		r->aws->timeout_ms = full_ms;
	if (r->kube)
		r->kube->timeout_ms = full_ms;
	now_ms = r->clock->mono_ms(r->clock);
	/* Helm's own time is longer, and it talks to more than one peer. */
	if (peer && x->via != VIA_HELM)
		budget_heard(r->budget, peer, has_hung(ret, now_ms - began_ms), now_ms,
			     r->cfg->poll_scale_percent);
}

void runner_call(struct runner *r, const struct exchange *x, const char *token,
		 struct arena *a, struct answer *ret)
{
	const char *service = r->budget ? service_of(x) : NULL;

	if (!r->budget) {
		runner_exchange(r, x, token, a, ret);
		return;
	}
	if (service)
		budget_spend(r->budget, service, r->clock->mono_ms(r->clock));
	exchange_in_time(r, x, token, a, ret);
	if (service)
		budget_note(r->budget, service, ret->errc == ERR_CLOUD_THROTTLED,
			    r->clock->mono_ms(r->clock));
}

void runner_look(struct runner *r, const struct exchange *x, struct arena *a,
		 struct answer *ret)
{
	const int64_t silent_ms = runner_open_ms(r, x, a);
	const long long next_s = silent_ms / 1000 + 1;

	if (silent_ms == 0) {
		runner_call(r, x, NULL, a, ret);
		return;
	}
	*ret = (struct answer){
		.via = x->via,
		.call = exchange_name(x, a),
		.may_fail = x->may_fail,
		.code = "",
		.request_id = "",
		.message = arena_printf(a, "no answer recently, next attempt in %lld s",
					next_s),
		.errc = ERR_CLOUD_UNREACHABLE};
}

/* --- stored answers ---------------------------------------------------- */

/* Identifiers stand at the top of AWS's answers: those survive the cut. */
static json_t *top_scalars(const json_t *out)
{
	json_t *small = json_object();
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)out, key, value)
		if (!json_is_object(value) && !json_is_array(value))
			json_object_set(small, key, value);
	return small;
}

json_t *answer_store(const struct answer *ans, struct arena *a)
{
	json_t *t = json_packf(a, "{s:b, s:i, s:s, s:s, s:s, s:s}", "ok", ans->ok,
			       "status", ans->status, "code", ans->code, "message",
			       ans->message, "request_id", ans->request_id, "error",
			       errc_info(ans->errc)->slug);
	const json_t *out = ans->out;

	if (out && json_dumpb(out, NULL, 0, JSON_ENCODE_ANY) <= LIMIT_STORED_RESPONSE)
		json_put(t, "out", json_deep_copy(out));
	else if (out)
		json_put(t, "out", top_scalars(out));
	if (ans->text)
		json_put(t, "text", json_stringn(ans->text, strnlen(ans->text, 4096)));
	return t;
}

void answer_restore(const json_t *stored, const struct exchange *x, struct arena *a,
		    struct answer *ret)
{
	*ret = (struct answer){
		.via = x->via,
		.call = exchange_name(x, a),
		.ok = json_bool_or(stored, "ok", true),
		.out = json_at(stored, "out"),
		.text = json_str_at(stored, "text"),
		.status = (int)json_int_or(stored, "status", 200),
		.code = json_str_or(stored, "code", ""),
		.message = json_str_or(stored, "message", ""),
		.request_id = json_str_or(stored, "request_id", ""),
		.errc = errc_from_slug(json_str_or(stored, "error", "none")),
	};
}
