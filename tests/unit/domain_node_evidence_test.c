/* What nodes tell after an answer was lost: whether the request came true. */
#include "tests/unit/domain_scene.h"

#define SENT(kind_name) .kind = kind_name, .step = "send_1", .age_s = 10
#define LIST                                                                                   \
	"{'round':1,'targets':{'gpu':4},'nodes':[{'asked':'i-1','id':'i-1','logical_id':'l1'," \
	"'group':'gpu','status':'Running','boot_id':'b1','batch':1}]}"
#define NODE(id, status)                                                                 \
	"'sagemaker:DescribeClusterNode':{'NodeDetails':{'InstanceId':'" id              \
	"','InstanceStatus':{'Status':'" status "'}}}"
#define KUBE(boot) "'kubernetes:get nodes':{'status':{'nodeInfo':{'bootID':'" boot "'}}}"
#define GROUP(n)                                                                         \
	"'sagemaker:DescribeCluster':{'InstanceGroups':[{'InstanceGroupName':'gpu',"     \
	"'TargetCount':" n "}]}"

Test(node_evidence, evidence_ends_a_request_of_unknown_outcome)
{
	static const struct scene rows[] = {
		{.id = "another instance",
		 SENT("replace_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-2", "Running") "," KUBE("b9") "," GROUP("4") "}",
		 .says = {"advance", "'state':'accepted'"}},
		{.id = "it leaves",
		 SENT("replace_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-1",
				     "ShuttingDown") "," KUBE("b1") "," GROUP("4") "}",
		 .says = {"advance"}},
		{.id = "nothing",
		 SENT("replace_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-1", "Running") "," KUBE("b1") "," GROUP("4") "}",
		 .says = {"call sagemaker:BatchReplaceClusterNodes"}},
		{.id = "another boot",
		 SENT("reboot_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-1", "Running") "," KUBE("b2") "," GROUP("4") "}",
		 .says = {"advance"}},
		{.id = "the same boot",
		 SENT("reboot_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-1", "Running") "," KUBE("b1") "," GROUP("4") "}",
		 .says = {"call sagemaker:BatchRebootClusterNodes"}},
		{.id = "it boots",
		 SENT("reboot_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-1", "Pending") "," KUBE("b1") "," GROUP("4") "}",
		 .says = {"advance"}},
	};

	SCENES_HOLD(rows);
}

Test(node_evidence, a_deletion_of_unknown_outcome_is_seen_by_node_and_target)
{
	static const struct scene rows[] = {
		{.id = "gone",
		 SENT("delete_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" GROUP("4") "}",
		 .says = {"advance"}},
		{.id = "a lower target",
		 SENT("delete_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-1", "Running") "," GROUP("3") "}",
		 .says = {"advance"}},
		{.id = "the same target",
		 SENT("delete_nodes"),
		 .data = LIST,
		 .issued = true,
		 .answers = "{" NODE("i-1", "Running") "," GROUP("4") "}",
		 .says = {"call sagemaker:BatchDeleteClusterNodes"}},
		{.id = "not sent before",
		 SENT("delete_nodes"),
		 .data = LIST,
		 .says = {"call sagemaker:BatchDeleteClusterNodes", "'NodeIds':['i-1']"}},
	};

	SCENES_HOLD(rows);
}
