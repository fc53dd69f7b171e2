// Worlds that say no: each ends in the state and the words that help, and goes on
// from where it failed once the cause is gone.
import assert from 'node:assert/strict';
import {after, before, describe, test} from 'node:test';
import {call, end} from './faces.mjs';
import {atStep, aws, census, create, events, failed, mentions, operation, order, remove, request, stage, stageOf, succeeded,
	until, world} from './pipeline.mjs';

const POOR = 'ml.g6.4xlarge', POOR_QUOTA = 'L-1474CE56';
const RARE = 'ml.g6e.12xlarge', RARE_QUOTA = 'L-A15DF696';
const trust = service => JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Allow',
	Principal: {Service: service}, Action: 'sts:AssumeRole'}]});

let s;

before(async () => {
	s = await world({settings: {capacity: {[RARE]: 0}}});
	await s.cloud.settings({quota: {[RARE_QUOTA]: 10}});
});
after(() => end(s));

/** The error of the stage that failed, with the pipeline's own above it. */
async function errorOf(id, kind)
{
	const root = await failed(s, id);
	const child = kind ? await operation(s, stageOf(root, kind).id) : root;

	assert(root.error.detail && root.error.fix && root.error.retry, JSON.stringify(root.error));
	assert.equal(root.retryable, true);
	return child.error;
}

const retry = async id => succeeded(s, (await order(s, id, 'retry')).id);
const mutations = async name => (await s.cloud.ledger()).filter(e => mentions(name, e.input));

describe('side by side', {concurrency: true}, () => {
	test('quota 0: said before anything is made; goes on when it is granted', async () => {
		const op = await create(s, 'poor', {instance_type: POOR});
		const error = await errorOf(op.id);
		const said = JSON.stringify(error);

		assert.match(said, new RegExp(`${POOR} for cluster usage`));
		assert.match(error.fix, new RegExp(POOR_QUOTA));
		assert.equal(error.retry, 'human');
		assert.deepEqual(await mutations('poor'), []);
		await s.cloud.settings({quota: {[POOR_QUOTA]: 4}});
		await retry(op.id);
		assert.equal((await census(s, 'poor'))['sagemaker.cluster'], 1);
	});

	test('no capacity: it waits and says so with AWS\'s own words, and gets its nodes later', async () => {
		const op = await create(s, 'rare', {instance_type: RARE});
		const child = await atStep(s, op.id, 'create_hyperpod_cluster', 'wait_nodes');
		const waiting = await until(s, child.id, 'the event', o => /capacity/i.test(o.waiting_for ?? ''));

		assert.match(waiting.waiting_for, /^0 of 1 nodes/);
		assert.equal(waiting.state, 'live');
		assert.equal((await s.cloud.state())['sagemaker.cluster'].rare.ClusterStatus, 'InService',
			'in service without a node is not done');
		await s.cloud.settings({capacity: {[RARE]: 5}});
		await succeeded(s, op.id);
	});

	test('objects with our names that are not ours: refused by name, and left alone', async () => {
		const template = JSON.stringify({Resources: {Group: {Type: 'AWS::EC2::VPC', Properties: {CidrBlock: '10.9.0.0/16'}}}});

		await Promise.all([
			aws(s, 'cloudformation', 'create-stack', '--stack-name', 'instantstart-theirs-a', '--template-body', template),
			aws(s, 'iam', 'create-role', '--role-name', 'is-theirs-b-nodes-us-west-2', '--assume-role-policy-document',
				trust('sagemaker.amazonaws.com')),
		]);
		const [a, b] = await Promise.all([create(s, 'theirs-a'), create(s, 'theirs-b')]);
		/* The name is looked at before anything is made or recorded: no stage has begun. */
		const byStack = await errorOf(a.id);
		const byRole = await errorOf(b.id);

		assert.equal(byStack.code, 'foreign-object');
		assert.match(byStack.detail, /instantstart-theirs-a/);
		for (const op of [a, b])
			assert.deepEqual((await operation(s, op.id)).children ?? [], []);
		assert.equal(byRole.code, 'foreign-object');
		assert.match(byRole.detail, /is-theirs-b-nodes-us-west-2/);
		/* Nor is there a cluster of ours that could be deleted, or that stands before an import. */
		for (const name of ['theirs-a', 'theirs-b']) {
			const none = await call(s, 'DELETE', `/api/v1/clusters/${name}?confirm=${name}`, {role: 'admin'});

			assert.equal(`${none.status} ${none.json.code}`, '404 not-found');
		}
		assert.deepEqual(await census(s, 'theirs-a'), {'cloudformation.stack': 1, 'ec2.vpc': 1});
		assert((await s.cloud.state())['iam.role']['is-theirs-b-nodes-us-west-2'], 'their role is there');
	});
});

test('a role that cannot be assumed yet is waited for; one that never can is told apart', async () => {
	await aws(s, 'iam', 'create-role', '--role-name', 'wrong-trust', '--assume-role-policy-document',
		trust('ec2.amazonaws.com'));
	const young = await create(s, 'young');
	const doomed = await create(s, 'doomed', {execution_role_arn: 'arn:aws:iam::123456789012:role/wrong-trust'});
	const {error} = await failed(s, doomed.id);

	/* Before a stack of twenty minutes is made in vain. */
	assert.match(`${error.detail} ${error.fix}`, /ec2\.amazonaws\.com[^]*sagemaker\.amazonaws\.com/, JSON.stringify(error));
	assert.deepEqual(await mutations('doomed'), []);
	/* Not in the time of the stack, whose own retries are CloudFormation's affair. */
	await stage(s, young.id, 'reconcile_dependencies');
	await s.cloud.settings({role_assumable_after_ms: 3000});
	await succeeded(s, young.id);
	await s.cloud.settings({role_assumable_after_ms: null});
	const creates = (await mutations('young')).filter(e => e.service === 'sagemaker' && e.op === 'CreateCluster');

	assert(creates.length >= 2, 'the role was refused at first');
	assert.equal(creates.filter(e => e.outcome === 'ok').length, 1);
});

test('an existing network and existing roles are used, and stay', async () => {
	const state = await s.cloud.state();
	const eks = state['eks.cluster'].young;
	const {subnetIds, vpcId} = eks.resourcesVpcConfig;
	const own = await create(s, 'guest', {vpc_id: vpcId, subnet_ids: subnetIds, cluster_role_arn: eks.roleArn,
		execution_role_arn: state['sagemaker.cluster'].young.InstanceGroups[0].ExecutionRole});

	await succeeded(s, own.id);
	const made = await census(s, 'guest');

	assert.equal(made['ec2.vpc'], undefined, JSON.stringify(made));
	assert.equal((await s.cloud.state())['eks.cluster'].guest.resourcesVpcConfig.vpcId, vpcId);
	await succeeded(s, (await remove(s, 'guest')).id);
	assert.deepEqual(await census(s, 'guest'), {});
	const after = await s.cloud.state();

	assert(after['ec2.vpc'][vpcId] && subnetIds.every(id => after['ec2.subnet'][id]), 'their network is there');
	assert(after['iam.role'][eks.roleArn.split('/').at(-1)], 'their role is there');
});

test('what we are not allowed is said before anything is made; who insists goes on', async t => {
	const plan = query => call(s, 'POST', `/api/v1/clusters?dry_run=plan${query}`, {role: 'admin', body: request('denied')});

	t.after(() => s.cloud.settings({denied_actions: null}));
	/* Of this cluster's name: nothing has been allowed to it lately. */
	await s.cloud.settings({denied_actions: ['eks:CreateCluster']});
	const refused = await plan('');
	const op = await create(s, 'denied');
	const {error} = await failed(s, op.id);
	const insisted = await plan('&accept_missing_rights=true');

	assert.equal(refused.json.code, 'cloud-denied', refused.text);
	assert.equal(error.code, 'cloud-denied');
	for (const text of [refused.text, JSON.stringify(error)])
		assert(/eks:CreateCluster/.test(text) && /ControlPlanes of instantstart-poller --iam-policy/.test(text), text);
	assert.deepEqual(await mutations('denied'), []);
	assert.equal(insisted.status, 200, insisted.text);
	assert.equal(insisted.json.checks.find(c => c.what === 'rights').data.verdict, 'does_not_fit');
	assert.match(insisted.json.warnings.join(), /eks:CreateCluster/);
});

test('a stack that rolls back: the first cause, not the last; the retry makes it anew', async () => {
	const reason = 'The maximum number of addresses has been reached. (Service: Ec2, Status Code: 400)';

	await s.cloud.settings({stack_failure: {NatAddress1: reason}});
	const op = await create(s, 'rolled');
	const error = await errorOf(op.id, 'create_eks_control_plane');

	assert.equal(error.code, 'stack-failed');
	assert.match(error.detail, /NatAddress1/);
	assert(error.detail.includes(reason), error.detail);
	assert(!/cancelled/i.test(error.detail), error.detail);
	assert(JSON.stringify((await operation(s, op.id)).error).includes(reason), 'the pipeline says it too');
	const again = await call(s, 'POST', '/api/v1/clusters', {role: 'admin', headers: {'idempotency-key': 'another'},
		body: {name: 'rolled', zone: 'us-west-2a', instance_type: 'ml.g5.12xlarge'}});

	assert.equal(again.status, 409, 'the name is taken until it is retried or deleted');
	assert(again.text.includes(op.id), again.text);
	await s.cloud.settings({stack_failure: null});
	await retry(op.id);
});

test('a lifecycle script that fails: the last lines of its log; the retry waits for the nodes again', async () => {
	await s.cloud.settings({lifecycle_script: 'fail'});
	const op = await create(s, 'boot-fails');
	const error = await errorOf(op.id, 'create_hyperpod_cluster');
	const child = stageOf(await operation(s, op.id), 'create_hyperpod_cluster');
	const log = (await events(s, child.id)).find(e => e.what === 'lifecycle_log');

	assert.equal(error.code, 'lifecycle-script');
	assert(error.cause.some(c => /log/.test(c.source) && c.message), JSON.stringify(error.cause));
	assert(log?.data.tail.trim().split('\n').length > 1, JSON.stringify(log));
	await s.cloud.settings({lifecycle_script: 'ok'});
	await retry(op.id);
	const calls = (await mutations('boot-fails')).filter(e => e.service === 'sagemaker' && e.outcome === 'ok').map(e => e.op);

	assert.deepEqual(calls, ['CreateCluster'], 'AWS goes on trying: nothing to make anew');
	assert.equal((await mutations('boot-fails')).filter(e => e.op === 'CreateStack').length, 1, 'EKS stays');
});

test('throttled for a long time, then expired credentials in a wait: it waits, says why, and goes on', async () => {
	await s.cloud.addFaults({fault: 'throttle', for_ms: 5000});
	const op = await create(s, 'patient');
	const waiting = await until(s, op.id, 'throttling', o => /throttles requests/.test(o.waiting_for ?? ''));

	assert.equal(waiting.state, 'live');
	await s.cloud.settings({capacity: {'ml.g5.12xlarge': 0}});
	const child = await atStep(s, op.id, 'create_hyperpod_cluster', 'wait_nodes', 60000);

	await s.cloud.addFaults({fault: 'expired', for_ms: 2000});
	const denied = await until(s, child.id, 'expired credentials', o => /credential|expired/i.test(o.waiting_for ?? ''));

	assert.equal(denied.state, 'live');
	await s.cloud.settings({capacity: {'ml.g5.12xlarge': null}});
	await succeeded(s, op.id);
	assert.equal((await mutations('patient')).filter(e => e.op === 'CreateStack' && e.outcome === 'ok').length, 1);
});
