/* Filter.N.Name / Value.M: values OR-ed, filters AND-ed, '*' and '?' wildcards. */
#include <fnmatch.h>
#include <string.h>

#include "tests/cloud/ec2/ops.h"

static bool text_fits(struct cloud_call *call, const json_t *values, const json_t *value)
{
	const char *text = json_string_value(value);
	json_t *one;
	size_t i;

	if (json_is_boolean(value))
		text = json_is_true(value) ? "true" : "false";
	else if (json_is_number(value))
		text = json_text(call->arena, value);
	if (!text)
		return false;
	json_array_foreach(values, i, one) {
		const char *want = json_string_value(one);
		/* fnmatch knows brackets, EC2 does not. */
		bool wild = strpbrk(want, "*?") && !strpbrk(want, "[]");

		if (wild ? fnmatch(want, text, FNM_NOESCAPE) == 0
			 : strcmp(want, text) == 0)
			return true;
	}
	return false;
}

static bool path_fits(struct cloud_call *call, const json_t *values, const json_t *at,
		      const char *path)
{
	struct str rest = str_of(path);
	json_t *one;
	size_t i;

	while (rest.p) {
		struct str step = str_cut(&rest, '.');

		if (str_is(step, "*")) {
			json_array_foreach(at, i, one)
				if (path_fits(call, values, one, rest.p ? rest.p : ""))
					return true;
			return false;
		}
		if (step.n > 0)
			at = json_object_get(at, str_dup(call->arena, step));
	}
	return at && text_fits(call, values, at);
}

static bool tag_fits(struct cloud_call *call, const json_t *values, const json_t *object,
		     const char *name)
{
	const json_t *tags = json_object_get(object, "Tags");
	json_t *tag;
	size_t i;

	if (!tags)
		tags = json_object_get(object, "TagSet");
	if (strcmp(name, "tag-key") == 0)
		return path_fits(call, values, tags, "*.Key");
	json_array_foreach(tags, i, tag)
		if (streq(json_str_at(tag, "Key"), name + strlen("tag:")) &&
		    text_fits(call, values, json_object_get(tag, "Value")))
			return true;
	return false;
}

bool ec2_filters_take(struct cloud_call *call, const json_t *filters,
		      const struct kind_filter *known, const json_t *object,
		      bool *ret_take)
{
	json_t *filter;
	size_t i;

	*ret_take = true;
	json_array_foreach(filters, i, filter) {
		const char *name = json_str_or(filter, "Name", "");
		const json_t *values = json_object_get(filter, "Values");
		const struct kind_filter *k = known;
		bool fits;

		if (str_starts(name, "tag:") || strcmp(name, "tag-key") == 0) {
			fits = tag_fits(call, values, object, name);
		} else {
			while (k && k->name && strcmp(k->name, name) != 0)
				k++;
			if (!k || !k->name)
				return cloud_fault(call, "InvalidParameterValue",
						   "The filter '%s' is invalid", name);
			fits = path_fits(call, values, object, k->path);
		}
		*ret_take &= fits;
	}
	return true;
}
