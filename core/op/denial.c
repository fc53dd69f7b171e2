#include "core/op/denial.h"

#include <string.h>

#include "core/base/str.h"

/* What stands between `before` and the next space, or the end; NULL: nothing. */
static const char *word_after(struct arena *a, const char *text, const char *before)
{
	const char *p = strstr(text, before);
	struct str rest;

	if (!p)
		return NULL;
	rest = str_of(p + strlen(before));
	return str_dup(a, str_cut(&rest, ' '));
}

static const char *policy_kind(const char *text)
{
	static const char *const kinds[] = {
		"service control policy", "resource control policy",
		"permissions boundary",   "session policy",
		"identity-based policy",  "resource-based policy",
		"VPC endpoint policy",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(text, kinds[i]))
			return kinds[i];
	return "policy";
}

static bool is_explicit(const char *text)
{
	return strstr(text, "with an explicit deny in a") ||
	       strstr(text, "because no service control policy allows") ||
	       strstr(text, "because no resource control policy allows") ||
	       strstr(text, "because no permissions boundary allows");
}

void denial_explain(struct err *e, const char *message, struct arena *a)
{
	const char *action =
		message ? word_after(a, message, "not authorized to perform: ") : NULL;
	const char *who = action ? word_after(a, message, "User: ") : NULL;

	if (!action)
		return;
	if (!who)
		who = "the InstantStart role";
	if (is_explicit(message))
		err_fix(e,
			"A %s denies %s to %s. Ask the owner of that policy for an "
			"exemption: more permissions for the role do not help. Then "
			"retry.",
			policy_kind(message), action, who);
	else
		err_fix(e, "Allow %s to %s, then retry.", action, who);
}
