// EC2, in the order in which a network is made and taken down.
import assert from 'node:assert/strict';

export async function network(cloud)
{
	const ec2 = (op, input, expect) => cloud.ok('ec2', op, input, expect);
	const refused = (op, input, name, message) => cloud.refused('ec2', op, input, name, message);
	const tags = type => [{ResourceType: type, Tags: [{Key: 'a', Value: 'b c & <d>'}]}];
	const {Vpc} = await ec2('CreateVpc', {CidrBlock: '10.0.0.0/16', TagSpecifications: tags('vpc')},
		a => assert.equal(a.Vpc.Tags[0].Value, 'b c & <d>'));
	const VpcId = Vpc.VpcId;

	await ec2('DescribeVpcs', {VpcIds: [VpcId]}, a => assert.equal(a.Vpcs.length, 1));
	await cloud.waits('ec2', 'VpcExists', {VpcIds: [VpcId]});
	await cloud.waits('ec2', 'VpcAvailable', {VpcIds: [VpcId]});
	await refused('DescribeVpcs', {VpcIds: ['vpc-0123456789abcdef0']}, 'InvalidVpcID.NotFound');
	await refused('CreateVpc', {CidrBlock: '10.0.0.0/8'}, 'InvalidVpc.Range');
	await ec2('ModifyVpcAttribute', {VpcId, EnableDnsHostnames: {Value: true}});
	await ec2('DescribeVpcAttribute', {VpcId, Attribute: 'enableDnsHostnames'},
		a => assert.equal(a.EnableDnsHostnames.Value, true));
	const {CidrBlockAssociation} = await ec2('AssociateVpcCidrBlock',
		{VpcId, CidrBlock: '10.1.0.0/16'});

	await cloud.until('ec2', 'DescribeVpcs', {VpcIds: [VpcId]}, a => a.Vpcs?.[0]
		.CidrBlockAssociationSet.every(x => x.CidrBlockState.State === 'associated'));
	await ec2('DisassociateVpcCidrBlock', {AssociationId: CidrBlockAssociation.AssociationId});

	const subnets = [];

	for (const i of [1, 2, 3, 4])
		subnets.push((await ec2('CreateSubnet', {VpcId, CidrBlock: `10.0.${i}.0/24`,
			AvailabilityZone: `us-west-2${'ab'[i % 2]}`, TagSpecifications: tags('subnet')}))
			.Subnet.SubnetId);
	await refused('CreateSubnet', {VpcId, CidrBlock: '10.0.1.0/25'}, 'InvalidSubnet.Conflict');
	await refused('CreateSubnet', {VpcId, CidrBlock: '10.9.1.0/24'}, 'InvalidSubnet.Range');
	await cloud.waits('ec2', 'SubnetAvailable', {SubnetIds: subnets});
	await ec2('DescribeSubnets', {Filters: [{Name: 'vpc-id', Values: [VpcId]}]},
		a => assert.equal(a.Subnets[0].AvailableIpAddressCount, 251));
	await ec2('ModifySubnetAttribute', {SubnetId: subnets[0], MapPublicIpOnLaunch: {Value: true}});

	const {InternetGateway: {InternetGatewayId}} = await ec2('CreateInternetGateway', {});

	await cloud.waits('ec2', 'InternetGatewayExists', {InternetGatewayIds: [InternetGatewayId]});
	await ec2('AttachInternetGateway', {InternetGatewayId, VpcId});
	await refused('AttachInternetGateway', {InternetGatewayId, VpcId}, 'Resource.AlreadyAssociated');
	await ec2('DescribeInternetGateways', {InternetGatewayIds: [InternetGatewayId]},
		a => assert.equal(a.InternetGateways[0].Attachments[0].VpcId, VpcId));

	const {AllocationId} = await ec2('AllocateAddress', {Domain: 'vpc'});

	await ec2('DescribeAddresses', {AllocationIds: [AllocationId]});
	const {NatGateway: {NatGatewayId}} = await ec2('CreateNatGateway',
		{SubnetId: subnets[0], AllocationId, ClientToken: 'once'},
		a => assert(a.NatGateway.CreateTime instanceof Date));
	const again = await cloud.send('ec2', 'CreateNatGateway',
		{SubnetId: subnets[0], AllocationId, ClientToken: 'once'});

	assert.equal(again.NatGateway.NatGatewayId, NatGatewayId);
	await cloud.waits('ec2', 'NatGatewayAvailable', {NatGatewayIds: [NatGatewayId]});
	await ec2('DescribeNatGateways', {NatGatewayIds: [NatGatewayId]});

	const {RouteTable: {RouteTableId}} = await ec2('CreateRouteTable', {VpcId});
	const {AssociationId} = await ec2('AssociateRouteTable', {RouteTableId, SubnetId: subnets[1]});
	const route = {RouteTableId, DestinationCidrBlock: '0.0.0.0/0'};

	await ec2('CreateRoute', {...route, NatGatewayId}, a => assert.equal(a.Return, true));
	await refused('CreateRoute', {...route, NatGatewayId}, 'RouteAlreadyExists');
	await ec2('ReplaceRoute', {...route, GatewayId: InternetGatewayId});
	await ec2('DescribeRouteTables', {RouteTableIds: [RouteTableId]},
		a => assert.equal(a.RouteTables[0].Routes.length, 2));

	const GroupName = 'efa';
	const {GroupId} = await ec2('CreateSecurityGroup', {VpcId, GroupName, Description: 'efa'});
	const IpPermissions = [{IpProtocol: '-1', UserIdGroupPairs: [{GroupId}]}];

	await cloud.waits('ec2', 'SecurityGroupExists', {GroupIds: [GroupId]});
	await refused('CreateSecurityGroup', {VpcId, GroupName, Description: 'x'},
		'InvalidGroup.Duplicate');
	await ec2('AuthorizeSecurityGroupIngress', {GroupId, IpPermissions},
		a => assert.equal(a.SecurityGroupRules.length, 1));
	await refused('AuthorizeSecurityGroupIngress', {GroupId, IpPermissions},
		'InvalidPermission.Duplicate');
	await ec2('AuthorizeSecurityGroupEgress', {GroupId, IpPermissions});
	await ec2('DescribeSecurityGroups', {GroupIds: [GroupId]});
	await ec2('DescribeSecurityGroupRules', {Filters: [{Name: 'group-id', Values: [GroupId]}]},
		a => assert(a.SecurityGroupRules.some(r => r.ReferencedGroupInfo?.GroupId === GroupId)));
	await cloud.pages('ec2', 'DescribeSecurityGroupRules', {}, 'SecurityGroupRules', 5);
	await ec2('RevokeSecurityGroupIngress', {GroupId, IpPermissions});
	await ec2('RevokeSecurityGroupEgress', {GroupId, IpPermissions});

	const ServiceName = 'com.amazonaws.us-west-2.s3';

	await ec2('DescribeVpcEndpointServices', {ServiceNames: [ServiceName]},
		a => assert.equal(a.ServiceNames[0], ServiceName));
	const {VpcEndpoint: {VpcEndpointId}} = await ec2('CreateVpcEndpoint', {VpcId, ServiceName,
		VpcEndpointType: 'Gateway', RouteTableIds: [RouteTableId]});

	await ec2('DescribeVpcEndpoints', {VpcEndpointIds: [VpcEndpointId]});
	await cloud.pages('ec2', 'DescribeVpcEndpoints', {}, 'VpcEndpoints', 5);
	await ec2('ModifyVpcEndpoint', {VpcEndpointId, RemoveRouteTableIds: [RouteTableId]});

	await ec2('CreateTags', {Resources: [VpcId, subnets[0]], Tags: [{Key: 'more', Value: ''}]});
	await ec2('DescribeTags', {Filters: [{Name: 'resource-id', Values: [VpcId]}]},
		a => assert.equal(a.Tags.length, 2));
	await ec2('DeleteTags', {Resources: [VpcId], Tags: [{Key: 'more'}]});
	for (const [op, list] of [['DescribeSubnets', 'Subnets'], ['DescribeRouteTables', 'RouteTables'],
		['DescribeVpcs', 'Vpcs'], ['DescribeSecurityGroups', 'SecurityGroups'],
		['DescribeInternetGateways', 'InternetGateways'], ['DescribeNatGateways', 'NatGateways'],
		['DescribeTags', 'Tags'], ['DescribeNetworkInterfaces', 'NetworkInterfaces'],
		['DescribeInstanceTypeOfferings', 'InstanceTypeOfferings'],
		['DescribeInstanceTypes', 'InstanceTypes']])
		await cloud.pages('ec2', op, {}, list, 5);
	await ec2('DescribeAvailabilityZones', {}, a => assert(a.AvailabilityZones.length >= 3));
	await ec2('DescribeRegions', {RegionNames: ['us-west-2']});
	await ec2('DescribeInstanceTypes', {InstanceTypes: ['p5.48xlarge']},
		a => assert.equal(a.InstanceTypes[0].GpuInfo.Gpus[0].Count, 8));
	await ec2('DescribeInstanceTypeOfferings', {LocationType: 'availability-zone-id'});
	await ec2('DescribeNetworkInterfaces', {Filters: [{Name: 'vpc-id', Values: [VpcId]}]});
	await refused('DeleteSubnet', {SubnetId: subnets[0], DryRun: true}, 'DryRunOperation');
	await refused('DeleteVpc', {VpcId}, 'DependencyViolation');
	await refused('DeleteNetworkInterface', {NetworkInterfaceId: 'eni-0123456789abcdef0'},
		'InvalidNetworkInterfaceID.NotFound');

	await ec2('DeleteVpcEndpoints', {VpcEndpointIds: [VpcEndpointId, 'vpce-0123456789abcdef0']},
		a => assert.equal(a.Unsuccessful[0].Error.Code, 'InvalidVpcEndpoint.NotFound'));
	await ec2('DeleteRoute', route);
	await ec2('DisassociateRouteTable', {AssociationId});
	await ec2('DeleteNatGateway', {NatGatewayId});
	await cloud.waits('ec2', 'NatGatewayDeleted', {NatGatewayIds: [NatGatewayId]});
	await ec2('ReleaseAddress', {AllocationId});
	await ec2('DeleteRouteTable', {RouteTableId});
	await ec2('DetachInternetGateway', {InternetGatewayId, VpcId});
	await ec2('DeleteInternetGateway', {InternetGatewayId});
	await ec2('DeleteSecurityGroup', {GroupId});
	for (const SubnetId of subnets)
		await ec2('DeleteSubnet', {SubnetId});
	await ec2('DeleteVpc', {VpcId});
}
