/* What is said before anything is made: training plans, and all faults at once. */
#include "tests/unit/domain_scene.h"

#define CREATE .kind = "create_cluster", .input
#define PLAN(status, left)                                                               \
	"{'sagemaker:DescribeTrainingPlan':{'AvailableInstanceCount':" left              \
	",'Status':'" status "','StartTime':'2026-03-01T00:00:00Z',"                     \
	"'ReservedCapacitySummaries':[{'AvailabilityZoneId':'usw2-az2',"                 \
	"'InstanceType':'ml.p5.48xlarge'}]}}"
/* Three zones: one without dates, one that ends within the hour, one extended. */
#define PLAN_WITH(more)                                                                  \
	"{'sagemaker:DescribeTrainingPlan':{'AvailableInstanceCount':4,'Status':"        \
	"'Active','ReservedCapacitySummaries':[{'AvailabilityZoneId':'usw2-az2',"        \
	"'InstanceType':'ml.p5.48xlarge'},{'AvailabilityZoneId':'usw2-az1',"             \
	"'InstanceType':'ml.p5.48xlarge','EndTime':'2026-01-02T04:04:05Z'},"             \
	"{'AvailabilityZoneId':'usw2-az3','InstanceType':'ml.p5.48xlarge','Status':"     \
	"'Expired','EndTime':'2026-01-01T00:00:00Z'},{'AvailabilityZoneId':'usw2-az3',"  \
	"'InstanceType':'ml.p5.48xlarge','Status':'Active','EndTime':"                   \
	"'2026-03-03T11:30:00Z'}]," more "}}"
#define ON_PLAN                                                                          \
	"{'zone':'us-west-2b','instance_type':'ml.p5.48xlarge','count':4,"               \
	"'capacity_type':'training_plan','training_plan_arn':"                           \
	"'arn:aws:sagemaker:us-west-2:111122223333:training-plan/tp-demo'}"

Test(domain_preflight, a_training_plan_that_does_not_fit_is_refused)
{
	static const struct scene rows[] = {
		{.id = "CC-05 other zone",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az1'}",
		 .answers = PLAN("Active", "4"),
		 .says = {"fail not-offered never", "in usw2-az2",
			  "not in zone usw2-az1"}},
		{.id = "CC-05 fits",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN("Active", "4"),
		 .says = {"advance", "!warning"}},
		{.id = "CC-05 by name, where no id is given",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az1','zone_name':'us-west-2b'}",
		 .answers =
			 "{'sagemaker:DescribeTrainingPlan':{'AvailableInstanceCount':4,"
			 "'Status':'Active','ReservedCapacitySummaries':[{"
			 "'AvailabilityZone':'us-west-2c','InstanceType':'ml.p5.48xlarge'}]}}",
		 .says = {"fail not-offered never", "in us-west-2c", "/zone"}},
		{.id = "CC-05 available 2",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN("Active", "2"),
		 .says = {"fail not-offered never", "2 instances left", "at most 2"}},
		{.id = "CC-05 expired",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN("Expired", "4"),
		 .says = {"fail not-offered never", "the training plan is Expired"}},
		{.id = "CC-05 scheduled",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN("Scheduled", "4"),
		 .says = {"advance", "warning: the training plan starts at 2026-03-01"}},
		{.id = "CC-05 other type",
		 CREATE =
			 "{'zone':'us-west-2b','instance_type':'ml.p5e.48xlarge','count':4,"
			 "'training_plan_arn':'arn:x/tp-demo'}",
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN("Active", "4"),
		 .says = {"fail not-offered never", "/instance_type", "ml.p5.48xlarge"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_preflight, a_training_plan_near_its_end_is_said)
{
	static const struct scene rows[] = {
		{.id = "CC-05 ends tomorrow: said, not refused",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN_WITH("'EndTime':'2026-01-03T11:30:00Z'"),
		 .says = {"advance",
			  "warning: the training plan ends at 2026-01-03T11:30",
			  "in 32 hours", "an hour earlier"}},
		{.id = "CC-05 ends in months",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN_WITH("'EndTime':'2026-03-03T11:30:00Z'"),
		 .says = {"advance", "!warning"}},
		{.id = "CC-05 its part there ends, the plan does not",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az1'}",
		 .answers = PLAN_WITH("'EndTime':'2026-03-03T11:30:00Z'"),
		 .says = {"fail not-offered never", "ends at 2026-01-02T04:04:05Z",
			  "none would remain", "a plan that ends later", "Extend"}},
		{.id = "CC-05 extended: the part that is over does not count",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az3'}",
		 .answers = PLAN_WITH("'EndTime':'2026-03-03T11:30:00Z'"),
		 .says = {"advance", "!warning"}},
		{.id = "CC-05 for training jobs",
		 CREATE = ON_PLAN,
		 .step = "check_training_plan",
		 .data = "{'zone_id':'usw2-az2'}",
		 .answers = PLAN_WITH("'TargetResources':['training-job']"),
		 .says = {"fail not-offered never", "is for ['training-job']",
			  "a plan for hyperpod-cluster"}},
	};

	SCENES_HOLD(rows);
}

/* --- all at once ----------------------------------------------------------------------
 */

#define TWO                                                                              \
	"{'preflight':[{'step':'check_offering','code':'not-offered','detail':"          \
	"'not there','field':'/zone','retry':1},{'step':'check_role','code':"            \
	"'invalid-input','detail':'no trust','field':'/execution_role_arn','retry':1}]}"
#define TWO_SAY                                                                          \
	"2 requirements are not met: (1) not there; (2) no trust",                       \
		"not-offered not there (/zone",                                          \
		"invalid-input no trust (/execution_role_arn", "!'preflight'"
#define OTHERS_ROLE                                                                      \
	"{'instance_type':'ml.g5.xlarge','zone':'us-west-2a','execution_role_arn':"      \
	"'arn:aws:iam::111122223333:role/theirs'}"
#define TRUSTS_LAMBDA                                                                    \
	"{'iam:GetRole':{'Role':{'AssumeRolePolicyDocument':'{\\'Statement\\':[{"        \
	"\\'Principal\\':{\\'Service\\':\\'lambda.amazonaws.com\\'}}]}'}}}"

Test(domain_preflight, a_cluster_with_several_faults_is_told_all_of_them)
{
	static const char *const kinds_of[] = {"create_cluster",
					       "create_hyperpod_cluster"};

	for (size_t i = 0; i < 2; i++) {
		const struct scene rows[] = {
			{.id = "the role of somebody else is looked at before anything",
			 .kind = kinds_of[i],
			 .step = "check_role",
			 .input = OTHERS_ROLE,
			 .answers = TRUSTS_LAMBDA,
			 .says = {"noted: fail invalid-input never",
				  "trusts lambda.amazonaws.com, not sagemaker", "advance",
				  "'step':'check_role'"}},
			{.id = "and the verdict names every fault",
			 .kind = kinds_of[i],
			 .step = "check_verdict",
			 .data = TWO,
			 .says = {"fail not-offered never", TWO_SAY}},
			{.id = "none: it goes on",
			 .kind = kinds_of[i],
			 .step = "check_verdict",
			 .says = {"advance", "!fail"}},
		};

		SCENES_HOLD(rows);
	}
}

Test(domain_preflight, a_name_that_is_taken_is_one_fault_of_several)
{
	static const struct scene rows[] = {
		{.id = "a cluster of somebody else",
		 .kind = "create_hyperpod_cluster",
		 .step = "check_name",
		 .input = "{'hyperpod_name':'pod'}",
		 .answers = "{'sagemaker:DescribeCluster':{'ClusterName':'pod',"
			    "'ClusterArn':'arn:pod','ClusterStatus':'InService'},"
			    "'sagemaker:ListTags':{'Tags':[]}}",
		 .says = {"noted: fail foreign-object", "advance", "'step':'check_name'",
			  "'field':'/hyperpod_name'"}},
	};

	SCENES_HOLD(rows);
}
