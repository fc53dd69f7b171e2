// Requests that wait, workers that die, programs that are renewed, clients that are
// slow: nobody else notices.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {psql, startService, stop, waitFor} from '../stack/stack.mjs';
import {call, change, end, modern, operation, rawConnection, start} from './faces.mjs';

const FAST = 3;
/* A wait of 20 s that nothing ends ends after 20 s; one that was ended is told from it by
 * half of that, on the busiest machine. */
const HALF = 10000;
let s;

before(async () => {
	s = await start({poller: false, env: {INSTANTSTART_FCGI_WORKERS: String(FAST), INSTANTSTART_SLOW_WORKERS: '1'}});
});
after(() => end(s));

const viewer = {role: 'viewer'};
const now = () => performance.now();

async function timed(fn)
{
	const began = now();
	const result = await fn();

	return {result, ms: now() - began};
}

const get = (id, query = '') => call(s, 'GET', `/api/v1/operations/${id}${query}`, viewer);
const parked = async () => Number(/^instantstart_parked_total (\d+)/m.exec(
	await (await fetch(`${s.url}/metrics`)).text())[1]);
const workers = () => fs.readFileSync(`/proc/${s.pids.fcgi}/task/${s.pids.fcgi}/children`, 'utf8')
	.trim().split(/\s+/).map(Number);

test('a wait ends with the change, on both faces and in both eras', async () => {
	const id = operation(s);
	const legacy = {jsonrpc: '2.0', id: 'abc', method: 'tools/call', params: {name: 'get_operation', arguments: {id, wait_seconds: 20}}};
	const before = await parked();
	const all = Promise.all([
		timed(() => get(id, '?wait=20')),
		timed(() => modern(s, 'tools/call', {name: 'get_operation', arguments: {id, wait_seconds: 20}}, {id: 77})),
		timed(async () => {
			const res = await fetch(`${s.url}/mcp`, {method: 'POST', body: JSON.stringify(legacy), headers: {
				authorization: `Bearer ${s.tokens.viewer}`, 'content-type': 'application/json', accept: 'application/json', 'mcp-protocol-version': '2025-11-25'}});

			return {json: await res.json(), status: res.status};
		}),
	]);

	await waitFor('three parked', async () => await parked() === before + 3);
	change(s, id, 'the change that was waited for');
	const [rest, mcp, old] = await all;

	for (const r of [rest, mcp, old]) {
		assert.equal(r.result.status, 200);
		assert(r.ms < HALF, `${r.ms} ms`);
	}
	assert.equal(rest.result.json.waiting_for, 'the change that was waited for');
	assert.equal(mcp.result.json.id, 77);
	assert.equal(mcp.result.json.result.resultType, 'complete');
	assert.equal(mcp.result.json.result.structuredContent.waiting_for, 'the change that was waited for');
	assert.equal(old.result.json.id, 'abc');
	assert.equal(old.result.json.result.resultType, undefined);
	assert.equal(old.result.json.result.structuredContent.waiting_for, 'the change that was waited for');
});

test('a wait ends with its time; what has changed already is answered at once', async () => {
	const id = operation(s);
	const late = await timed(() => get(id, '?wait=1'));

	assert.equal(late.result.status, 200);
	assert(late.ms >= 900 && late.ms < HALF, `${late.ms} ms`);
	const version = late.result.json.version;

	change(s, id);
	const seen = await timed(() => get(id, `?wait=20&seen_version=${version}`));

	assert(seen.ms < HALF, `${seen.ms} ms`);
	const etag = seen.result.headers.get('etag');
	const same = await timed(() => call(s, 'GET', `/api/v1/operations/${id}?wait=1`, {...viewer, headers: {'if-none-match': etag}}));

	assert.equal(same.result.status, 304);
	psql(s, `select op_cancel('{"op":"${id}","principal":"admin","face":"rest","args":{"undo":false}}')`);
	psql(s, `update operation set state = 'cancelled', ended_at = j_now() where id = '${id}'`);
	const done = await timed(() => get(id, '?wait=20'));

	assert.equal(done.result.json.done, true);
	assert(done.ms < HALF, `${done.ms} ms`);
	assert.equal((await get('op_none', '?wait=20')).status, 404);
});

/** How long n requests of somebody else take, sorted. */
async function beside(n)
{
	const all = [];

	for (let i = 0; i < n; i++) {
		const {result, ms} = await timed(me);

		assert.equal(result.status, 200);
		all.push(ms);
	}
	return all.sort((a, b) => a - b);
}

test('two hundred clients wait and no worker is taken', async () => {
	const ids = Array.from({length: 4}, () => operation(s));
	const before = await parked();
	const alone = await beside(200);
	const waiting = Array.from({length: 200}, (_, i) => timed(() => get(ids[i % 4], '?wait=25')));

	await waitFor('200 parked', async () => await parked() === before + 200);
	const ms = await beside(200);

	/* A request behind a worker that waits would take seconds; one beside it takes what it
	 * takes on this machine alone, and now and then a few times that. */
	assert(ms[197] < Math.max(250, 10 * alone[197]), `p99 of other requests ${ms[197]} ms, ${alone[197]} ms alone`);
	for (const id of ids)
		change(s, id);
	const all = await Promise.all(waiting);

	assert(all.every(r => r.result.status === 200 && r.result.json.waiting_for === 'something else'));
	console.log(`# p50 ${ms[100].toFixed(1)} ms, p99 ${ms[197].toFixed(1)} ms beside 200 waiting clients`);
});

test('without instantstart-live the present state is answered at once', async () => {
	const id = operation(s);
	const held = timed(() => get(id, '?wait=20'));
	const before = await parked();

	await waitFor('parked', async () => await parked() >= before);
	await stop(s, 'live');
	const away = await timed(() => get(id, '?wait=20'));

	assert.equal(away.result.status, 200);
	assert(away.ms < HALF, `${away.ms} ms`);
	const cut = await held;

	assert.equal(cut.result.status, 200);
	assert(cut.ms < HALF, `${cut.ms} ms`);
	startService(s, 'live');
	await waitFor('live', () => fs.existsSync(`${s.run}/live.sock`) && fs.readFileSync(`${s.dir}/live.log`, 'utf8').split('ev=serving').length >= 3);
	const again = timed(() => get(id, '?wait=20'));

	await new Promise(r => setTimeout(r, 50));
	change(s, id);
	const {ms} = await again;

	assert(ms < HALF, `${ms} ms`);
});

/** Runs fn as often as it can on `n` lines until stop() is called; answers statuses. */
function load(n, fn)
{
	const statuses = {};
	let on = true;
	const lines = Array.from({length: n}, async () => {
		while (on) {
			let status;

			try {
				status = (await fn()).status;
			} catch (e) {
				status = e.cause?.code ?? e.message;
			}
			statuses[status] = (statuses[status] ?? 0) + 1;
		}
	});

	return async () => {
		on = false;
		await Promise.all(lines);
		return statuses;
	};
}

const me = () => fetch(`${s.url}/api/v1/me`, {headers: {authorization: `Bearer ${s.tokens.viewer}`}})
	.then(async r => (await r.text(), r));

test('kill -9 of workers: readers notice nothing, and the dead are replaced', async () => {
	const finish = load(8, me);
	const first = workers();

	assert.equal(first.length, FAST + 1);
	for (const pid of first) {
		await new Promise(r => setTimeout(r, 100));
		process.kill(pid, 'SIGKILL');
	}
	await waitFor('replaced', () => {
		const there = workers();

		return there.length === FAST + 1 && there.every(pid => !first.includes(pid));
	});
	await new Promise(r => setTimeout(r, 200));
	const statuses = await finish();

	assert.deepEqual(Object.keys(statuses), ['200'], JSON.stringify(statuses));
	assert(statuses['200'] > 100, JSON.stringify(statuses));
	assert.match(await (await fetch(`${s.url}/metrics`)).text(), new RegExp(`^instantstart_worker_deaths_total ${FAST + 1}$`, 'm'));
});

test('SIGHUP renews the program and loses no request, changes included', async () => {
	const id = operation(s);
	const post = () => fetch(`${s.url}/api/v1/operations/${id}:cancel?dry_run=plan`, {method: 'POST',
		headers: {authorization: `Bearer ${s.tokens.operator}`}}).then(async r => (await r.text(), r));
	const readers = load(4, me), writers = load(4, post);

	for (let i = 0; i < 2; i++) {
		const before = workers();

		process.kill(s.pids.fcgi, 'SIGHUP');
		await waitFor('new workers', () => workers().filter(pid => !before.includes(pid)).length === FAST + 1);
		await waitFor('old ones gone', () => workers().every(pid => !before.includes(pid)), 30000);
	}
	const [r, w] = [await readers(), await writers()];

	assert.deepEqual([Object.keys(r), Object.keys(w)], [['200'], ['200']], JSON.stringify([r, w]));
});

test('slow and half-open clients hold nobody up', async () => {
	const head = `POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${s.tokens.admin}\r\nContent-Type: application/json\r\n`;
	const alone = (await beside(100)).at(-1);
	const half = await Promise.all(Array.from({length: 100}, (_, i) => rawConnection(s, [
		'GET /api/v1/me HTTP/1.1\r\nHo',
		`${head}Content-Length: 1000\r\n\r\n{"name":"`,
		'',
		`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam`,
	][i % 4])));
	const worst = (await beside(100)).at(-1);

	assert(worst < Math.max(1000, 10 * alone), `${worst} ms, ${alone} ms alone`);
	half.forEach(c => c.destroy());
	/* Large bodies that are refused, beside. */
	const big = await Promise.all(Array.from({length: 10}, () => call(s, 'POST', '/api/v1/tokens', {role: 'admin', body: 'x'.repeat(3 << 20)})));

	assert(big.every(r => r.status === 413 && r.json.code === 'too-large'));
	assert.equal((await me()).status, 200);
});

test('ten thousand requests leave no memory behind', async () => {
	const id = operation(s);
	const rss = () => workers().reduce((sum, pid) =>
		sum + Number(/RssAnon:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]), 0);
	const many = async n => {
		let left = n;

		await Promise.all(Array.from({length: 16}, async () => {
			while (left-- > 0) {
				const r = left % 3 ? await fetch(`${s.url}/api/v1/operations/${id}${left % 5 ? '' : '?odd=1'}`, {headers: {authorization: `Bearer ${s.tokens.viewer}`}})
					: await fetch(`${s.url}/mcp`, {method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', headers: {authorization: `Bearer ${s.tokens.viewer}`, 'content-type': 'application/json'}});

				await r.text();
			}
		}));
	};

	await many(1000);
	const before = rss();

	await many(10000);
	const grown = rss() - before;

	console.log(`# memory of ${FAST + 1} workers ${before} kB, ${grown} kB more after 10,000 requests`);
	/* A leak of a hundred bytes a request would be a megabyte; sanitizers keep what is freed. */
	if (!process.env.INSTANTSTART_BUILD.endsWith('/san'))
		assert(grown < 1000, `${grown} kB`);
});

test('a second program on the same folder does not steal the sockets', async () => {
	const before = fs.statSync(`${s.run}/fcgi.sock`);
	const second = spawnSync(`${s.build}/instantstart-fcgi`, {env: {...process.env, ...s.env}, encoding: 'utf8', timeout: 20000});

	assert.equal(second.status, 1, second.stderr);
	assert.match(second.stderr, /Another instance is running/);
	assert.equal(fs.statSync(`${s.run}/fcgi.sock`).ino, before.ino);
	assert.equal(before.mode & 0o777, 0o660);
	assert.equal((await me()).status, 200);
});

test('without the journal: 503 that says what to do, and back by itself', async () => {
	psql(s, 'alter role instantstart_faces nologin');
	psql(s, "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'instantstart_faces'");
	const away = await call(s, 'GET', '/api/v1/me', viewer);

	assert.equal(`${away.status} ${away.json.code} ${away.json.retry}`, '503 unavailable same-key');
	assert.equal((await call(s, 'GET', '/healthz')).status, 200);
	const ready = await fetch(`${s.url}/readyz`);

	assert.equal(ready.status, 503);
	/* Neither tells a stranger what PostgreSQL has said: roles, sockets, databases. */
	const stranger = await fetch(`${s.url}/api/v1/me`, {headers: {authorization: `Bearer ${s.tokens.viewer.slice(0, -4)}0000`}});
	const told = `${await stranger.text()}${await ready.text()}`;

	assert.equal(stranger.status, 503);
	assert(!/FATAL|nologin|instantstart_faces|socket|postgresql/i.test(told), told);
	psql(s, 'alter role instantstart_faces login');
	await waitFor('back', async () => (await me()).status === 200);
	const id = operation(s);
	const wait = timed(() => get(id, '?wait=20'));

	await new Promise(r => setTimeout(r, 100));
	change(s, id);
	const {ms} = await wait;

	assert(ms < HALF, `${ms} ms`);
});
