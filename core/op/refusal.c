#include "core/op/refusal.h"

#include <string.h>

#include "core/aws/errors.h"
#include "core/base/str.h"
#include "core/json/tree.h"
#include "core/op/denial.h"

static const char *via_source(const struct answer *a)
{
	switch (a->via) {
	case VIA_AWS:
		return "aws";
	case VIA_KUBE:
		return "kubernetes";
	case VIA_HELM:
		return "helm";
	case VIA_NONE:
		break;
	}
	return "cloud";
}

static const char *text_or(const char *z, const char *other)
{
	return z && *z ? z : other;
}

const char *refusal_text(struct arena *a, const struct answer *ans)
{
	const char *code = text_or(ans->code, "");
	const char *said = code[0] ? code : text_or(ans->message, "no answer");
	const char *id = text_or(ans->request_id, NULL);

	return arena_printf(a, "%s%s%s%s",
			    ans->status > 0 && ans->via != VIA_HELM
				    ? arena_printf(a, "HTTP %d ", ans->status)
				    : "",
			    said, id ? ", request " : "", id ? id : "");
}

/* --- what S3 says by a status ------------------------------------------------ */

struct status_row {
	int status;
	enum retry_word retry;
	const char *fix; /* %s: our region */
};

/* AWS's list: 301 and 400 for another region, 403 for a bucket that is not open to
 * us, 400 for a signature or session that S3 cannot use there. */
static const struct status_row s3_rows[] = {
	{301, RETRY_HUMAN,
	 "The bucket is in another region. Use a bucket in %s, or copy its objects to one."},
	{307, RETRY_BACKOFF,
	 "The bucket is new and its name is not available everywhere yet. Repeat the "
	 "request in a few minutes. This installation works in %s."},
	{400, RETRY_HUMAN,
	 "S3 rejected the signature. Check that the credentials are valid for %s (an "
	 "opt-in region must be enabled for the account) and that the clock is correct. "
	 "S3 can also give this answer for a bucket in another region."},
	{403, RETRY_HUMAN,
	 "The bucket exists but denies access. Allow s3:ListBucket (and s3:GetObject, "
	 "s3:PutObject as needed) to the InstantStart role in %s, in the policy of the "
	 "role and, if the bucket belongs to another account, also in the bucket "
	 "policy."},
};

static bool is_elsewhere(const struct step_ctx *c, const struct answer *a)
{
	return a->bucket_region && !streq(a->bucket_region, c->where->region);
}

static void explain_s3(const struct step_ctx *c, const struct answer *a, struct err *e)
{
	if (is_elsewhere(c, a)) {
		e->retry = RETRY_HUMAN;
		str_copy(e->seen, sizeof(e->seen), a->bucket_region);
		str_copy(e->expected, sizeof(e->expected),
			 arena_printf(c->arena, "a bucket in %s", c->where->region));
		err_fix(e,
			"The bucket is in %s, but this installation works in %s. Use a "
			"bucket in %s, or copy its objects to one.",
			a->bucket_region, c->where->region, c->where->region);
		return;
	}
	for (size_t i = 0; i < sizeof(s3_rows) / sizeof(*s3_rows); i++)
		if (s3_rows[i].status == a->status && !e->fix[0]) {
			const char *head = s3_rows[i].fix, *at = strstr(head, "%s");

			e->retry = s3_rows[i].retry;
			err_fix(e, "%.*s%s%s", (int)(at - head), head, c->where->region,
				at + 2);
		}
}

/* --- a cluster that does not know us ------------------------------------------- */

bool refusal_is_unknown_caller(const struct answer *a)
{
	return a->via == VIA_KUBE && !a->ok && a->status == 401;
}

void refusal_unknown_caller(const struct step_ctx *c, struct err *e)
{
	const char *eks = json_str_at(c->data, "eks.name");
	const char *given = json_str_at(c->input, "eks_name");

	if (!eks)
		eks = given ? given : c->target;
	str_copy(e->seen, sizeof(e->seen), text_or(c->where->caller_arn, ""));
	err_fix(e,
		"Give %s an access entry on the EKS cluster %s (aws eks "
		"create-access-entry), or create its entry again if the role was deleted and "
		"created again. Waiting operations continue automatically.",
		text_or(c->where->caller_arn, "the InstantStart role"), eks);
}

/* --- all -------------------------------------------------------------------------- */

void refusal_explain(const struct step_ctx *c, const struct answer *a, struct err *e)
{
	const bool s3 = a->via == VIA_AWS && a->call && str_starts(a->call, "s3:");
	const char *said = text_or(a->message, "");

	if (s3 && a->bucket_region)
		said = arena_printf(c->arena, "%s (the bucket is in %s)", said,
				    a->bucket_region);
	err_because(e, a->call ? a->call : via_source(a), text_or(a->code, ""), said,
		    text_or(a->request_id, ""));
	denial_explain(e, a->message, c->arena);
	if (a->via == VIA_AWS && aws_account_fix(a->code))
		err_fix(e, "%s", aws_account_fix(a->code));
	if (s3 && !a->ok)
		explain_s3(c, a, e);
}
