// Autoscaling: switched on, a class and a pool made, a pod that waits gets a node, the
// limit says so, nothing goes while it is used, and all of it goes in the end.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {after, before, test} from 'node:test';
import {shellEnv, tools} from '../stack/stack.mjs';
import {call, capabilities, end, tool} from './faces.mjs';
import {create, failed, operation, order, stageOf, succeeded, TYPE, waitFor, world} from './pipeline.mjs';

const AT = '/api/v1/clusters/auto';
let s;

before(async () => {
	s = await world();
	await succeeded(s, (await create(s, 'auto')).id);
	command('aws', ['eks', 'update-kubeconfig', '--name', 'auto', '--kubeconfig', `${s.dir}/kubeconfig`]);
	const workers = (await s.cloud.state())['sagemaker.cluster'].auto.InstanceGroups[0];
	const group = (name, more) => ({InstanceGroupName: name, InstanceType: TYPE, InstanceCount: 0,
		ExecutionRole: workers.ExecutionRole, LifeCycleConfig: workers.LifeCycleConfig, ...more});

	command('aws', ['sagemaker', 'update-cluster', '--cluster-name', 'auto', '--instance-groups', JSON.stringify([
		group('pool-a'), group('pool-spot', {CapacityRequirements: {Spot: {}}}),
		group('pool-checked', {OnStartDeepHealthChecks: ['InstanceStress']})])]);
});
after(() => end(s));

/** What a person would type. */
function command(name, args, input = '')
{
	const done = spawnSync(`${tools}/${name}`, args, {encoding: 'utf8', input,
		env: {...shellEnv(s), AWS_REGION: 'us-west-2', KUBECONFIG: `${s.dir}/kubeconfig`}});

	assert.equal(done.status, 0, done.stderr);
	return done.stdout;
}

const kubectl = (...args) => command('kubectl', args);

const pod = (name, gpus) => command('kubectl', ['apply', '-f', '-'], JSON.stringify({apiVersion: 'v1', kind: 'Pod',
	metadata: {name, namespace: 'default'}, spec: {nodeSelector: {team: 'train'}, containers: [{name: 'main',
		image: 'registry.example/train:1', resources: {limits: {'nvidia.com/gpu': gpus}, requests: {'nvidia.com/gpu': gpus}}}]}}));

async function get(path)
{
	const r = await call(s, 'GET', `${AT}/${path}`, {role: 'viewer'});

	assert.equal(r.status, 200, r.text);
	return r.json.items;
}

async function done(method, path, body, query = '')
{
	const r = await call(s, method, `${AT}/${path}${query}`, {role: 'operator', body});

	assert.equal(r.status, 202, r.text);
	return succeeded(s, r.json.id);
}

async function refused(status, method, path, body)
{
	const r = await call(s, method, `${AT}/${path}`, {role: 'operator', body});

	assert.equal(r.status, status, r.text);
	return r.json;
}

async function mcp(name, args, role = 'operator')
{
	const r = await tool(s, name, {cluster: 'auto', ...args}, {role});

	assert(!r.isError && !r.rpc, JSON.stringify(r));
	return r.structuredContent;
}

const autoscaling = async () => (await s.cloud.state())['sagemaker.cluster'].auto.AutoScaling?.Status;
const updates = async () => (await s.cloud.ledger()).filter(e => e.op === 'UpdateCluster').length;

test('before it is on: no class can be made, the lists say that there are none', async () => {
	const problem = await refused(400, 'POST', 'node-classes', {name: 'gpu', instance_groups: ['pool-a']});

	assert.match(problem.detail, /autoscaling is not in service/);
	assert.deepEqual(await get('node-classes'), []);
	assert.deepEqual(await get('node-pools'), []);
	assert.deepEqual(await get('pending-pods'), []);
});

test('the plan shows role and call; what AWS says when it fails; retried it is on; again is no call', async () => {
	const plan = await mcp('update_features', {autoscaling: {enabled: true}, dry_run: 'plan'});
	const text = JSON.stringify(plan);

	assert.match(text, /UpdateCluster/);
	assert.match(text, /is-auto-autoscaling-us-west-2/);
	assert.equal(await autoscaling(), undefined);
	await s.cloud.settings({autoscaling_failure: 'The autoscaler could not be reached.'});
	const first = await call(s, 'PATCH', `${AT}/features`, {role: 'operator', body: {autoscaling: {enabled: true}}});
	const broken = await failed(s, first.json.id);
	const child = await operation(s, stageOf(broken, 'set_autoscaling').id);

	assert.match(child.error.detail, /The autoscaler could not be reached/);
	await s.cloud.settings({autoscaling_failure: null});
	const op = await succeeded(s, (await order(s, broken.id, 'retry', {}, 'operator')).id);

	assert.equal(op.result.features.autoscaling, 'enabled', JSON.stringify(op.result));
	assert.equal(await autoscaling(), 'InService');
	kubectl('get', 'nodepools,hyperpodnodeclasses');
	const before = await updates();

	await done('PATCH', 'features', {autoscaling: {enabled: true}});
	assert.equal(await updates(), before);
});

test('groups that it cannot have are told all at once; the right pair of a class is told', async () => {
	const many = await refused(400, 'POST', 'node-classes',
		{name: 'gpu', instance_groups: ['workers', 'pool-a', 'pool-spot', 'pool-checked', 'nobody']});
	const fields = many.errors.map(e => e.field);

	assert.deepEqual(fields, ['/instance_groups/0', '/instance_groups/2', '/instance_groups/3', '/instance_groups/4']);
	assert.match(JSON.stringify(many.errors[0]), /1 nodes that run \d+ pods.*scaled to zero/);
	await refused(400, 'POST', 'node-classes', {name: 'gpu', instance_groups: Array.from({length: 11}, (_, i) => `g${i}`)});
	const pair = await refused(400, 'POST', 'node-pools', {name: 'train',
		node_class_ref: {group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'gpu'}});

	assert.match(JSON.stringify(pair), /karpenter\.sagemaker\.amazonaws\.com/);
	assert.match(JSON.stringify(pair), /HyperpodNodeClass/);
	const type = await refused(400, 'POST', 'node-pools',
		{name: 'train', node_class_ref: {name: 'gpu'}, instance_types: ['g5.12xlarge']});

	assert.match(JSON.stringify(type), /ml\.g5\.12xlarge/);
});

test('a class and a pool; a pod that waits has its node; the second meets the limit', async () => {
	await done('POST', 'node-classes', {name: 'gpu', instance_groups: ['pool-a']});
	const [gpu] = await get('node-classes');

	assert.equal(gpu.state, 'ready', JSON.stringify(gpu));
	assert.deepEqual(gpu.groups.map(g => [g.name, g.instance_types]), [['pool-a', [TYPE]]]);
	const other = await refused(400, 'POST', 'node-pools',
		{name: 'train', node_class_ref: {name: 'gpu'}, instance_types: ['ml.p5.48xlarge']});

	assert.match(other.detail, /any group of the node class gpu/);
	const op = await mcp('create_node_pool', {name: 'train', node_class_ref: {name: 'gpu'}, instance_types: [TYPE],
		labels: {team: 'train'}, limits: {'nvidia.com/gpu': '4'}, consolidate_after: '0s'});

	await succeeded(s, op.id);
	const made = JSON.parse(kubectl('get', 'nodepool', 'train', '-o', 'json'));

	assert.equal(made.spec.disruption.consolidationPolicy, 'WhenEmpty');
	assert.equal(made.spec.template.spec.expireAfter, 'Never');
	pod('job-0', 4);
	await waitFor('job-0 runs', () => kubectl('get', 'pod', 'job-0', '-o', 'jsonpath={.status.phase}') === 'Running', 30000);
	const pool = (await get('node-pools'))[0];

	assert.equal(pool.nodes, 1, JSON.stringify(pool));
	assert.equal(pool.resources['nvidia.com/gpu'], '4');
	pod('job-1', 4);
	const [waiting] = await waitFor('job-1 waits', async () => {
		const items = await get('pending-pods');

		return items.length && items;
	});

	assert.equal(waiting.code, 'limit_reached', JSON.stringify(waiting));
	assert.match(waiting.reason, /limit is 4/);
	assert.equal((await mcp('list_pending_pods', {}, 'viewer')).items[0].name, 'job-1');
});

test('nothing goes while it is used', async () => {
	for (const [method, path, body, lost] of [
		['DELETE', 'node-classes/gpu', undefined, {node_class: 'gpu', node_pools: ['train']}],
		['PATCH', 'features', {autoscaling: {enabled: false}},
			{feature: 'autoscaling', workloads: ['NodePool train', 'HyperpodNodeClass gpu']}]]) {
		const loss = await refused(409, method, path, body);

		assert.equal(loss.code, 'loss-not-confirmed', JSON.stringify(loss));
		assert.deepEqual(loss.plan.at_stake, [lost]);
	}
	const loss = await refused(409, 'DELETE', 'node-pools/train');

	assert.equal(loss.code, 'loss-not-confirmed', JSON.stringify(loss));
	assert.equal(await autoscaling(), 'InService');
	/* A pool's name is a label of its nodes. */
	const long = await call(s, 'DELETE', `${AT}/node-pools/${'a'.repeat(64)}`, {role: 'operator'});

	assert.equal(`${long.status} ${long.json.field}`, '400 /name', long.text);
});

/* Whatever of a cluster can be changed or deleted by its name: one that nobody has is
 * refused before there is an operation, and the answer says which one was meant. */
test('what is not there can be neither changed nor deleted', async () => {
	const meant = {'node-pools': ['trainx', 'did you mean train?'], 'node-classes': ['other', 'a name from list_node_classes'],
		groups: ['pool-aa', 'did you mean pool-a?'], storages: ['dataa', 'did you mean data?']};
	const bodies = {scale_instance_group: {count: 1}, update_instance_group: {labels: {a: 'b'}}};
	const operations = async () => (await call(s, 'GET', '/api/v1/operations?limit=100', {role: 'viewer'})).json.items.length;
	const before = await operations();
	let rows = 0;

	for (const {name, method, path} of capabilities(s).filter(c => c.effect !== 'read')) {
		const [, noun] = path.match(/^\/clusters\/\{cluster\}\/([a-z-]+)\/\{\w+\}/) ?? [];

		if (!noun)
			continue;
		const [wrong, expected] = meant[noun];
		const target = path.replace('{cluster}', 'auto').replace(/\{\w+\}/, wrong);

		for (const query of ['?dry_run=plan', `?confirm=${wrong}`]) {
			const r = await call(s, method, `/api/v1${target}${query}`, {role: 'admin', body: bodies[name]});

			assert.equal(r.status, 404, `${name} ${target}${query}: ${r.text}`);
			assert.equal(r.json.expected, expected, r.text);
		}
		rows++;
	}
	assert.equal(rows, 6);
	assert.equal(await operations(), before);
});

test('an empty node goes by itself; confirmed, the pool goes; then class, switch and role', async () => {
	kubectl('delete', 'pod', 'job-1', 'job-0', '--wait=true');
	await waitFor('no node left', async () => (await get('node-pools'))[0].nodes === 0, 30000);
	pod('job-2', 4);
	await waitFor('job-2 runs', () => kubectl('get', 'pod', 'job-2', '-o', 'jsonpath={.status.phase}') === 'Running', 30000);
	const plan = await call(s, 'DELETE', `${AT}/node-pools/train?dry_run=plan`, {role: 'operator'});

	assert.deepEqual(plan.json.at_stake.map(({node, ...rest}) => rest), [{group: 'pool-a', pods: ['default/job-2']}]);
	await done('DELETE', 'node-pools/train', undefined, `?confirm=${plan.json.confirm}`);
	await done('DELETE', 'node-classes/gpu');
	const op = await done('PATCH', 'features', {autoscaling: {enabled: false}});

	assert.equal(op.result.features.autoscaling, 'disabled', JSON.stringify(op.result));
	const state = await s.cloud.state();

	assert.equal(state['iam.role']['is-auto-autoscaling-us-west-2'], undefined);
	assert.equal(await autoscaling(), undefined);
	assert.equal(state['sagemaker.cluster'].auto.InstanceGroups.find(g => g.InstanceGroupName === 'pool-a').TargetCount, 0);
});
