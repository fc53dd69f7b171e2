/* What users met: each row is one failure and the words that must come of it. */
#include "tests/unit/domain_scene.h"

/* --- refused before anything is asked of the cloud -----------------------------------
 */

Test(domain_cases, near_misses_get_the_value_that_would_work)
{
	static const struct {
		const char *id, *input, *field, *hint; /* NULL hint: accepted there */
	} rows[] = {
		{"CC-02 prefix forgotten", "{'instance_type':'g5.12xlarge'}",
		 "/instance_type", "did you mean \"ml.g5.12xlarge\"?"},
		{"CC-02", "{'instance_type':'ml.g5.12xlarge'}", "/instance_type", NULL},
		{"CC-13 with v", "{'kubernetes_version':'v1.33'}", "/kubernetes_version",
		 "did you mean \"1.33\"?"},
		{"CC-13 number of YAML", "{'kubernetes_version':1.3}",
		 "/kubernetes_version", "did you mean \"1.30\"?"},
		{"CC-13", "{'kubernetes_version':'1.33'}", "/kubernetes_version", NULL},
		{"IG-12 underscore", "{'group_name':'gpu_group'}", "/group_name",
		 "did you mean \"gpu-group\"?"},
		{"IG-12 at its end", "{'group_name':'gpu-'}", "/group_name",
		 "did you mean \"gpu\"?"},
		{"IG-12 64 letters",
		 "{'group_name':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "'}",
		 "/group_name", "63 characters"},
		{"IG-12 count", "{'count':-1}", "/count", "1 to 1000"},
		{"CC-10 bucket", "{'lifecycle_s3_uri':'s3://my-team-bucket/scripts'}",
		 "/lifecycle_s3_uri", "s3://sagemaker-"},
		{"TJ-01 name", "{'name':'My_Cluster'}", "/name",
		 "did you mean \"my-cluster\"?"},
		{"DP-11 namespace", "{'dependencies':{'namespace':'infra'}}",
		 "/dependencies", "one of"},
	};
	const struct capability *cap = capability_find("create_cluster");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct violation *found = NULL;
		struct arena a;
		struct err e = {0};

		arena_init(&a, 0);
		/* Required members are missing: never accepted as a whole. */
		cr_assert_not(field_decode(cap->in, scene_tree(&a, rows[i].input), &a,
					   arena_alloc(&a, cap->in_size), &e));
		for (size_t j = 0; j < e.n_violations; j++)
			if (streq(e.violations[j].field, rows[i].field))
				found = &e.violations[j];
		cr_assert_eq(found != NULL, rows[i].hint != NULL, "%s", rows[i].id);
		if (found)
			cr_assert(strstr(found->expected, rows[i].hint), "%s: %s",
				  rows[i].id, found->expected);
		arena_free(&a);
	}
}

/* --- denied ----------------------------------------------------------------------------
 */

#define GROUP "'instance_type':'ml.g5.12xlarge','group_name':'w','count':1"
#define PLACE                                                                            \
	"'eks':{'arn':'arn:eks'},'security_group_id':'sg-1','subnet':{'id':'subnet-1'}"
#define DENIED(action, how)                                                                        \
	"User: arn:aws:sts::111122223333:assumed-role/Ops/x is not authorized to perform: " action \
	" on resource: r" how

Test(domain_cases, an_explicit_deny_is_never_answered_with_allow_it)
{
	static const struct scene rows[] = {
		{.id = "CC-12 service control policy",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .input = "{" GROUP "}",
		 .data = "{" PLACE "}",
		 .answered = "{'!':'AccessDeniedException','message':'" DENIED(
			 "iam:CreateServiceLinkedRole",
			 " with an explicit deny in a service control policy") "'}",
		 .says = {"fail cloud-forbidden human",
			  "A service control policy denies iam:CreateServiceLinkedRole to "
			  "arn:aws:sts::111122223333:assumed-role/Ops/x",
			  "!/ Allow"}},
		{.id = "CC-12 plain denial",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .input = "{" GROUP "}",
		 .data = "{" PLACE "}",
		 .answered = "{'!':'AccessDeniedException','message':'" DENIED(
			 "sagemaker:CreateCluster", "") "'}",
		 .says = {"fail cloud-denied human",
			  "/ Allow sagemaker:CreateCluster to arn:"}},
		{.id = "CC-12 in a stack",
		 .kind = "create_eks_control_plane",
		 .step = "wait_stack",
		 .answers =
			 "{'cloudformation:DescribeStacks':{'Stacks':[{'StackStatus':"
			 "'ROLLBACK_COMPLETE'}]},'cloudformation:DescribeStackEvents':"
			 "{'StackEvents':[{'LogicalResourceId':'Cluster','ResourceStatus':"
			 "'CREATE_FAILED','ResourceStatusReason':'" DENIED(
				 "iam:CreateServiceLinkedRole",
				 " with an explicit deny in a permissions boundary") "'}]}}",
		 .says = {"fail stack-failed human", "A permissions boundary denies",
			  "!/ Allow"}},
		{.id = "MC-07 a code nobody knows",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .input = "{" GROUP "}",
		 .data = "{" PLACE "}",
		 .answered = "{'!':'FooException','message':'no foo'}",
		 .says = {"fail cloud-refused never", "FooException no foo"}},
	};

	SCENES_HOLD(rows);
}
