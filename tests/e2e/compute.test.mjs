// Instance groups and training plans, through REST and MCP, with plans, on one cluster.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {call, end, tool} from './faces.mjs';
import {create, ended, failed, operation, succeeded, TYPE, world} from './pipeline.mjs';

const AT = '/api/v1/clusters/pool';
let s;

before(async () => {
	s = await world({settings: {
		training_plans: {spring: {Status: 'Active', AvailableInstanceCount: 2, TotalInstanceCount: 2,
			StartTime: 1798761600, EndTime: 1799366400, TargetResources: ['hyperpod-cluster'],
			ReservedCapacitySummaries: [{ReservedCapacityArn: 'arn:aws:sagemaker:us-west-2:111122223333:reserved-capacity/r1',
				Status: 'Active', TotalInstanceCount: 2, InstanceType: 'ml.p5.48xlarge',
				AvailabilityZone: 'us-west-2a', AvailabilityZoneId: 'usw2-az2'}]},
		summer: {Status: 'Pending', TotalInstanceCount: 1, ReservedCapacitySummaries: []}},
		hyperpod_others: {'slurm-lab': {InstanceGroups: [{InstanceGroupName: 'controller', InstanceType: 'ml.m5.xlarge',
			CurrentCount: 1, TargetCount: 1}]}, 'secret-lab': {_denied: true}},
		training_plan_offerings: [{TrainingPlanOfferingId: 'tpo-1', TargetResources: ['hyperpod-cluster'], DurationHours: 168,
			UpfrontFee: '1000.00', CurrencyCode: 'USD', ReservedCapacityOfferings: [{InstanceType: 'ml.p5.48xlarge',
				InstanceCount: 4, AvailabilityZone: 'us-west-2b'}]}],
	}});
	await succeeded(s, (await create(s, 'pool', {count: 1})).id);
});
after(() => end(s));

async function mcp(name, args, role = 'operator')
{
	const r = await tool(s, name, args, {role});

	assert(!r.isError && !r.rpc, JSON.stringify(r));
	return r.structuredContent;
}

async function get(path, role = 'viewer')
{
	const r = await call(s, 'GET', path, {role});

	assert.equal(r.status, 200, r.text);
	return r.json;
}

/** A change and the operation it became. */
async function change(method, path, body, {query = '', headers = {}} = {})
{
	const r = await call(s, method, `${path}${query}`, {role: 'operator', body, headers});

	assert.equal(r.status, 202, r.text);
	return r.json;
}

const calls = async op => (await s.cloud.ledger()).filter(e => e.op === op && !e.code).length;
const live = async name => (await get(`${AT}/groups/${name}`)).details;

test('a Slurm cluster and one that may not be looked at do not empty the list (IG-11)', async () => {
	const list = await get('/api/v1/hyperpod-clusters');
	const row = name => list.items.find(x => x.name === name);

	assert.equal(list.items.length, 3, JSON.stringify(list));
	assert.equal(list.next_cursor, null);
	assert.equal(row('slurm-lab').state, 'unsupported');
	assert.match(row('slurm-lab').reason, /not supported \(Slurm\)/);
	assert.equal(row('slurm-lab').eks_name, undefined);
	assert.equal(row('secret-lab').state, 'no_permission');
	assert.match(row('secret-lab').reason, /sagemaker:?\s?DescribeCluster/);
	const ours = list.items.find(x => x.state === 'ok');

	assert.equal(ours.eks_name, 'pool');
	assert.equal(ours.groups, 1);
	/* Page by page the same. */
	const pages = [];

	for (let cursor = '', n = 0; cursor !== undefined && n < 5; n++) {
		const page = await mcp('list_hyperpod_clusters', {limit: 1, ...cursor ? {cursor} : {}}, 'viewer');

		assert.equal(page.items.length, 1, JSON.stringify(page));
		pages.push(page.items[0].name);
		cursor = page.next_cursor;
	}
	assert.deepEqual(pages.sort(), list.items.map(x => x.name).sort());
	/* Who counts quotas says that one was not counted; the others are. */
	const quotas = await mcp('check_quotas', {instance_type: TYPE, count: 1}, 'viewer');

	assert.equal(quotas.uncounted, 1);
	/* And an import finds its own among them. */
	const taken = await change('POST', '/api/v1/clusters:import', {name: 'again', eks_name: 'pool'});

	assert.equal((await succeeded(s, taken.id)).result.hyperpod_name, ours.name);
	const slurm = await change('POST', '/api/v1/clusters:import', {name: 'never', eks_name: 'pool',
		hyperpod_name: 'slurm-lab'});

	assert.match(JSON.stringify(await failed(s, slurm.id)), /a HyperPod cluster on EKS/);
	assert.equal((await call(s, 'POST', '/api/v1/clusters/again:forget', {role: 'admin'})).status, 200);
});

test('a group is planned, added with all that is fixed, and ready', async () => {
	const body = {name: 'gpu', instance_type: TYPE, count: 2, zone: 'us-west-2a', interface_mode: 'efa',
		labels: {team: 'red'}, taints: [{key: 'gpu', value: 'yes'}], min_count: 1, volume_size_gb: 200};
	const plan = await call(s, 'POST', `${AT}/groups?dry_run=plan`, {role: 'operator', body});

	assert.equal(plan.status, 200, plan.text);
	const send = plan.json.steps.find(x => x.step === 'add_group');

	assert.match(send.what, /Add the instance group gpu: 2 × ml\.g5\.12xlarge/);
	assert.equal(plan.json.steps.filter(x => x.call === 'sagemaker:UpdateCluster').length, 1);
	const op = await change('POST', `${AT}/groups?plan_digest=${plan.json.plan_digest}`, body);

	await succeeded(s, op.id);
	const group = await get(`${AT}/groups/gpu`);

	assert.equal(group.current_count, 2);
	assert.equal(group.capacity_type, 'on_demand');
	assert.equal(group.interface_mode, 'efa');
	assert.deepEqual(group.labels, {team: 'red'});
	assert(group.addresses.each_node > 0 && group.addresses.free_now > 0);
	assert.equal((await get(`${AT}/groups`)).items.length, 2);
	/* The catalog has it too, for who looks at the cluster. */
	assert((await get(AT)).instance_groups.some(g => g.name === 'gpu'));
});

test('two groups asked for at once both land', async () => {
	const add = name => change('POST', `${AT}/groups`, {name, instance_type: TYPE, count: 1, zone: 'us-west-2a'},
		{query: '?queue=true'});
	const ops = await Promise.all([add('one'), add('two')]);

	/* A group that is on its way has no nodes yet: none, and not no such group. */
	for (const name of ['one', 'two'])
		assert.deepEqual((await get(`${AT}/nodes?group=${name}`)).items, []);
	for (const op of ops)
		await succeeded(s, op.id);
	const names = (await get(`${AT}/groups`)).items.map(g => g.name);

	assert(names.includes('one') && names.includes('two'), names.join());
	const other = await call(s, 'POST', `${AT}/groups/ONE:scale`, {role: 'admin', body: {count: 2}});

	assert.deepEqual([other.status, other.json.expected], [404, 'did you mean one?'], other.text);
	assert.equal((await live('gpu')).MinCount, 1);
});

test('everything that stands in the way is said at once, and nothing is sent', async () => {
	const sent = await calls('UpdateCluster');
	const r = await call(s, 'POST', `${AT}/groups?dry_run=plan`, {role: 'operator', body: {name: 'gpu',
		instance_type: 'ml.p5.48xlarge', count: 4, zone: 'us-west-2b', capacity_type: 'training_plan',
		training_plan_arn: 'arn:aws:sagemaker:us-west-2:111122223333:training-plan/spring',
		execution_role_arn: 'arn:aws:iam::111122223333:role/nobody'}});

	assert.match(r.json.detail, /requirements are not met/, r.text);
	assert.match(r.json.detail, /already has an instance group named gpu/);
	assert.match(r.json.detail, /usw2-az2/);
	assert.match(r.json.detail, /There is no role/);
	assert.equal(await calls('UpdateCluster'), sent);
});

test('scaled by the calls made for it, up and down; equal means no call', async () => {
	const updates = await calls('UpdateCluster');

	await succeeded(s, (await change('POST', `${AT}/groups/gpu:scale`, {count: 4})).id);
	assert.equal((await live('gpu')).TargetCount, 4);
	assert.equal(await calls('BatchAddClusterNodes'), 1);
	const again = await mcp('scale_instance_group', {cluster: 'pool', group: 'gpu', count: 4, dry_run: 'plan'});

	assert(!again.steps.some(x => x.action === 'call'), JSON.stringify(again.steps));
	/* PATCH of the count alone is the same. */
	await succeeded(s, (await change('PATCH', `${AT}/groups/gpu`, {count: 2})).id);
	assert.equal((await live('gpu')).CurrentCount, 2);
	assert.equal(await calls('BatchDeleteClusterNodes'), 1);
	assert.equal(await calls('UpdateCluster'), updates);
});

test('a change in place keeps the rest; what is fixed is refused with the way out', async () => {
	const before_ = await live('gpu');
	const op = await mcp('update_instance_group', {cluster: 'pool', group: 'gpu', labels: {team: 'blue'}});

	await succeeded(s, op.id);
	const now = await live('gpu');

	assert.deepEqual(now.KubernetesConfig.DesiredLabels, {team: 'blue'});
	for (const member of Object.keys(before_))
		if (member !== 'KubernetesConfig')
			assert.deepEqual(now[member], before_[member], member);
	assert.deepEqual(now.KubernetesConfig.DesiredTaints, before_.KubernetesConfig.DesiredTaints);
	/* Nothing is as good as to clear. */
	for (const body of [{min_count: 0}, {taints: []}]) {
		const plan = await mcp('update_instance_group', {cluster: 'pool', group: 'gpu', ...body, dry_run: 'plan'});

		assert(plan.steps.some(x => x.action === 'call'), JSON.stringify(plan.steps));
	}
	const r = await call(s, 'PATCH', `${AT}/groups/gpu`, {role: 'operator', body: {instance_type: 'ml.p5.48xlarge'}});

	assert.equal(r.status, 409, r.text);
	assert.match(r.json.fix, /new group/);
});

test('software is updated by batches and followed to its end', async () => {
	const op = await change('POST', `${AT}/hyperpod:update-software`, {groups: ['gpu'], image_release_version: '2.0.0',
		batch_count: 1});

	await succeeded(s, op.id);
	const group = await get(`${AT}/groups/gpu`);

	assert.equal(group.software_update_status, 'Succeeded');
	assert.equal(group.image_release_version, '2.0.0');
	await s.cloud.settings({software: {fail: 'gpu'}});
	const bad = await failed(s, (await change('POST', `${AT}/hyperpod:update-software`, {groups: ['gpu']})).id);

	assert.match(bad.error.detail, /gpu RollbackComplete/);
	await s.cloud.settings({software: {}});
});

test('a group that nothing uses is deleted without a word, and gone from the catalog', async () => {
	const path = `${AT}/groups/two`;
	const plan = await call(s, 'DELETE', `${path}?dry_run=plan`, {role: 'operator'});

	/* Nothing runs there and no node class lists it: nothing to confirm. */
	assert.equal(plan.status, 200, plan.text);
	assert.equal(plan.json.at_stake, undefined);
	assert.equal(plan.json.confirm, undefined);
	const op = await change('DELETE', path, undefined);

	await succeeded(s, op.id);
	assert.equal((await call(s, 'GET', path, {role: 'viewer'})).status, 404);
	assert(!(await get(AT)).instance_groups.some(g => g.name === 'two'));
	assert.equal((await operation(s, op.id)).result.deleted, 'instance_group');
});

test('training plans are looked at and offerings searched', async () => {
	const list = await get('/api/v1/training-plans?status=Active');

	assert.equal(list.items[0].name, 'spring');
	assert.equal(list.items[0].available, 2);
	assert.equal(list.items[0].capacity[0].zone_id, 'usw2-az2');
	const first = await get('/api/v1/training-plans?limit=1');
	const second = await get(`/api/v1/training-plans?limit=1&cursor=${encodeURIComponent(first.next_cursor)}`);

	assert.deepEqual([...first.items, ...second.items].map(x => x.name).sort(), ['spring', 'summer']);
	assert.equal(second.next_cursor, null);
	assert.match((await get('/api/v1/training-plans/spring')).starts_at, /^\d{4}-/);
	assert.equal((await call(s, 'GET', '/api/v1/training-plans/none', {role: 'viewer'})).status, 404);
	const offers = await mcp('search_training_plan_offerings', {instance_type: 'ml.p5.48xlarge', count: 2,
		duration_hours: 168}, 'viewer');

	assert.equal(offers.items[0].upfront_fee, '1000.00');
	assert.equal((await calls('CreateTrainingPlan')), 0);
	/* Which types can be reserved, the cloud says; it is the caller's fault all the same. */
	const none = await call(s, 'GET', '/api/v1/training-plan-offerings?instance_type=ml.c5.2xlarge&duration_hours=24', {role: 'viewer'});

	assert.equal(`${none.status} ${none.json.code} ${none.json.field}`, '400 invalid-input /instance_type', none.text);
	assert.match(none.json.cause[0].message, /ml\.p5\.48xlarge/);
});

test('a plan that is full is refused with what is left', async () => {
	const op = await change('POST', `${AT}/groups`, {name: 'tp', instance_type: 'ml.p5.48xlarge', count: 4,
		zone: 'us-west-2a', capacity_type: 'training_plan',
		training_plan_arn: 'arn:aws:sagemaker:us-west-2:111122223333:training-plan/spring'});
	const bad = await ended(s, op.id);

	assert.equal(bad.state, 'failed');
	assert.match(bad.error.detail, /2 instances left/);
});
