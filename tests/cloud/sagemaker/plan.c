/*
 * Training plans: what settings.training_plans holds, by name, in the members of
 * DescribeTrainingPlan. Nothing here spends money, so nothing is bought here.
 */
#include "tests/cloud/sagemaker/sagemaker.h"

static json_t *plans(struct cloud *c)
{
	return json_object_get(cloud_settings(c), "training_plans");
}

static json_t *plan_row(struct cloud *c, struct arena *a, const char *name, json_t *plan)
{
	json_t *row = json_own(a, json_deep_copy(plan));

	json_put_str(row, "TrainingPlanName", name);
	if (!json_str_at(row, "TrainingPlanArn"))
		json_put_str(row, "TrainingPlanArn",
			     cloud_arn(c, a, "sagemaker",
				       arena_printf(a, "training-plan/%s", name)));
	return row;
}

const json_t *sm_plan_by_arn(struct cloud *c, const char *arn)
{
	const char *name;
	json_t *plan;

	json_object_foreach(plans(c), name, plan) {
		char want[256];
		const struct cloud_options *o = cloud_opts(c);

		snprintf(want, sizeof(want), "arn:%s:sagemaker:%s:%s:training-plan/%s",
			 cloud_partition(c), o->region, o->account, name);
		if (streq(json_str_or(plan, "TrainingPlanArn", want), arn))
			return plan;
	}
	return NULL;
}

bool sm_list_plans(struct cloud_call *c, json_t **ret_out)
{
	const char *status = json_str_at(
		json_find(json_object_get(c->in, "Filters"), "Name", "Status"), "Value");
	json_t *list = json_new_list(c->arena), *plan;
	const char *name;

	json_object_foreach(plans(c->cloud), name, plan)
		if (!status || streq(status, json_str_at(plan, "Status")))
			json_array_append(list, plan_row(c->cloud, c->arena, name, plan));
	return sm_page(c, "TrainingPlanSummaries", list, ret_out);
}

bool sm_describe_plan(struct cloud_call *c, json_t **ret_out)
{
	const char *name = json_str_or(c->in, "TrainingPlanName", "");
	json_t *plan = json_object_get(plans(c->cloud), name);

	if (!plan)
		return cloud_fault(c, "ResourceNotFound", "Training plan %s not found.",
				   name);
	*ret_out = plan_row(c->cloud, c->arena, name, plan);
	return true;
}

/* settings.training_plan_offerings: a list in the API's members. */
bool sm_search_offerings(struct cloud_call *c, json_t **ret_out)
{
	const char *type = json_str_at(c->in, "InstanceType");
	const int64_t count = json_int_or(c->in, "InstanceCount", 1);
	const int64_t hours = json_int_or(c->in, "DurationHours", 0);
	json_t *list = json_new_list(c->arena), *o;
	size_t i;

	json_array_foreach(
		json_object_get(cloud_settings(c->cloud), "training_plan_offerings"), i,
		o) {
		const json_t *part = json_at(o, "ReservedCapacityOfferings.0");

		if ((!type || streq(type, json_str_at(part, "InstanceType"))) &&
		    json_int_or(part, "InstanceCount", 0) >= count &&
		    (!hours || json_int_or(o, "DurationHours", 0) == hours))
			json_array_append(list, o);
	}
	*ret_out = json_packf(c->arena, "{s:O}", "TrainingPlanOfferings", list);
	return true;
}
