// What the tests of the whole pipeline share: a stack with a fast simulated cloud,
// clusters made and followed, and what the cloud then has.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {cloudOf, shellEnv, tools, waitFor} from '../stack/stack.mjs';
import {call, start} from './faces.mjs';

/** "ml.g5.12xlarge for cluster usage": new accounts have none of it. */
export const GPU_QUOTA = 'L-4C3F99F6';
export const TYPE = 'ml.g5.12xlarge';

/* Room for many clusters at once: VPCs, gateways, addresses, instances. */
const GRANTED = Object.fromEntries(['L-F678F1CE', 'L-A4707A72', 'L-FE5A380F', 'L-0263D0A3', 'L-3308CCC7',
	GPU_QUOTA].map(code => [code, 100]));

/** Life cycles run a thousand times faster than in AWS; lists lag all the same. */
export async function world(options = {})
{
	const {env, settings, ...more} = options;
	const s = await start({cloud: true, speed: 1000, cloudArgs: ['--list-lag-ms', '300'], ...more, env: {
		INSTANTSTART_POLL_SCALE_PERCENT: '1', INSTANTSTART_TICK_MS: '100', INSTANTSTART_VISIBILITY_MS: '1000',
		INSTANTSTART_POLLERS: '4', ...env}});

	s.cloud = cloudOf(s.cloud_url);
	await s.cloud.settings({quota: GRANTED, ...settings});
	return s;
}

export const request = (name, more = {}) => ({name, zone: 'us-west-2a', instance_type: TYPE, ...more});

/** POST /clusters; gives the accepted operation. */
export async function create(s, name, more = {}, {role = 'admin'} = {})
{
	const r = await call(s, 'POST', '/api/v1/clusters', {role, body: request(name, more),
		headers: {'idempotency-key': `create-${name}`}});

	assert.equal(r.status, 202, r.text);
	return r.json;
}

export async function operation(s, id, query = '')
{
	const r = await call(s, 'GET', `/api/v1/operations/${id}${query}`, {role: 'viewer'});

	assert.equal(r.status, 200, r.text);
	return r.json;
}

/** Long polls until test(operation), at the latest until it has ended. */
export async function until(s, id, what, test, ms = 60000)
{
	const end = Date.now() + ms;
	let op = await operation(s, id);

	while (!test(op)) {
		assert(!op.done, `${what}: ${op.kind} ended ${op.state}: ${JSON.stringify(op.error ?? op.result)}`);
		assert(Date.now() < end, `${what}: not within ${ms} ms; ${op.kind} is ${op.status} at ${op.step}: ${op.waiting_for}`);
		op = await operation(s, id, `?wait=2&seen_version=${op.version}`);
	}
	return op;
}

export const ended = (s, id, ms) => until(s, id, 'its end', op => op.done, ms);

export async function succeeded(s, id, ms)
{
	const op = await ended(s, id, ms);

	assert.equal(op.state, 'succeeded', `${op.kind} ${op.target}: ${JSON.stringify(op.error)}`);
	return op;
}

export async function failed(s, id, ms)
{
	const op = await ended(s, id, ms);

	assert.equal(op.state, 'failed', `${op.kind} ${op.target}: ${op.state} ${JSON.stringify(op.result)}`);
	return op;
}

export const stageOf = (op, kind) => op.children?.findLast(c => c.kind === kind);

/** The stage that is at work, once there is one of that kind. */
export async function stage(s, id, kind, ms)
{
	const op = await until(s, id, `stage ${kind}`, o => stageOf(o, kind), ms);

	return operation(s, stageOf(op, kind).id);
}

/** Waits until the pipeline's stage of that kind stands at the step, or past it. */
export async function atStep(s, id, kind, step, ms = 30000)
{
	const child = await stage(s, id, kind, ms);

	return until(s, child.id, `step ${step}`, o => o.step === step, ms);
}

export async function order(s, id, verb, body = {}, role = 'admin')
{
	const r = await call(s, 'POST', `/api/v1/operations/${id}:${verb}`, {role, body});

	assert.equal(r.status, 202, r.text);
	return r.json;
}

export async function remove(s, name, {query = '', role = 'admin'} = {})
{
	const r = await call(s, 'DELETE', `/api/v1/clusters/${name}?confirm=${name}${query}`, {role});

	assert.equal(r.status, 202, r.text);
	return r.json;
}

export const events = async (s, id) => (await call(s, 'GET', `/api/v1/operations/${id}/events?limit=100`,
	{role: 'viewer'})).json.items;

/* --- what the cloud has -------------------------------------------------------- */

/** Whether it is about the cluster of that name: a name may be an ordinary word. */
export function mentions(name, ...values)
{
	const text = values.map(v => JSON.stringify(v)).join(' ');

	return new RegExp(`"(instantstart-|is-)?${name}("|-|/)|[/:]${name}["/]`).test(text);
}

/** Numbers of objects by table that were made for this cluster, user data apart. */
export async function census(s, name)
{
	const state = await s.cloud.state();
	/* What the cloud itself remembers of things that are gone, and of tokens. */
	const past = o => /^(DELETE_COMPLETE|deleted)$/.test(o.StackStatus ?? o.State);
	const found = {};

	for (const [table, objects] of Object.entries(state)) {
		if (/token|history/.test(table))
			continue;
		const n = Object.entries(objects).filter(([id, o]) => !past(o) && mentions(name, id, o)).length;

		if (n)
			found[table] = n;
	}
	return found;
}

/** Calls of the ledger that created something, as "service:Op name" to how often. */
export async function creations(s, name)
{
	const counts = {};

	for (const e of await s.cloud.ledger()) {
		if (!e.effects.some(x => x.change === 'create'))
			continue;
		if (!mentions(name, e.input))
			continue;
		const key = `${e.via}:${e.service}:${e.op} ${e.effects.filter(x => x.change === 'create')
			.map(x => `${x.type} ${x.id}`).join(' ').slice(0, 120)}`;

		counts[key] = (counts[key] ?? 0) + 1;
	}
	return counts;
}

export {waitFor};

/** The official CLI, as an administrator beside us would use it. */
export function aws(s, ...args)
{
	return new Promise((resolve, reject) => {
		const child = spawn(`${tools}/aws`, [...args, '--output', 'json'], {env: {...shellEnv(s), AWS_REGION: 'us-west-2'}});
		let out = '';
		let err = '';

		child.stdout.on('data', d => out += d);
		child.stderr.on('data', d => err += d);
		child.on('close', status => status === 0 ? resolve(out ? JSON.parse(out) : null)
			: reject(new Error(`aws ${args.join(' ')}: ${err}`)));
	});
}
