#include "core/domain/hyperpod/preflight.h"

#include "core/domain/cluster/zones.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

const char *ec2_type(const char *instance_type)
{
	return str_starts(instance_type, "ml.") ? instance_type + 3 : instance_type;
}

const char *quota_name(struct arena *a, const char *instance_type,
		       const char *capacity_type)
{
	if (streq(capacity_type, "training_plan"))
		return NULL;
	return arena_printf(a,
			    streq(capacity_type, "spot")
				    ? "%s for cluster spot instance usage"
				    : "%s for cluster usage",
			    instance_type);
}

/* --- offered? -------------------------------------------------------------------- */

/* Zones' ids are the stable keys; cases CC-01 and CC-02. */
bool offering_observe(struct step_ctx *c, struct exchange *x)
{
	const char *type = ec2_type(step_input(c, "instance_type"));

	return read_aws(c, x, "zones", AWS_EC2_DescribeAvailabilityZones, NULL) ||
	       read_all(c, x, "offerings", AWS_EC2_DescribeInstanceTypeOfferings,
			json_packf(c->arena, "{s:s, s:[{s:s, s:[s]}]}", "LocationType",
				   "availability-zone-id", "Filters", "Name",
				   "instance-type", "Values", type));
}

static const char *zones_that_offer(struct step_ctx *c, const json_t *offerings)
{
	struct buf list;
	size_t i;
	json_t *o;

	buf_init(&list, c->arena, 200);
	json_array_foreach(offerings, i, o)
		buf_printf(&list, "%s%s", i ? ", " : "", json_str_or(o, "Location", "?"));
	return buf_cstr(&list);
}

void offering_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *offerings = json_at(saw(c, "offerings"), "InstanceTypeOfferings");
	const json_t *zone = zone_find(json_at(saw(c, "zones"), "AvailabilityZones"),
				       step_input(c, "zone"));
	const char *type = step_input(c, "instance_type");
	struct err *e;

	(void)x;
	if (step_input(c, "subnet_id") && !step_input(c, "zone"))
		return; /* the zone is the subnet's; SageMaker judges */
	if (!zone) {
		e = step_fail(c, ERR_INVALID_INPUT, "%s is not a zone of %s",
			      step_input(c, "zone"), c->where->region);
		err_field(e, "/zone", step_input(c, "zone"),
			  "a name or id from list_availability_zones");
		return;
	}
	step_save_str(c, "zone_id", json_str_at(zone, "ZoneId"));
	if (json_array_size(offerings) == 0) {
		/* Everywhere empty: a new type that EC2 does not list, perhaps. */
		step_event(
			c, "warning",
			json_pack("{s:o}", "text",
				  json_sprintf(
					  "EC2 lists %s in no zone of %s: whether it is "
					  "offered could not be checked",
					  ec2_type(type), c->where->region)));
		return;
	}
	if (!json_find(offerings, "Location", json_str_at(zone, "ZoneId"))) {
		e = step_fail(c, ERR_NOT_OFFERED, "%s is not offered in %s (%s)", type,
			      json_str_or(zone, "ZoneName", ""),
			      json_str_or(zone, "ZoneId", ""));
		err_field(e, "/zone", step_input(c, "zone"),
			  arena_printf(c->arena, "one of %s",
				       zones_that_offer(c, offerings)));
	}
}

/* --- quota -------------------------------------------------------------------------- */

/* Answers without a match keep being read: quotas are found by name alone. */
bool quota_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = json_packf(c->arena, "{s:s, s:i}", "ServiceCode", "sagemaker",
				"MaxResults", 100);

	if (streq(step_input(c, "capacity_type"), "training_plan") ||
	    json_at(c->data, "quota"))
		return false;
	return read_all(c, x, "quotas", AWS_QUOTAS_ListServiceQuotas, in) ||
	       (saw_ok(c, "quotas") &&
		!json_find(json_at(saw(c, "quotas"), "Quotas"), "QuotaName",
			   quota_name(c->arena, step_input(c, "instance_type"),
				      step_input(c, "capacity_type"))) &&
		read_all(c, x, "defaults", AWS_QUOTAS_ListAWSDefaultServiceQuotas, in));
}

void quota_plan(struct step_ctx *c, struct exchange *x)
{
	const char *name = quota_name(c->arena, step_input(c, "instance_type"),
				      step_input(c, "capacity_type"));
	int64_t count = json_int_or(c->input, "count", 1);
	const json_t *quota;
	double limit;
	struct err *e;

	(void)x;
	if (!name || json_at(c->data, "quota"))
		return;
	quota = json_find(json_at(saw(c, "quotas"), "Quotas"), "QuotaName", name);
	if (!quota)
		quota = json_find(json_at(saw(c, "defaults"), "Quotas"), "QuotaName",
				  name);
	if (!quota) {
		step_event(
			c, "warning",
			json_pack("{s:o}", "text",
				  json_sprintf("the quota \"%s\" could not be read%s%s",
					       name, saw_code(c, "quotas")[0] ? ": " : "",
					       saw_code(c, "quotas"))));
		return;
	}
	limit = json_num_or(quota, "Value", 0);
	if (limit < (double)count) {
		e = step_fail(c, ERR_QUOTA, "the quota \"%s\" is %.0f, %lld are needed",
			      name, limit, (long long)count);
		err_field(e, "/count", arena_printf(c->arena, "%lld", (long long)count),
			  arena_printf(c->arena, "at most %.0f", limit));
		err_fix(e,
			"Ask for an increase of %s in Service Quotas (service sagemaker, "
			"region %s), then retry.",
			json_str_or(quota, "QuotaCode", name), c->where->region);
		return;
	}
	step_save(c, "quota",
		  json_pack("{s:s, s:s, s:f, s:I}", "name", name, "code",
			    json_str_or(quota, "QuotaCode", ""), "limit", limit, "needed",
			    (json_int_t)count));
	step_event(c, "quota", json_deep_copy(json_at(c->data, "quota")));
}

/* --- training plan --------------------------------------------------------------------
 */

bool training_plan_observe(struct step_ctx *c, struct exchange *x)
{
	const char *arn = step_input(c, "training_plan_arn");
	struct str rest = str_of(arn);
	struct str name = STR("");

	if (!arn)
		return false;
	while (rest.p)
		name = str_cut(&rest, '/');
	return read_aws(c, x, "plan", AWS_SAGEMAKER_DescribeTrainingPlan,
			json_packf(c->arena, "{s:s}", "TrainingPlanName",
				   str_dup(c->arena, name)));
}

static const json_t *capacity_in(const json_t *plan, const char *zone_id)
{
	size_t i;
	json_t *r;

	json_array_foreach(json_at(plan, "ReservedCapacitySummaries"), i, r)
		if (streq(json_str_or(r, "AvailabilityZoneId", ""), zone_id) ||
		    !json_str_at(r, "AvailabilityZoneId"))
			return r;
	return NULL;
}

/* Case CC-05: state, type, zone id, what is left. */
void training_plan_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *plan = saw(c, "plan");
	const char *arn = step_input(c, "training_plan_arn");
	const char *status = json_str_or(plan, "Status", "");
	const char *zone_id = json_str_or(c->data, "zone_id", "");
	const json_t *capacity;
	int64_t left;
	struct err *e = NULL;

	(void)x;
	if (!arn)
		return;
	if (!plan) {
		e = step_fail(c, ERR_CLOUD_NOT_FOUND, "there is no training plan %s",
			      arn);
		err_field(e, "/training_plan_arn", arn,
			  "the ARN of an active training plan");
		return;
	}
	if (!streq(status, "Active") && !streq(status, "Scheduled")) {
		e = step_fail(c, ERR_NOT_OFFERED, "the training plan is %s", status);
		err_field(e, "/training_plan_arn", arn,
			  "a plan that is Active or Scheduled");
		return;
	}
	capacity = capacity_in(plan, zone_id);
	if (!capacity) {
		e = step_fail(
			c, ERR_NOT_OFFERED,
			"the training plan's capacity is in %s, the zone asked for is %s",
			json_str_or(
				plan, "ReservedCapacitySummaries.0.AvailabilityZoneId",
				json_str_or(
					plan,
					"ReservedCapacitySummaries.0.AvailabilityZone",
					"another zone")),
			zone_id);
		err_field(e, "/zone", step_input(c, "zone"), "the zone of the plan");
		return;
	}
	if (!streq(json_str_or(capacity, "InstanceType", ""),
		   step_input(c, "instance_type"))) {
		e = step_fail(c, ERR_NOT_OFFERED, "the training plan holds %s",
			      json_str_or(capacity, "InstanceType", "another type"));
		err_field(e, "/instance_type", step_input(c, "instance_type"),
			  json_str_at(capacity, "InstanceType"));
		return;
	}
	left = json_int_or(plan, "AvailableInstanceCount", 0);
	if (left < json_int_or(c->input, "count", 1) &&
	    !json_at(c->data, "plan_checked")) {
		e = step_fail(c, ERR_QUOTA, "the training plan has %lld instances left",
			      (long long)left);
		err_field(e, "/count", NULL,
			  arena_printf(c->arena, "at most %lld", (long long)left));
		return;
	}
	step_save(c, "plan_checked", json_true());
}
