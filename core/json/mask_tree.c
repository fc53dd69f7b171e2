#include "core/json/mask_tree.h"

#include "core/json/tree.h"

static bool is_address(const char *name)
{
	static const char *const ends[] = {"nexttoken", "NextToken", "ContinuationToken",
					   "Marker",    "continue",  "nextForwardToken"};
	static const char *const names[] = {"Key", "VersionId", "UploadId",
					    "resourceVersion"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (str_has_suffix(str_of(name), str_of(ends[i])))
			return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (streq(name, names[i]))
			return true;
	return streq(name, "nextToken");
}

/* json_string_set keeps the value, and with it whoever refers to it. */
static void set(json_t *text, struct str s)
{
	json_string_setn_nocheck(text, s.p, s.n);
}

static void mask_value(struct arena *a, json_t *text, const struct mask_known *known)
{
	const struct str s = {json_string_value(text), json_string_length(text)};
	const struct str masked = mask_text(a, s, known, false);

	if (masked.p != s.p)
		set(text, masked);
}

/* {"name": "HF_TOKEN", "value": "…"}; AWS writes it large. */
static void mask_pair(json_t *o)
{
	static const char *const pairs[][2] = {{"name", "value"},
					       {"Name", "Value"},
					       {"Key", "Value"},
					       {"ParameterKey", "ParameterValue"}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const json_t *name = json_object_get(o, pairs[i][0]);
		json_t *value = json_object_get(o, pairs[i][1]);

		if (json_is_string(name) && json_is_string(value) &&
		    mask_is_secret(str_of(json_string_value(name)),
				   str_of(json_string_value(value))))
			set(value, STR(MASKED));
	}
}

static void mask_member(struct arena *a, const char *name, json_t *value,
			const struct mask_known *known)
{
	if (!json_is_string(value)) {
		mask_tree(a, value, known);
		return;
	}
	if (is_address(name))
		return;
	if (mask_is_secret(str_of(name), str_of(json_string_value(value))))
		set(value, STR(MASKED));
	else
		mask_value(a, value, known);
}

void mask_tree(struct arena *a, json_t *tree, const struct mask_known *known)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_string(tree))
		mask_value(a, tree, known);
	json_array_foreach(tree, i, value)
		mask_tree(a, value, known);
	if (!json_is_object(tree))
		return;
	mask_pair(tree);
	json_object_foreach(tree, name, value)
		mask_member(a, name, value, known);
}
