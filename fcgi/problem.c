#include "fcgi/problem.h"

#include "core/base/limits.h"
#include "core/json/writer.h"

#define PROBLEMS "/api/v1/problems/"

static const char *retry_meaning(enum retry_word w)
{
	switch (w) {
	case RETRY_BACKOFF:
		return "Repeat it after a pause. Increase the pause after each refusal.";
	case RETRY_SAME_KEY:
		return "Repeat it with the same idempotency key. It takes effect only "
		       "once.";
	case RETRY_OBSERVE_FIRST:
		return "Check the current state first. The request may have taken "
		       "effect.";
	case RETRY_HUMAN:
		return "A person must make a change first. The fix describes it.";
	case RETRY_UNSET:
	case RETRY_NEVER:
		break;
	}
	return "The same request gives the same answer. Change the request.";
}

static void kv_filled(struct json_writer *w, const char *name, const char *text)
{
	if (*text)
		jw_kv_str(w, name, text);
}

static void write_causes(struct json_writer *w, const struct err *e)
{
	jw_key(w, "cause");
	jw_open_list(w);
	for (size_t i = 0; i < e->n_causes; i++) {
		jw_open_object(w);
		kv_filled(w, "source", e->cause[i].source);
		kv_filled(w, "code", e->cause[i].code);
		kv_filled(w, "message", e->cause[i].message);
		kv_filled(w, "request_id", e->cause[i].request_id);
		jw_close(w);
	}
	jw_close(w);
}

static void write_errors(struct json_writer *w, const struct err *e)
{
	jw_key(w, "errors");
	jw_open_list(w);
	for (size_t i = 0; i < e->n_violations; i++) {
		const struct violation *v = &e->violations[i];

		jw_open_object(w);
		jw_kv_str(w, "field", v->field);
		jw_kv_str(w, "detail", v->detail);
		kv_filled(w, "seen", v->seen);
		kv_filled(w, "expected", v->expected);
		jw_close(w);
	}
	jw_close(w);
}

struct str problem_text(const struct err *e, const char *request_id, struct str plan,
			struct arena *a)
{
	const struct errc_info *info = errc_info(e->code);
	struct json_writer w;
	struct buf b;

	buf_init(&b, a, LIMIT_DB_PARAM);
	jw_begin(&w, &b);
	jw_open_object(&w);
	jw_kv_str(&w, "type", arena_printf(a, PROBLEMS "%s", info->slug));
	jw_kv_str(&w, "title", info->title);
	jw_kv_int(&w, "status", info->http_status);
	jw_kv_str(&w, "detail", *e->detail ? e->detail : info->title);
	jw_kv_str(&w, "instance",
		  arena_printf(a, "urn:instantstart:request:%s", request_id));
	jw_kv_str(&w, "code", info->slug);
	kv_filled(&w, "field", e->field);
	kv_filled(&w, "seen", e->seen);
	kv_filled(&w, "expected", e->expected);
	kv_filled(&w, "fix", err_fix_text(e));
	jw_kv_str(&w, "retry", retry_word_name(err_retry(e)));
	if (e->n_causes)
		write_causes(&w, e);
	if (e->n_violations)
		write_errors(&w, e);
	if (plan.n) {
		jw_key(&w, "plan");
		jw_raw(&w, plan.p, plan.n);
	}
	jw_end(&w);
	return buf_str(&b);
}

void problem_answer(const struct err *e, const struct http_req *req, struct str plan,
		    struct http_res *res)
{
	res->status = errc_info(e->code)->http_status;
	res->type = "application/problem+json";
	res->body = problem_text(e, req->request_id, plan, req->arena);
	http_res_header(res, "Cache-Control", "no-store");
	if (e->code == ERR_UNAUTHENTICATED)
		http_res_header(res, "WWW-Authenticate", "Bearer realm=\"instantstart\"");
	if (e->code == ERR_METHOD_NOT_ALLOWED)
		http_res_header(res, "Allow", e->expected);
	if ((res->status == 429 || res->status == 503) &&
	    (err_retry(e) == RETRY_BACKOFF || err_retry(e) == RETRY_SAME_KEY))
		http_res_header(res, "Retry-After", "5");
}

static void write_page(struct json_writer *w, enum errc code, struct arena *a)
{
	const struct errc_info *info = errc_info(code);

	jw_open_object(w);
	jw_kv_str(w, "type", arena_printf(a, PROBLEMS "%s", info->slug));
	jw_kv_str(w, "code", info->slug);
	jw_kv_str(w, "title", info->title);
	jw_kv_int(w, "status", info->http_status);
	jw_kv_str(w, "retry", retry_word_name(info->retry));
	jw_kv_str(w, "retry_meaning", retry_meaning(info->retry));
	kv_filled(w, "fix", errc_fix(code));
	jw_kv_str(w, "mcp",
		  info->jsonrpc_code ? "a JSON-RPC error"
				     : "a tool result with isError and this problem");
	jw_close(w);
}

bool problem_explain(const char *slug, struct arena *a, struct str *ret, struct err *e)
{
	const enum errc one = slug ? errc_from_slug(slug) : ERR_NONE;
	struct json_writer w;
	struct buf b;

	if (slug && one == ERR_NONE)
		return err_set(e, ERR_NOT_FOUND, "There is no problem type \"%s\"", slug);
	buf_init(&b, a, LIMIT_DB_PARAM);
	jw_begin(&w, &b);
	if (one != ERR_NONE) {
		write_page(&w, one, a);
	} else {
		jw_open_object(&w);
		jw_key(&w, "items");
		jw_open_list(&w);
		for (int i = ERR_NONE + 1; i < ERR_COUNT_; i++)
			write_page(&w, (enum errc)i, a);
	}
	jw_end(&w);
	*ret = buf_str(&b);
	return true;
}
