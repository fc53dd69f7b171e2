#include "core/op/caller.h"

#include <string.h>

#include "core/json/tree.h"

const char *caller_principal(struct aws *aws, const char *arn, int64_t until_ms,
			     struct arena *a)
{
	static const char session[] = ":assumed-role/";
	const char *at = strstr(arn, session);
	struct str rest = str_of(arn), name;
	const char *partition, *account, *role;
	json_t *out;
	struct err ignored;

	if (!at)
		return arn;
	str_cut(&rest, ':');
	partition = str_dup(a, str_cut(&rest, ':'));
	str_cut(&rest, ':'); /* sts */
	str_cut(&rest, ':'); /* no region */
	account = str_dup(a, str_cut(&rest, ':'));
	rest = str_of(at + strlen(session));
	name = str_cut(&rest, '/');
	role = str_dup(a, name);
	if (aws_read(aws, AWS_IAM_GetRole, json_packf(a, "{s:s}", "RoleName", role),
		     until_ms, a, &out, &ignored) &&
	    json_str_at(out, "Role.Arn"))
		return json_str_at(out, "Role.Arn");
	return arena_printf(a, "arn:%s:iam::%s:role/%s", partition, account, role);
}
