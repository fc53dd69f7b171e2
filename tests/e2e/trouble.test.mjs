// Changes of mind and deaths in the middle: cancel, delete, kill -9, PostgreSQL gone.
// Whatever happens, each thing is made once and nothing is left that nobody owns.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, describe, test} from 'node:test';
import {childrenOf, isAlive, killWorker, psql, restart, restartPostgres, sleep} from '../stack/stack.mjs';
import {call, end} from './faces.mjs';
import {atStep, census, create, creations, ended, events, operation, order, remove, stage, stageOf, succeeded, waitFor, world}
	from './pipeline.mjs';

/* Slow enough to be met in the middle; killed pollers' steps are due again soon. */
const SPEED = 250;
const LEASE_MS = 4000;
const KILLS = 12;
let s;
let calm;

before(async () => {
	s = await world({speed: SPEED, env: {INSTANTSTART_LEASE_MS: String(LEASE_MS),
		INSTANTSTART_CALL_TIMEOUT_MS: String(LEASE_MS - 1000)}});
});
after(() => end(s));

const catalog = async name => call(s, 'GET', `/api/v1/clusters/${name}`, {role: 'viewer'});

/** Every creation happened once, and there is as much as of a cluster that was left in peace. */
async function assertLikeCalm(name)
{
	for (const [what, times] of Object.entries(await creations(s, name)))
		assert.equal(times, 1, what);
	assert.deepEqual(await census(s, name), calm);
}

test('left in peace: what the others are compared with', async () => {
	await succeeded(s, (await create(s, 'calm')).id);
	calm = await census(s, 'calm');
	assert.equal(calm['eks.cluster'], 1);
	assert.equal(calm['sagemaker.cluster'], 1);
});

describe('changes of mind', {concurrency: true}, () => {
	test('cancel in the stack: it stops, lists what is there, and a retry goes on', async () => {
		const op = await create(s, 'stopped');

		await atStep(s, op.id, 'create_eks_control_plane', 'wait_stack');
		await order(s, op.id, 'cancel');
		const over = await ended(s, op.id);

		assert.equal(over.state, 'cancelled', JSON.stringify(over.error));
		assert.equal(over.retryable, true);
		const left = (await catalog('stopped')).json.resources;

		assert(left.some(r => r.type === 'cloudformation:stack'), JSON.stringify(left));
		await order(s, op.id, 'retry');
		await succeeded(s, op.id);
		await assertLikeCalm('stopped');
	});

	test('cancel with undo while nodes are awaited: everything goes in reverse', async () => {
		await s.cloud.settings({capacity: {'ml.g6e.12xlarge': 0}, quota: {'L-A15DF696': 4}});
		const op = await create(s, 'undone', {instance_type: 'ml.g6e.12xlarge'});

		await atStep(s, op.id, 'create_hyperpod_cluster', 'wait_nodes', 60000);
		await order(s, op.id, `cancel?confirm=${op.id}`, {undo: true});
		const over = await ended(s, op.id);

		assert.equal(over.state, 'cancelled', JSON.stringify(over.error));
		assert(stageOf(over, 'delete_cluster'), JSON.stringify(over.children));
		assert.deepEqual(await census(s, 'undone'), {});
		assert.equal((await catalog('undone')).status, 404);
	});

	test('delete in the middle of a create: the create is cancelled first, nothing is left', async () => {
		const op = await create(s, 'doomed');

		await atStep(s, op.id, 'create_eks_control_plane', 'wait_stack');
		/* A delete that is refused stops nothing. */
		const other = await call(s, 'DELETE', `/api/v1/clusters/doomed?confirm=doomed&plan_digest=${'0'.repeat(64)}`,
			{role: 'operator'});

		assert.equal(other.json.code, 'plan-changed', other.text);
		assert.equal(psql(s, `select cancel_requested from operation where id = '${op.id}'`), 'f');
		const gone = await remove(s, 'doomed');

		await succeeded(s, gone.id);
		assert.equal((await operation(s, op.id)).state, 'cancelled');
		assert.deepEqual(await census(s, 'doomed'), {});
		assert.equal((await catalog('doomed')).status, 404);
		/* The name is free again. */
		const again = await call(s, 'POST', '/api/v1/clusters?dry_run=plan', {role: 'admin',
			body: {name: 'doomed', zone: 'us-west-2a', instance_type: 'ml.g5.12xlarge'}});

		assert.equal(again.status, 200, again.text);
	});
});

test('kill -9 of pollers in the middle of their steps, while clusters are made', async () => {
	const ops = await Promise.all(['shot-a', 'shot-b'].map(name => create(s, name)));
	const seen = new Set();
	let making = true;
	const hunter = (async () => {
		while (making) {
			/* Who works on a step at this moment. */
			const claims = psql(s, `select kind || ' ' || step || ' ' || split_part(claimed_by, '/', 2)
				from operation where claimed_by is not null and state = 'live'`).split('\n').filter(Boolean);

			for (const claim of claims) {
				const [kind, step, pid] = claim.split(' ');

				if (seen.has(`${kind} ${step}`) || seen.size >= KILLS)
					continue;
				seen.add(`${kind} ${step}`);
				try {
					process.kill(Number(pid), 'SIGKILL');
				} catch (e) {
					assert.equal(e.code, 'ESRCH');
				}
			}
			await sleep(5);
		}
	})();

	try {
		await Promise.all(ops.map(op => succeeded(s, op.id, 120000)));
	} finally {
		making = false;
		await hunter;
	}
	assert.equal(seen.size, KILLS, [...seen].join(', '));
	for (const op of ops)
		await assertLikeCalm(op.target);
	const deaths = fs.readFileSync(`${s.dir}/poller.log`, 'utf8').match(/ev=worker_died .*signal=9/g);

	assert(deaths.length >= KILLS / 2, `${deaths.length} workers were killed`);
	assert.equal(Number(psql(s, "select count(*) from operation where state = 'held'")), 0);
});

test('a helm killed in the middle leaves its release pending: it is recovered by name', async () => {
	/* Its release is stored as pending when the first deployment is sent, and stays so. */
	await s.cloud.addFaults({kube: 'create deployments', fault: 'hang', times: 1});
	const op = await create(s, 'helmless');
	const child = await stage(s, op.id, 'reconcile_dependencies');

	await waitFor('helm hangs', async () => (await s.cloud.faults()).some(f => f._hits === 1), 60000);
	const victim = await waitFor('its poller', () =>
		childrenOf(s.services.poller.pid).find(w => childrenOf(w).length));
	const [helm] = childrenOf(victim);

	process.kill(victim, 'SIGKILL');
	await waitFor('helm dies with its poller', () => !isAlive(helm));
	await succeeded(s, op.id, 120000);
	const recovery = (await events(s, child.id)).find(e => e.what === 'recovery');

	assert.equal(recovery?.data.status, 'pending-install', JSON.stringify(recovery));
	assert.deepEqual(await census(s, 'helmless'), calm);
});

test('PostgreSQL dies at once, twice, in mid-pipeline: everything reconnects and goes on', async () => {
	const op = await create(s, 'database');

	await atStep(s, op.id, 'create_eks_control_plane', 'wait_stack');
	restartPostgres(s, 'immediate');
	await waitFor('readiness', async () => (await fetch(`${s.url}/readyz`)).ok);
	await stage(s, op.id, 'reconcile_dependencies');
	restartPostgres(s, 'immediate');
	await waitFor('readiness', async () => (await fetch(`${s.url}/readyz`)).ok);
	await succeeded(s, op.id, 60000);
	await assertLikeCalm('database');
});

test('kill -9 of FastCGI workers and of live while clients wait: the wait goes on or says so', async () => {
	const op = await create(s, 'faces');

	await atStep(s, op.id, 'create_eks_control_plane', 'wait_stack');
	const waits = Array.from({length: 20}, () => fetch(`${s.url}/api/v1/operations/${op.id}?wait=10`,
		{headers: {authorization: `Bearer ${s.tokens.viewer}`}}).then(r => r.status));

	await killWorker(s, 'live');
	const dead = await killWorker(s, 'fcgi');

	await waitFor('the worker is gone', () => !isAlive(dead));
	const statuses = await Promise.all(waits);

	assert.deepEqual([...new Set(statuses)], [200], String(statuses));
	await restart(s, 'poller', 'SIGKILL');
	await succeeded(s, op.id, 60000);
	await assertLikeCalm('faces');
});

test('the whole account, cleaned up: nothing of any cluster is left', async () => {
	const names = (await call(s, 'GET', '/api/v1/clusters?limit=100', {role: 'viewer'})).json.items.map(c => c.name);

	assert(names.length >= 6, names.join(' '));
	await Promise.all(names.map(async name => {
		await succeeded(s, (await remove(s, name)).id, 90000);
		assert.deepEqual(await census(s, name), {}, name);
	}));
	const verify = await call(s, 'GET', '/api/v1/audit:verify', {role: 'admin'});

	assert.equal(verify.status, 200, verify.text);
	assert.equal(verify.json.ok, true, verify.text);
});
