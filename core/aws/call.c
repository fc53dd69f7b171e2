#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/aws/account.h"
#include "core/aws/errors.h"
#include "core/aws/op_table.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "core/json/mask_tree.h"
#include "core/json/tree.h"

enum {
	SKEW_MS = 240 * 1000, /* services accept five minutes */
	BASE_TRANSIENT_MS = 50,
	BASE_THROTTLED_MS = 1000,
	LONGEST_DELAY_MS = 20 * 1000,
	LONGEST_EXTRA_MS = 5 * 1000, /* beyond our own delay, when asked for */
};

/* ---------------------------------------------------------------- one call */

static void set_failure(struct aws_result *ret, const struct err *e, struct arena *a)
{
	*ret = (struct aws_result){
		.code = "",
		.request_id = "",
		.message = arena_strdup(a, e->detail),
		.fix = err_retry(e) == RETRY_HUMAN && *e->fix ? arena_strdup(a, e->fix)
							      : NULL,
		.errc = e->code,
	};
}

/* What comes in of AWS's words goes anywhere from here: without secrets, and as UTF-8
 * (headers and XML may hold any bytes). */
static void clean(const struct aws_keys *keys, struct arena *a, struct aws_result *r)
{
	struct mask_known known = {0};

	mask_know(&known, keys->secret_key);
	mask_know(&known, keys->session_token);
	mask_tree(a, r->out, &known);
	r->code = str_as_utf8(a, r->code);
	r->message = mask_z(a, str_as_utf8(a, r->message), &known);
	r->request_id = str_as_utf8(a, r->request_id);
}

/* One sending. The answer's headers stay available for the clock's sake. */
static void send_once(struct aws *aws, const struct aws_op *op, const json_t *in,
		      const struct aws_keys *keys, int64_t timeout_ms, struct arena *a,
		      struct http_answer *ans, struct aws_result *ret)
{
	struct http_request req;
	struct err e = {0};
	int64_t wall_ms = aws->clock->wall_ms(aws->clock) + aws->skew_ms;

	*ans = (struct http_answer){.outcome = NET_NOT_SENT, .body = ""};
	if (!aws_build(aws, op, in, keys, wall_ms, a, &req, &e)) {
		set_failure(ret, &e, a);
		return;
	}
	req.timeout_ms = timeout_ms;
	if (aws->net->send(aws->net, a, &req, ans, &e)) {
		aws_parse(op, ans, a, ret);
		clean(keys, a, ret);
		return;
	}
	aws_parse(op, ans, a, ret);
	if (e.detail[0])
		ret->message = arena_strdup(a, e.detail);
}

/* Whether our clock was wrong and is put right now. */
static bool learn_skew(struct aws *aws, const struct http_answer *ans, const char *code)
{
	const char *date = http_header_of(ans, "date");
	int64_t theirs, ours, off;

	/* A cache's answer carries an old date. */
	if (!aws_may_be_skew(code) || !date || http_header_of(ans, "age") ||
	    !time_parse_http(date, &theirs))
		return false;
	ours = aws->clock->wall_ms(aws->clock);
	off = theirs - (ours + aws->skew_ms);
	if (off > -SKEW_MS && off < SKEW_MS)
		return false;
	aws->skew_ms = theirs - ours;
	return true;
}

static bool same_keys(const struct aws_keys *x, const struct aws_keys *y)
{
	const char *t1 = secret_reveal(x->session_token);
	const char *t2 = secret_reveal(y->session_token);

	return streq(secret_reveal(x->access_key), secret_reveal(y->access_key)) &&
	       streq(t1 ? t1 : "", t2 ? t2 : "");
}

/*
 * A lease leaves room for two sendings of timeout_ms. Keys that had to be asked for
 * take their time out of it: what would then be sent too late is not sent.
 */
static bool keys_in_time(struct aws *aws, const struct aws_op *op, int64_t until_ms,
			 struct arena *a, struct aws_keys *ret, struct err *e)
{
	if (op->unsigned_)
		return true;
	/* Who they are is asked with whatever keys there are. */
	if (op == aws_op(AWS_STS_GetCallerIdentity)
		    ? !aws_credentials_get(aws->credentials, a, ret, e)
		    : !aws_keys(aws, until_ms, a, ret, e))
		return false;
	if (aws->clock->mono_ms(aws->clock) <= until_ms)
		return true;
	err_set(e, ERR_CREDENTIALS,
		"The credentials arrived too late for this call. The next call uses "
		"them");
	return false;
}

/* Whether other keys can be had in place of those that were refused. */
static bool renew_keys(struct aws *aws, const struct aws_op *op, int64_t until_ms,
		       struct aws_keys *keys, struct arena *a)
{
	struct aws_keys fresh;
	struct err ignored = {0};

	aws_credentials_drop(aws->credentials);
	if (!keys_in_time(aws, op, until_ms, a, &fresh, &ignored) ||
	    same_keys(keys, &fresh))
		return false;
	*keys = fresh;
	return true;
}

/*
 * The service refuses them, and there are no others: keys without an end, and a session
 * whose token has ended, do not mend themselves. The rest is renewed where it comes from.
 */
static const char *refused_fix(struct aws *aws, const struct aws_keys *keys,
			       const char *code, struct arena *a)
{
	const char *source = aws_credentials_source(aws->credentials);

	if (keys->expires_ms > 0 || !source)
		return NULL;
	return arena_printf(
		a,
		"AWS rejects the keys of %s (%s). Check that they are active, complete "
		"and for this partition, or provide other keys.",
		source, code);
}

static void call(struct aws *aws, const struct aws_op *op, const json_t *in,
		 int64_t timeout_ms, struct arena *a, struct aws_result *ret)
{
	const int64_t until_ms = aws->clock->mono_ms(aws->clock) + timeout_ms;
	struct aws_keys keys = {0};
	struct http_answer ans;
	struct err e = {0};
	bool again;

	if (!keys_in_time(aws, op, until_ms, a, &keys, &e)) {
		set_failure(ret, &e, a);
		return;
	}
	send_once(aws, op, in, &keys, timeout_ms, a, &ans, ret);
	if (ret->ok || ret->ambiguous || ans.outcome != NET_ANSWERED)
		return;
	again = learn_skew(aws, &ans, ret->code);
	if (!again && ret->errc == ERR_CREDENTIALS && !op->unsigned_) {
		again = renew_keys(aws, op, until_ms, &keys, a);
		if (!again)
			ret->fix = refused_fix(aws, &keys, ret->code, a);
	}
	if (again && aws->clock->mono_ms(aws->clock) <= until_ms)
		send_once(aws, op, in, &keys, timeout_ms, a, &ans, ret);
}

void aws_call(struct aws *aws, enum aws_op_id op, const json_t *in, struct arena *a,
	      struct aws_result *ret)
{
	call(aws, aws_op(op), in, aws->timeout_ms, a, ret);
}

bool aws_err(const struct aws_op *op, const struct aws_result *r, struct err *e)
{
	const char *source = aws_op_service(op);
	char name[sizeof(e->cause[0].source)];
	size_t n = strlen(source);

	str_copy(name, sizeof(name), source);
	if (n < sizeof(name))
		str_copy(name + n, sizeof(name) - n, ":");
	if (n + 1 < sizeof(name))
		str_copy(name + n + 1, sizeof(name) - n - 1, op->name);
	err_set(e, r->errc != ERR_NONE ? r->errc : ERR_INTERNAL, "%s: %s%s%s", name,
		r->code ? r->code : "", r->code && *r->code ? ": " : "",
		r->message ? r->message : "");
	if (r->fix || aws_account_fix(r->code)) {
		e->retry = RETRY_HUMAN;
		err_fix(e, "%s", r->fix ? r->fix : aws_account_fix(r->code));
	}
	return err_because(e, name, r->code, r->message, r->request_id);
}

/* ---------------------------------------------------------------- reads */

static bool is_passing(enum errc errc)
{
	return errc == ERR_CLOUD_THROTTLED || errc == ERR_CLOUD_UNAVAILABLE ||
	       errc == ERR_CLOUD_UNREACHABLE || errc == ERR_CLOUD_GARBAGE;
}

/* Full jitter: random(0,1) * min(longest, base * 2^attempt). */
static int64_t delay_ms(struct aws *aws, const struct aws_result *r, int attempt)
{
	int64_t most =
		r->errc == ERR_CLOUD_THROTTLED ? BASE_THROTTLED_MS : BASE_TRANSIENT_MS;
	int64_t delay;

	while (attempt-- > 0 && most < LONGEST_DELAY_MS)
		most *= 2;
	if (most > LONGEST_DELAY_MS)
		most = LONGEST_DELAY_MS;
	delay = (int64_t)rng_below(aws->rng, (uint64_t)most + 1);
	if (r->retry_after_ms <= delay)
		return delay;
	return r->retry_after_ms < delay + LONGEST_EXTRA_MS ? r->retry_after_ms
							    : delay + LONGEST_EXTRA_MS;
}

static void wait_ms(struct aws *aws, int64_t ms)
{
	struct timespec t = {ms / 1000, (ms % 1000) * 1000000};

	if (aws->sleep_ms)
		aws->sleep_ms(aws->sleep_ctx, ms);
	else
		while (nanosleep(&t, &t) != 0)
			;
}

/* What outlives the attempt: everything else of it goes with its arena. */
static void keep(struct arena *a, struct aws_result *r)
{
	r->code = r->code ? arena_strdup(a, r->code) : NULL;
	r->message = r->message ? arena_strdup(a, r->message) : NULL;
	r->request_id = r->request_id ? arena_strdup(a, r->request_id) : NULL;
	if (r->out)
		json_own(a, json_incref(r->out));
}

/* One page, repeated until the deadline; an attempt's memory is given back. */
static bool read_page(struct aws *aws, const struct aws_op *op, const json_t *in,
		      int64_t deadline_ms, struct arena *a, struct aws_result *ret,
		      struct err *e)
{
	struct arena *unit = arena_child(a);

	for (int attempt = 0;; attempt++) {
		int64_t left = deadline_ms - aws->clock->mono_ms(aws->clock);
		int64_t delay;

		if (left <= 0)
			return attempt > 0 ? aws_err(op, ret, e)
					   : err_set(e, ERR_DEADLINE,
						     "%s %s did not complete in time",
						     aws_op_service(op), op->name);
		call(aws, op, in, left < aws->timeout_ms ? left : aws->timeout_ms, unit,
		     ret);
		keep(a, ret);
		arena_free(unit);
		if (ret->ok)
			return true;
		delay = delay_ms(aws, ret, attempt);
		left = deadline_ms - aws->clock->mono_ms(aws->clock);
		if (!is_passing(ret->errc) || delay >= left)
			return aws_err(op, ret, e);
		wait_ms(aws, delay);
	}
}

bool aws_read_page(struct aws *aws, enum aws_op_id id, const json_t *in,
		   int64_t deadline_ms, struct arena *a, json_t **ret_out, struct err *e)
{
	struct aws_result page;

	if (!read_page(aws, aws_op(id), in, deadline_ms, a, &page, e))
		return false;
	*ret_out = page.out;
	return true;
}

bool aws_read(struct aws *aws, enum aws_op_id id, const json_t *in, int64_t deadline_ms,
	      struct arena *a, json_t **ret_out, struct err *e)
{
	const struct aws_op *op = aws_op(id);
	struct aws_result page;
	json_t *all = NULL;

	for (int n = 0; n < LIMIT_PAGES; n++) {
		if (!read_page(aws, op, in, deadline_ms, a, &page, e))
			return false;
		in = aws_next_page(op, in, page.out, a);
		if (all)
			aws_join_page(op, all, page.out);
		else
			all = page.out;
		if (in)
			continue;
		if (op->in_token) {
			json_object_del(all, op->out_token);
			if (op->more)
				json_object_del(all, op->more);
		}
		*ret_out = all;
		return true;
	}
	return err_set(e, ERR_CLOUD_REFUSED, "%s %s has more than %d pages",
		       aws_op_service(op), op->name, LIMIT_PAGES);
}
