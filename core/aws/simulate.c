#include "core/aws/simulate.h"

#include <string.h>
#include <strings.h>

#include "core/base/listing.h"
#include "core/base/str.h"
#include "core/json/tree.h"

const char *simulate_cannot(const char *principal)
{
	const char *kind = principal ? strstr(principal, ":iam::") : NULL;

	if (!principal || !*principal)
		return "the caller's identity is not known yet";
	if (str_has_suffix(str_of(principal), STR(":root")))
		return "the account's root user has no policies that IAM simulates";
	if (!kind || (!strstr(kind, ":role/") && !strstr(kind, ":user/")))
		return "a federated session has no policies of its own that IAM simulates";
	return NULL;
}

json_t *simulate_input(struct arena *a, const char *principal, const json_t *actions,
		       const json_t *resources, const json_t *context)
{
	json_t *in = json_packf(a, "{s:s, s:O, s:O}", "PolicySourceArn", principal,
				"ActionNames", actions, "ResourceArns", resources);
	json_t *entries = json_new_list(a), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)context, key, v)
		json_push(entries,
			  json_pack("{s:s, s:[O], s:s}", "ContextKeyName", key,
				    "ContextKeyValues", v, "ContextKeyType", "string"));
	if (json_array_size(entries))
		json_object_set(in, "ContextEntries", entries);
	return in;
}

/* Of the action on the resource: a row of its own, or a part of the action's row. */
static const json_t *find(const json_t *out, const char *action, const char *resource)
{
	const json_t *only = NULL, *part;
	size_t i, n = 0;
	json_t *row;

	json_array_foreach(json_at(out, "EvaluationResults"), i, row) {
		if (strcasecmp(json_str_or(row, "EvalActionName", ""), action) != 0)
			continue;
		part = json_find(json_at(row, "ResourceSpecificResults"),
				 "EvalResourceName", resource);
		if (part)
			return part;
		if (streq(json_str_at(row, "EvalResourceName"), resource))
			return row;
		only = row;
		n++;
	}
	return n == 1 && !json_len_at(only, "ResourceSpecificResults") ? only : NULL;
}

static bool says_no(const json_t *row, const char *path)
{
	const json_t *v = json_at(row, path);

	return json_is_false(v) || streq(json_string_value(v), "false");
}

static const char *source(const json_t *row, struct arena *a)
{
	const char *id = json_str_at(row, "MatchedStatements.0.SourcePolicyId");

	return id ? arena_printf(a, "the policy %s denies it explicitly", id)
		  : "a policy denies it explicitly";
}

/* A condition on something that only the call itself has: nobody can tell. */
static const char *missing(const json_t *row, struct arena *a)
{
	struct listing keys = listing_new(a, ", ", LISTING_SHORT);
	size_t i;
	json_t *v;

	json_array_foreach(json_at(row, "MissingContextValues"), i, v)
		listing_add(&keys, "%s",
			    json_string_value(v) ? json_string_value(v) : "?");
	return keys.n ? arena_printf(a, "it depends on %s", listing_text(&keys)) : NULL;
}

struct right_verdict simulate_verdict(const json_t *out, const char *action,
				      const char *resource, struct arena *a)
{
	const json_t *row = find(out, action, resource);
	const char *said = json_str_at(row, "EvalDecision"), *depends;

	if (!said)
		said = json_str_or(row, "EvalResourceDecision", "");
	if (streq(said, "allowed"))
		return (struct right_verdict){RIGHT_ALLOWED, BY_NOBODY, NULL};
	if (!streq(said, "implicitDeny") && !streq(said, "explicitDeny"))
		return (struct right_verdict){RIGHT_NOT_KNOWN, BY_NOBODY,
					      "IAM's answer does not have it"};
	if (says_no(row, "OrganizationsDecisionDetail.AllowedByOrganizations"))
		return (struct right_verdict){
			RIGHT_DENIED, BY_ORGANIZATION,
			"a policy of the organization does not allow it"};
	depends = missing(row, a);
	if (depends)
		return (struct right_verdict){RIGHT_NOT_KNOWN, BY_NOBODY, depends};
	if (says_no(row,
		    "PermissionsBoundaryDecisionDetail.AllowedByPermissionsBoundary"))
		return (struct right_verdict){
			RIGHT_DENIED, BY_BOUNDARY,
			"the permissions boundary does not allow it"};
	if (streq(said, "explicitDeny"))
		return (struct right_verdict){RIGHT_DENIED, BY_STATEMENT, source(row, a)};
	return (struct right_verdict){RIGHT_DENIED, BY_NOBODY, "no policy allows it"};
}
