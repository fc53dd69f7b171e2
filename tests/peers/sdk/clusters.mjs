// CloudFormation with our template, EKS, and HyperPod in what they made.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {TRUST} from './identity.mjs';

const TemplateBody = fs.readFileSync(
	new URL('../../../cloudformation/eks-control-plane.yaml', import.meta.url), 'utf8');
const ADMIN = 'arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy';

const parameters = values => Object.entries(values).map(([ParameterKey, ParameterValue]) =>
	({ParameterKey, ParameterValue}));

function stackInput(name)
{
	return {StackName: name, TemplateBody, Capabilities: ['CAPABILITY_IAM'],
		Parameters: parameters({ClusterName: name, KubernetesVersion: '1.34',
			AvailabilityZone1: 'us-west-2a', AvailabilityZone2: 'us-west-2b',
			VpcCidr: '10.90.0.0/16', PublicSubnet1Cidr: '10.90.0.0/24',
			PublicSubnet2Cidr: '10.90.1.0/24', PrivateSubnet1Cidr: '10.90.2.0/28',
			PrivateSubnet2Cidr: '10.90.2.16/28'}),
		Tags: [{Key: 'instantstart:cluster', Value: name}], ClientRequestToken: 'token-1'};
}

/** Makes the stack "demo"; its outputs. */
async function stacks(cloud)
{
	const cfn = (op, input, expect) => cloud.ok('cloudformation', op, input, expect);
	const refused = (op, input, name, message) =>
		cloud.refused('cloudformation', op, input, name, message);
	const StackName = 'demo';
	const input = stackInput(StackName);

	await refused('DescribeStacks', {StackName}, 'ValidationError', /does not exist/);
	await refused('CreateStack', {...input, Capabilities: [], ClientRequestToken: undefined},
		'InsufficientCapabilitiesException');
	const {StackId} = await cfn('CreateStack', input);

	await refused('CreateStack', {...input, ClientRequestToken: 'other'}, 'AlreadyExistsException');
	await cloud.waits('cloudformation', 'StackExists', {StackName});
	await cloud.waits('cloudformation', 'StackCreateComplete', {StackName});
	const {Stacks: [stack]} = await cfn('DescribeStacks', {StackName}, a => {
		assert(a.Stacks[0].CreationTime instanceof Date);
		assert.equal(a.Stacks[0].StackStatus, 'CREATE_COMPLETE');
	});

	await cfn('DescribeStackEvents', {StackName});
	await cfn('DescribeStackResources', {StackName});
	await cfn('ListStackResources', {StackName});
	await cfn('GetTemplate', {StackName}, a => assert.equal(a.TemplateBody, TemplateBody));
	await refused('UpdateStack', {...input, ClientRequestToken: 'again'}, 'ValidationError',
		/No updates are to be performed/);
	await cfn('UpdateStack', {...input, ClientRequestToken: 'update',
		Tags: [...input.Tags, {Key: 'more', Value: 'x'}]});
	await cloud.waits('cloudformation', 'StackUpdateComplete', {StackName});
	await cloud.ok('ec2', 'DescribeVpcs', {Filters: [{Name: 'tag:more', Values: ['x']}]},
		a => assert.equal(a.Vpcs.length, 1));
	for (const [op, list] of [['DescribeStackEvents', 'StackEvents'],
		['ListStackResources', 'StackResourceSummaries']])
		await cloud.pages('cloudformation', op, {StackName}, list, null);
	await failing(cloud, cfn);
	await cfn('ListStacks', {});
	await cloud.pages('cloudformation', 'ListStacks', {}, 'StackSummaries', null);
	await cloud.pages('cloudformation', 'DescribeStacks', {}, 'Stacks', null);
	return {StackId,
		...Object.fromEntries(stack.Outputs.map(o => [o.OutputKey, o.OutputValue]))};
}

/* A stack that fails rolls back, and the waiter for success says so at once. */
async function failing(cloud, cfn)
{
	const StackName = 'fails';
	const {sdk, client} = cloud.of('cloudformation');
	const {StackId} = await (async () => {
		await cloud.settings({stack_failure: {Cluster: 'not today'}});
		return cfn('CreateStack', {...stackInput(StackName), ClientRequestToken: 'fails'});
	})();

	await cloud.until('cloudformation', 'DescribeStacks', {StackName},
		a => a.Stacks?.[0].StackStatus === 'ROLLBACK_COMPLETE');
	await cloud.settings({stack_failure: null});
	const e = await sdk.waitUntilStackCreateComplete({client, maxWaitTime: 30, minDelay: 0.05,
		maxDelay: 0.2}, {StackName}).then(() => assert.fail('it did not fail'), x => x);

	assert.match(String(e), /FAILURE/);
	await cfn('DeleteStack', {StackName});
	await cloud.waits('cloudformation', 'StackDeleteComplete', {StackName: StackId});
}

async function eks(cloud, net)
{
	const ask = (op, input, expect) => cloud.ok('eks', op, input, expect);
	const refused = (op, input, name, message) => cloud.refused('eks', op, input, name, message);
	const {Role: {Arn: roleArn}} = await cloud.send('iam', 'CreateRole',
		{RoleName: 'plane', AssumeRolePolicyDocument: TRUST});
	const subnetIds = [];

	for (const [i, zone] of ['us-west-2a', 'us-west-2b'].entries())
		subnetIds.push((await cloud.send('ec2', 'CreateSubnet', {VpcId: net.VpcId,
			CidrBlock: `10.90.${64 + i}.0/24`, AvailabilityZone: zone})).Subnet.SubnetId);
	const input = {name: 'own', roleArn, version: '1.34', clientRequestToken: 'once',
		resourcesVpcConfig: {subnetIds}, accessConfig: {authenticationMode: 'API'},
		tags: {'a b': 'c/d'}};

	await cloud.attach('plane', 'AmazonEKSClusterPolicy');
	await refused('CreateCluster', {...input, resourcesVpcConfig: {subnetIds: subnetIds.slice(0, 1)},
		clientRequestToken: 'few'}, 'InvalidParameterException');
	await cloud.until('eks', 'CreateCluster', input, a => a.cluster);
	const {cluster: {arn: resourceArn}} = await ask('CreateCluster', input,
		a => assert.equal(a.cluster.status, 'CREATING'));

	await refused('CreateCluster', {...input, clientRequestToken: 'other'}, 'ResourceInUseException');
	await refused('DescribeCluster', {name: 'none'}, 'ResourceNotFoundException');
	await cloud.waits('eks', 'ClusterActive', {name: 'own'});
	await ask('DescribeCluster', {name: 'own'}, a => {
		assert(a.cluster.createdAt instanceof Date);
		assert.equal(a.cluster.tags['a b'], 'c/d');
	});
	await ask('ListClusters', {}, a => assert.deepEqual(a.clusters.toSorted(), ['demo', 'own']));
	await cloud.pages('eks', 'ListClusters', {}, 'clusters', 1);
	await ask('DescribeClusterVersions', {});
	await cloud.pages('eks', 'DescribeClusterVersions', {}, 'clusterVersions');
	await ask('TagResource', {resourceArn, tags: {e: 'f'}});
	await ask('ListTagsForResource', {resourceArn}, a => assert.equal(a.tags.e, 'f'));
	await ask('UntagResource', {resourceArn, tagKeys: ['e', 'a b']},
		async () => assert.deepEqual((await cloud.send('eks', 'ListTagsForResource',
			{resourceArn})).tags, {}));
	await ask('ListNodegroups', {clusterName: 'own'});
	await cloud.pages('eks', 'ListNodegroups', {clusterName: 'own'}, 'nodegroups', 1, {empty: true});
	await access(cloud, ask, refused, roleArn);
	await addons(cloud, ask, refused, roleArn);
	await ask('DeleteCluster', {name: 'own'});
	await cloud.waits('eks', 'ClusterDeleted', {name: 'own'});
	for (const SubnetId of subnetIds)
		await cloud.send('ec2', 'DeleteSubnet', {SubnetId});
}

async function access(cloud, ask, refused, roleArn)
{
	const clusterName = 'own';
	const who = {clusterName, principalArn: roleArn};
	const accessScope = {type: 'namespace', namespaces: ['a', 'b']};

	await ask('CreateAccessEntry', {...who, kubernetesGroups: ['g'], tags: {a: 'b'}});
	await refused('CreateAccessEntry', who, 'ResourceInUseException');
	await ask('DescribeAccessEntry', who, a => assert(a.accessEntry.createdAt instanceof Date));
	await ask('UpdateAccessEntry', {...who, username: 'someone'});
	await ask('ListAccessEntries', {clusterName}, a => assert(a.accessEntries.includes(roleArn)));
	await cloud.pages('eks', 'ListAccessEntries', {clusterName}, 'accessEntries', 1);
	await ask('ListAccessPolicies', {});
	await cloud.pages('eks', 'ListAccessPolicies', {}, 'accessPolicies');
	await ask('AssociateAccessPolicy', {...who, policyArn: ADMIN, accessScope},
		a => assert.deepEqual(a.associatedAccessPolicy.accessScope, accessScope));
	await ask('ListAssociatedAccessPolicies', who);
	await cloud.pages('eks', 'ListAssociatedAccessPolicies', who, 'associatedAccessPolicies', 1);
	await ask('DisassociateAccessPolicy', {...who, policyArn: ADMIN});
	await ask('DeleteAccessEntry', who);
	await refused('DescribeAccessEntry', who, 'ResourceNotFoundException');

	const identity = {clusterName, namespace: 'ns', serviceAccount: 'sa'};
	const {association: {associationId}} = await ask('CreatePodIdentityAssociation',
		{...identity, roleArn});

	await refused('CreatePodIdentityAssociation', {...identity, roleArn}, 'ResourceInUseException');
	await ask('DescribePodIdentityAssociation', {clusterName, associationId});
	await ask('ListPodIdentityAssociations', {clusterName, namespace: 'ns'});
	await cloud.pages('eks', 'ListPodIdentityAssociations', {clusterName}, 'associations', 1);
	await ask('UpdatePodIdentityAssociation', {clusterName, associationId, roleArn});
	await ask('DeletePodIdentityAssociation', {clusterName, associationId});
	await refused('DescribePodIdentityAssociation', {clusterName, associationId},
		'ResourceNotFoundException');
}

async function addons(cloud, ask, refused)
{
	const clusterName = 'own';
	const addonName = 'vpc-cni';

	await ask('DescribeAddonVersions', {addonName});
	await cloud.pages('eks', 'DescribeAddonVersions', {}, 'addons');
	await ask('CreateAddon', {clusterName, addonName});
	await refused('CreateAddon', {clusterName, addonName}, 'ResourceInUseException');
	await refused('CreateAddon', {clusterName, addonName: 'nothing'}, 'InvalidParameterException');
	await cloud.waits('eks', 'AddonActive', {clusterName, addonName});
	await ask('DescribeAddon', {clusterName, addonName},
		a => assert(a.addon.modifiedAt instanceof Date));
	for (const more of ['kube-proxy', 'eks-pod-identity-agent'])
		await ask('CreateAddon', {clusterName, addonName: more});
	await ask('ListAddons', {clusterName}, a => assert.equal(a.addons.length, 3));
	await cloud.pages('eks', 'ListAddons', {clusterName}, 'addons', 1);
	const {update} = await ask('UpdateAddon', {clusterName, addonName,
		resolveConflicts: 'OVERWRITE', configurationValues: '{}'});

	await ask('DescribeUpdate', {name: clusterName, updateId: update.id, addonName});
	await cloud.waits('eks', 'AddonActive', {clusterName, addonName});
	await ask('DeleteAddon', {clusterName, addonName});
	await cloud.waits('eks', 'AddonDeleted', {clusterName, addonName});
	await refused('DescribeAddon', {clusterName, addonName}, 'ResourceNotFoundException');
}

async function hyperpod(cloud, net)
{
	const ask = (op, input, expect) => cloud.ok('sagemaker', op, input, expect);
	const refused = (op, input, name, message) =>
		cloud.refused('sagemaker', op, input, name, message);
	const {Role: {Arn: ExecutionRole}} = await cloud.send('iam', 'CreateRole',
		{RoleName: 'nodes', AssumeRolePolicyDocument: TRUST});
	const {Subnet: {SubnetId}} = await cloud.send('ec2', 'CreateSubnet', {VpcId: net.VpcId,
		CidrBlock: '10.90.32.0/20', AvailabilityZone: 'us-west-2a'});
	const Bucket = 'sagemaker-scripts';

	await cloud.until('ec2', 'AssociateRouteTable',
		{RouteTableId: net.PrivateRouteTable1Id, SubnetId}, a => a.AssociationId);
	await cloud.send('s3', 'CreateBucket', {Bucket,
		CreateBucketConfiguration: {LocationConstraint: 'us-west-2'}});
	await cloud.send('s3', 'PutObject', {Bucket, Key: 'lifecycle/on_create.sh',
		Body: '#!/bin/bash\nexit 0\n'});
	await cloud.settings({quota: {'L-03FD2ADF': 8, 'L-8762A75F': 4, 'L-2CE978FC': 20}});
	const group = (name, count, type = 'ml.m6i.xlarge') => ({InstanceGroupName: name,
		InstanceType: type, InstanceCount: count, ExecutionRole,
		LifeCycleConfig: {SourceS3Uri: `s3://${Bucket}/lifecycle`, OnCreate: 'on_create.sh'}});
	const ClusterName = 'pod';
	const input = {ClusterName, Orchestrator: {Eks: {ClusterArn: net.ClusterArn}},
		VpcConfig: {Subnets: [SubnetId], SecurityGroupIds: [net.SecurityGroupId]},
		InstanceGroups: [group('workers', 2)], NodeRecovery: 'Automatic',
		NodeProvisioningMode: 'Continuous', Tags: [{Key: 'instantstart:cluster', Value: 'demo'}]};

	await refused('CreateCluster', {...input, InstanceGroups: [group('gpu', 90, 'ml.p5.48xlarge')]},
		'ResourceLimitExceeded');
	await cloud.until('sagemaker', 'CreateCluster', input, a => a.ClusterArn ||
		a.name === 'ResourceInUse');
	await refused('CreateCluster', input, 'ResourceInUse');
	await refused('DescribeCluster', {ClusterName: 'none'}, 'ResourceNotFound');
	await refused('DeleteCluster', {ClusterName}, 'ConflictException');
	await cloud.until('sagemaker', 'DescribeCluster', {ClusterName}, a =>
		a.ClusterStatus === 'InService' && a.InstanceGroups[0].CurrentCount === 2);
	const {ClusterArn} = await ask('DescribeCluster', {ClusterName},
		a => assert(a.CreationTime instanceof Date));

	await ask('CreateCluster', {...input, ClusterName: 'pod2', InstanceGroups: [group('one', 1)]});
	await cloud.until('sagemaker', 'DescribeCluster', {ClusterName: 'pod2'},
		a => a.ClusterStatus === 'InService' && a.InstanceGroups[0].CurrentCount === 1);
	await ask('ListClusters', {}, a => assert.equal(a.ClusterSummaries.length, 2));
	await cloud.pages('sagemaker', 'ListClusters', {}, 'ClusterSummaries', 1);
	await ask('ListClusterNodes', {ClusterName, IncludeNodeLogicalIds: true},
		a => assert(a.ClusterNodeSummaries[0].LaunchTime instanceof Date));
	await cloud.pages('sagemaker', 'ListClusterNodes', {ClusterName}, 'ClusterNodeSummaries', 1);
	await ask('ListClusterEvents', {ClusterName});
	await cloud.pages('sagemaker', 'ListClusterEvents', {ClusterName}, 'Events', 3);
	const {Events: [event]} = await cloud.send('sagemaker', 'ListClusterEvents', {ClusterName});

	await ask('DescribeClusterEvent', {ClusterName, EventId: event.EventId});
	await nodes(cloud, ask, refused, ClusterName);
	await ask('UpdateCluster', {ClusterName, InstanceGroups: [group('big', 1)]});
	await cloud.until('sagemaker', 'DescribeCluster', {ClusterName}, a => a.ClusterStatus === 'InService');
	await ask('UpdateClusterSoftware', {ClusterName}, a => assert.equal(a.ClusterArn, ClusterArn));
	await tags(cloud, ask, ClusterArn);
	await plans(cloud, ask, refused);
	await cloud.until('sagemaker', 'DescribeCluster', {ClusterName},
		a => a.ClusterStatus === 'InService');
	for (const name of [ClusterName, 'pod2']) {
		await ask('DeleteCluster', {ClusterName: name});
		await cloud.until('sagemaker', 'DescribeCluster', {ClusterName: name},
			a => a.name === 'ResourceNotFound');
	}
	await cloud.send('ec2', 'DeleteSubnet', {SubnetId});
}

async function nodes(cloud, ask, refused, ClusterName)
{
	const list = async () => (await cloud.send('sagemaker', 'ListClusterNodes',
		{ClusterName, IncludeNodeLogicalIds: true})).ClusterNodeSummaries;
	const ids = (await list()).map(n => n.InstanceId);
	const running = n => cloud.until('sagemaker', 'ListClusterNodes', {ClusterName},
		a => a.ClusterNodeSummaries?.length === n &&
			a.ClusterNodeSummaries.every(x => x.InstanceStatus.Status === 'Running'));

	await ask('DescribeClusterNode', {ClusterName, NodeId: ids[0]},
		a => assert.equal(a.NodeDetails.InstanceId, ids[0]));
	await refused('DescribeClusterNode', {ClusterName, NodeId: 'i-0123456789abcdef0'},
		'ResourceNotFound');
	await ask('BatchRebootClusterNodes', {ClusterName, NodeIds: [ids[0], 'i-0123456789abcdef0']},
		a => assert.equal(a.Failed.length, 1));
	await running(2);
	await ask('BatchReplaceClusterNodes', {ClusterName, NodeIds: [ids[1]]},
		a => assert.deepEqual(a.Successful, [ids[1]]));
	await cloud.until('sagemaker', 'ListClusterNodes', {ClusterName},
		a => !a.ClusterNodeSummaries?.some(n => n.InstanceId === ids[1]));
	await running(2);
	await ask('BatchAddClusterNodes', {ClusterName, ClientToken: 'add-one', NodesToAdd: [
		{InstanceGroupName: 'workers', IncrementTargetCountBy: 1}]},
	a => assert.equal(a.Successful.length, 1));
	await running(3);
	await ask('BatchDeleteClusterNodes', {ClusterName, NodeIds: [ids[0], 'i-0123456789abcdef0']},
		a => assert.equal(a.Failed[0].Code, 'NodeIdNotFound'));
}

async function tags(cloud, ask, ResourceArn)
{
	await ask('AddTags', {ResourceArn, Tags: [{Key: 'a', Value: '1'}, {Key: 'b', Value: ''}]});
	await ask('ListTags', {ResourceArn}, a => assert.equal(a.Tags.length, 3));
	await cloud.pages('sagemaker', 'ListTags', {ResourceArn}, 'Tags', 50);
	await ask('DeleteTags', {ResourceArn, TagKeys: ['a', 'b']});
}

async function plans(cloud, ask, refused)
{
	const plan = {Status: 'Active', AvailableInstanceCount: 4, StartTime: 1767225600,
		ReservedCapacitySummaries: [{InstanceType: 'ml.p5.48xlarge', TotalInstanceCount: 4,
			Status: 'Active', ReservedCapacityArn:
				'arn:aws:sagemaker:us-west-2:123456789012:reserved-capacity/rc'}]};

	await cloud.settings({training_plans: {tp: plan, tq: plan, tr: plan}});
	await ask('ListTrainingPlans', {}, a => assert.equal(a.TrainingPlanSummaries.length, 3));
	await cloud.pages('sagemaker', 'ListTrainingPlans', {}, 'TrainingPlanSummaries', 1);
	await ask('DescribeTrainingPlan', {TrainingPlanName: 'tp'},
		a => assert(a.StartTime instanceof Date));
	await refused('DescribeTrainingPlan', {TrainingPlanName: 'none'}, 'ResourceNotFound');
	await cloud.settings({training_plan_offerings: [{TrainingPlanOfferingId: 'tpo-1', TargetResources: ['hyperpod-cluster'], DurationHours: 168,
		UpfrontFee: '1000.00', CurrencyCode: 'USD', ReservedCapacityOfferings: [{InstanceType: 'ml.p5.48xlarge', InstanceCount: 4,
			AvailabilityZone: 'us-west-2b'}]}]});
	await ask('SearchTrainingPlanOfferings', {TargetResources: ['hyperpod-cluster'], DurationHours: 168},
		a => assert.equal(a.TrainingPlanOfferings[0].DurationHours, 168));
}

export async function clusters(cloud)
{
	cloud.attach = (RoleName, policy) => cloud.send('iam', 'AttachRolePolicy',
		{RoleName, PolicyArn: `arn:aws:iam::aws:policy/${policy}`});
	const net = await stacks(cloud);

	await eks(cloud, net);
	await hyperpod(cloud, net);
	await cloud.send('ec2', 'DescribeNetworkInterfaces', {});
	await cloud.ok('cloudformation', 'DeleteStack', {StackName: 'demo'});
	await cloud.waits('cloudformation', 'StackDeleteComplete', {StackName: net.StackId});
}
