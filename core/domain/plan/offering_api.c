/*
 * search_training_plan_offerings: what could be bought, and for how much. Nothing
 * is bought here.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_SearchTrainingPlanOfferings.html
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/domain/capability.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

#define TEXT(member, sentence)   OUT(member, FIELD_STR, .doc = (sentence))
#define NUMBER(member, sentence) OUT(member, FIELD_INT, .doc = (sentence))

struct search {
	const char *instance_type;
	int64_t count;
	int64_t duration_hours;
	const char *starts_after;
	const char *ends_before;
	int64_t limit;
	const char *cursor;
};

#define TIME_PATTERN                                                                     \
	"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z"

static const struct field search_in[] = {
	FIELD(struct search, instance_type, .flags = FIELD_REQUIRED,
	      .pattern = "ml\\.[a-z0-9-]+\\.[a-z0-9]+", .meant = meant_instance_type,
	      .example = "\"ml.p5.48xlarge\"", .doc = "Instance type."),
	FIELD(struct search, count, .min = 1, .max = 256, .dflt = "1", .unit = "nodes",
	      .doc = "Number of instances: 1, 2, 4, 8, 16, 32 or 64."),
	FIELD(struct search, duration_hours, .flags = FIELD_REQUIRED, .min = 1,
	      .max = 87600, .unit = "hours", .example = "168",
	      .doc = "Duration in hours: whole days, at most 182 of them."),
	FIELD(struct search, starts_after, .pattern = TIME_PATTERN,
	      .example = "\"2027-01-05T00:00:00Z\"", .doc = "Earliest start."),
	FIELD(struct search, ends_before, .pattern = TIME_PATTERN, .doc = "Latest end."),
	PAGE_WHOLE_FIELDS(struct search),
	FIELD_END};

static const struct field part_out[] = {
	TEXT("instance_type", "Instance type."),
	NUMBER("count", "Number of instances."),
	TEXT("zone", "Zone. Groups that use the plan must be in this zone."),
	TEXT("starts_at", "Start time."),
	TEXT("ends_at", "End time."),
	NUMBER("duration_hours", "Duration."),
	FIELD_END};

static const struct field offering_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Offering ID."),
	TEXT("upfront_fee", "Upfront fee."),
	TEXT("currency", "Currency of the fee."),
	NUMBER("duration_hours", "Duration."),
	{.name = "capacity",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = part_out,
	 .doc = "Parts of the offering, each in one zone."},
	FIELD_END};

static const struct field search_out[] = {PAGE_OUT(offering_out), FIELD_END};

static void copy(json_t *to, const char *name, const json_t *from, const char *path)
{
	json_t *v = json_at(from, path);

	if (v && !json_is_null(v))
		json_put(to, name, json_deep_copy(v));
}

static json_t *part(const json_t *p)
{
	json_t *row = json_object();

	copy(row, "instance_type", p, "InstanceType");
	copy(row, "count", p, "InstanceCount");
	copy(row, "zone", p, "AvailabilityZone");
	copy(row, "starts_at", p, "StartTime");
	copy(row, "ends_at", p, "EndTime");
	copy(row, "duration_hours", p, "DurationHours");
	return row;
}

static json_t *offering(const json_t *o)
{
	json_t *row = json_object(), *parts = json_array(), *p;
	size_t i;

	copy(row, "id", o, "TrainingPlanOfferingId");
	copy(row, "upfront_fee", o, "UpfrontFee");
	copy(row, "currency", o, "CurrencyCode");
	copy(row, "duration_hours", o, "DurationHours");
	json_array_foreach(json_at(o, "ReservedCapacityOfferings"), i, p)
		json_push(parts, part(p));
	json_object_set_new(row, "capacity", parts);
	return row;
}

/* A pattern takes days that no calendar has. */
static bool put_time(json_t *ask, const char *member, const char *field, const char *text,
		     struct err *e)
{
	int64_t ms;

	json_put_str(ask, member, text);
	if (!text || time_parse_rfc3339(text, &ms))
		return true;
	err_set(e, ERR_INVALID_INPUT, "%s is not a valid time", field);
	return err_field(e, field, text, "a time such as 2026-11-29T10:00:00Z");
}

/* Which types can be reserved changes: only the cloud knows them. */
static void type_is_refused(const struct search *q, struct err *e)
{
	const struct err was = *e;

	if (was.code != ERR_CLOUD_REFUSED || was.n_causes == 0 ||
	    !strcasestr(was.cause[0].message, "instanceType"))
		return;
	err_set(e, ERR_INVALID_INPUT, "%s cannot be reserved with a training plan",
		q->instance_type);
	err_field(e, "/instance_type", q->instance_type, "a type that the cause lists");
	err_because(e, was.cause[0].source, was.cause[0].code, was.cause[0].message,
		    was.cause[0].request_id);
}

static bool run_search(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct search *q = in;
	json_t *out, *items = json_new_list(c->arena), *o, *next;
	json_t *ask = json_packf(c->arena, "{s:s, s:I, s:I, s:[s]}", "InstanceType",
				 q->instance_type, "InstanceCount", (json_int_t)q->count,
				 "DurationHours", (json_int_t)q->duration_hours,
				 "TargetResources", "hyperpod-cluster");
	size_t i;

	if (!put_time(ask, "StartTimeAfter", "/starts_after", q->starts_after, e) ||
	    !put_time(ask, "EndTimeBefore", "/ends_before", q->ends_before, e) ||
	    !call_window(q->starts_after, q->ends_before, "/ends_before", e))
		return false;
	if (!aws_read(c->cloud->aws, AWS_SAGEMAKER_SearchTrainingPlanOfferings, ask,
		      call_read_deadline(c), c->arena, &out, e)) {
		if (e->code == ERR_QUOTA)
			err_fix(e,
				"Request an increase of the training plan quota for %s "
				"in Service Quotas. Without quota, no offerings are "
				"returned.",
				q->instance_type);
		type_is_refused(q, e);
		return false;
	}
	json_array_foreach(json_at(out, "TrainingPlanOfferings"), i, o)
		json_push(items, offering(o));
	next = page_cut(c->arena, items, "id", q->limit, q->cursor);
	reply_tree(
		c, ret,
		json_packf(c->arena, "{s:O, s:O}", "items", items, "next_cursor", next));
	return true;
}

extern const struct capability cap_search_training_plan_offerings;
const struct capability cap_search_training_plan_offerings = {
	.name = "search_training_plan_offerings",
	.method = "GET",
	.path = "/training-plan-offerings",
	.title = "Search training plan offerings",
	.doc = "Searches reserved capacity for HyperPod: zone, dates and fee. Buys "
	       "nothing.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = search_in,
	.in_size = sizeof(struct search),
	.out = search_out,
	.run = run_search,
};
