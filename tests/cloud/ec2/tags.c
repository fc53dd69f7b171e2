/* Tags: at creation, afterwards, and listed over all kinds. */
#include <string.h>
#include <strings.h>

#include "tests/cloud/ec2/ops.h"

enum { TAGS_MAX = 50 };

static bool check_tag(struct cloud_call *call, const json_t *tag)
{
	const char *key = json_str_or(tag, "Key", "");

	if (!*key)
		return cloud_fault(call, "InvalidParameterValue",
				   "Tag key cannot be empty.");
	if (strlen(key) > 127)
		return cloud_fault(
			call, "InvalidParameterValue",
			"Tag key exceeds the maximum length of 127 characters");
	if (strlen(json_str_or(tag, "Value", "")) > 255)
		return cloud_fault(
			call, "InvalidParameterValue",
			"Tag value exceeds the maximum length of 255 characters");
	if (strncasecmp(key, "aws:", 4) == 0)
		return cloud_fault(
			call, "InvalidParameterValue",
			"Tag keys starting with 'aws:' are reserved for internal "
			"use");
	return true;
}

static void put_tag(json_t *tags, const json_t *tag)
{
	const char *key = json_str_at(tag, "Key");
	json_t *old = json_find(tags, "Key", key);
	const char *value = json_str_or(tag, "Value", "");

	if (old)
		json_put_str(old, "Value", value);
	else
		json_array_append_new(
			tags, json_pack("{s:s, s:s}", "Key", key, "Value", value));
}

bool ec2_spec_tags(struct cloud_call *call, const char *resource_type, json_t **ret_tags)
{
	json_t *spec, *tag;
	size_t i, k;

	*ret_tags = json_new_list(call->arena);
	json_array_foreach(json_object_get(call->in, "TagSpecifications"), i, spec) {
		const char *type = json_str_or(spec, "ResourceType", "");

		if (!streq(type, resource_type) && !streq(type, "security-group-rule"))
			return cloud_fault(
				call, "InvalidParameterValue",
				"'%s' is not a valid taggable resource type for "
				"this operation.",
				type);
		json_array_foreach(json_object_get(spec, "Tags"), k, tag) {
			if (!check_tag(call, tag))
				return false;
			put_tag(*ret_tags, tag);
		}
	}
	if (json_array_size(*ret_tags) > TAGS_MAX)
		return cloud_fault(call, "TagLimitExceeded",
				   "The maximum number of tags on a resource is %d",
				   TAGS_MAX);
	return true;
}

static const struct ec2_kind *kind_of(const char *id)
{
	const struct ec2_kind *best = NULL;

	/* "vpce-" begins with "vpc" but not with "vpc-". */
	for (size_t i = 0; ec2_kinds[i]; i++)
		if (str_starts(id, ec2_kinds[i]->prefix))
			best = ec2_kinds[i];
	return best;
}

static bool for_resources(struct cloud_call *call, const json_t **objects, size_t max)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(call->in, "Resources"), i, one) {
		const char *id = json_string_value(one);
		const struct ec2_kind *k = kind_of(id);

		if (i >= max)
			return cloud_fault(call, "InvalidParameterValue",
					   "Too many resources");
		if (!k)
			return cloud_fault(call, "InvalidID", "The ID '%s' is not valid",
					   id);
		objects[i] = ec2_require(call, k, id);
		if (!objects[i])
			return false;
	}
	return true;
}

enum { RESOURCES_MAX = 1000 };

bool ec2_create_tags(struct cloud_call *call, json_t **ret_out)
{
	const json_t **objects = arena_array(call->arena, const json_t *, RESOURCES_MAX);
	const json_t *given = json_object_get(call->in, "Tags");
	json_t *tag, *id;
	size_t i, k;

	(void)ret_out;
	json_array_foreach(given, k, tag)
		if (!check_tag(call, tag))
			return false;
	if (!for_resources(call, objects, RESOURCES_MAX))
		return false;
	json_array_foreach(json_object_get(call->in, "Resources"), i, id) {
		json_t *object = (json_t *)(uintptr_t)objects[i];
		json_t *tags = json_object_get(object, "Tags");

		if (!tags) {
			tags = json_array();
			json_object_set_new(object, "Tags", tags);
		}
		json_array_foreach(given, k, tag)
			put_tag(tags, tag);
		cloud_effect(call->cloud, "ec2.tags", json_string_value(id), "update");
	}
	return true;
}

bool ec2_delete_tags(struct cloud_call *call, json_t **ret_out)
{
	const json_t **objects = arena_array(call->arena, const json_t *, RESOURCES_MAX);
	json_t *tag, *id;
	size_t i, k;

	(void)ret_out;
	if (!for_resources(call, objects, RESOURCES_MAX))
		return false;
	json_array_foreach(json_object_get(call->in, "Resources"), i, id) {
		json_t *tags = json_object_get(objects[i], "Tags");

		json_array_foreach(json_object_get(call->in, "Tags"), k, tag) {
			const char *value = json_str_at(tag, "Value");

			for (size_t n = json_array_size(tags); n-- > 0;) {
				json_t *old = json_array_get(tags, n);

				if (streq(json_str_at(old, "Key"),
					  json_str_at(tag, "Key")) &&
				    (!value || streq(json_str_at(old, "Value"), value)))
					json_array_remove(tags, n);
			}
		}
		cloud_effect(call->cloud, "ec2.tags", json_string_value(id), "update");
	}
	return true;
}

bool ec2_describe_tags(struct cloud_call *call, json_t **ret_out)
{
	static const struct kind_filter filters[] = {
		{"key", "Key"},
		{"value", "Value"},
		{"resource-id", "ResourceId"},
		{"resource-type", "ResourceType"},
		{NULL, NULL},
	};
	json_t *list = json_new_list(call->arena), *object, *tag;
	const char *id, *next;
	size_t n;
	bool take;

	for (size_t i = 0; ec2_kinds[i]; i++)
		json_object_foreach(cloud_table(call->cloud, ec2_kinds[i]->table), id,
				    object) {
			if (!cloud_listed(call->cloud, object))
				continue;
			json_array_foreach(json_object_get(object, "Tags"), n, tag) {
				json_t *row = json_packf(
					call->arena, "{s:s, s:s, s:O, s:O}", "ResourceId",
					id, "ResourceType", ec2_kinds[i]->resource_type,
					"Key", json_object_get(tag, "Key"), "Value",
					json_object_get(tag, "Value"));

				if (!ec2_filters_take(call, json_at(call->in, "Filters"),
						      filters, row, &take))
					return false;
				if (take)
					json_array_append(list, row);
			}
		}
	json_t *page = cloud_page(call, list, json_str_at(call->in, "NextToken"),
				  json_int_or(call->in, "MaxResults", 0), &next);

	if (!page)
		return cloud_fault(call, "InvalidNextToken", "The token is not valid");
	*ret_out =
		json_packf(call->arena, "{s:O, s:s*}", "Tags", page, "NextToken", next);
	return true;
}
