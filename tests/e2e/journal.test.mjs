// The journal's word: every 202 exists and ends once, whatever happens to the database.
// Sessions are ended under parallel requests, the server's defaults are odd, and a
// standby takes over, and back. JOURNAL_POSTS says how many requests (make test-journal
// takes 10,000).
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {pgServer, psql, sleep, waitFor} from '../stack/stack.mjs';
import {end, start} from './faces.mjs';

const POSTS = Number(process.env.JOURNAL_POSTS ?? 150);
const PARALLEL = 16;
/* After the database is back. */
const WRITES_WITHIN_MS = 5000;

let s;
const accepted = new Map(); /* key to id */
const odd = new Map();      /* other answers: status and code, how often */

before(async () => {
	s = await start({cloud: true, speed: 2000, pgStandby: true,
		pgEnv: {PG_FSYNC: 'on', PG_INITDB: '-k'}});
	/* What a database may have as its defaults. */
	for (const setting of ["default_transaction_isolation = 'serializable'",
		'default_transaction_read_only = on', "timezone = 'Asia/Tokyo'",
		"search_path = public", 'synchronous_commit = off'])
		psql(s, `alter database instantstart set ${setting}`);
	await follow('pg2', 'pg');
	psql(s, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
		+ ' and pid <> pg_backend_pid()');
});
after(() => end(s));

/* A standby that has all that was acknowledged. */
async function follow(name, of)
{
	pgServer(s, name === 'pg2' && of === 'pg' && !follow.was ? 'standby' : 'rejoin', name, of);
	follow.was = true;
	/* Once it takes writes, nobody follows it yet. */
	for (const sql of ['alter system reset synchronous_standby_names', 'select pg_reload_conf()'])
		psql({...s, owner_url: `host=${s.dir}/${name} user=postgres dbname=postgres`}, sql);
	psql(s, "alter system set synchronous_standby_names = '*'");
	psql(s, 'select pg_reload_conf()');
	/* What was acknowledged before there was a standby is on it, too. */
	await waitFor('the standby', () => psql(s, `select count(*) from pg_stat_replication
		where sync_state = 'sync' and flush_lsn >= pg_current_wal_flush_lsn()`) === '1');
}

const headers = key => ({authorization: `Bearer ${s.tokens.operator}`,
	'content-type': 'application/json', 'idempotency-key': key});

async function post(key)
{
	return fetch(`${s.url}/api/v1/clusters:import`, {method: 'POST', headers: headers(key),
		body: JSON.stringify({eks_name: `no-${key}`}), signal: AbortSignal.timeout(60000)});
}

/* As a client does: the same key until there is an answer that is one. */
async function submit(key)
{
	for (;;) {
		const r = await post(key).catch(e => ({status: 0, json: async () => ({code: e.name})}));
		const body = await r.json().catch(() => ({}));

		if (r.status === 202) {
			accepted.set(key, body.id);
			return;
		}
		const what = `${r.status} ${body.code}`;

		odd.set(what, (odd.get(what) ?? 0) + 1);
		assert([0, 502, 503, 504].includes(r.status), `${key}: ${what} ${JSON.stringify(body)}`);
		await sleep(100);
	}
}

/** So many requests at a time, while `during` does its work; all are accepted in the end. */
async function submitMany(name, n, during)
{
	let next = 0;
	const worker = async () => {
		while (next < n)
			await submit(`${name}-${next++}`);
	};

	await Promise.all([...Array.from({length: PARALLEL}, worker), during(() => next >= n)]);
	assert.equal([...accepted.keys()].filter(k => k.startsWith(`${name}-`)).length, n);
}

function assertAllThere()
{
	const ids = new Set(psql(s, 'select id from operation').split('\n'));

	for (const [key, id] of accepted)
		assert(ids.has(id), `${key}: ${id} was accepted and is not there`);
	assert.equal(new Set(accepted.values()).size, accepted.size, 'two keys, one operation');
}

/* What /readyz said, and when it was asked and had answered. */
async function ready()
{
	const from = Date.now();
	const r = await fetch(`${s.url}/readyz`, {signal: AbortSignal.timeout(20000)});
	const body = await r.json();

	return {from, to: Date.now(), ok: r.status === 200, checks: body.checks ?? {}};
}

/* Of its own part: after thousands of requests pollers are behind, and it says so. */
async function serves()
{
	const {checks} = await ready();

	return checks.database?.ok && checks.write?.ok;
}

async function watch(saw, over)
{
	while (!over.now) {
		saw.push(await ready());
		await sleep(40);
	}
}

test('sessions are ended all the time under parallel requests, with odd defaults', async () => {
	let ended = 0;

	await submitMany('end', Math.ceil(POSTS / 3), async done => {
		while (!done()) {
			ended += Number(psql(s, `select count(pg_terminate_backend(pid)) from (select pid
				from pg_stat_activity where datname = current_database() and state = 'active'
				and pid <> pg_backend_pid() order by random() limit 1) x`));
			await sleep(40);
		}
	});
	assert(ended > 0 || POSTS < 200, 'no session was ended');
	assertAllThere();
	await waitFor('readiness', serves);
});

/** The primary dies, the standby takes over, the old one follows it. */
async function failOver(name, from, to)
{
	const saw = [], over = {now: false};
	const times = {};

	await submitMany(name, Math.ceil(POSTS / 3), async () => {
		const watching = watch(saw, over);

		await sleep(300);
		pgServer(s, 'stop', from, null, {PG_STOP: 'immediate'});
		times.gone = Date.now();
		await sleep(4000);
		times.promoting = Date.now();
		pgServer(s, 'promote', to);
		times.back = Date.now();
		await waitFor('a write', async () => (await post(`${name}-after`)).status === 202, 20000, 50);
		times.written = Date.now();
		await sleep(WRITES_WITHIN_MS);
		over.now = true;
		await watching;
	});
	await submit(`${name}-after`);
	assert(times.written - times.back <= WRITES_WITHIN_MS, `a write after ${times.written - times.back} ms`);
	/* While nobody took writes it said so, and which part; afterwards it is well again. */
	const down = saw.filter(r => r.from > times.gone && r.to < times.promoting);
	const up = saw.filter(r => r.from > times.back + WRITES_WITHIN_MS / 2);

	assert(down.length > 0 && up.length > 0, `${down.length} ${up.length}`);
	for (const r of down) {
		assert.equal(r.ok, false, JSON.stringify(r));
		assert.equal(r.checks.database.ok && r.checks.write.ok, false, JSON.stringify(r));
	}
	for (const r of up)
		assert.equal(r.checks.database.ok && r.checks.write.ok, true, JSON.stringify(r));
	assertAllThere();
	await follow(from, to);
	return times.written - times.back;
}

test('a streaming standby takes over, and the old primary takes over again', async () => {
	const there = await failOver('over', 'pg', 'pg2');
	const back = await failOver('back', 'pg2', 'pg');

	console.log(`# writes after ${there} ms and ${back} ms; other answers: ${JSON.stringify([...odd])}`);
});

test('a server that only reads is no database: readiness says so, and writes are refused in words', async () => {
	psql(s, "select pg_reload_conf()");
	pgServer(s, 'stop', 'pg', null, {PG_STOP: 'fast'});
	/* The standby alone: it answers questions and takes no writes. */
	await sleep(500);
	const r = await ready();
	const refused = await post('readonly');

	assert.equal(r.ok, false);
	assert.equal(refused.status, 503, await refused.text());
	pgServer(s, 'start', 'pg');
	await waitFor('readiness', serves);
	await submit('readonly');
});

test('every accepted operation ends, and ends once', async () => {
	await waitFor('all ends', () => psql(s, 'select count(*) from operation where ended_at is null') === '0',
		60000 + POSTS * 60, 500);
	assertAllThere();
	assert.equal(psql(s, `select count(*) from (select op_id from event where what in
		('succeeded', 'failed', 'cancelled') group by op_id having count(*) <> 1) x`), '0');
	assert.equal(psql(s, 'select count(*) from op_replay_check()'), '0');
	assert.equal(Number(psql(s, 'select count(*) from operation')), accepted.size);
	console.log(`# ${accepted.size} operations`);
});
