#include "core/aws/account.h"

#include "core/aws/op_table.h"
#include "core/json/tree.h"

enum {
	ASK_MS = 5000,     /* who they are */
	SILENT_MS = 30000, /* until STS is asked again that gave no answer */
	FOREIGN_MS = 5000, /* until other keys are looked for */
};

static bool refuse(const struct aws *aws, const char *account, struct err *e)
{
	const char *source = aws_credentials_source(aws->credentials);

	err_set(e, ERR_CREDENTIALS,
		"the credentials from %s belong to the account %s, but this installation manages %s. Nothing was sent with them",
		source ? source : "the environment", account, aws->account);
	e->retry = RETRY_HUMAN;
	return err_fix(e,
		       "Set credentials of the account %s. Waiting operations then "
		       "continue automatically. Use a separate installation for "
		       "another account.",
		       aws->account);
}

bool aws_is_ours(const struct aws *aws, const json_t *caller, struct err *e)
{
	const char *account = json_str_or(caller, "Account", "");

	return !aws->account || streq(account, aws->account) || refuse(aws, account, e);
}

/* One exchange; NULL: no answer. */
static const char *account_of(struct aws *aws, const struct aws_keys *keys,
			      int64_t until_ms, struct arena *a)
{
	const struct aws_op *op = aws_op(AWS_STS_GetCallerIdentity);
	const int64_t left_ms = until_ms - aws->clock->mono_ms(aws->clock);
	const int64_t wall_ms = aws->clock->wall_ms(aws->clock) + aws->skew_ms;
	struct http_request req;
	struct http_answer ans = {.body = ""};
	struct aws_result said;
	struct err ignored = {0};

	if (left_ms <= 0 ||
	    !aws_build(aws, op, json_new_object(a), keys, wall_ms, a, &req, &ignored))
		return NULL;
	req.timeout_ms = left_ms < ASK_MS ? left_ms : ASK_MS;
	if (!aws->net->send(aws->net, a, &req, &ans, &ignored))
		return NULL;
	aws_parse(op, &ans, a, &said);
	return said.ok ? json_str_at(said.out, "Account") : NULL;
}

/* New keys, and nobody knows yet whose. */
static bool confirm(struct aws *aws, const struct aws_keys *keys, int64_t until_ms,
		    struct arena *a, struct err *e)
{
	struct aws_place *p = &aws->place;
	const char *account = account_of(aws, keys, until_ms, a);
	const int64_t now_ms = aws->clock->mono_ms(aws->clock);

	p->generation = aws_credentials_generation(aws->credentials);
	p->again_ms = now_ms + (account ? FOREIGN_MS : SILENT_MS);
	str_copy(p->account, sizeof(p->account), account ? account : "");
	return !account || streq(account, aws->account) || refuse(aws, account, e);
}

bool aws_keys(struct aws *aws, int64_t until_ms, struct arena *a, struct aws_keys *ret,
	      struct err *e)
{
	struct aws_place *p = &aws->place;
	const int64_t now_ms = aws->clock->mono_ms(aws->clock);
	bool asked;

	if (!aws_credentials_get(aws->credentials, a, ret, e))
		return false;
	asked = p->generation == aws_credentials_generation(aws->credentials);
	if (!aws->account || (asked && streq(p->account, aws->account)))
		return true;
	if (asked && now_ms < p->again_ms)
		return !p->account[0] || refuse(aws, p->account, e);
	if (asked && p->account[0]) {
		aws_credentials_drop(aws->credentials);
		if (!aws_credentials_get(aws->credentials, a, ret, e))
			return false;
	}
	return confirm(aws, ret, until_ms, a, e);
}
