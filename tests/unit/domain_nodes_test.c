/* What users met between "accepted" and a node that works: nodes and network. */
#include "tests/unit/domain_scene.h"

/* --- nodes that do not come
 * ------------------------------------------------------------- */

#define NODES .kind = "create_hyperpod_cluster", .step = "wait_nodes", .input
#define FOUR  "{'group_name':'gpu','count':4,'instance_type':'ml.p5.48xlarge'}"
#define HYPERPOD(status, current, more)                                                  \
	"'sagemaker:DescribeCluster':{'ClusterStatus':'" status                          \
	"','ClusterArn':'arn:x/abc','NodeProvisioningMode':'Continuous',"                \
	"'InstanceGroups':[{'InstanceGroupName':'gpu','CurrentCount':" current           \
	",'TargetCount':4,'ActiveOperations':{'Scaling':1}}]" more "}"
#define EVENT(text)                                                                           \
	"'sagemaker:ListClusterEvents':{'Events':[{'EventLevel':'Error','Description':'" text \
	"'}]}"
#define SHORTAGE "We currently do not have sufficient capacity to launch new instances."

Test(domain_cases, in_service_without_a_node_is_not_done)
{
	static const struct scene rows[] = {
		{.id = "CC-03 no node yet",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD("InService", "0", "") "," EVENT(
			 "Insufficient capacity for it") "}",
		 .says = {"wait: 0 of 4 nodes",
			  "newest event: Insufficient capacity for it"}},
		{.id = "CC-03 nodes that Kubernetes does not know",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD("InService", "4", "") "}",
		 .says = {"wait: 0 of 4 nodes to be Ready in Kubernetes"}},
		{.id = "CC-01 classic rollback is watched to its end",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD("RollingBack", "0",
					 ",'FailureMessage':'" SHORTAGE "'") "}",
		 .says = {"wait: 0 of 4 nodes of demo (RollingBack)"}},
		{.id = "CC-01 and is then final, without another create",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD("Failed", "0",
					 ",'FailureMessage':'" SHORTAGE "'") "}",
		 .says = {"fail no-capacity human",
			  "another zone, spot or a training plan", "!quota"}},
		{.id = "trouble of another group is none of this one",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD(
			 "InService", "0",
			 "") ","
			     "'sagemaker:ListClusterEvents':{'Events':[{'EventLevel':'Error',"
			     "'InstanceGroupName':'cpu','Description':'Lifecycle scripts did "
			     "not run successfully.'},{'EventLevel':'Info','InstanceGroupName':"
			     "'gpu','Description':'it is launched'}]}}",
		 .says = {"wait: 0 of 4 nodes", "newest event: it is launched"}},
		{.id = "CC-01 a short shortage is waited out",
		 NODES = FOUR,
		 .age_s = 600,
		 .answers = "{" HYPERPOD("InService", "0", "") "," EVENT(SHORTAGE) "}",
		 .says = {"wait: 0 of 4 nodes"}},
		{.id = "CC-01 a long one is said",
		 NODES = FOUR,
		 .age_s = 3600,
		 .answers = "{" HYPERPOD("InService", "1", "") "," EVENT(SHORTAGE) "}",
		 .says = {"fail no-capacity human: 1 of 4 nodes"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_cases, three_reasons_why_a_node_cannot_join_are_told_apart)
{
	static const struct scene rows[] = {
		{.id = "CC-10 script with a log",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD("InService", "0", "") "," EVENT(
			 "Lifecycle scripts did not run successfully.") ","
									"'logs:DescribeLogStreams':{'logStreams':[{'logStreamName':'s1'}]},"
									"'logs:GetLogEvents s1':{'events':[{'message':'pip: not found'}]}}",
		 .says = {"fail lifecycle-script human", "pip: not found",
			  "lifecycle_log"}},
		{.id = "CC-10 script without a log",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD("InService", "0", "") "," EVENT(
			 "Lifecycle scripts did not run successfully.") "}",
		 .says = {"fail lifecycle-script human", "There is no log of the script",
			  "network path to S3"}},
		{.id = "CC-10 NW-01 EFA, in Continuous mode",
		 NODES = FOUR,
		 .data = "{'security_group_id':'sg-1'}",
		 .answers = "{" HYPERPOD("InService", "0", "") "," EVENT(
			 "EFA health checks did not run successfully. See the lifecycle "
			 "scripts.") "}",
		 .says = {"fail node-failed human: The EFA", "There is no log",
			  "Allow all protocols in the security group sg-1 from and to itself"}},
		{.id = "CC-10 EFA, classic",
		 NODES = FOUR,
		 .answers =
			 "{" HYPERPOD("Failed", "0",
				      ",'FailureMessage':'EFA health checks did not run "
				      "successfully'") "}",
		 .says = {"fail node-failed human: The EFA"}},
		{.id = "CC-10 network",
		 NODES = FOUR,
		 .answers = "{" HYPERPOD("InService", "0", "") "," EVENT(
			 "Instance bootstrap failed due to network misconfiguration.") "}",
		 .says = {"fail node-failed human: The network is not configured correctly",
			  "S3 endpoint", "!security group"}},
	};

	SCENES_HOLD(rows);
}

/* --- network
 * ------------------------------------------------------------------------------ */

#define GIVEN "{'eks':{'vpc_id':'vpc-1'},'subnet':{'id':'subnet-a','given':true}}"
#define ROUTES(id, more)                                                                 \
	"{'RouteTables':[{'RouteTableId':'" id "','Routes':["                            \
	"{'DestinationCidrBlock':'10.0.0.0/16','GatewayId':'local'}" more "]}]}"
#define WAY .kind = "create_hyperpod_cluster", .step = "check_way_to_s3", .data

Test(domain_cases, nodes_without_a_way_to_s3_are_not_made)
{
	static const struct scene rows[] = {
		{.id = "NW-11 endpoint in another table",
		 WAY = GIVEN,
		 .answers = "{'ec2:DescribeRouteTables subnet-a':" ROUTES(
			 "rtb-1",
			 "") ","
			     "'ec2:DescribeVpcEndpoints':{'VpcEndpoints':[{'VpcEndpointId':"
			     "'vpce-1','VpcEndpointType':'Gateway','RouteTableIds':['rtb-2']}]}}",
		 .says = {"fail state-conflict never",
			  "vpce-1 exists but is not associated", "rtb-1", "/subnet_id"}},
		{.id = "NW-11 nothing at all; the main table counts",
		 WAY = GIVEN,
		 .answers = "{'ec2:DescribeRouteTables association.main':" ROUTES("rtb-9",
										  "") "}",
		 .says = {"fail state-conflict never", "rtb-9 leads neither"}},
		{.id = "NW-11 a public subnet is no way for nodes",
		 WAY = GIVEN,
		 .answers = "{'ec2:DescribeRouteTables subnet-a':" ROUTES(
			 "rtb-1",
			 ",{'DestinationCidrBlock':'0.0.0.0/0','GatewayId':'igw-1'}") "}",
		 .says = {"fail state-conflict never"}},
		{.id = "NW-11 a route that leads nowhere",
		 WAY = GIVEN,
		 .answers = "{'ec2:DescribeRouteTables subnet-a':" ROUTES(
			 "rtb-1",
			 ",{'DestinationCidrBlock':'0.0.0.0/0','NatGatewayId':'nat-1',"
			 "'State':'blackhole'}") "}",
		 .says = {"fail state-conflict never"}},
		{.id = "NW-11 NAT",
		 WAY = GIVEN,
		 .answers = "{'ec2:DescribeRouteTables subnet-a':" ROUTES(
			 "rtb-1",
			 ",{'DestinationCidrBlock':'0.0.0.0/0','NatGatewayId':'nat-1'}") "}",
		 .says = {"advance"}},
		{.id = "NW-11 endpoint of the table",
		 WAY = GIVEN,
		 .answers = "{'ec2:DescribeRouteTables subnet-a':" ROUTES(
			 "rtb-1",
			 ",{'DestinationPrefixListId':'pl-1','GatewayId':'vpce-1'}") "}",
		 .says = {"advance"}},
		{.id = "NW-11 interface endpoint",
		 WAY = GIVEN,
		 .answers = "{'ec2:DescribeRouteTables subnet-a':" ROUTES(
			 "rtb-1",
			 "") ","
			     "'ec2:DescribeVpcEndpoints':{'VpcEndpoints':[{'VpcEndpointType':"
			     "'Interface','PrivateDnsEnabled':true}]}}",
		 .says = {"advance"}},
		{.id = "NW-11 DNS off",
		 WAY = "{'eks':{'vpc_id':'vpc-1'},'subnet':{'id':'subnet-a'}}",
		 .answers =
			 "{'ec2:DescribeVpcAttribute':{'EnableDnsSupport':{'Value':false}}}",
		 .says = {"fail state-conflict never: DNS support of the VPC vpc-1 is off"}},
	};

	SCENES_HOLD(rows);
}

#define SELF     "{'IpProtocol':'-1','UserIdGroupPairs':[{'GroupId':'sg-1'}]}"
#define ANYWHERE "{'IpProtocol':'-1','IpRanges':[{'CidrIp':'0.0.0.0/0'}]}"
#define SG(out)                                                                          \
	"{'ec2:DescribeSecurityGroups sg-1':{'SecurityGroups':[{'GroupId':'sg-1',"       \
	"'IpPermissions':[" SELF "],'IpPermissionsEgress':[" out "]}]}}"
#define EGRESS .kind = "create_hyperpod_cluster", .step = "security_group_egress", .input

Test(domain_cases, efa_needs_a_rule_to_the_group_itself)
{
	static const struct scene rows[] = {
		{.id = "NW-01 an allow-all rule does not cover it",
		 EGRESS = "{'security_group_id':'sg-1'}",
		 .answers = SG(ANYWHERE),
		 .says = {"call ec2:AuthorizeSecurityGroupEgress", "sg-1"}},
		{.id = "NW-01 there already, in a second rule",
		 EGRESS = "{'security_group_id':'sg-1'}",
		 .answers = SG(ANYWHERE "," SELF),
		 .says = {"advance", "warning: sg-1 allows its nodes to send anywhere"}},
		{.id = "NW-01 of our own stack: meant",
		 EGRESS = "{}",
		 .data = "{'eks':{'security_group_id':'sg-1'}}",
		 .answers = SG(ANYWHERE "," SELF),
		 .says = {"advance", "!warning"}},
		{.id = "NW-01 added by somebody meanwhile",
		 EGRESS = "{'security_group_id':'sg-1'}",
		 .answers = SG(""),
		 .answered = "{'!':'InvalidPermission.Duplicate'}",
		 .says = {"advance"}},
	};

	SCENES_HOLD(rows);
}
