// What is asked of moto, in the order in which a cluster needs it.
import assert from 'node:assert/strict';
import fs from 'node:fs';

const trust = service => JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Allow',
	Principal: {Service: service}, Action: 'sts:AssumeRole'}]});
const POLICY = JSON.stringify({Version: '2012-10-17', Statement: [
	{Effect: 'Allow', Action: 's3:GetObject', Resource: '*'}]});
const where = {CreateBucketConfiguration: {LocationConstraint: 'us-west-2'}};

async function identity({ok, refused})
{
	const RoleName = 'peer';
	const {Role: {Arn}} = await ok('iam.CreateRole', {RoleName, Description: 'ü & <x>',
		AssumeRolePolicyDocument: trust('ec2.amazonaws.com'), Tags: [{Key: 'k', Value: 'a b'}]});

	await ok('sts.GetCallerIdentity', {}, a => assert.match(a.Arn, /^arn:aws:/));
	await ok('sts.AssumeRole', {RoleArn: Arn, RoleSessionName: 'me'});
	await ok('sts.AssumeRoleWithWebIdentity', {RoleArn: Arn, RoleSessionName: 'me',
		WebIdentityToken: 'eyJ.eyJ.c2ln'});
	await refused('iam.CreateRole', {RoleName, AssumeRolePolicyDocument: trust('ec2.amazonaws.com')},
		'EntityAlreadyExists', 'cloud-conflict');
	await refused('iam.GetRole', {RoleName: 'none'}, 'NoSuchEntity', 'cloud-not-found');
	await ok('iam.GetRole', {RoleName}, a => {
		assert.equal(a.Role.Description, 'ü & <x>');
		/* Documents come percent-encoded; ours are plain JSON. */
		assert.deepEqual(JSON.parse(a.Role.AssumeRolePolicyDocument),
			JSON.parse(trust('ec2.amazonaws.com')));
	});
	await ok('iam.UpdateAssumeRolePolicy', {RoleName, PolicyDocument: trust('eks.amazonaws.com')});
	await ok('iam.GetRole', {RoleName}, a => assert.deepEqual(JSON.parse(a.Role.AssumeRolePolicyDocument),
		JSON.parse(trust('eks.amazonaws.com'))));
	for (let i = 0; i < 5; i++)
		await ok('iam.PutRolePolicy', {RoleName, PolicyName: `p${i}`, PolicyDocument: POLICY});
	await ok('iam.GetRolePolicy', {RoleName, PolicyName: 'p0'},
		a => assert.deepEqual(JSON.parse(a.PolicyDocument), JSON.parse(POLICY)));
	await ok('iam.ListRolePolicies', {RoleName, MaxItems: 2},
		a => assert.equal(a.IsTruncated, true));
	await ok('iam.ListRolePolicies', {RoleName, MaxItems: 2},
		a => assert.equal(a.PolicyNames.length, 5), {pages: true});
	await ok('iam.AttachRolePolicy', {RoleName,
		PolicyArn: 'arn:aws:iam::aws:policy/AmazonEKSClusterPolicy'});
	await ok('iam.ListAttachedRolePolicies', {RoleName},
		a => assert.equal(a.AttachedPolicies.length, 1));
	await ok('iam.TagRole', {RoleName, Tags: [{Key: 'l', Value: ''}]});
	await ok('iam.ListRoleTags', {RoleName}, a => assert.equal(a.Tags.length, 2));
	await ok('iam.ListInstanceProfilesForRole', {RoleName});
	await ok('iam.CreateServiceLinkedRole', {AWSServiceName: 'eks.amazonaws.com'});
	const {OpenIDConnectProviderArn} = await ok('iam.CreateOpenIDConnectProvider', {
		Url: 'https://oidc.eks.us-west-2.amazonaws.com/id/ABC', ClientIDList: ['sts.amazonaws.com'],
		ThumbprintList: ['9e99a48a9960b14926bb7f3b02e22da2b0ab7280']});

	await ok('iam.GetOpenIDConnectProvider', {OpenIDConnectProviderArn},
		a => assert.deepEqual(a.ClientIDList, ['sts.amazonaws.com']));
	await ok('iam.ListOpenIDConnectProviders', {});
	await ok('iam.DeleteOpenIDConnectProvider', {OpenIDConnectProviderArn});
	await ok('iam.DetachRolePolicy', {RoleName,
		PolicyArn: 'arn:aws:iam::aws:policy/AmazonEKSClusterPolicy'});
	await refused('iam.DeleteRole', {RoleName}, 'DeleteConflict');
	for (let i = 0; i < 5; i++)
		await ok('iam.DeleteRolePolicy', {RoleName, PolicyName: `p${i}`});
	await ok('iam.DeleteRole', {RoleName});
}

async function network({ok, refused, pages, call})
{
	const {Vpc: {VpcId}} = await ok('ec2.CreateVpc', {CidrBlock: '10.0.0.0/16',
		TagSpecifications: [{ResourceType: 'vpc', Tags: [{Key: 'a', Value: 'b & <c>'}]}]},
	a => assert.equal(a.Vpc.Tags[0].Value, 'b & <c>'));

	await ok('ec2.DescribeVpcs', {Filters: [{Name: 'tag:a', Values: ['b & <c>']}]},
		a => assert.equal(a.Vpcs.length, 1));
	await refused('ec2.DescribeVpcs', {VpcIds: ['vpc-0123456789abcdef0']}, 'InvalidVpcID.NotFound',
		'cloud-not-found');
	await ok('ec2.ModifyVpcAttribute', {VpcId, EnableDnsHostnames: {Value: true}});
	await ok('ec2.DescribeVpcAttribute', {VpcId, Attribute: 'enableDnsHostnames'},
		a => assert.equal(a.EnableDnsHostnames.Value, true));
	const {CidrBlockAssociation} = await ok('ec2.AssociateVpcCidrBlock',
		{VpcId, CidrBlock: '10.1.0.0/16'});

	await ok('ec2.DisassociateVpcCidrBlock', {AssociationId: CidrBlockAssociation.AssociationId});
	const {Subnet: {SubnetId}} = await ok('ec2.CreateSubnet', {VpcId, CidrBlock: '10.0.1.0/24',
		AvailabilityZone: 'us-west-2a'});

	await refused('ec2.CreateSubnet', {VpcId, CidrBlock: '10.0.1.0/25'}, 'InvalidSubnet.Conflict');
	await ok('ec2.DescribeSubnets', {SubnetIds: [SubnetId]},
		a => assert.equal(a.Subnets[0].AvailableIpAddressCount, 251));
	await ok('ec2.ModifySubnetAttribute', {SubnetId, MapPublicIpOnLaunch: {Value: true}});
	const {InternetGateway: {InternetGatewayId}} = await ok('ec2.CreateInternetGateway');

	await ok('ec2.AttachInternetGateway', {InternetGatewayId, VpcId});
	await ok('ec2.DescribeInternetGateways', {InternetGatewayIds: [InternetGatewayId]});
	const {AllocationId} = await ok('ec2.AllocateAddress', {Domain: 'vpc'});

	await ok('ec2.DescribeAddresses', {AllocationIds: [AllocationId]});
	const {NatGateway: {NatGatewayId}} = await ok('ec2.CreateNatGateway',
		{SubnetId, AllocationId, ClientToken: 'once'});

	await ok('ec2.DescribeNatGateways', {NatGatewayIds: [NatGatewayId]});
	const {RouteTable: {RouteTableId}} = await ok('ec2.CreateRouteTable', {VpcId});
	const {AssociationId} = await ok('ec2.AssociateRouteTable', {RouteTableId, SubnetId});
	const route = {RouteTableId, DestinationCidrBlock: '0.0.0.0/0'};

	await ok('ec2.CreateRoute', {...route, NatGatewayId}, a => assert.equal(a.Return, true));
	await ok('ec2.ReplaceRoute', {...route, GatewayId: InternetGatewayId});
	await ok('ec2.DescribeRouteTables', {RouteTableIds: [RouteTableId]},
		a => assert.equal(a.RouteTables[0].Routes.length, 2));
	const {GroupId} = await ok('ec2.CreateSecurityGroup', {VpcId, GroupName: 'efa',
		Description: 'efa'});
	const IpPermissions = [{IpProtocol: '-1', UserIdGroupPairs: [{GroupId}]}];

	await ok('ec2.AuthorizeSecurityGroupIngress', {GroupId, IpPermissions});
	await refused('ec2.AuthorizeSecurityGroupIngress', {GroupId, IpPermissions},
		'InvalidPermission.Duplicate');
	await ok('ec2.AuthorizeSecurityGroupEgress', {GroupId, IpPermissions});
	await ok('ec2.DescribeSecurityGroups', {GroupIds: [GroupId]}, a => assert.equal(
		a.SecurityGroups[0].IpPermissions[0].UserIdGroupPairs[0].GroupId, GroupId));
	await ok('ec2.DescribeSecurityGroupRules', {Filters: [{Name: 'group-id', Values: [GroupId]}]});
	await ok('ec2.RevokeSecurityGroupIngress', {GroupId, IpPermissions});
	await ok('ec2.RevokeSecurityGroupEgress', {GroupId, IpPermissions});
	const ServiceName = 'com.amazonaws.us-west-2.s3';

	await ok('ec2.DescribeVpcEndpointServices', {ServiceNames: [ServiceName]});
	const {VpcEndpoint: {VpcEndpointId}} = await ok('ec2.CreateVpcEndpoint', {VpcId, ServiceName,
		VpcEndpointType: 'Gateway', RouteTableIds: [RouteTableId]});

	await ok('ec2.DescribeVpcEndpoints', {VpcEndpointIds: [VpcEndpointId]});
	await ok('ec2.ModifyVpcEndpoint', {VpcEndpointId, AddRouteTableIds: [RouteTableId]});
	await ok('ec2.DeleteVpcEndpoints', {VpcEndpointIds: [VpcEndpointId]});
	await ok('ec2.CreateTags', {Resources: [VpcId], Tags: [{Key: 'more', Value: ''}]});
	await ok('ec2.DescribeTags', {Filters: [{Name: 'resource-id', Values: [VpcId]}]},
		a => assert.equal(a.Tags.length, 2));
	await ok('ec2.DeleteTags', {Resources: [VpcId], Tags: [{Key: 'more'}]});
	await ok('ec2.DescribeAvailabilityZones', {}, a => assert(a.AvailabilityZones.length >= 3));
	await ok('ec2.DescribeRegions', {RegionNames: ['us-west-2']});
	await ok('ec2.DescribeInstanceTypes', {InstanceTypes: ['p4d.24xlarge', 'm5.large']});
	await pages('ec2.DescribeInstanceTypes', {MaxResults: 100}, a => {
		assert(a.InstanceTypes.length > 300, `${a.InstanceTypes.length} types`);
		assert.equal(new Set(a.InstanceTypes.map(i => i.InstanceType)).size, a.InstanceTypes.length);
	});
	await ok('ec2.DescribeInstanceTypeOfferings', {LocationType: 'availability-zone-id',
		Filters: [{Name: 'instance-type', Values: ['m5.large']}]},
	a => assert(a.InstanceTypeOfferings.length >= 3));
	const {NetworkInterfaces: [eni]} = await ok('ec2.DescribeNetworkInterfaces',
		{Filters: [{Name: 'vpc-id', Values: [VpcId]}]});

	await refused('ec2.DeleteNetworkInterface', {NetworkInterfaceId: 'eni-0123456789abcdef0'},
		'InvalidNetworkInterfaceID.NotFound');
	await refused('ec2.DeleteVpc', {VpcId}, 'DependencyViolation', 'cloud-conflict');
	await ok('ec2.DeleteRoute', route);
	await ok('ec2.DisassociateRouteTable', {AssociationId});
	await ok('ec2.DeleteNatGateway', {NatGatewayId});
	if (eni)
		await ok('ec2.DeleteNetworkInterface', {NetworkInterfaceId: eni.NetworkInterfaceId});
	await ok('ec2.ReleaseAddress', {AllocationId});
	await ok('ec2.DeleteRouteTable', {RouteTableId});
	await ok('ec2.DetachInternetGateway', {InternetGatewayId, VpcId});
	await ok('ec2.DeleteInternetGateway', {InternetGatewayId});
	await ok('ec2.DeleteSecurityGroup', {GroupId});
	await ok('ec2.DeleteSubnet', {SubnetId});
	await ok('ec2.DeleteVpc', {VpcId});
	await call('ec2.DescribeVpcs', {});
}

async function store({ok, refused, pages, url})
{
	const {CreateBucketCommand, CreateMultipartUploadCommand, S3Client} = await import('@aws-sdk/client-s3');
	const theirs = new S3Client({region: 'us-west-2', endpoint: url, forcePathStyle: true,
		credentials: {accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x'}});
	const Bucket = 'sagemaker-peer';
	const Key = 'a b/ü+?&=on create.sh';

	await ok('s3.CreateBucket', {Bucket, ...where});
	await refused('s3.CreateBucket', {Bucket, ...where}, 'BucketAlreadyOwnedByYou');
	await ok('s3.HeadBucket', {Bucket});
	await ok('s3.GetBucketLocation', {Bucket}, a => assert.equal(a.LocationConstraint, 'us-west-2'));
	await ok('s3.ListBuckets', {}, a => assert.equal(a.Buckets[0].Name, Bucket));
	await refused('s3.GetBucketTagging', {Bucket}, 'NoSuchTagSet', 'cloud-not-found');
	await ok('s3.PutBucketTagging', {Bucket, Tagging: {TagSet: [{Key: 'a', Value: 'b & c'}]}});
	await ok('s3.GetBucketTagging', {Bucket}, a => assert.equal(a.TagSet[0].Value, 'b & c'));
	await ok('s3.PutPublicAccessBlock', {Bucket, PublicAccessBlockConfiguration: {
		BlockPublicAcls: true, IgnorePublicAcls: true, BlockPublicPolicy: true,
		RestrictPublicBuckets: true}});
	await ok('s3.GetPublicAccessBlock', {Bucket},
		a => assert.deepEqual(Object.values(a.PublicAccessBlockConfiguration), [true, true, true, true]));
	await ok('s3.PutBucketEncryption', {Bucket, ServerSideEncryptionConfiguration: {Rules: [
		{ApplyServerSideEncryptionByDefault: {SSEAlgorithm: 'AES256'}}]}});
	const Policy = JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Deny', Principal: '*', Action: 's3:*',
		Resource: [`arn:aws:s3:::${Bucket}`], Condition: {Bool: {'aws:SecureTransport': 'false'}}}]});

	await refused('s3.GetBucketPolicy', {Bucket}, 'NoSuchBucketPolicy', 'cloud-not-found');
	await ok('s3.PutBucketPolicy', {Bucket, Policy});
	await ok('s3.GetBucketPolicy', {Bucket}, a => assert.deepEqual(JSON.parse(a.Policy), JSON.parse(Policy)));
	await ok('s3.PutObject', {Bucket, Key, Body: '#!/bin/bash\necho "<hello>"\n'});
	await ok('s3.GetObject', {Bucket, Key},
		a => assert.equal(a.Body, '#!/bin/bash\necho "<hello>"\n'));
	await ok('s3.HeadObject', {Bucket, Key}, a => assert.equal(a.ContentLength, 27));
	await refused('s3.GetObject', {Bucket, Key: 'none'}, 'NoSuchKey', 'cloud-not-found');
	for (let i = 0; i < 5; i++)
		await ok('s3.PutObject', {Bucket, Key: `many/${i}`, Body: String(i)});
	await ok('s3.ListObjectsV2', {Bucket, Delimiter: '/'},
		a => assert.deepEqual(a.CommonPrefixes.map(p => p.Prefix), ['a b/', 'many/']));
	await pages('s3.ListObjectsV2', {Bucket, MaxKeys: 2}, a => {
		assert.equal(a.Contents.length, 6);
		assert(a.Contents.some(o => o.Key === Key));
	});
	const half = await theirs.send(new CreateMultipartUploadCommand({Bucket, Key: 'half'}));

	await ok('s3.ListMultipartUploads', {Bucket}, a => assert.deepEqual(a.Uploads.map(u => u.UploadId), [half.UploadId]));
	await ok('s3.AbortMultipartUpload', {Bucket, Key: 'half', UploadId: half.UploadId});
	await theirs.send(new CreateBucketCommand({Bucket: 'sagemaker-locked', ObjectLockEnabledForBucket: true,
		CreateBucketConfiguration: {LocationConstraint: 'us-west-2'}}));
	await ok('s3.GetObjectLockConfiguration', {Bucket: 'sagemaker-locked'},
		a => assert.equal(a.ObjectLockConfiguration.ObjectLockEnabled, 'Enabled'));
	await ok('s3.ListObjectVersions', {Bucket}, a => assert.equal(a.Versions.length, 6));
	await refused('s3.DeleteBucket', {Bucket}, 'BucketNotEmpty');
	await ok('s3.DeleteObject', {Bucket, Key});
	await ok('s3.DeleteObjects', {Bucket, Delete: {Objects: [0, 1, 2, 3, 4].map(i =>
		({Key: `many/${i}`}))}}, a => assert.equal(a.Deleted.length, 5));
	await ok('s3.DeleteBucket', {Bucket});
}

async function logs({ok, refused, url})
{
	const {CloudWatchLogsClient, CreateLogStreamCommand, PutLogEventsCommand} =
		await import('@aws-sdk/client-cloudwatch-logs');
	const theirs = new CloudWatchLogsClient({region: 'us-west-2', endpoint: url,
		credentials: {accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x'}});
	const logGroupName = '/aws/sagemaker/Clusters/a/b';

	await ok('logs.CreateLogGroup', {logGroupName});
	await refused('logs.CreateLogGroup', {logGroupName}, 'ResourceAlreadyExistsException', 'cloud-conflict');
	await ok('logs.DescribeLogGroups', {logGroupNamePrefix: '/aws'},
		a => assert.equal(a.logGroups.length, 1));
	/* Nodes write logs, we only read them. */
	await theirs.send(new CreateLogStreamCommand({logGroupName, logStreamName: 's'}));
	await theirs.send(new PutLogEventsCommand({logGroupName, logStreamName: 's', logEvents: [
		{timestamp: Date.now(), message: 'ü <&>'}]}));
	await ok('logs.DescribeLogStreams', {logGroupName});
	await ok('logs.GetLogEvents', {logGroupName, logStreamName: 's', startFromHead: true},
		a => assert.equal(a.events[0].message, 'ü <&>'));
	await ok('logs.FilterLogEvents', {logGroupName});
	await refused('logs.GetLogEvents', {logGroupName, logStreamName: 'none'},
		'ResourceNotFoundException', 'cloud-not-found');
	await ok('logs.DeleteLogGroup', {logGroupName});
}

async function others({ok, refused})
{
	await ok('service-quotas.ListAWSDefaultServiceQuotas', {ServiceCode: 'vpc'},
		a => assert(a.Quotas.length > 5));
	await ok('service-quotas.GetServiceQuota', {ServiceCode: 'vpc', QuotaCode: 'L-F678F1CE'},
		a => assert.equal(typeof a.Quota.Value, 'number'));
	await refused('service-quotas.GetServiceQuota', {ServiceCode: 'vpc', QuotaCode: 'L-0'},
		'NoSuchResourceException', 'cloud-not-found');
	await ok('ssm.GetParameter', {Name: '/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2'});
	await refused('ssm.GetParameter', {Name: '/none'}, 'ParameterNotFound', 'cloud-not-found');
	await ok('fsx.CreateFileSystem', {FileSystemType: 'LUSTRE', StorageCapacity: 1200,
		SubnetIds: ['subnet-0123456789abcdef0'], ClientRequestToken: 'once',
		LustreConfiguration: {DeploymentType: 'PERSISTENT_2', PerUnitStorageThroughput: 125}});
	await ok('fsx.DescribeFileSystems', {}, a => assert.equal(a.FileSystems.length, 1));
}

async function clusters({ok, refused})
{
	const {Role: {Arn: roleArn}} = await ok('iam.CreateRole', {RoleName: 'plane',
		AssumeRolePolicyDocument: trust('eks.amazonaws.com')});
	const input = {name: 'demo', roleArn, version: '1.34', clientRequestToken: 'once',
		resourcesVpcConfig: {subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1']},
		tags: {'a b': 'c/d'}};
	const {cluster: {arn}} = await ok('eks.CreateCluster', input);

	await refused('eks.CreateCluster', {...input, clientRequestToken: 'two'},
		'ResourceInUseException');
	await refused('eks.DescribeCluster', {name: 'none'}, 'ResourceNotFoundException',
		'cloud-not-found');
	await ok('eks.DescribeCluster', {name: 'demo'}, a => assert.equal(a.cluster.tags['a b'], 'c/d'));
	await ok('eks.ListClusters', {}, a => assert.deepEqual(a.clusters, ['demo']));
	await ok('eks.TagResource', {resourceArn: arn, tags: {e: 'f'}});
	const ClusterName = 'pod';
	const {ClusterArn} = await ok('sagemaker.CreateCluster', {ClusterName,
		Orchestrator: {Eks: {ClusterArn: arn}}, NodeRecovery: 'Automatic',
		VpcConfig: {Subnets: ['subnet-0123456789abcdef0'], SecurityGroupIds: ['sg-0123456789abcdef0']},
		InstanceGroups: [{InstanceGroupName: 'w', InstanceType: 'ml.g5.8xlarge', InstanceCount: 2,
			ExecutionRole: roleArn, LifeCycleConfig: {SourceS3Uri: 's3://sagemaker-x/a',
				OnCreate: 'on_create.sh'}, ThreadsPerCore: 1}], Tags: [{Key: 'k', Value: 'v'}]});

	await ok('sagemaker.DescribeCluster', {ClusterName},
		a => assert.equal(a.InstanceGroups[0].InstanceType, 'ml.g5.8xlarge'));
	await ok('sagemaker.ListClusters', {}, a => assert.equal(a.ClusterSummaries.length, 1));
	const {ClusterNodeSummaries} = await ok('sagemaker.ListClusterNodes', {ClusterName});

	await ok('sagemaker.DescribeClusterNode', {ClusterName,
		NodeId: ClusterNodeSummaries?.[0]?.InstanceId ?? 'i-0123456789abcdef0'});
	await ok('sagemaker.AddTags', {ResourceArn: ClusterArn, Tags: [{Key: 'l', Value: 'w'}]});
	await ok('sagemaker.ListTags', {ResourceArn: ClusterArn}, a => assert.equal(a.Tags.length, 2));
	await ok('sagemaker.DeleteCluster', {ClusterName});
	await refused('sagemaker.DescribeCluster', {ClusterName}, 'ResourceNotFound', 'cloud-not-found');
	await ok('eks.DeleteCluster', {name: 'demo'});
}

/* The blocks of a template's section, by name. */
function blocks(section)
{
	return section.split(/^(?=  [A-Za-z0-9]+:$)/m);
}

/* The product's own template without what moto has no handler for: EKS. */
function carried()
{
	const text = fs.readFileSync(
		new URL('../../../cloudformation/eks-control-plane.yaml', import.meta.url), 'utf8');
	const [, head, resources, outputs] =
		/^([\s\S]*?^Resources:\n)([\s\S]*?)^(Outputs:\n[\s\S]*)$/m.exec(text);

	return head + blocks(resources).filter(b => !/Type: AWS::EKS::/.test(b)).join('') +
		blocks(outputs).filter(b => !/!(GetAtt|Ref) Cluster\b/.test(b)).join('');
}

async function stacks({ok, refused})
{
	const TemplateBody = carried();
	const StackName = 'demo';
	const Parameters = Object.entries({ClusterName: StackName, KubernetesVersion: '1.34',
		AvailabilityZone1: 'us-west-2a', AvailabilityZone2: 'us-west-2b', VpcCidr: '10.90.0.0/16',
		PublicSubnet1Cidr: '10.90.0.0/24', PublicSubnet2Cidr: '10.90.1.0/24',
		PrivateSubnet1Cidr: '10.90.2.0/28', PrivateSubnet2Cidr: '10.90.2.16/28'})
		.map(([ParameterKey, ParameterValue]) => ({ParameterKey, ParameterValue}));
	const input = {StackName, TemplateBody, Parameters, Capabilities: ['CAPABILITY_IAM'],
		Tags: [{Key: 'instantstart:cluster', Value: 'demo'}], ClientRequestToken: 'token-1'};

	await refused('cloudformation.DescribeStacks', {StackName}, 'ValidationError');
	await ok('cloudformation.CreateStack', input);
	await ok('cloudformation.DescribeStacks', {StackName}, a => {
		assert.equal(a.Stacks[0].StackStatus, 'CREATE_COMPLETE');
		const outputs = Object.fromEntries(a.Stacks[0].Outputs.map(o => [o.OutputKey, o.OutputValue]));

		assert.match(outputs.VpcId, /^vpc-/);
		assert.match(outputs.SecurityGroupId, /^sg-/);
		assert.equal(outputs.VpcCidr, '10.90.0.0/16');
	});
	await ok('cloudformation.DescribeStackEvents', {StackName});
	await ok('cloudformation.DescribeStackResources', {StackName},
		a => assert(a.StackResources.some(r => r.ResourceType === 'AWS::EC2::NatGateway')));
	await ok('cloudformation.ListStackResources', {StackName});
	await ok('cloudformation.UpdateStack', {...input, ClientRequestToken: 'token-2',
		Tags: [...input.Tags, {Key: 'more', Value: 'x'}]});
	await ok('cloudformation.DeleteStack', {StackName});
}

/* It is made by a call that is none of ours. */
async function balancers({ok, refused, call, url})
{
	const {ElasticLoadBalancingV2Client, CreateLoadBalancerCommand} =
		await import('@aws-sdk/client-elastic-load-balancing-v2');
	const theirs = new ElasticLoadBalancingV2Client({region: 'us-west-2', endpoint: url,
		credentials: {accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x'}});
	const {Subnets} = (await call('ec2.DescribeSubnets', {})).out;
	const {LoadBalancers: [{LoadBalancerArn}]} = await theirs.send(new CreateLoadBalancerCommand({Name: 'front',
		Type: 'network', Subnets: Subnets.filter(n => n.DefaultForAz).map(n => n.SubnetId)}));

	await ok('elbv2.DescribeLoadBalancers', {LoadBalancerArns: [LoadBalancerArn]},
		a => assert.equal(a.LoadBalancers[0].LoadBalancerName, 'front'));
	await ok('elbv2.DescribeLoadBalancers', {}, a => assert.equal(a.LoadBalancers.length, 1), {pages: true});
	await ok('elbv2.DescribeLoadBalancerAttributes', {LoadBalancerArn}, a => assert.equal(
		a.Attributes.find(x => x.Key === 'deletion_protection.enabled').Value, 'false'));
	await refused('elbv2.DescribeLoadBalancerAttributes', {LoadBalancerArn: LoadBalancerArn.replace('front', 'none')},
		'LoadBalancerNotFound', 'cloud-not-found');
}

export const scenes = [identity, network, balancers, store, logs, others, clusters, stacks];
