/*
 * Whether an IAM policy document allows an action: Allow and Deny, wildcards, and the
 * condition operators that policies of callers use. What is not understood matches no
 * Allow and every Deny.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "tests/cloud/authorize.h"

/* IAM's wildcards: '*' is any text, '/' and ':' included; '?' one character. */
static bool glob(const char *pattern, const char *text, bool any_case)
{
	const char *star = NULL, *back = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			back = text;
		} else if (*pattern == '?' || *pattern == *text ||
			   (any_case && tolower((unsigned char)*pattern) ==
						tolower((unsigned char)*text))) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++back;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* A text or a list of texts. */
static bool any_fits(const json_t *value, const char *text, bool any_case)
{
	json_t *one;
	size_t i;

	if (json_is_string(value))
		return glob(json_string_value(value), text, any_case);
	json_array_foreach(value, i, one)
		if (glob(json_string_value(one), text, any_case))
			return true;
	return false;
}

static bool any_equal(const json_t *value, const char *text)
{
	json_t *one;
	size_t i;

	if (json_is_string(value))
		return streq(json_string_value(value), text);
	json_array_foreach(value, i, one)
		if (streq(json_string_value(one), text))
			return true;
	return false;
}

static bool operator_holds(const char *operator, const json_t * wanted, const char *have)
{
	if (streq(operator, "Null"))
		return any_equal(wanted, have ? "false" : "true");
	if (streq(operator, "StringEquals") || streq(operator, "Bool"))
		return have && any_equal(wanted, have);
	if (streq(operator, "StringLike") || streq(operator, "ArnLike"))
		return have && any_fits(wanted, have, false);
	if (streq(operator, "StringNotEquals"))
		return !have || !any_equal(wanted, have);
	return false;
}

static void note_missing(json_t *missing, const char *key)
{
	json_t *one;
	size_t i;

	json_array_foreach(missing, i, one)
		if (streq(json_string_value(one), key))
			return;
	if (missing)
		json_array_append_new(missing, json_string(key));
}

static bool conditions_hold(const json_t *statement, const json_t *context,
			    json_t *missing)
{
	json_t *keys, *wanted;
	const char *operator, * key;
	bool hold = true;

	json_object_foreach(json_object_get(statement, "Condition"), operator, keys)
		json_object_foreach(keys, key, wanted) {
			const char *have =
				json_string_value(json_object_get(context, key));

			if (!have)
				note_missing(missing, key);
			hold &= operator_holds(operator, wanted, have);
		}
	return hold;
}

static bool applies(const json_t *s, const char *action, const char *resource,
		    const json_t *context, json_t *missing)
{
	const json_t *not_action = json_object_get(s, "NotAction");
	const json_t *not_resource = json_object_get(s, "NotResource");

	if (not_action ? any_fits(not_action, action, true)
		       : !any_fits(json_object_get(s, "Action"), action, true))
		return false;
	if (not_resource ? any_fits(not_resource, resource, false)
			 : !any_fits(json_object_get(s, "Resource"), resource, false))
		return false;
	return conditions_hold(s, context, missing);
}

enum policy_word policy_judge(const json_t *policy, const char *action,
			      const char *resource, const json_t *context,
			      json_t *missing, size_t *ret_statement)
{
	const json_t *list = json_object_get(policy, "Statement"), *one;
	size_t n = json_is_object(list) ? 1 : json_array_size(list);
	enum policy_word word = POLICY_SILENT;

	*ret_statement = 0;
	for (size_t i = 0; i < n; i++) {
		one = json_is_object(list) ? list : json_array_get(list, i);
		if (!applies(one, action, resource, context, missing))
			continue;
		if (streq(json_str_at(one, "Effect"), "Deny")) {
			*ret_statement = i;
			return POLICY_DENIES;
		}
		if (word == POLICY_SILENT)
			*ret_statement = i;
		word = POLICY_ALLOWS;
	}
	return word;
}

bool policy_allows(const json_t *policy, const char *action, const char *resource,
		   const json_t *context)
{
	size_t at;

	return policy_judge(policy, action, resource, context, NULL, &at) ==
	       POLICY_ALLOWS;
}
