/*
 * Training plans: reserved capacity that groups can take. Looked at only: buying
 * and extending spend money and are no part of this.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/reserve-capacity-with-training-plans.html
 */
#include "core/domain/capability.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

#define TEXT(member, sentence)   OUT(member, FIELD_STR, .doc = (sentence))
#define NUMBER(member, sentence) OUT(member, FIELD_INT, .doc = (sentence))

/* A member of ours and AWS's; `number`: a whole one. */
struct name {
	const char *ours, *theirs;
};

static void rename_into(json_t *to, const json_t *from, const struct name *names)
{
	for (; names->ours; names++) {
		json_t *v = json_at(from, names->theirs);

		if (v && !json_is_null(v))
			json_put(to, names->ours, json_deep_copy(v));
	}
}

/* --- how a plan looks ------------------------------------------------------------------
 */

static const struct field capacity_out[] = {
	TEXT("instance_type", "Instance type."),
	NUMBER("count", "Number of instances."),
	TEXT("zone", "Zone name."),
	TEXT("zone_id", "Zone ID, the same in every account."),
	TEXT("status", "Status of this part."),
	TEXT("starts_at", "Start time."),
	TEXT("ends_at", "End time."),
	FIELD_END};

static const struct name capacity_names[] = {
	{"instance_type", "InstanceType"},
	{"count", "TotalInstanceCount"},
	{"zone", "AvailabilityZone"},
	{"zone_id", "AvailabilityZoneId"},
	{"status", "Status"},
	{"starts_at", "StartTime"},
	{"ends_at", "EndTime"},
	{NULL, NULL},
};

static const struct field plan_out_rows[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the plan."),
	OUT("arn", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "ARN. Pass it as training_plan_arn."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Pending, Scheduled, Active, Expired or Failed."),
	TEXT("status_message", "Why."),
	TEXT("starts_at", "Start time."),
	TEXT("ends_at", "End time. Nodes are removed about an hour earlier."),
	NUMBER("duration_hours", "Duration."),
	NUMBER("total", "Reserved instances."),
	NUMBER("available", "Available instances."),
	NUMBER("in_use", "Instances in use."),
	NUMBER("unhealthy", "Unhealthy instances."),
	TEXT("upfront_fee", "Upfront fee."),
	TEXT("currency", "Currency of the fee."),
	OUT("targets", FIELD_STRS,
	    .doc = "hyperpod-cluster, or the plan cannot be used for HyperPod."),
	{.name = "capacity",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = capacity_out,
	 .doc = "Parts of the plan, each in one zone."},
	FIELD_END};

static const struct name plan_names[] = {
	{"name", "TrainingPlanName"},
	{"arn", "TrainingPlanArn"},
	{"status", "Status"},
	{"status_message", "StatusMessage"},
	{"starts_at", "StartTime"},
	{"ends_at", "EndTime"},
	{"duration_hours", "DurationHours"},
	{"total", "TotalInstanceCount"},
	{"available", "AvailableInstanceCount"},
	{"in_use", "InUseInstanceCount"},
	{"unhealthy", "UnhealthyInstanceCount"},
	{"upfront_fee", "UpfrontFee"},
	{"currency", "CurrencyCode"},
	{"targets", "TargetResources"},
	{NULL, NULL},
};

static json_t *plan_item(struct arena *a, const json_t *plan)
{
	json_t *item = json_new_object(a), *list = json_array(), *part;
	size_t i;

	rename_into(item, plan, plan_names);
	json_array_foreach(json_at(plan, "ReservedCapacitySummaries"), i, part) {
		json_t *row = json_object();

		rename_into(row, part, capacity_names);
		json_push(list, row);
	}
	json_put(item, "capacity", list);
	return item;
}

/* --- list_training_plans ---------------------------------------------------------------
 */

struct list_plans {
	const char *status;
	int64_t limit;
	const char *cursor;
};

static const char *const plan_states[] = {"Pending", "Scheduled", "Active",
					  "Expired", "Failed",    NULL};

static const struct field list_plans_in[] = {
	FIELD(struct list_plans, status, .one_of = plan_states,
	      .doc = "Only plans with this status."),
	FIELD(struct list_plans, limit, .min = 1, .max = 100, .dflt = "20",
	      .doc = "Maximum number of items per page."),
	FIELD(struct list_plans, cursor, .min = 1, .max = 8192,
	      .doc = "next_cursor of the previous page."),
	FIELD_END};

static const struct field list_plans_out[] = {PAGE_OUT(plan_out_rows), FIELD_END};

static bool run_list_plans(struct call *c, const void *in, struct reply *ret,
			   struct err *e)
{
	const struct list_plans *q = in;
	json_t *out, *items = json_new_list(c->arena), *plan, *next;
	json_t *ask = json_packf(c->arena, "{s:I}", "MaxResults", (json_int_t)q->limit);
	size_t i;

	json_put_str(ask, "NextToken", q->cursor);
	if (q->status)
		json_put(ask, "Filters",
			 json_pack("[{s:s, s:s}]", "Name", "Status", "Value", q->status));
	if (!aws_read_page(c->cloud->aws, AWS_SAGEMAKER_ListTrainingPlans, ask,
			   call_read_deadline(c), c->arena, &out, e))
		return call_page_failed(q->cursor, e);
	json_array_foreach(json_at(out, "TrainingPlanSummaries"), i, plan)
		json_array_append(items, plan_item(c->arena, plan));
	next = json_at(out, "NextToken");
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:o}", "items", items, "next_cursor",
			      next ? json_incref(next) : json_null()));
	return true;
}

extern const struct capability cap_list_training_plans;
const struct capability cap_list_training_plans = {
	.name = "list_training_plans",
	.method = "GET",
	.path = "/training-plans",
	.title = "List training plans",
	.doc = "Lists the reserved capacity of the account: status, zone and available "
	       "instances.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_LIST | CAP_CLOUD,
	.in = list_plans_in,
	.in_size = sizeof(struct list_plans),
	.out = list_plans_out,
	.run = run_list_plans,
};

/* --- get_training_plan
 * ------------------------------------------------------------------- */

struct of_plan {
	const char *name;
};

static const struct field get_plan_in[] = {
	FIELD(struct of_plan, name, .flags = FIELD_REQUIRED | FIELD_PATH, .min = 1,
	      .max = 64, .pattern = "[a-zA-Z0-9](-*[a-zA-Z0-9])*",
	      .example = "\"spring-run\"", .doc = "Name of the plan."),
	FIELD_END};

static bool run_get_plan(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct of_plan *q = in;
	json_t *out;

	if (!aws_read(c->cloud->aws, AWS_SAGEMAKER_DescribeTrainingPlan,
		      json_packf(c->arena, "{s:s}", "TrainingPlanName", q->name),
		      call_read_deadline(c), c->arena, &out, e)) {
		if (e->code == ERR_CLOUD_NOT_FOUND)
			err_field(e, "/name", q->name, "a name from list_training_plans");
		return false;
	}
	reply_tree(c, ret, plan_item(c->arena, out));
	return true;
}

extern const struct capability cap_get_training_plan;
const struct capability cap_get_training_plan = {
	.name = "get_training_plan",
	.method = "GET",
	.path = "/training-plans/{name}",
	.title = "Get a training plan",
	.doc = "Returns the current status, dates, zone and available instances.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_plan_in,
	.in_size = sizeof(struct of_plan),
	.out = plan_out_rows,
	.run = run_get_plan,
};
