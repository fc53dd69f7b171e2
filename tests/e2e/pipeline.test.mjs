// One request makes a whole cluster: by curl as a CI job would, by MCP alone, by the
// official clients. What was made is looked at from the outside, and all of it goes.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {shellEnv, tools, top, waitFor} from '../stack/stack.mjs';
import {call, end, tool} from './faces.mjs';
import {TYPE, census, creations, remove, request, succeeded, world} from './pipeline.mjs';

let s;

before(async () => {
	s = await world();
});
after(() => end(s));

const get = (path, role = 'viewer') => call(s, 'GET', `/api/v1${path}`, {role});

/** A block of the README, as it is there. */
function readme(language, heading)
{
	const text = fs.readFileSync(`${top}/README.md`, 'utf8');
	const section = text.slice(text.indexOf(`## ${heading}`));

	return new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(section)[1];
}

/** Runs it beside the test; gives status and output. */
function background(command, args, options)
{
	return new Promise(resolve => {
		const child = spawn(command, args, options);
		let text = '';

		child.stdout.on('data', d => text += d);
		child.stderr.on('data', d => text += d);
		child.on('close', status => resolve({status, text}));
	});
}

test('by curl, as the README has it; the job that is repeated finds the same cluster', async () => {
	const job = () => {
		const cwd = fs.mkdtempSync(`${s.dir}/ci-`);

		return background('bash', ['-euo', 'pipefail', '-c', readme('sh', 'From a CI job')], {cwd,
			env: {PATH: process.env.PATH, URL: s.url, TOKEN: s.tokens.operator, CI_JOB: 'job-4711'}})
			.then(r => ({...r, operation: JSON.parse(fs.readFileSync(`${cwd}/operation.json`, 'utf8'))}));
	};
	const first = await job();

	assert.equal(first.status, 0, first.text + JSON.stringify(first.operation));
	assert.equal(first.operation.state, 'succeeded');
	const again = await job();

	assert.equal(again.status, 0, again.text);
	assert.equal(again.operation.id, first.operation.id);
	const cluster = (await get('/clusters/nightly')).json;

	assert.equal(cluster.status, 'in_service');
	assert.deepEqual([cluster.account, cluster.region], ['123456789012', 'us-west-2']);
	assert.equal(cluster.storages[0].observed.status, 'mounted');
	assert(cluster.dependencies.every(d => d.observed.state === 'ready'), JSON.stringify(cluster.dependencies));
});

function kubectl(args, input = '')
{
	const done = spawnSync(`${tools}/kubectl`, args, {encoding: 'utf8', input, env: {...shellEnv(s),
		AWS_REGION: 'us-west-2', KUBECONFIG: `${s.dir}/kubeconfig`}});

	assert.equal(done.status, 0, done.stderr);
	return done.stdout;
}

const apply = object => kubectl(['apply', '--validate=false', '-f', '-'], JSON.stringify(object));

test('what was made is what was asked for, in the cloud\'s own words', async () => {
	const state = await s.cloud.state();
	const cluster = state['sagemaker.cluster'].nightly;

	assert.equal(cluster.NodeRecovery, 'Automatic');
	assert.equal(cluster.NodeProvisioningMode, 'Continuous');
	assert.equal(cluster.InstanceGroups[0].CurrentCount, 2);
	assert.equal(state['eks.cluster'].nightly.accessConfig.authenticationMode, 'API_AND_CONFIG_MAP');
	const kubeconfig = spawnSync(`${tools}/aws`, ['eks', 'update-kubeconfig', '--name', 'nightly', '--kubeconfig',
		`${s.dir}/kubeconfig`], {encoding: 'utf8', env: {...shellEnv(s), AWS_REGION: 'us-west-2'}});

	assert.equal(kubeconfig.status, 0, kubeconfig.stderr);
	const all = JSON.parse(kubectl(['get', 'nodes,pvc,pv,jobs', '-A', '-o', 'json'])).items;
	const of = kind => all.filter(o => o.kind === kind);

	assert.equal(of('Node').length, 2);
	assert.deepEqual(of('PersistentVolumeClaim').map(o => [o.metadata.name, o.status.phase]), [['data', 'Bound']]);
	assert.equal(of('PersistentVolume')[0].metadata.labels['app.kubernetes.io/managed-by'], 'instantstart');
	assert.deepEqual(of('Job'), [], 'the probe cleans up after itself');
	const made = await creations(s, 'nightly');

	for (const [what, times] of Object.entries(made))
		assert.equal(times, 1, what);
	/* Every resource that the catalog says is ours exists once. */
	const resources = (await get('/clusters/nightly')).json.resources;

	assert.equal(new Set(resources.map(r => `${r.type} ${r.id}`)).size, resources.length);
	assert(resources.some(r => r.type === 'sagemaker:cluster'));
});

test('by MCP tools/call alone, led by the answers themselves', async () => {
	const mcp = async (name, args = {}) => {
		const r = await tool(s, name, args, {role: 'operator'});

		assert.equal(r.isError, false, `${name}: ${JSON.stringify(r)}`);
		return r.structuredContent;
	};
	const {items: zones} = await mcp('list_availability_zones');
	const zone = zones[0].name ?? zones[0].zone;
	const {items: types} = await mcp('list_instance_types', {zone});

	assert(types.some(t => t.instance_type === TYPE || t.name === TYPE), JSON.stringify(types[0]));
	await mcp('check_quotas', {instance_type: TYPE, count: 1});
	const args = request('agent', {zone, idempotency_key: 'agent-1'});
	const plan = await mcp('create_cluster', {...args, idempotency_key: undefined, dry_run: 'plan'});

	assert.match(plan.plan_digest, /^[0-9a-f]{64}$/);
	let op = await mcp('create_cluster', args);
	const id = op.id;

	while (op.next) {
		assert.equal(op.next.tool, 'get_operation');
		op = await mcp(op.next.tool, op.next.arguments);
	}
	assert.equal(`${op.id} ${op.state}`, `${id} succeeded`, JSON.stringify(op.error));
	assert.equal((await mcp('get_cluster', {cluster: 'agent'})).status, 'in_service');
	assert.equal((await mcp('get_cluster')).name, 'agent', 'whoever makes a cluster has it selected');
	await mcp('get_dependencies', {cluster: 'agent'});
	await mcp('get_hyperpod_cluster', {cluster: 'agent'});
	assert.equal((await mcp('list_storages')).items[0].name, 'data');
	/* A bucket that is not there is the caller's to name right, not our failure. */
	const bucket = await tool(s, 'create_s3_storage', {cluster: 'agent', name: 'more', bucket: 'no-such-bucket-at-all', dry_run: 'plan'}, {role: 'operator'});
	const absent = JSON.parse(bucket.content[0].text);

	assert.deepEqual([absent.code, absent.status, absent.field, absent.retry], ['cloud-not-found', 404, '/bucket', 'human']);
	const refused = await tool(s, 'delete_cluster', {cluster: 'agent'}, {role: 'operator'});

	assert.equal(refused.isError, true);
	op = await mcp('delete_cluster', {cluster: 'agent', confirm: 'agent'});
	while (op.next)
		op = await mcp(op.next.tool, op.next.arguments);
	assert.equal(op.state, 'succeeded', JSON.stringify(op.error));
	assert.deepEqual(await census(s, 'agent'), {});
});

async function sdkClient(era)
{
	const [{Client}, {StreamableHTTPClientTransport}, options] = era === 'modern'
		? [await import('@modelcontextprotocol/client'), await import('@modelcontextprotocol/client'),
			{versionNegotiation: {mode: {pin: '2026-07-28'}}}]
		: [await import('@modelcontextprotocol/sdk/client/index.js'),
			await import('@modelcontextprotocol/sdk/client/streamableHttp.js'), {}];
	const client = new Client({name: 'e2e', version: '1'}, options);

	await client.connect(new StreamableHTTPClientTransport(new URL(`${s.url}/mcp`),
		{requestInit: {headers: {authorization: `Bearer ${s.tokens.operator}`}}}));
	await client.listTools();
	return client;
}

test('by the official clients of both eras at the same time', async () => {
	await Promise.all(['legacy', 'modern'].map(async era => {
		const client = await sdkClient(era);
		const mcp = async (name, args) => {
			const r = await client.callTool({name, arguments: args});

			assert(!r.isError, `${era} ${name}: ${r.content[0].text}`);
			return r.structuredContent;
		};
		let op = await mcp('create_cluster', request(`sdk-${era}`));

		while (op.next)
			op = await mcp(op.next.tool, op.next.arguments);
		assert.equal(op.state, 'succeeded', JSON.stringify(op.error));
		await client.close();
	}));
});

test('a second storage, its removal, and an import that changes nothing', async () => {
	const more = await call(s, 'POST', '/api/v1/clusters/nightly/storages', {role: 'operator',
		body: {name: 'results', prefix: 'results/', read_only: true}});

	assert.equal(more.status, 202, more.text);
	await succeeded(s, more.json.id);
	assert.deepEqual((await get('/clusters/nightly/storages')).json.items.map(x => x.name).sort(), ['data', 'results']);
	assert.deepEqual((await get('/clusters/nightly/storages')).json.items.map(x => x.status), ['mounted', 'mounted']);
	/* What a person deletes is not mounted for ever. */
	kubectl(['delete', 'pvc', 'results', '--wait=false']);
	await waitFor('a broken storage', async () => (await get('/clusters/nightly/storages')).json.items[1].status === 'broken');
	const [data, results] = (await get('/clusters/nightly/storages')).json.items;

	assert.deepEqual([data.status, data.why, data.not_known], ['mounted', undefined, undefined]);
	assert.match(results.why, /claim default\/results (no longer exists|is being deleted)/);
	const gone = await call(s, 'DELETE', '/api/v1/clusters/nightly/storages/results?confirm=results', {role: 'operator'});

	assert.equal(gone.status, 202, gone.text);
	await succeeded(s, gone.json.id);
	assert.deepEqual((await get('/clusters/nightly/storages')).json.items.map(x => x.name), ['data']);

	const before = (await s.cloud.ledger()).length;
	const taken = await call(s, 'POST', '/api/v1/clusters:import', {role: 'operator',
		body: {name: 'twin', eks_name: 'nightly'}});

	assert.equal(taken.status, 202, taken.text);
	const imported = await succeeded(s, taken.json.id);

	assert.equal((await s.cloud.ledger()).length, before, 'an import mutates nothing');
	assert.equal((await get('/clusters/twin')).json.hyperpod_name, 'nightly', JSON.stringify(imported.result));
	const noDelete = await call(s, 'DELETE', '/api/v1/clusters/twin?confirm=twin', {role: 'operator'});

	assert.equal(`${noDelete.status} ${noDelete.json.code}`, '409 state-conflict');
	assert.equal((await call(s, 'POST', '/api/v1/clusters/twin:forget', {role: 'operator'})).status, 200);
	assert.equal((await get('/clusters/twin')).status, 404);
	assert.equal((await get('/clusters/nightly')).json.status, 'in_service');
});

test('delete keeps the user\'s data and leaves nothing else', async () => {
	const bucket = (await get('/clusters/nightly/storages')).json.items[0].bucket;
	const put = spawnSync(`${tools}/aws`, ['s3api', 'put-object', '--bucket', bucket, '--key', 'results/model.bin',
		'--body', `${top}/LICENSE`], {encoding: 'utf8', env: {...shellEnv(s), AWS_REGION: 'us-west-2'}});

	assert.equal(put.status, 0, put.stderr);
	/* What the load balancer controller makes for these stands in the VPC, in no stack;
	 * one of its groups it forgets. */
	apply({apiVersion: 'v1', kind: 'Service', metadata: {name: 'front'}, spec: {type: 'LoadBalancer',
		selector: {app: 'x'}, ports: [{port: 80}]}});
	apply({apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: {name: 'api'}, spec: {
		ingressClassName: 'alb', defaultBackend: {service: {name: 'front', port: {number: 80}}}}});
	const groups = await waitFor('groups of load balancers', async () => {
		const all = Object.values((await s.cloud.state())['ec2.group']).filter(g => g.Tags?.some(t =>
			t.Key === 'elbv2.k8s.aws/cluster' && t.Value === 'nightly'));

		return all.length === 2 ? all : null;
	});

	/* Protected by a hand that left no annotation: known before anything is deleted. */
	const [arn] = Object.keys((await s.cloud.state())['elbv2.balancer']);
	const protect = on => spawnSync(`${tools}/aws`, ['elbv2', 'modify-load-balancer-attributes', '--load-balancer-arn', arn,
		'--attributes', `Key=deletion_protection.enabled,Value=${on}`], {encoding: 'utf8', env: {...shellEnv(s), AWS_REGION: 'us-west-2'}});

	assert.equal(protect(true).status, 0);
	const refused = await call(s, 'DELETE', '/api/v1/clusters/nightly?dry_run=plan', {role: 'admin'});

	assert.equal(refused.json.code, 'blocked', refused.text);
	assert.match(refused.json.detail, /deletion protection of the load balancer/);
	assert.ok(refused.json.fix.includes(arn), refused.text);
	assert.equal(protect(false).status, 0);
	await s.cloud.settings({balancers_left: true});
	const plan = await call(s, 'DELETE', '/api/v1/clusters/nightly?dry_run=plan', {role: 'admin'});

	assert.match(plan.text, /load balancers of these are also deleted: Ingress default\/api, Service default\/front/);
	await Promise.all(['nightly', 'sdk-legacy', 'sdk-modern'].map(async name => {
		await succeeded(s, (await remove(s, name)).id);
		assert.deepEqual(await census(s, name), {}, `left of ${name}`);
		assert.equal((await get(`/clusters/${name}`)).status, 404);
	}));
	for (const g of groups)
		assert.equal((await s.cloud.state())['ec2.group'][g.GroupId], undefined, g.GroupName);
	const objects = JSON.stringify((await s.cloud.state())['s3.object'] ?? (await s.cloud.state())['s3.bucket']);

	assert.match(objects, /results\/model\.bin/);
	assert.equal((await get('/clusters')).json.items.length, 0);
});
