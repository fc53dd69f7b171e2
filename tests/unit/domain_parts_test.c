/* What users met with access, dependencies, storage and deletion. */
#include "tests/unit/domain_scene.h"

/* --- clusters of others
 * ------------------------------------------------------------------- */

#define IMPORT .kind = "import_cluster", .step = "find_hyperpod", .data
#define EKS    "{'eks':{'arn':'arn:eks','public_cidrs':['10.9.0.0/16']}}"
#define THREE                                                                            \
	"'sagemaker:ListClusters':{'ClusterSummaries':[{'ClusterName':'slurm'},"         \
	"{'ClusterName':'closed'},{'ClusterName':'mine'}]},"                             \
	"'sagemaker:DescribeCluster slurm':{'ClusterName':'slurm'},"                     \
	"'sagemaker:DescribeCluster closed':{'!':'AccessDeniedException'}"

Test(domain_parts, one_odd_cluster_does_not_hide_the_others)
{
	static const struct scene rows[] = {
		{.id = "IG-11 Slurm, closed, ours",
		 IMPORT = EKS,
		 .answers = "{" THREE
			    ",'sagemaker:DescribeCluster mine':{'ClusterName':'mine',"
			    "'Orchestrator':{'Eks':{'ClusterArn':'arn:eks'}}}}",
		 .says = {"advance", "!warning"}},
		{.id = "IG-11 none is ours: the closed one is said",
		 IMPORT = EKS,
		 .answers = "{" THREE "}",
		 .says = {"advance", "warning: the HyperPod cluster closed could not"}},
		{.id = "IG-11 asked for by name",
		 IMPORT = EKS,
		 .input = "{'hyperpod_name':'slurm'}",
		 .answers = "{" THREE "}",
		 .says = {"fail invalid-input never", "/hyperpod_name",
			  "a cluster that EKS orchestrates"}},
		{.id = "IG-11 asked for, closed",
		 IMPORT = EKS,
		 .input = "{'hyperpod_name':'closed'}",
		 .answers = "{" THREE "}",
		 .says = {"fail cloud-denied human", "AccessDeniedException"}},
	};

	SCENES_HOLD(rows);
}

#define ACCESS .kind = "import_cluster", .step = "check_access", .data

Test(domain_parts, three_reasons_why_kubernetes_does_not_let_us_in)
{
	static const struct scene rows[] = {
		{.id = "IA-04 no entry",
		 ACCESS = EKS,
		 .overdue = true,
		 .answers = "{'kubernetes:list nodes':{'!':'Unauthorized','status':401}}",
		 .says = {"fail cloud-denied human", "no access entry",
			  "create-access-entry --cluster-name demo --principal-arn "
			  "arn:aws:iam::111122223333:role/us",
			  "associate-access-policy"}},
		{.id = "IA-04 an entry propagates: not at the first refusal",
		 ACCESS = EKS,
		 .answers = "{'kubernetes:list nodes':{'!':'Unauthorized','status':401}}",
		 .says = {"retry"}},
		{.id = "IA-04 no policy",
		 ACCESS = EKS,
		 .answers = "{'kubernetes:list nodes':{'!':'Forbidden','status':403}}",
		 .says = {"fail cloud-denied human", "has no policy",
			  "Run: aws eks associate-access-policy",
			  "!create-access-entry"}},
		{.id = "IA-04 no way there",
		 ACCESS = EKS,
		 .overdue = true,
		 .answers = "{'kubernetes:list nodes':{'!':'x','status':503}}",
		 .says = {"fail cloud-unreachable human", "10.9.0.0/16"}},
	};

	SCENES_HOLD(rows);
}
