#include "core/aws/errors.h"

#include <string.h>

#include "core/base/str.h"

struct row {
	int service; /* -1: any */
	const char *code;
	const char *message;
	enum errc errc;
};

enum { AWS_SERVICE_ANY = -1 };

static const struct row rows[] = {
#define AWS_ERROR(service, code, message, errc)                                          \
	{(int)AWS_SERVICE_##service, code, message, ERR_##errc},
#include "core/aws/errors.def"
#undef AWS_ERROR
};

const char *aws_clean_code(struct arena *a, const char *raw)
{
	struct str s = str_trim(str_of(raw));
	struct str head;

	head = str_cut(&s, ',');
	s = head;
	head = str_cut(&s, ':');
	s = head;
	while (s.p) { /* what is behind the last '#' */
		head = str_cut(&s, '#');
	}
	return str_dup(a, str_trim(head));
}

static bool code_fits(const char *pattern, const char *code)
{
	if (*pattern == '*')
		return str_has_suffix(str_of(code), str_of(pattern + 1));
	return strcmp(pattern, code) == 0;
}

static enum errc by_status(int status)
{
	if (status == 429)
		return ERR_CLOUD_THROTTLED;
	if (status >= 500)
		return ERR_CLOUD_UNAVAILABLE;
	switch (status) {
	case 401:
		return ERR_CREDENTIALS;
	case 403:
		return ERR_CLOUD_DENIED;
	case 404:
		return ERR_CLOUD_NOT_FOUND;
	case 409:
		return ERR_CLOUD_CONFLICT;
	case 412:
		return ERR_PRECONDITION;
	default:
		return ERR_CLOUD_REFUSED;
	}
}

enum errc aws_errc(enum aws_service_id service, const char *code, const char *message,
		   int http_status)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];

		if ((r->service == AWS_SERVICE_ANY || r->service == (int)service) &&
		    code_fits(r->code, code) &&
		    (!r->message || strstr(message, r->message)))
			return r->errc;
	}
	return by_status(http_status);
}

const char *aws_account_fix(const char *code)
{
	static const char verifying[] =
		"AWS is verifying the account, which takes minutes to hours. Retry later, "
		"or contact AWS Support.";
	static const char restricted[] =
		"AWS has restricted the account. Contact AWS Support, then retry.";
	static const char sign_up[] =
		"Have an administrator of the AWS account enable this Region (Account "
		"page, AWS Regions) and complete the sign-up for the service, then "
		"retry. More permissions do not help.";
	static const struct {
		const char *code, *fix;
	} of_account[] = {
		{"OptInRequired", sign_up},
		{"SubscriptionRequiredException", sign_up},
		{"NotSignedUp", sign_up},
		{"RegionDisabledException", sign_up},
		{"PendingVerification", verifying},
		{"PendingAccountVerification", verifying},
		{"Blocked", restricted},
		{"AccountProblem", restricted},
		{"AllAccessDisabled", restricted},
	};

	for (size_t i = 0; i < sizeof(of_account) / sizeof(*of_account); i++)
		if (streq(of_account[i].code, code))
			return of_account[i].fix;
	return NULL;
}

bool aws_may_be_skew(const char *code)
{
	static const char *const codes[] = {
		"AccessDeniedException",     "AuthFailure",
		"InvalidSignatureException", "RequestExpired",
		"RequestInTheFuture",        "RequestTimeTooSkewed",
		"SignatureDoesNotMatch",
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (streq(codes[i], code))
			return true;
	return false;
}
