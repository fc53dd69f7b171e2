/* What a request asks for in its query, and how it may ask for it. */
#include <string.h>

#include "tests/cloud/kube/server.h"

enum { MANAGER_MAX = 128 };

static void not_supported(struct ks_req *q, json_t *causes, const char *field,
			  const char *value, const char *all)
{
	ks_add_cause(causes, "FieldValueNotSupported", field,
		     arena_printf(q->a, "Unsupported value: \"%s\": supported values: %s",
				  value, all));
}

static void check_manager(struct ks_req *q, json_t *causes)
{
	const char *manager = ks_query(q, "fieldManager");

	if (manager && strlen(manager) > MANAGER_MAX)
		ks_add_cause(causes, "FieldValueTooLong", "fieldManager",
			     "Too long: may not be more than 128 bytes");
	for (const char *p = manager; p && *p; p++) {
		if ((unsigned char)*p >= ' ' && *p != 127)
			continue;
		ks_add_cause(causes, "FieldValueInvalid", "fieldManager",
			     arena_printf(q->a, "Invalid value: invalid character U+%04X",
					  (unsigned)(unsigned char)*p));
		return;
	}
}

static void check_dry_run(struct ks_req *q, const char *value, json_t *causes)
{
	if (value && *value && !streq(value, "All"))
		not_supported(q, causes, "dryRun", value, "\"All\"");
}

static bool check_write(struct ks_req *q, const char *what)
{
	json_t *causes = json_new_list(q->a);
	const char *mode = ks_query(q, "fieldValidation");
	const char *type = ks_header(q, "content-type");
	const bool apply = type && str_starts(type, "application/apply-patch+yaml");

	if (streq(what, "PatchOptions") && apply &&
	    (!ks_query(q, "fieldManager") || !*ks_query(q, "fieldManager")))
		ks_add_cause(causes, "FieldValueRequired", "fieldManager",
			     "Required value: is required for apply patch");
	if (streq(what, "PatchOptions") && !apply && ks_query(q, "force"))
		ks_add_cause(causes, "FieldValueForbidden", "force",
			     "Forbidden: may not be specified for non-apply patch");
	check_manager(q, causes);
	check_dry_run(q, ks_query(q, "dryRun"), causes);
	if (mode && *mode && !streq(mode, "Ignore") && !streq(mode, "Warn") &&
	    !streq(mode, "Strict"))
		not_supported(q, causes, "fieldValidation", mode,
			      "\"\", \"Ignore\", \"Strict\", \"Warn\"");
	return json_array_size(causes) == 0 || ks_bad_options(q, what, causes);
}

static bool is_number(struct ks_req *q, const char *name)
{
	const char *text = ks_query(q, name);
	int64_t n = 0;

	if (!text || !*text || str_to_i64(str_of(text), &n))
		return true;
	return ks_fail(q, 400, "BadRequest",
		       "strconv.ParseInt: parsing \"%s\": invalid syntax", text);
}

/* Of the query or, with more right, of the body. */
const char *ks_delete_option(const struct ks_req *q, const char *name)
{
	const char *given = ks_query(q, name);

	if (given)
		return given;
	return json_str_at(q->body, name);
}

static bool check_delete(struct ks_req *q)
{
	json_t *causes = json_new_list(q->a);
	const char *policy = ks_delete_option(q, "propagationPolicy");
	const char *kind = json_str_at(q->body, "kind");

	if (!is_number(q, "gracePeriodSeconds"))
		return false;
	if (kind && !streq(kind, "DeleteOptions"))
		return ks_fail(
			q, 400, "BadRequest",
			"no kind \"%s\" is registered for version \"%s\" in scheme "
			"\"pkg/runtime/scheme.go:111\"",
			kind, json_str_or(q->body, "apiVersion", ""));
	if (policy && json_at(q->body, "orphanDependents"))
		ks_add_cause(causes, "FieldValueInvalid", "propagationPolicy",
			     "Invalid value: orphanDependents and deletionPropagation "
			     "cannot be both set");
	if (policy && !streq(policy, "Foreground") && !streq(policy, "Background") &&
	    !streq(policy, "Orphan"))
		not_supported(q, causes, "propagationPolicy", policy,
			      "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
	check_dry_run(q, ks_query(q, "dryRun"), causes);
	return json_array_size(causes) == 0 || ks_bad_options(q, "DeleteOptions", causes);
}

static void forbid(json_t *causes, const char *field, const char *why)
{
	ks_add_cause(causes, "FieldValueForbidden", field, why);
}

static void check_match(struct ks_req *q, bool watch, json_t *causes)
{
	const char *match = ks_query(q, "resourceVersionMatch");
	const char *version = ks_query(q, "resourceVersion");
	const char *initial = ks_query(q, "sendInitialEvents");

	if (watch && initial && !streq(match, "NotOlderThan"))
		forbid(causes, "resourceVersionMatch",
		       "Forbidden: sendInitialEvents requires setting "
		       "resourceVersionMatch to NotOlderThan");
	if (watch && !initial && match)
		forbid(causes, "resourceVersionMatch",
		       "Forbidden: resourceVersionMatch is forbidden for watch unless "
		       "sendInitialEvents is provided");
	if (!watch && initial)
		forbid(causes, "sendInitialEvents",
		       "Forbidden: sendInitialEvents is forbidden for list");
	if (watch || !match)
		return;
	if (!version || !*version)
		forbid(causes, "resourceVersionMatch",
		       "Forbidden: resourceVersionMatch is forbidden unless "
		       "resourceVersion is provided");
	else if (!streq(match, "Exact") && !streq(match, "NotOlderThan"))
		not_supported(q, causes, "resourceVersionMatch", match,
			      "\"Exact\", \"NotOlderThan\", \"\"");
	else if (streq(match, "Exact") && streq(version, "0"))
		forbid(causes, "resourceVersionMatch",
		       "Forbidden: resourceVersionMatch \"exact\" is forbidden for "
		       "resourceVersion \"0\"");
}

static bool check_list(struct ks_req *q)
{
	const char *watch = ks_query(q, "watch");
	json_t *causes = json_new_list(q->a);

	if (!is_number(q, "limit") || !is_number(q, "timeoutSeconds"))
		return false;
	check_match(q, watch && !streq(watch, "0") && !streq(watch, "false"), causes);
	return json_array_size(causes) == 0 || ks_bad_options(q, "ListOptions", causes);
}

bool ks_check_options(struct ks_req *q)
{
	const char *m = q->raw->method;

	if (streq(m, "POST"))
		return check_write(q, "CreateOptions");
	if (streq(m, "PUT"))
		return check_write(q, "UpdateOptions");
	if (streq(m, "PATCH"))
		return check_write(q, "PatchOptions");
	if (streq(m, "DELETE"))
		return check_delete(q);
	return q->name || check_list(q);
}
