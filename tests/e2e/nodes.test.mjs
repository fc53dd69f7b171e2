// Nodes: listed from the catalog, looked at, rebooted, replaced and deleted; what
// falls ill by itself; cluster events. Through REST and MCP, on one cluster.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {after, before, test} from 'node:test';
import {psql, shellEnv, tools} from '../stack/stack.mjs';
import {call, end, tool} from './faces.mjs';
import {create, failed, order, succeeded, until, waitFor, world} from './pipeline.mjs';

const AT = '/api/v1/clusters/fleet';
let s;

before(async () => {
	s = await world({env: {INSTANTSTART_REFRESH_MS: '1000', INSTANTSTART_REFRESH_CALLS: '50'}});
	await succeeded(s, (await create(s, 'fleet', {count: 3})).id);
	command('aws', ['eks', 'update-kubeconfig', '--name', 'fleet', '--kubeconfig', `${s.dir}/kubeconfig`]);
});
after(() => end(s));

async function list(query = '')
{
	const r = await call(s, 'GET', `${AT}/nodes${query}`, {role: 'viewer'});

	assert.equal(r.status, 200, r.text);
	return r.json;
}

/** The list, once it satisfies the test. */
const listed = (what, good, query) => waitFor(what, async () => {
	const l = await list(query);

	return good(l.items) ? l : null;
}, 20000);

const ready = n => items => items.length === n && items.every(i => i.ready && i.status === 'Running' && i.pods !== null);

/** Plan, then the request with the word that the plan gives. */
async function act(verb, nodes, {role = 'operator'} = {})
{
	const plan = await call(s, 'POST', `${AT}/nodes:${verb}?dry_run=plan`, {role, body: {nodes}});

	assert.equal(plan.status, 200, plan.text);
	const r = await call(s, 'POST', `${AT}/nodes:${verb}?confirm=${plan.json.confirm}`, {role, body: {nodes}});

	return {plan: plan.json, r};
}

const batches = async op => (await s.cloud.ledger()).filter(e => e.op === op);

/** What a person would type. */
function command(name, args, input = '')
{
	const done = spawnSync(`${tools}/${name}`, args, {encoding: 'utf8', input,
		env: {...shellEnv(s), AWS_REGION: 'us-west-2', KUBECONFIG: `${s.dir}/kubeconfig`}});

	assert.equal(done.status, 0, done.stderr);
}

/** A pod of somebody's on that node. */
const pod = (name, node, volumes) => command('kubectl', ['apply', '-f', '-'], JSON.stringify({apiVersion: 'v1', kind: 'Pod',
	metadata: {name, namespace: 'default'}, spec: {nodeName: node, volumes,
		containers: [{name: 'main', image: 'registry.example/train:1'}]}}));

async function mcp(name, args, role)
{
	const r = await tool(s, name, args, {role});

	assert(!r.isError && !r.rpc, JSON.stringify(r));
	return r.structuredContent;
}

test('the list comes from the catalog, by pages and filters, and says how old it is', async () => {
	const all = await listed('three nodes', ready(3));

	assert.equal(all.total, 3);
	assert.deepEqual([...new Set(all.items.map(i => i.group))], ['workers']);
	assert(all.items.every(i => i.gpus === 4 && i.health === 'Schedulable' && i.zone === 'us-west-2a'), JSON.stringify(all.items));
	assert(all.refresh.age_s < 30 && all.items.every(i => i.observed_at));
	const first = await list('?limit=2');
	const second = await list(`?limit=2&cursor=${encodeURIComponent(first.next_cursor)}`);

	assert.deepEqual([...first.items, ...second.items].map(i => i.name), all.items.map(i => i.name));
	assert.equal(second.next_cursor, null);
	assert.equal((await list('?status=Failure')).items.length, 0);
	assert.equal((await list('?group=workers&health=Schedulable&zone=us-west-2a')).items.length, 3);
	/* An empty list says that there is none; a word that no node can have is refused. */
	for (const [filter, value, expected] of [['status', 'running', /did you mean Running/], ['status', 'broken', /one of Running/],
		['health', 'healthy', /one of Schedulable/], ['group', 'worker', /did you mean workers/], ['zone', 'eu-west-1a', /us-west-2a/]]) {
		const r = await call(s, 'GET', `${AT}/nodes?${filter}=${value}`, {role: 'viewer'});

		assert.equal(r.status, 400, r.text);
		assert.deepEqual([r.json.field, r.json.seen], [`/${filter}`, value]);
		assert.match(r.json.expected, expected);
	}
	/* So with every list whose values are known. */
	for (const [path, field, expected] of [[`${AT}/pods?namespace=defaultt`, '/namespace', /did you mean default\?/],
		[`${AT}/pending-pods?namespace=nowhere-at-all`, '/namespace', /a namespace of the cluster/],
		[`${AT}/events?group=worker`, '/group', /did you mean workers/],
		['/api/v1/operations?cluster=no-such-cluster', '/cluster', /list_clusters|did you mean/],
		['/api/v1/instance-types?name=p99', '/name', /did you mean|such as p5/],
		['/api/v1/instance-types?zone=us-west-2', '/zone', /did you mean us-west-2/]]) {
		const r = await call(s, 'GET', path, {role: 'viewer'});

		assert.deepEqual([r.status, r.json.field], [400, field], `${path}: ${r.text}`);
		assert.match(r.json.expected, expected);
	}
	/* Names of types are typed in any case. */
	for (const name of ['g5.12', 'G5.12'])
		assert((await call(s, 'GET', `/api/v1/instance-types?name=${name}`, {role: 'viewer'})).json.items
			.some(i => i.instance_type === 'ml.g5.12xlarge'), name);
	/* Lists that are read whole have pages too. */
	for (const path of [`${AT}/groups`, '/api/v1/zones', '/api/v1/instance-types', `${AT}/storages`, `${AT}/node-pools`, `${AT}/node-classes`]) {
		const get = async query => (await call(s, 'GET', `${path}?${new URLSearchParams(query)}`, {role: 'viewer'})).json;
		const whole = await get({}), walked = [];

		assert.equal(whole.next_cursor, null, path);
		for (let page = await get({limit: 1}); ; page = await get({limit: 1, cursor: page.next_cursor})) {
			assert(page.items.length <= 1, path);
			walked.push(...page.items);
			if (!page.next_cursor)
				break;
		}
		const named = list => list.map(x => x.name ?? x.instance_type);

		assert.deepEqual(named(walked), named(whole.items), path);
	}
	assert.equal((await list('?health=UnschedulablePendingReboot')).items.length, 0);
	assert.equal((await list('?zone=us-west-2d')).items.length, 0);
	const never = await call(s, 'GET', `${AT}/events?after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z`, {role: 'viewer'});

	assert.deepEqual([never.status, never.json.field], [400, '/before'], never.text);
	const before = all.refresh.finished_at;

	await list('?fresh=true');
	await waitFor('a newer look', async () => (await list()).refresh.finished_at > before, 20000);
	const told = await mcp('list_nodes', {cluster: 'fleet'}, 'viewer');

	assert.deepEqual(told.items.map(i => i.name), all.items.map(i => i.name));
});

test('a replacement names what is lost; only the word for that list lets it pass', async () => {
	const [{instance_id: id, name, logical_id: logical}] = (await list()).items;

	pod('trainer-0', name, [{name: 'nvme', hostPath: {path: '/opt/dlami/nvme'}}]);
	const bare = await call(s, 'POST', `${AT}/nodes:replace`, {role: 'operator', body: {nodes: [id]}});

	assert.equal(bare.status, 409, bare.text);
	assert.equal(bare.json.code, 'loss-not-confirmed');
	const [stake] = bare.json.plan.at_stake;

	assert(stake.pods.includes('default/trainer-0'), stake.pods.join());
	assert(stake.local_volumes.includes('trainer-0: hostPath /opt/dlami/nvme (nvme)'), stake.local_volumes.join());
	assert.match(bare.json.plan.warnings.join(' '), /lost/);
	pod('trainer-1', name, [{name: 'tmp', emptyDir: {}}]);
	const stale = await call(s, 'POST', `${AT}/nodes:replace?confirm=${bare.json.plan.confirm}`, {role: 'operator',
		body: {nodes: [id]}});

	assert.equal(stale.status, 409, stale.text);
	assert.notEqual(stale.json.plan.confirm, bare.json.plan.confirm);
	assert.deepEqual(await batches('BatchReplaceClusterNodes'), []);
	const r = await call(s, 'POST', `${AT}/nodes:replace?confirm=${stale.json.plan.confirm}`, {role: 'operator',
		body: {nodes: [name]}, headers: {'idempotency-key': 'replace-1'}});

	/* The name of the node in Kubernetes means the same node: the same is at stake. */
	assert.equal(r.status, 202, r.text);
	const op = await succeeded(s, r.json.id);

	assert.equal(op.result.ok, 1);
	assert.notEqual(op.result.nodes[0].new_instance_id, id);
	assert.equal((await batches('BatchReplaceClusterNodes')).length, 1);
	const now = await listed('the new instance', items => ready(3)(items) && items.every(i => i.instance_id !== id));

	assert.equal(now.items.find(i => i.logical_id === logical).instance_id, op.result.nodes[0].new_instance_id);
	/* A repeat finds it, though the plan is another by now. */
	const again = await call(s, 'POST', `${AT}/nodes:replace?confirm=${stale.json.plan.confirm}`, {role: 'operator',
		body: {nodes: [name]}, headers: {'idempotency-key': 'replace-1'}});

	assert.equal(again.json.id, op.id);
	const one = await call(s, 'GET', `${AT}/nodes/${logical}`, {role: 'viewer'});

	assert.equal(one.status, 200, one.text);
	const sources = new Set(one.json.timeline.map(t => t.source));

	for (const source of ['cluster event', 'kubernetes', 'operation', 'sagemaker', 'observed'])
		assert(sources.has(source), `${source} of ${[...sources]}`);
	assert.deepEqual(one.json.timeline.map(t => t.at), one.json.timeline.map(t => t.at).sort().reverse());
	assert(one.json.timeline.some(t => t.operation === op.id), JSON.stringify(one.json.timeline));
});

test('a reboot is done by another boot of the same instance; through MCP', async () => {
	const [{instance_id: id}] = (await list()).items;
	const plan = await mcp('reboot_nodes', {cluster: 'fleet', nodes: [id], dry_run: 'plan'}, 'operator');
	const op = await mcp('reboot_nodes', {cluster: 'fleet', nodes: [id], confirm: plan.confirm}, 'operator');
	const done = await succeeded(s, op.id);

	assert.equal(done.result.nodes[0].outcome, 'rebooted');
	const one = await mcp('get_node', {cluster: 'fleet', node: id}, 'viewer');

	assert.equal(one.kubernetes.ready, true);
	await waitFor('the boot in the timeline', async () => (await mcp('get_node', {cluster: 'fleet', node: id}, 'viewer'))
		.timeline.some(t => t.what === 'boot changed'), 20000);
});

test('a part is refused: the operation fails with what was done, and a retry takes the rest', async () => {
	const ids = (await list()).items.map(i => i.instance_id);

	await s.cloud.settings({node_errors: {[ids[0]]: {code: 'InvalidInstanceStatus', times: 1},
		[ids[1]]: {code: 'InternalServerError', times: 1}}});
	const {r} = await act('reboot', ids);
	const op = await failed(s, r.json.id);

	assert.equal(op.error.code, 'partial');
	assert.equal(op.result.ok, 2);
	assert.deepEqual(op.result.failed, [ids[0]]);
	const sent = (await batches('BatchRebootClusterNodes')).slice(-2).map(e => e.input.NodeIds);

	assert.deepEqual(sent, [ids, [ids[1]]]);
	await order(s, op.id, 'retry');
	const done = await succeeded(s, op.id);

	assert.equal(done.result.ok, 3);
	assert.deepEqual((await batches('BatchRebootClusterNodes')).at(-1).input.NodeIds, [ids[0]]);
});

test('an answer that is lost is never sent again: the nodes tell, or a person does', async () => {
	const [{instance_id: id}, {instance_id: other}] = (await list()).items;
	const before = (await batches('BatchReplaceClusterNodes')).length;

	await s.cloud.addFaults([{service: 'sagemaker', op: 'BatchReplaceClusterNodes', times: 1, fault: 'lose_answer'}]);
	const told = await succeeded(s, (await act('replace', [id])).r.json.id);

	assert.equal(told.result.ok, 1);
	assert.equal((await batches('BatchReplaceClusterNodes')).length, before + 1);
	await s.cloud.addFaults([{service: 'sagemaker', op: 'BatchRebootClusterNodes', times: 1, fault: 'lose_request'}]);
	await listed('ready nodes', ready(3));
	const {r} = await act('reboot', [other]);
	const held = await until(s, r.json.id, 'a question', o => o.state === 'held');

	assert.match(held.question.question, /outcome is unknown/);
	assert.deepEqual(held.question.evidence.request.input.NodeIds, [other]);
	await call(s, 'POST', `/api/v1/operations/${held.id}:answer`, {role: 'operator', body: {choice: 'effect_not_happened'}});
	assert.equal((await succeeded(s, held.id)).result.ok, 1);
});

test('a node that falls ill is repaired by the service, and all of it is seen', async () => {
	const {items} = await listed('ready nodes', ready(3));
	const {instance_id: id, logical_id: logical} = items[0];

	await s.cloud.settings({node_faults: {[id]: {type: 'NvidiaGPUUnhealthy', reason: 'XidHardwareFailure', action: 'replace'}}});
	await listed('another instance', l => ready(3)(l) && l.find(i => i.logical_id === logical).instance_id !== id);
	const e = await call(s, 'GET', `${AT}/events?level=Warn`, {role: 'viewer'});

	assert.equal(e.status, 200, e.text);
	const ill = e.json.items.find(i => i.instance === id);

	assert.match(ill.reason, /XidHardwareFailure/);
	const detail = await mcp('get_cluster_event', {cluster: 'fleet', event: ill.id}, 'viewer');

	assert.match(detail.detail.Instance.FailureMessage, /XidHardwareFailure/);
	const page = await call(s, 'GET', `${AT}/events?limit=3&resource=Instance`, {role: 'viewer'});
	const next = await call(s, 'GET', `${AT}/events?limit=3&resource=Instance&cursor=${encodeURIComponent(page.json.next_cursor)}`,
		{role: 'viewer'});

	assert.equal(new Set([...page.json.items, ...next.json.items].map(i => i.id)).size, 6);
	await s.cloud.addFaults([{service: 'sagemaker', op: 'ListClusterEvents', times: 1, fault: 'error', status: 400,
		code: 'ValidationException', message: 'Cluster events need NodeProvisioningMode Continuous.'}]);
	const classic = await call(s, 'GET', `${AT}/events`, {role: 'viewer'});

	assert.equal(classic.json.code, 'state-conflict', classic.text);
	assert.match(classic.json.detail, /needs Continuous provisioning/);
	assert.equal((await call(s, 'GET', `${AT}/events?after=yesterday-or-so-perhaps`, {role: 'viewer'})).status, 400);
});

test('a node of another cluster is refused; a deleted one leaves list and target', async () => {
	const foreign = await call(s, 'POST', `${AT}/nodes:delete?dry_run=plan`, {role: 'operator', body: {nodes: ['i-0123456789abcdef0']}});

	assert.equal(foreign.status, 404, foreign.text);
	assert.match(foreign.json.detail, /i-0123456789abcdef0/);
	const {items: [{instance_id: id}]} = await listed('ready nodes', ready(3));
	const {r} = await act('delete', [id]);

	await succeeded(s, r.json.id);
	const left = await listed('two nodes', l => l.length === 2 && !l.some(i => i.instance_id === id));

	assert.equal(left.total, 2);
	const cluster = (await s.cloud.state())['sagemaker.cluster'].fleet;

	assert.equal(cluster.InstanceGroups[0].TargetCount, 2);
	const gone = await call(s, 'GET', `${AT}/nodes/${id}`, {role: 'viewer'});

	assert.equal(gone.status, 404, gone.text);
});

/** As both the list and the look at one have it. */
async function seen(query = '?fresh=true')
{
	await list(query);
	const one = (await call(s, 'GET', AT, {role: 'viewer'})).json;
	const item = (await call(s, 'GET', '/api/v1/clusters', {role: 'viewer'})).json.items.find(c => c.name === 'fleet');

	for (const member of ['status', 'trouble', 'observed_at'])
		assert.deepEqual(one[member], item[member], member);
	return one;
}

test('an undo that ends others\' pods has the word of its plan', async () => {
	const before_ = (await listed('nodes that run', items => items.length > 0 && ready(items.length)(items))).items;
	const {group} = before_[0], had = before_.filter(i => i.group === group).length;

	await s.cloud.settings({capacity: {'ml.g5.12xlarge': before_.length + 1}});
	const op = (await call(s, 'POST', `${AT}/groups/${group}:scale`, {role: 'operator', body: {count: had + 2}})).json;
	const isNew = i => i.ready && i.instance_id && !before_.some(x => x.instance_id === i.instance_id);
	const added = (await listed('one node more', items => items.some(isNew))).items.find(isNew);

	/* Idle nodes go first: none is. */
	for (const i of [...before_, added])
		pod(`theirs-${i.instance_id}`, `hyperpod-${i.instance_id}`);
	const cancel = query => call(s, 'POST', `/api/v1/operations/${op.id}:cancel?${query}`, {role: 'operator', body: {undo: true}});
	const plan = await waitFor('the pod at stake', async () => {
		const p = await cancel('dry_run=plan');

		return p.json.confirm ? p : null;
	});

	assert.equal(plan.json.kind, 'scale_instance_group', plan.text);
	assert.match(JSON.stringify(plan.json.at_stake), /default\/theirs/);
	const bare = await cancel(`confirm=${op.id}`);

	assert.equal(`${bare.status} ${bare.json.code}`, '409 loss-not-confirmed', bare.text);
	const done = await cancel(`confirm=${plan.json.confirm}`);

	assert.equal(done.status, 202, done.text);
	const over = await until(s, op.id, 'its end', x => x.done);

	assert.equal(over.state, 'cancelled', JSON.stringify(over.error));
	await listed('as many as before', ready(before_.length));
	await s.cloud.settings({capacity: {'ml.g5.12xlarge': null}});
});

test('nodes of a cluster that somebody else has deleted are listed no longer; its status says so', async () => {
	const was = await seen();

	assert.deepEqual([was.status, was.trouble], ['in_service', []]);
	command('aws', ['sagemaker', 'delete-cluster', '--cluster-name', 'fleet']);
	const none = await listed('no nodes', l => l.length === 0);

	assert.equal(none.refresh.error ?? null, null);
	assert.equal(none.total, 0);
	const gone = await seen();

	assert.equal(gone.status, 'control_plane_ready');
	assert.match(gone.trouble.join(), /^There is no HyperPod cluster fleet any more/);
	assert(gone.observed_at > was.observed_at);
});

test('an EKS cluster that was made anew under its name, and one that is gone, are not taken for ours', async () => {
	psql(s, `update cluster set facts = jsonb_set(facts, '{eks,endpoint}', '"https://OLD.example"'),
		updated_at = now() - interval '1 hour' where name = 'fleet'`);
	const other = await seen();

	assert.match(other.trouble.join(), /The EKS cluster fleet is not the one that was recorded/);
	assert.notEqual(other.endpoint, 'https://OLD.example');
	/* Deleted by hand: the look ends, and says what it has seen. */
	await s.cloud.addFaults({service: 'eks', op: 'DescribeCluster', fault: 'error', status: 404,
		code: 'ResourceNotFoundException', message: 'No cluster found for name: fleet.', for_ms: 60000});
	const gone = await waitFor('a look without it', async () => {
		const c = await seen();

		return c.trouble.some(t => t.startsWith('There is no EKS cluster')) ? c : null;
	});

	assert.equal(gone.status, 'unknown');
	assert.equal(gone.kubernetes_version, other.kubernetes_version);
	await s.cloud.clearFaults();
});
