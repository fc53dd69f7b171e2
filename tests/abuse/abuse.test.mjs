// Each attack runs beside an innocent client on the loopback, against the product's own
// build. Bounded in requests and time; nothing but this stack's port is ever addressed.
//
// The innocent one's p99 must stay below twice what it is alone, just before and just
// after. Attackers and program share the processors here, and at a few milliseconds that
// is scheduling, not us: below FLOOR_MS nothing is compared.
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import net from 'node:net';
import {after, before, test} from 'node:test';
import {psql, token} from '../stack/stack.mjs';
import {capabilities, change, end, operation, start} from '../e2e/faces.mjs';
import {ask, innocent, p99} from './innocent.mjs';

const FLOOR_MS = 60;
const SECONDS = Number(process.env.ABUSE_SECONDS ?? 3);
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const ALONE_MS = 2500;
let s, mine;

before(async () => {
	s = await start({poller: false, cloud: true, env: {INSTANTSTART_REQUEST_RATE: '50'}, rate: 50, burst: 200});
	mine = await token(s, 'viewer', 'innocent');
});
after(() => end(s));

const metric = async name => Number((await (await fetch(`${s.url}/metrics`)).text()).match(new RegExp(`^instantstart_${name} (\\d+)`, 'm'))[1]);

/** Runs the attack and the innocent client together; the attack gets `over()`. */
async function beside(what, attack, {hold = true} = {})
{
	const deaths = await metric('worker_deaths_total');
	const before = await innocent(s, mine, ALONE_MS);
	const stop = Date.now() + SECONDS * 1000;
	const over = () => Date.now() > stop;
	const [answers, found] = await Promise.all([innocent(s, mine, SECONDS * 1000), attack(over)]);
	const worst = p99(answers);
	/* What else the machine does is felt alone, too. */
	const alone = Math.max(p99(before), hold && worst >= FLOOR_MS ? p99(await innocent(s, mine, ALONE_MS)) : 0);

	console.log(`# ${what}: innocent p99 ${worst.toFixed(1)} ms of ${answers.length}, alone ${alone.toFixed(1)} ms`);
	assert.deepEqual(answers.filter(a => a.status !== 200).map(a => a.status), [], `${what}: the innocent client's requests`);
	assert.equal(await metric('worker_deaths_total'), deaths, `${what}: workers died`);
	if (hold)
		assert(worst < Math.max(2 * alone, FLOOR_MS), `${what}: ${worst.toFixed(1)} ms, alone ${alone.toFixed(1)} ms`);
	return found;
}

/** n at a time, until it is over or max were made; gives how often each status came. */
async function flood(n, over, make, max = 5000)
{
	const counts = {};
	let made = 0;

	await Promise.all(Array.from({length: n}, async () => {
		while (!over() && made < max) {
			const {status} = await make(made++);

			counts[status] = (counts[status] ?? 0) + 1;
		}
	}));
	return counts;
}

test('a body of half a million wrong items costs its sender, nobody else', async () => {
	const bad = await token(s, 'operator', 'floods');
	const body = `{"name":"a","zone":"us-west-2a","instance_type":"ml.g5.xlarge","subnet_ids":[${'1,'.repeat(519000)}1]}`;
	const counts = await beside('wrong items', over => flood(8, over,
		() => ask(s, {method: 'POST', target: '/api/v1/clusters', token: bad, body})));

	assert.deepEqual(Object.keys(counts).filter(status => !['413', '429'].includes(status)), [], JSON.stringify(counts));
	assert(counts[413] > 0 && counts[429] > 0, JSON.stringify(counts));
});

test('a body of whoever may not call is not read', async () => {
	const viewer = await token(s, 'viewer', 'may-not');
	const body = `{"x":[${'1,'.repeat(400000)}1]}`;
	const counts = await beside('no role', over => flood(8, over,
		() => ask(s, {method: 'POST', target: '/api/v1/clusters', token: viewer, body})));

	assert.deepEqual(Object.keys(counts).filter(status => !['403', '429'].includes(status)), [], JSON.stringify(counts));
	/* Refused by its head alone: nobody sends the rest. */
	const status = await new Promise((resolve, reject) => {
		const c = net.connect(s.port, '127.0.0.1');

		c.setTimeout(5000, () => reject(new Error('the body is waited for')));
		c.on('data', d => resolve(String(d).split(' ')[1]));
		c.on('error', reject);
		c.write(`POST /api/v1/clusters HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900000\r\nAuthorization: Bearer ${viewer}\r\n\r\n`);
	});

	assert.equal(status, '429');
});

test('invented credentials share the budget of their address', async () => {
	const counts = await beside('rotating cookies', over => flood(4, over, i => ask(s, {
		headers: i % 2 ? {cookie: `instantstart_session=iss_${createHash('sha256').update(`${i}`).digest('hex')}`}
			: {authorization: `Bearer ist_${i}`}}), 2000));

	assert(!counts[200]);
	/* 200 at once and 50 a second are looked up; past that the caller must be known. */
	assert((counts[401] ?? 0) <= 200 + 50 * (SECONDS + 2), JSON.stringify(counts));
	assert(counts[429] > 0, JSON.stringify(counts));
});

test('slow bodies of strangers shut out nobody behind the same address', async () => {
	const held = [];

	await beside('slow bodies', async over => {
		for (let i = 0; i < 520; i++) {
			const c = net.connect(s.port, '127.0.0.1');

			c.on('error', () => {});
			c.write(`POST /api/v1/clusters HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\nAuthorization: Bearer ist_${i}\r\n\r\n{`);
			held.push(c);
		}
		while (!over()) {
			await sleep(200);
			held.forEach(c => c.writable && c.write(' '));
		}
	});
	held.forEach(c => c.destroy());
});

test('half a header holds a connection and nothing else', async () => {
	const held = [];

	await beside('half headers', async over => {
		for (let i = 0; i < 1000; i++) {
			const c = net.connect(s.port, '127.0.0.1');

			c.on('error', () => {});
			c.write('GET /api/v1/operations HTTP/1.1\r\nHost: local');
			held.push(c);
		}
		while (!over())
			await sleep(100);
	});
	held.forEach(c => c.destroy());
});

test('one principal\'s flood is its own', async () => {
	const loud = await token(s, 'viewer', 'loud');
	const counts = await beside('one principal', over => flood(8, over, () => ask(s, {token: loud}), 4000));

	assert((counts[200] ?? 0) <= 400 + 50 * (SECONDS + 2), JSON.stringify(counts));
	assert(counts[429] > 0, JSON.stringify(counts));
});

test('waits of one principal are bounded, and those of others go on', async () => {
	const greedy = await token(s, 'viewer', 'greedy');
	const id = operation(s), other = operation(s);
	const waits = Array.from({length: 240}, () => ask(s, {token: greedy, target: `/api/v1/operations/${id}?wait=20`}));

	await beside('parked waits', async over => {
		const wait = ask(s, {token: mine, target: `/api/v1/operations/${other}?wait=20`});

		await sleep(500);
		change(s, other);
		const {status, ms} = await wait;

		assert.equal(status, 200);
		assert(ms < 5000, `the innocent wait took ${ms} ms`);
		while (!over())
			await sleep(100);
	});
	change(s, id);
	await Promise.all(waits);
});

test('refused sign-ins are counted and fill no table', async () => {
	const rows = () => Number(psql(s, 'select count(*) from audit'));
	const had = rows(), counted = await metric('refused_sign_ins_total');
	const counts = await beside('sign-ins', over => flood(4, over, i => ask(s, {target: `/login?code=isl_${i}`}), 1000));

	assert.equal(rows(), had);
	assert.equal(await metric('refused_sign_ins_total') - counted, counts[401] ?? 0);
	assert(counts[429] > 0, JSON.stringify(counts));
});

/* --- the fuzzer ----------------------------------------------------------------------- */

/* A small generator, so that a seed is a run. */
function random(seed)
{
	let x = seed >>> 0 || 1;

	return n => {
		x ^= x << 13; x >>>= 0;
		x ^= x >>> 17;
		x ^= x << 5; x >>>= 0;
		return x % n;
	};
}

const ODD = [null, '', 0, -1, 1e308, 9007199254740993, true, [], {}, [[]], 'x'.repeat(70000), '\u0000', '\ud83d\ude00', '../..',
	'%00', 'ml.p5.48xlarge', 'arn:aws:iam::123456789012:role/x', '-', '*', '(a+)+$', {a: {b: {c: []}}}, ['a', 1, null]];

function mutate(value, rnd)
{
	if (rnd(4) === 0 || value === undefined)
		return ODD[rnd(ODD.length)];
	if (Array.isArray(value))
		return rnd(2) ? [...value, ...value, ODD[rnd(ODD.length)]] : value.map(v => mutate(v, rnd));
	if (value && typeof value === 'object')
		return Object.fromEntries(Object.entries(value).map(([k, v]) => [rnd(12) ? k : `${k}${rnd(9)}`, mutate(v, rnd)]));
	return value;
}

/** Some input for a schema, mostly of the right types. */
function made(schema, rnd, depth = 0)
{
	if (schema?.examples?.length && rnd(3))
		return schema.examples[0];
	if (schema?.enum)
		return schema.enum[rnd(schema.enum.length)];
	switch (schema?.type) {
	case 'object':
		return depth > 4 ? {} : Object.fromEntries(Object.entries(schema.properties ?? {a: {}}).filter(() => rnd(3))
			.map(([k, v]) => [k, made(v, rnd, depth + 1)]));
	case 'array':
		return Array.from({length: rnd(4)}, () => made(schema.items, rnd, depth + 1));
	case 'integer':
	case 'number':
		return rnd(1000);
	case 'boolean':
		return rnd(2) === 1;
	default:
		return ['demo', 'a', 'us-west-2a', '1.33', 'x y'][rnd(5)];
	}
}

test('a mutating fuzzer ends no worker of the product\'s own build', async () => {
	const seed = Number(process.env.SEED ?? 1), rnd = random(seed);
	const fuzz = await token(s, 'admin', 'fuzz');
	const rows = capabilities(s).filter(c => !/revoke|sign_out|log_?out|end_/.test(c.name));
	const deaths = await metric('worker_deaths_total');
	const bad = {};

	psql(s, "select 1");
	const counts = await flood(4, () => false, async () => {
		const cap = rows[rnd(rows.length)];
		const o = s.openapi.paths[cap.path]?.[cap.method.toLowerCase()];
		const query = (o.parameters ?? []).filter(p => p.in === 'query' && rnd(2))
			.map(p => `${p.name}=${encodeURIComponent(String(mutate(made(p.schema, rnd), rnd)).slice(0, 300).toWellFormed())}`).join('&');
		const target = `/api/v1${cap.path.replace(/^\/api\/v1/, '').replace(/\{\w+\}/g, () => ['demo', 'op_1', '%20', 'a'.repeat(200), 'x:y'][rnd(5)])}${query ? `?${query}` : ''}`;
		const schema = o.requestBody?.content?.['application/json']?.schema;
		const mcp = rnd(3) === 0;
		let text = JSON.stringify(mutate(made(schema ?? {type: 'object'}, rnd), rnd)) ?? '';

		if (rnd(10) === 0)
			text = text.slice(0, rnd(text.length + 1));
		const r = mcp
			? await ask(s, {method: 'POST', target: '/mcp', token: fuzz, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${cap.name}","arguments":${text || 'null'}}}`})
			: await ask(s, {method: cap.method, target, token: fuzz, ...(cap.method === 'GET' ? {} : {body: text})});

		/* 502 to 504 are what a cloud or a database may cause; 500 and none is ours. */
		if (r.status === 500 || r.status === 0)
			bad[`${cap.name} ${r.status}`] = (bad[`${cap.name} ${r.status}`] ?? 0) + 1;
		if (r.status === 429)
			await sleep(200);
		return r;
	}, Number(process.env.FUZZ_REQUESTS ?? 600));

	console.log(`# fuzzer, seed ${seed}: ${JSON.stringify(counts)}`);
	assert.deepEqual(bad, {});
	assert.equal(await metric('worker_deaths_total'), deaths);
});
