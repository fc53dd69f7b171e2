/*
 * check_plan.c - whether a training plan has what is asked for: state, purpose, place,
 * type, how many are left (case CC-05), and how long.
 *
 * Nodes of a plan are taken back about an hour before its end: what begins later than
 * that comes to nothing, and what begins shortly before it does not get far.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/reserve-capacity-with-training-plans.html
 */
#include "core/base/clock.h"
#include "core/base/listing.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/offer/group_takes.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum { HOUR_MS = 3600 * 1000, TAKEN_BACK_H = 1, SHORT_H = 48 };

bool training_plan_observe(struct step_ctx *c, struct exchange *x)
{
	const char *arn = wish_str(c, "training_plan_arn");
	struct str rest = str_of(arn);
	struct str name = STR("");

	if (!arn)
		return false;
	while (rest.p)
		name = str_cut(&rest, '/');
	return read_aws(c, x, "plan", AWS_SAGEMAKER_DescribeTrainingPlan,
			json_packf(c->arena, "{s:s}", "TrainingPlanName",
				   str_dup(c->arena, name))) ||
	       (saw_ok(c, "plan") && hyperpod_read(c, x));
}

/* By the zone's id, which is the same in every account; by its name where the
 * API gives no id; anywhere where it gives neither. */
static bool is_in_zone(const struct step_ctx *c, const json_t *capacity)
{
	const char *id = json_str_at(capacity, "AvailabilityZoneId");
	const char *name = json_str_at(capacity, "AvailabilityZone");

	/* A zone that is not known was complained of where it was looked for. */
	if (!json_at(c->data, "zone_id"))
		return true;
	if (id)
		return streq(id, json_str_or(c->data, "zone_id", ""));
	return !name || streq(name, json_str_or(c->data, "zone_name", ""));
}

static bool is_over(const json_t *part)
{
	const char *status = json_str_or(part, "Status", "");

	return streq(status, "Expired") || streq(status, "Failed");
}

/* A plan that was extended has parts that are over. */
static const json_t *capacity_in(const struct step_ctx *c, const json_t *plan)
{
	const json_t *found = NULL;
	size_t i;
	json_t *r;

	json_array_foreach(json_at(plan, "ReservedCapacitySummaries"), i, r)
		if (is_in_zone(c, r) && (!found || (is_over(found) && !is_over(r))))
			found = r;
	return found;
}

/* Where the plan has something, with commas. */
static const char *places_of(struct step_ctx *c, const json_t *plan)
{
	struct listing list = listing_new(c->arena, ", ", LISTING_SHORT);
	size_t i;
	json_t *r;

	json_array_foreach(json_at(plan, "ReservedCapacitySummaries"), i, r) {
		const char *zone = json_str_at(r, "AvailabilityZoneId");

		if (!zone)
			zone = json_str_or(r, "AvailabilityZone", "?");
		listing_add(&list, "%s", zone);
	}
	return listing_text(&list);
}

static struct err *refuse_plan(struct step_ctx *c, const char *field, const char *seen,
			       const char *expected, const char *detail)
{
	struct err *e = step_fail(c, ERR_NOT_OFFERED, "%s", detail);

	err_field(e, field, seen, expected);
	return e;
}

static bool check_plan_place(struct step_ctx *c, const json_t *plan,
			     const json_t *capacity)
{
	const char *zone_id = json_str_or(c->data, "zone_id", "");
	const char *type = json_str_or(capacity, "InstanceType", "another type");

	if (!capacity) {
		const char *where = places_of(c, plan);

		refuse_plan(
			c, step_input(c, "zone") ? "/zone" : "/subnet_id",
			step_input(c, "zone") ? step_input(c, "zone")
					      : step_input(c, "subnet_id"),
			arena_printf(c->arena, "one of %s", where),
			arena_printf(c->arena,
				     "the capacity of the training plan is in %s, not in "
				     "zone %s",
				     where, zone_id));
		return false;
	}
	if (streq(type, wish_str(c, "instance_type")))
		return true;
	refuse_plan(c, "/instance_type", wish_types_text(c), type,
		    arena_printf(c->arena, "the training plan holds %s", type));
	return false;
}

static struct err *refuse_arn(struct step_ctx *c, const char *expected,
			      const char *detail)
{
	return refuse_plan(c, "/training_plan_arn", wish_str(c, "training_plan_arn"),
			   expected, detail);
}

/* A plan of training jobs serves no cluster. */
static bool check_plan_purpose(struct step_ctx *c, const json_t *plan)
{
	const json_t *targets = json_at(plan, "TargetResources");
	bool serves = json_array_size(targets) == 0;
	size_t i;
	json_t *t;

	json_array_foreach(targets, i, t)
		serves |= streq(json_string_value(t), "hyperpod-cluster");
	if (!serves)
		refuse_arn(c, "a plan for hyperpod-cluster",
			   arena_printf(c->arena, "the training plan is for %s",
					json_text(c->arena, targets)));
	return serves;
}

static bool check_plan_state(struct step_ctx *c, const json_t *plan)
{
	const char *status = json_str_or(plan, "Status", "");

	if (streq(status, "Active") || streq(status, "Scheduled"))
		return true;
	refuse_arn(c, "a plan that is Active or Scheduled",
		   arena_printf(c->arena, "the training plan is %s", status));
	return false;
}

/* Said once; refused as often as it is looked at. */
static bool check_plan_end(struct step_ctx *c, const json_t *plan, const json_t *capacity)
{
	const char *end = json_str_at(capacity, "EndTime");
	int64_t end_ms, hours;

	if (!end)
		end = json_str_at(plan, "EndTime");
	if (!end || !time_parse_rfc3339(end, &end_ms))
		return true;
	hours = (end_ms - c->now_ms) / HOUR_MS;
	if (end_ms - c->now_ms <= (int64_t)TAKEN_BACK_H * HOUR_MS) {
		struct err *e = refuse_arn(
			c, "a plan that ends later",
			arena_printf(c->arena,
				     "the training plan ends at %s, and its nodes are "
				     "removed about an hour earlier: none would remain",
				     end));

		err_fix(e, "Extend the plan, or use another one.");
		return false;
	}
	if (hours < SHORT_H && !json_at(c->data, "plan_checked"))
		step_warn(
			c,
			"the training plan ends at %s, in %lld hours, and its nodes are "
			"removed about an hour earlier. Save longer work or extend the "
			"plan",
			end, (long long)hours);
	return true;
}

/* Asked for on the plan by this cluster's other groups, and not there: theirs. */
static int64_t owed_by_plan(struct step_ctx *c)
{
	const char *arn = wish_str(c, "training_plan_arn");
	const char *group = step_input(c, "group_name");
	int64_t n = 0;
	size_t i;
	json_t *g;

	json_array_foreach(json_at(saw(c, "hyperpod"), "InstanceGroups"), i, g)
		if (streq(json_str_or(g, "TrainingPlanArn", ""), arn) &&
		    !(group && streq(json_str_at(g, "InstanceGroupName"), group)))
			n += group_is_owed(g);
	return n;
}

/* Our own nodes hold theirs already when this is looked at again. */
static bool check_plan_left(struct step_ctx *c, const json_t *plan)
{
	const int64_t count = wish_more(c);
	const int64_t there = json_int_or(plan, "AvailableInstanceCount", -1);
	const int64_t owed = owed_by_plan(c);
	const int64_t left = there > owed ? there - owed : 0;

	if (there < 0 && !json_at(c->data, "plan_checked"))
		step_not_known(c, "training_plan",
			       "how many instances of the training plan are left");
	if (there < 0 || left >= count || json_at(c->data, "plan_checked"))
		return true;
	refuse_plan(c, "/count", arena_printf(c->arena, "%lld", (long long)count),
		    arena_printf(c->arena, "at most %lld", (long long)left),
		    arena_printf(c->arena, "the training plan has %lld instances left%s",
				 (long long)left,
				 owed ? arena_printf(c->arena,
						     ", after %lld that other groups "
						     "requested",
						     (long long)owed)
				      : ""));
	return false;
}

void training_plan_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *plan = saw(c, "plan"), *capacity;
	const char *arn = wish_str(c, "training_plan_arn");

	(void)x;
	if (!arn)
		return;
	if (!plan) {
		struct err *e = step_fail(c, ERR_CLOUD_NOT_FOUND,
					  "There is no training plan %s", arn);
		err_field(e, "/training_plan_arn", arn,
			  "the ARN of an active training plan");
		return;
	}
	capacity = capacity_in(c, plan);
	if (json_len_at(plan, "ReservedCapacitySummaries") == 0) {
		step_not_known(
			c, "training_plan",
			"the zone and type of the training plan's capacity: SageMaker "
			"does not report them");
		return;
	}
	if (!check_plan_state(c, plan) || !check_plan_purpose(c, plan) ||
	    !check_plan_place(c, plan, capacity) || !check_plan_end(c, plan, capacity) ||
	    !check_plan_left(c, plan))
		return;
	if (streq(json_str_at(plan, "Status"), "Scheduled") &&
	    !json_at(c->data, "plan_checked"))
		step_warn(c, "the training plan starts at %s: nodes arrive no earlier",
			  json_str_or(plan, "StartTime", "an unknown time"));
	step_save(c, "plan_checked", json_true());
}
