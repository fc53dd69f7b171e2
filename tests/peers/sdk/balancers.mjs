// Load balancers: what stands, and its attributes.
import assert from 'node:assert/strict';

const NONE = 'arn:aws:elasticloadbalancing:us-west-2:123456789012:loadbalancer/net/none/0123456789abcdef';

export async function balancers(cloud)
{
	const ask = (op, input, expect) => cloud.ok('elbv2', op, input, expect);

	for (const name of ['a', 'b', 'c'])
		await cloud.balancer({name, vpc: 'vpc-0123456789abcdef0'});
	const {LoadBalancers: [{LoadBalancerArn}]} = await ask('DescribeLoadBalancers', {Names: ['b']},
		a => assert.equal(a.LoadBalancers[0].LoadBalancerName, 'b'));
	const key = 'deletion_protection.enabled';

	await cloud.pages('elbv2', 'DescribeLoadBalancers', {}, 'LoadBalancers', null);
	await ask('DescribeLoadBalancerAttributes', {LoadBalancerArn},
		a => assert.equal(a.Attributes.find(x => x.Key === key).Value, 'false'));
	await ask('ModifyLoadBalancerAttributes', {LoadBalancerArn, Attributes: [{Key: key, Value: 'true'}]},
		a => assert.equal(a.Attributes.find(x => x.Key === key).Value, 'true'));
	for (const what of ['LoadBalancerExists', 'LoadBalancerAvailable'])
		await cloud.waits('elbv2', what, {LoadBalancerArns: [LoadBalancerArn]});
	await cloud.waits('elbv2', 'LoadBalancersDeleted', {LoadBalancerArns: [NONE]});
	await cloud.refused('elbv2', 'DescribeLoadBalancers', {LoadBalancerArns: [LoadBalancerArn, NONE]},
		'LoadBalancerNotFoundException', /One or more/);
	await cloud.refused('elbv2', 'DescribeLoadBalancerAttributes', {LoadBalancerArn: NONE},
		'LoadBalancerNotFoundException');
}
