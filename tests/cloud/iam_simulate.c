/*
 * SimulatePrincipalPolicy: the caller by the policy that binds the key it uses, roles
 * by what hangs on them, both under what settings say of boundary and organization.
 * https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
 */
#include <string.h>

#include "tests/cloud/authorize.h"
#include "tests/cloud/iam_ops.h"

/* One action on one resource. */
struct trial {
	struct cloud_call *call;
	const json_t *docs;     /* [{id, type, doc}]; NULL: everything is allowed */
	const json_t *boundary; /* NULL: none */
	const char *action, *resource;
	json_t *context, *missing, *matched;
};

/* --- whose policies --------------------------------------------------------------- */

static json_t *parsed(struct cloud_call *call, const char *text)
{
	struct err ignored;

	return text ? json_parse(call->arena, str_of(text), &ignored) : NULL;
}

static void add_doc(json_t *docs, const char *id, const char *type, json_t *doc)
{
	if (doc)
		json_array_append_new(docs, json_pack("{s:s, s:s, s:O}", "id", id, "type",
						      type, "doc", doc));
}

static json_t *words(const char *text)
{
	struct str rest = str_of(text);
	json_t *list = json_array();

	while (rest.n > 0) {
		const struct str one = str_cut(&rest, ' ');

		json_array_append_new(list, json_stringn(one.p, one.n));
	}
	return list;
}

/* AWS's own, as far as it is known; or the account's. */
static json_t *policy_document(struct cloud_call *call, const char *arn)
{
	static const struct {
		const char *name, *actions, *resource;
	} managed[] = {
#define MANAGED(...) {__VA_ARGS__},
#include "tests/cloud/managed.def"
#undef MANAGED
	};
	const json_t *own = cloud_get(call->cloud, "iam.policy", arn);
	const char *slash = arn ? strrchr(arn, '/') : NULL;
	json_t *list = json_new_list(call->arena);

	if (own)
		return parsed(
			call,
			json_str_at(json_find(json_at(own, "_versions"), "VersionId",
					      json_str_or(own, "DefaultVersionId", "")),
				    "_text"));
	for (size_t i = 0; slash && i < sizeof(managed) / sizeof(managed[0]); i++)
		if (streq(managed[i].name, slash + 1))
			json_array_append_new(
				list, json_pack("{s:s, s:o, s:s}", "Effect", "Allow",
						"Action", words(managed[i].actions),
						"Resource", managed[i].resource));
	return json_packf(call->arena, "{s:O}", "Statement", list);
}

static json_t *documents_of(struct cloud_call *call, const json_t *role)
{
	json_t *docs = json_new_list(call->arena), *text, *one;
	const char *name;
	size_t i;

	json_object_foreach(json_object_get(role, "_inline"), name, text)
		add_doc(docs, name, "IAM Policy", parsed(call, json_string_value(text)));
	json_array_foreach(json_object_get(role, "_attached"), i, one)
		add_doc(docs, json_str_or(one, "PolicyName", "?"), "IAM Policy",
			policy_document(call, json_str_at(one, "PolicyArn")));
	return docs;
}

/* The role of a session, or the caller as it stands. */
static bool is_caller(const struct cloud_call *call, const char *arn)
{
	const char *session = strstr(call->caller_arn, ":assumed-role/");
	const char *slash = strrchr(arn, '/');
	size_t n;

	if (streq(call->caller_arn, arn))
		return true;
	if (!session || !slash || !strstr(arn, ":role/"))
		return false;
	session += strlen(":assumed-role/");
	n = strcspn(session, "/");
	return strlen(slash + 1) == n && strncmp(session, slash + 1, n) == 0;
}

static bool check_arn(struct cloud_call *call, const char *arn)
{
	const char *name = strstr(arn, ":iam::");
	const char *kind = name ? strchr(name + 6, ':') : NULL;

	if (!str_starts(arn, "arn:") || !name || !kind)
		return cloud_fault(call, "InvalidInput", "Invalid Entity Arn: %s", arn);
	if (!str_starts(kind, ":role/") && !str_starts(kind, ":user/") &&
	    !str_starts(kind, ":group/"))
		return cloud_fault(
			call, "InvalidInput",
			"Invalid Entity Arn: %s does not clearly define entity "
			"type and name.",
			arn);
	return true;
}

/* Sets the documents; false: there is no such entity. */
static bool find_policies(struct trial *t, const char *arn)
{
	struct cloud_call *call = t->call;
	const char *slash = strrchr(arn, '/'), *key = cloud_acting(call->cloud);
	const json_t *role = iam_find_role(call->cloud, arn), *bound = NULL;
	json_t *docs = json_new_list(call->arena);

	if (is_caller(call, arn)) {
		bound = json_object_get(json_at(cloud_settings(call->cloud), "policies"),
					key ? key : cloud_opts(call->cloud)->access_key);
		add_doc(docs, "caller", "IAM Policy", (json_t *)(uintptr_t)bound);
		t->docs = bound ? docs : NULL;
		return true;
	}
	if (!role)
		return cloud_fault(call, "NoSuchEntity",
				   "The %s with name %s cannot be found.",
				   strstr(arn, ":user/") ? "user" : "role", slash + 1);
	t->docs = documents_of(call, role);
	if (json_str_at(role, "PermissionsBoundary.PermissionsBoundaryArn"))
		t->boundary = policy_document(
			call,
			json_str_at(role, "PermissionsBoundary.PermissionsBoundaryArn"));
	return true;
}

/* --- one trial ------------------------------------------------------------------------
 */

static bool listed(const struct trial *t, const char *setting)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_at(cloud_settings(t->call->cloud), setting), i, one)
		if (streq(json_string_value(one), t->action))
			return true;
	return false;
}

static void note_match(struct trial *t, const json_t *doc, size_t statement)
{
	json_array_append_new(t->matched,
			      json_pack("{s:s, s:s, s:{s:i, s:i}, s:{s:i, s:i}}",
					"SourcePolicyId", json_str_or(doc, "id", "?"),
					"SourcePolicyType", json_str_or(doc, "type", "?"),
					"StartPosition", "Line", (int)statement + 1,
					"Column", 1, "EndPosition", "Line",
					(int)statement + 1, "Column", 2));
}

static const char *decide(struct trial *t)
{
	const char *word = t->docs ? "implicitDeny" : "allowed";
	const json_t *doc;
	size_t i, at;

	for (i = 0; i < json_array_size(t->docs); i++) {
		doc = json_array_get(t->docs, i);
		switch (policy_judge(json_object_get(doc, "doc"), t->action, t->resource,
				     t->context, t->missing, &at)) {
		case POLICY_DENIES:
			json_array_clear(t->matched);
			note_match(t, doc, at);
			return "explicitDeny";
		case POLICY_ALLOWS:
			note_match(t, doc, at);
			word = "allowed";
			break;
		case POLICY_SILENT:
			break;
		}
	}
	return word;
}

static json_t *result(struct trial *t)
{
	struct arena *a = t->call->arena;
	const char *decision;
	bool organization = !listed(t, "scp_denied"), boundary;
	json_t *out;

	t->missing = json_new_list(a);
	t->matched = json_new_list(a);
	boundary = !listed(t, "boundary_denied") &&
		   (!t->boundary ||
		    policy_allows(t->boundary, t->action, t->resource, t->context));
	decision = decide(t);
	if (listed(t, "denied_actions") || (!boundary && streq(decision, "allowed")))
		decision = "implicitDeny";
	if (!organization)
		decision = "explicitDeny";
	out = json_packf(
		a, "{s:s, s:s, s:s, s:O, s:O, s:{s:b}}", "EvalActionName", t->action,
		"EvalResourceName", t->resource, "EvalDecision", decision,
		"MatchedStatements", t->matched, "MissingContextValues", t->missing,
		"OrganizationsDecisionDetail", "AllowedByOrganizations", organization);
	if (t->boundary || !boundary)
		json_object_set_new(
			out, "PermissionsBoundaryDecisionDetail",
			json_pack("{s:b}", "AllowedByPermissionsBoundary", boundary));
	return out;
}

/* --- the call ----------------------------------------------------------------------- */

static json_t *context_of(struct cloud_call *call)
{
	json_t *context = json_new_object(call->arena), *one;
	size_t i;

	json_array_foreach(json_at(call->in, "ContextEntries"), i, one)
		json_object_set_new(
			context, json_str_or(one, "ContextKeyName", ""),
			json_string(json_str_or(one, "ContextKeyValues.0", "")));
	return context;
}

bool iam_simulate(struct cloud_call *call, json_t **ret_out)
{
	const char *arn = json_str_or(call->in, "PolicySourceArn", "");
	json_t *list = json_new_list(call->arena), *action, *resource;
	json_t *resources = json_at(call->in, "ResourceArns");
	struct trial t = {.call = call, .context = context_of(call)};
	size_t i, k;

	if (!check_arn(call, arn) || !find_policies(&t, arn))
		return false;
	if (json_array_size(resources) == 0)
		resources = json_packf(call->arena, "[s]", "*");
	json_array_foreach(json_at(call->in, "ActionNames"), i, action) {
		t.action = json_string_value(action);
		if (!strchr(t.action, ':'))
			return cloud_fault(call, "InvalidInput",
					   "Invalid Input Action: %s", t.action);
		json_array_foreach(resources, k, resource) {
			t.resource = json_string_value(resource);
			json_array_append(list, result(&t));
		}
	}
	return iam_answer_list(call, "EvaluationResults", list, ret_out);
}
