#include "core/json/mask_tree.h"

#include <string.h>

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

/* Arguments of a program: the value stands behind its option. */
static bool is_value_of(const json_t *option, const json_t *value)
{
	const char *name = json_string_value(option);

	return str_starts(name, "--") && !strchr(name, '=') && json_is_string(value) &&
	       mask_is_secret(str_of(name), str_of(json_string_value(value)));
}

/* The text of a line in a list of them: of events, or of plain texts. */
static json_t *line_of(json_t *item)
{
	if (json_is_string(item))
		return item;
	return json_object_get(item, "timestamp") ? json_object_get(item, "message")
						  : NULL;
}

/* Lines of a log are looked at together: a key goes over several of them. */
static void mask_list(struct arena *a, json_t *list, const struct mask_known *known)
{
	struct mask_lines *lines = arena_new(a, struct mask_lines);
	const json_t *before = NULL;
	json_t *item;
	size_t i;

	mask_lines_init(lines, a);
	json_array_foreach(list, i, item) {
		json_t *line = line_of(item);
		const struct str s = {json_string_value(line), json_string_length(line)};

		if (is_value_of(before, item)) {
			set(item, STR(MASKED));
		} else if (json_is_string(line) && !memchr(s.p, '\n', s.n)) {
			const struct str masked = mask_line(lines, s, false);

			if (masked.p != s.p)
				set(line, masked);
		}
		before = item;
		mask_tree(a, item, known);
	}
}

/* Helm's releases are read by us alone; of other Secrets nothing is. */
static void mask_secret(json_t *secret)
{
	static const char *const members[] = {"data", "stringData"};
	const char *name;
	json_t *value;

	if (str_starts(json_str_at(secret, "type"), "helm.sh/"))
		return;
	for (size_t i = 0; i < 2; i++) {
		json_object_foreach(json_object_get(secret, members[i]), name, value) {
			if (json_is_string(value))
				set(value, STR(MASKED));
		}
	}
}

static bool is_secret_object(const json_t *o)
{
	return streq(json_string_value(json_object_get(o, "kind")), "Secret") ||
	       str_starts(json_string_value(json_object_get(o, "type")), "helm.sh/");
}

void mask_tree(struct arena *a, json_t *tree, const struct mask_known *known)
{
	const char *name;
	json_t *value;

	if (json_is_string(tree))
		mask_value(a, tree, known);
	else if (json_is_array(tree))
		mask_list(a, tree, known);
	if (!json_is_object(tree))
		return;
	if (is_secret_object(tree)) {
		mask_secret(tree);
		return;
	}
	mask_pair(tree);
	json_object_foreach(tree, name, value)
		mask_member(a, name, value, known);
}
