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
	const struct cloud_options *o = cloud_opts(c);
	json_t *row = json_own(a, json_deep_copy(plan));

	json_put_str(row, "TrainingPlanName", name);
	if (!json_str_at(row, "TrainingPlanArn"))
		json_put_str(row, "TrainingPlanArn",
			     arena_printf(a, "arn:aws:sagemaker:%s:%s:training-plan/%s",
					  o->region, o->account, name));
	return row;
}

const json_t *sm_plan_by_arn(struct cloud *c, const char *arn)
{
	const char *name;
	json_t *plan;

	json_object_foreach(plans(c), name, plan) {
		char want[256];
		const struct cloud_options *o = cloud_opts(c);

		snprintf(want, sizeof(want), "arn:aws:sagemaker:%s:%s:training-plan/%s",
			 o->region, o->account, name);
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
