/* CloudWatch Logs. https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/
 */
#include "tests/cloud/logs.h"

#include <string.h>

#include "tests/cloud/core.h"

enum { PAGE = 50, EVENTS_PAGE = 1000 };

static const char *group_arn(struct cloud *c, struct arena *a, const char *name)
{
	return cloud_arn(c, a, "logs", arena_printf(a, "log-group:%s", name));
}

static json_t *new_group(struct cloud *c, const char *name, int64_t now_ms)
{
	struct arena a;

	arena_init(&a, 0);
	const char *arn = group_arn(c, &a, name);
	json_t *group =
		json_pack("{s:s, s:I, s:i, s:s, s:s, s:i, s:{}, s:s}", "logGroupName",
			  name, "creationTime", (json_int_t)now_ms, "metricFilterCount",
			  0, "arn", arena_printf(&a, "%s:*", arn), "logGroupArn", arn,
			  "storedBytes", 0, "_streams", "logGroupClass", "STANDARD");

	cloud_put(c, "logs.group", name, group);
	arena_free(&a);
	return group;
}

void logs_put(struct cloud *c, const char *group, const char *stream, int64_t at_ms,
	      const char *message)
{
	json_t *g = cloud_get(c, "logs.group", group);

	if (!g)
		g = new_group(c, group, at_ms);
	json_t *streams = json_object_get(g, "_streams");
	json_t *s = json_object_get(streams, stream);

	if (!s) {
		s = json_pack("{s:s, s:I, s:I, s:[]}", "logStreamName", stream,
			      "creationTime", (json_int_t)at_ms, "firstEventTimestamp",
			      (json_int_t)at_ms, "_events");
		json_object_set_new(streams, stream, s);
	}
	json_put_int(s, "lastEventTimestamp", at_ms);
	json_put_int(s, "lastIngestionTime", at_ms);
	json_array_append_new(json_object_get(s, "_events"),
			      json_pack("{s:I, s:s, s:I}", "timestamp", (json_int_t)at_ms,
					"message", message, "ingestionTime",
					(json_int_t)at_ms));
}

/* A name, or what an ARN names. */
static json_t *group_of(struct cloud_call *call)
{
	const char *name = json_str_at(call->in, "logGroupName");
	const char *arn = json_str_at(call->in, "logGroupIdentifier");
	const char *mark = arn ? strstr(arn, ":log-group:") : NULL;

	if (!name)
		name = mark ? arena_strdup(call->arena, mark + strlen(":log-group:"))
			    : arn;
	json_t *group = cloud_get(call->cloud, "logs.group", name);

	if (!group)
		cloud_fault(call, "ResourceNotFoundException",
			    "The specified log group does not exist.");
	return group;
}

static json_t *public_of(struct arena *a, const json_t *object)
{
	json_t *copy = json_new_object(a), *value;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
		if (name[0] != '_')
			json_object_set(copy, name, value);
	return copy;
}

static bool create_group(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "logGroupName");

	(void)ret_out;
	if (cloud_get(call->cloud, "logs.group", name))
		return cloud_fault(call, "ResourceAlreadyExistsException",
				   "The specified log group already exists");
	json_t *group = new_group(call->cloud, name, call->now_ms);

	json_object_set(group, "_tags", json_object_get(call->in, "tags"));
	cloud_effect(call->cloud, "logs.group", name, "create");
	return true;
}

static bool delete_group(struct cloud_call *call, json_t **ret_out)
{
	json_t *group = group_of(call);

	(void)ret_out;
	if (!group)
		return false;
	const char *name = arena_strdup(call->arena, json_str_at(group, "logGroupName"));

	cloud_effect(call->cloud, "logs.group", name, "delete");
	cloud_delete(call->cloud, "logs.group", name);
	return true;
}

static bool put_retention(struct cloud_call *call, json_t **ret_out)
{
	json_t *group = group_of(call);

	(void)ret_out;
	if (!group)
		return false;
	json_object_set(group, "retentionInDays",
			json_object_get(call->in, "retentionInDays"));
	cloud_effect(call->cloud, "logs.group", json_str_at(group, "logGroupName"),
		     "update");
	return true;
}

static bool answer_page(struct cloud_call *call, const char *member, json_t *all,
			int64_t page_size, json_t **ret_out)
{
	const char *next;
	json_t *page = cloud_page(call, all, json_str_at(call->in, "nextToken"),
				  json_int_or(call->in, "limit", page_size), &next);

	if (!page)
		return cloud_fault(call, "InvalidParameterException",
				   "The specified nextToken is invalid.");
	*ret_out =
		json_packf(call->arena, "{s:O, s:s*}", member, page, "nextToken", next);
	return true;
}

static bool describe_groups(struct cloud_call *call, json_t **ret_out)
{
	const char *prefix = json_str_at(call->in, "logGroupNamePrefix");
	const char *pattern = json_str_at(call->in, "logGroupNamePattern"), *name;
	json_t *list = json_new_list(call->arena), *group;

	json_object_foreach(cloud_table(call->cloud, "logs.group"), name, group)
		if (cloud_listed(call->cloud, group) &&
		    (!prefix || str_starts(name, prefix)) &&
		    (!pattern || strstr(name, pattern)))
			json_array_append(list, public_of(call->arena, group));
	return answer_page(call, "logGroups", list, PAGE, ret_out);
}

static bool describe_streams(struct cloud_call *call, json_t **ret_out)
{
	const char *prefix = json_str_at(call->in, "logStreamNamePrefix"), *name;
	json_t *group = group_of(call), *list = json_new_list(call->arena), *stream;

	if (!group)
		return false;
	if (prefix && streq(json_str_at(call->in, "orderBy"), "LastEventTime"))
		return cloud_fault(
			call, "InvalidParameterException",
			"Cannot order by LastEventTime with a logStreamNamePrefix.");
	json_object_foreach(json_object_get(group, "_streams"), name, stream)
		if (!prefix || str_starts(name, prefix))
			json_array_append(list, public_of(call->arena, stream));
	return answer_page(call, "logStreams", list, PAGE, ret_out);
}

static bool in_time(struct cloud_call *call, const json_t *event)
{
	int64_t at = json_int_or(event, "timestamp", 0);

	return at >= json_int_or(call->in, "startTime", 0) &&
	       at < json_int_or(call->in, "endTime", INT64_MAX);
}

static bool get_events(struct cloud_call *call, json_t **ret_out)
{
	json_t *group = group_of(call), *event, *list = json_new_list(call->arena);
	const char *name = json_str_at(call->in, "logStreamName");
	json_t *stream = json_object_get(json_object_get(group, "_streams"), name);
	const char *token = json_str_at(call->in, "nextToken");
	int64_t limit = json_int_or(call->in, "limit", EVENTS_PAGE), at = 0;
	size_t i;

	if (!group)
		return false;
	if (!stream)
		return cloud_fault(call, "ResourceNotFoundException",
				   "The specified log stream does not exist.");
	json_array_foreach(json_object_get(stream, "_events"), i, event)
		if (in_time(call, event))
			json_array_append(list, event);
	int64_t n = (int64_t)json_array_size(list);

	/* Without a token the newest page; "f/N" forward from N, "b/N" back to N. */
	at = json_bool_or(call->in, "startFromHead", false) || n < limit ? 0 : n - limit;
	if (token && (strlen(token) < 3 || token[1] != '/' ||
		      !str_to_i64(str_of(token + 2), &at) || at < 0 || at > n))
		return cloud_fault(call, "InvalidParameterException",
				   "The specified nextToken is invalid.");
	if (token && token[0] == 'b')
		at = at < limit ? 0 : at - limit;
	json_t *page = json_new_list(call->arena);

	for (int64_t k = at; k < n && k < at + limit; k++)
		json_array_append(page, json_array_get(list, (size_t)k));
	*ret_out = json_packf(
		call->arena, "{s:O, s:s, s:s}", "events", page, "nextForwardToken",
		arena_printf(call->arena, "f/%lld",
			     (long long)(at + (int64_t)json_array_size(page))),
		"nextBackwardToken", arena_printf(call->arena, "b/%lld", (long long)at));
	return true;
}

/* Terms, all of which must occur; "quoted ones" may hold blanks; ?a ?b is or. */
static bool pattern_fits(struct arena *a, const char *pattern, const char *message)
{
	struct str rest = str_trim(str_of(pattern));
	bool any_or = false, or_met = false;

	while (rest.p && rest.n > 0) {
		bool either = rest.p[0] == '?';

		if (either)
			rest = (struct str){rest.p + 1, rest.n - 1};
		bool quoted = rest.n > 0 && rest.p[0] == '"';

		if (quoted)
			rest = (struct str){rest.p + 1, rest.n - 1};
		const char *term = str_dup(a, str_cut(&rest, quoted ? '"' : ' '));
		bool met = strstr(message, term) != NULL;

		if (either) {
			any_or = true;
			or_met |= met;
		} else if (term[0] == '-' ? strstr(message, term + 1) != NULL : !met) {
			return false;
		}
		if (rest.p)
			rest = str_trim(rest);
	}
	return !any_or || or_met;
}

static bool stream_wanted(struct cloud_call *call, const char *name)
{
	const json_t *names = json_object_get(call->in, "logStreamNames");
	const char *prefix = json_str_at(call->in, "logStreamNamePrefix");
	json_t *one;
	size_t i;

	if (prefix)
		return str_starts(name, prefix);
	json_array_foreach(names, i, one)
		if (streq(json_string_value(one), name))
			return true;
	return json_array_size(names) == 0;
}

static bool filter_events(struct cloud_call *call, json_t **ret_out)
{
	const char *pattern = json_str_or(call->in, "filterPattern", ""), *name;
	json_t *group = group_of(call), *list = json_new_list(call->arena), *stream,
	       *event;
	size_t i;

	if (!group)
		return false;
	json_object_foreach(json_object_get(group, "_streams"), name, stream) {
		if (!stream_wanted(call, name))
			continue;
		json_array_foreach(json_object_get(stream, "_events"), i, event) {
			if (!in_time(call, event) ||
			    !pattern_fits(call->arena, pattern,
					  json_str_or(event, "message", "")))
				continue;
			json_t *copy = json_own(call->arena, json_copy(event));

			json_put_str(copy, "logStreamName", name);
			json_put_str(copy, "eventId",
				     arena_printf(call->arena, "%s:%zu", name, i));
			json_array_append(list, copy);
		}
	}
	return answer_page(call, "events", list, 10000, ret_out);
}

static bool create_stream(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "logStreamName");
	json_t *group = group_of(call);
	json_t *streams = json_object_get(group, "_streams");

	(void)ret_out;
	if (!group)
		return false;
	if (json_object_get(streams, name))
		return cloud_fault(call, "ResourceAlreadyExistsException",
				   "The specified log stream already exists");
	json_object_set_new(streams, name,
			    json_pack("{s:s, s:I, s:[]}", "logStreamName", name,
				      "creationTime", (json_int_t)call->now_ms,
				      "_events"));
	cloud_effect(call->cloud, "logs.stream", name, "create");
	return true;
}

static bool put_events(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "logStreamName");
	json_t *group = group_of(call), *event;
	size_t i;

	if (!group)
		return false;
	if (!json_object_get(json_object_get(group, "_streams"), name))
		return cloud_fault(call, "ResourceNotFoundException",
				   "The specified log stream does not exist.");
	json_array_foreach(json_object_get(call->in, "logEvents"), i, event)
		logs_put(call->cloud, json_str_at(group, "logGroupName"), name,
			 json_int_or(event, "timestamp", 0),
			 json_str_at(event, "message"));
	cloud_effect(call->cloud, "logs.stream", name, "update");
	*ret_out = json_packf(call->arena, "{s:s}", "nextSequenceToken", "0");
	return true;
}

static const struct cloud_op ops[] = {
	{"CreateLogGroup", true, create_group},
	{"DeleteLogGroup", true, delete_group},
	{"PutRetentionPolicy", true, put_retention},
	{"DescribeLogGroups", false, describe_groups},
	{"DescribeLogStreams", false, describe_streams},
	{"CreateLogStream", true, create_stream},
	{"PutLogEvents", true, put_events},
	{"GetLogEvents", false, get_events},
	{"FilterLogEvents", false, filter_events},
	{NULL, false, NULL},
};

const struct cloud_service cloud_logs = {"logs", ops, NULL};
