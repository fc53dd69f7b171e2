#include "core/net/limit.h"

static bool refuse(struct http_answer *ret, struct err *e, const char *why)
{
	*ret = (struct http_answer){.outcome = NET_NOT_SENT, .body = ""};
	return err_set(e, ERR_DEADLINE, "%s", why);
}

static bool limited(struct transport *t, struct arena *a, const struct http_request *req,
		    struct http_answer *ret, struct err *e)
{
	const struct net_limit *l = (const struct net_limit *)t;
	struct http_request r = *req;
	int64_t left;

	if (l->gone && l->gone(l->ctx))
		return refuse(ret, e, "The client has closed the connection");
	r.gone = l->gone;
	r.gone_ctx = l->ctx;
	left = l->until_ms ? l->until_ms - l->clock->mono_ms(l->clock) : r.timeout_ms;
	if (left <= 0)
		return refuse(ret, e, "The time for this request has expired");
	if (r.timeout_ms > left)
		r.timeout_ms = left;
	if (l->exchange_ms && r.timeout_ms > l->exchange_ms)
		r.timeout_ms = l->exchange_ms;
	return l->inner->send(l->inner, a, &r, ret, e);
}

void net_limit_init(struct net_limit *l, struct transport *inner, struct clock *clock)
{
	*l = (struct net_limit){
		.transport.send = limited, .inner = inner, .clock = clock};
}

void net_limit_set(struct net_limit *l, int64_t until_ms, bool (*gone)(void *ctx),
		   void *ctx)
{
	l->until_ms = until_ms;
	l->gone = gone;
	l->ctx = ctx;
}
