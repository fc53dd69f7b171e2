#include "core/kube/kube.h"

#include "core/base/limits.h"
#include "core/json/tree.h"

enum { LIST_STARTS = 3 };

static void fail_local(const struct err *e, struct arena *a, struct kube_result *ret)
{
	*ret = (struct kube_result){
		.errc = e->code,
		.code = "",
		.message = arena_strdup(a, e->detail),
		.audit_id = "",
	};
}

static int64_t mono_ms(const struct kube *k)
{
	return k->aws->clock->mono_ms(k->aws->clock);
}

/* false: no token or no request could be made; the verdict is in *ret. */
static bool call_once(struct kube *k, const struct kube_target *t,
		      const struct kube_request *r, int64_t until_ms, struct arena *a,
		      struct kube_result *ret)
{
	struct http_request req;
	struct http_answer ans = {0};
	struct secret token;
	struct err e;

	if (!kube_token(k, t, a, &token, &e) || !kube_build(t, r, token, a, &req, &e)) {
		fail_local(&e, a, ret);
		return false;
	}
	/* As in aws_call(): a lease leaves room for two calls, not for the keys too. */
	if (k->timeout_ms > 0 && mono_ms(k) > until_ms) {
		err_set(&e, ERR_CREDENTIALS,
			"The token arrived too late for this call. The next call uses "
			"it");
		fail_local(&e, a, ret);
		return false;
	}
	if (k->timeout_ms > 0)
		req.timeout_ms = k->timeout_ms;
	if (!k->net->send(k->net, a, &req, &ans, &e)) {
		kube_parse(r, &ans, a, ret);
		ret->message = arena_strdup(a, e.detail);
		return true;
	}
	kube_parse(r, &ans, a, ret);
	return true;
}

void kube_call(struct kube *k, const struct kube_target *t, const struct kube_request *r,
	       struct arena *a, struct kube_result *ret)
{
	const int64_t until_ms = mono_ms(k) + k->timeout_ms;

	if (!call_once(k, t, r, until_ms, a, ret) || ret->status != 401)
		return;
	if (k->timeout_ms > 0 && mono_ms(k) > until_ms)
		return;
	/* Refused, so nothing happened. The token may be older than a clock
	 * correction: one new one decides. */
	kube_token_drop(k, t);
	call_once(k, t, r, until_ms, a, ret);
}

static void join_chunk(json_t *all, json_t *chunk)
{
	json_t *items = json_at(all, "items");

	json_array_extend(items, json_at(chunk, "items"));
	json_put(all, "metadata", json_incref(json_at(chunk, "metadata")));
}

/* One walk over the chunks; false when the continuation has expired. */
static bool list_walk(struct kube *k, const struct kube_target *t, struct kube_request r,
		      struct arena *a, struct kube_result *ret)
{
	json_t *all = NULL;

	for (int page = 0; page < LIMIT_PAGES; page++) {
		kube_call(k, t, &r, a, ret);
		if (!ret->ok)
			return !(ret->status == 410 && page > 0);
		if (!json_is_array(json_at(ret->out, "items")))
			json_put(ret->out, "items", json_array());
		if (all)
			join_chunk(all, ret->out);
		else
			all = ret->out;
		ret->out = all;
		r.continue_ = json_str_at(all, "metadata.continue");
		if (!r.continue_ || !*r.continue_)
			return true;
	}
	ret->ok = false;
	ret->errc = ERR_CLOUD_GARBAGE;
	ret->message = "the list does not end";
	return true;
}

void kube_list_all(struct kube *k, const struct kube_target *t,
		   const struct kube_request *r, struct arena *a, struct kube_result *ret)
{
	struct kube_request list = *r;

	list.verb = KUBE_LIST;
	for (int start = 0; start < LIST_STARTS; start++) {
		list.continue_ = NULL;
		if (list_walk(k, t, list, a, ret))
			return;
	}
}
