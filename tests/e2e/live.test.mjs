// The live channel: logs of a pod through everything that happens to pods, clusters,
// viewers and the programs between them; events of operations and of the catalog.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import {randomBytes} from 'node:crypto';
import {after, before, test} from 'node:test';
import {childrenOf, killWorker, psql, restart, signIn, sleep, startService, stop, waitFor} from '../stack/stack.mjs';
import {Cluster} from './podlogs.mjs';
import {Viewer} from './viewer.mjs';
import {bare, call, change, end, operation, rawConnection, start, tool} from './faces.mjs';

const PER_USER = 6;
let s, k;

before(async () => {
	k = await new Cluster().listen();
	s = await start({poller: false, env: {AWS_ENDPOINT_URL: k.url, INSTANTSTART_LIVE_PER_USER: String(PER_USER), INSTANTSTART_LOG_PROBE_MS: '1500'}});
	psql(s, `select cluster_put('lab', '{"eks_name": "lab"}')`);
	psql(s, `select installation_put('111122223333', 'us-west-2', 'aws', 'arn:aws:iam::111122223333:role/x')`);
});
after(async () => {
	await end(s);
	await k.close();
});

const open = [];
const logs = (query, more = {}) => {
	const v = new Viewer(s, '/ws/logs', {token: s.tokens.viewer, ...more, query: {cluster: 'lab', namespace: 'default', container: 'main', ...query}});

	open.push(v);
	return v;
};
const events = (more = {}) => {
	const v = new Viewer(s, '/ws/events', {token: s.tokens.viewer, ...more});

	open.push(v);
	return v;
};

/** Leaves no connection of a test to count against the next one. */
async function close()
{
	for (const v of open.splice(0)) {
		v.stop();
		await v.end();
	}
}

const numbers = (from, n) => Array.from({length: n}, (_, i) => `line ${from + i}`);

test('a log is followed through a restart to its end; one upstream for all viewers', async () => {
	const p = k.pod('train-0', {policy: 'OnFailure'});

	k.write(p, ...numbers(1, 5));
	const before = k.opened.log;
	const a = logs({pod: 'train-0'}), b = logs({pod: 'train-0', tail: 2});

	await a.has('line 5');
	await b.has('line 5');
	k.write(p, 'live');
	await a.has('live');
	assert.equal(k.opened.log, before + 1, 'one upstream');
	k.restart(p, 137);
	k.write(p, 'again');
	await a.has('again');
	const restarted = await a.state('restarted');

	assert.equal(restarted.restarts, 1);
	assert.equal(restarted.seq, 7, 'between the lines of the two containers');
	k.finish(p, 0);
	const ended = await a.state('ended');

	assert.equal(`${ended.exit_code} ${ended.reason}`, '0 Completed');
	assert.equal((await a.end()).code, 1000);
	a.check([...numbers(1, 5), 'live', 'again']);
	assert.equal((await b.end()).code, 1000);
	assert(b.texts().length >= 4, String(b.texts()));
	assert.deepEqual(b.texts(), a.texts().slice(-b.texts().length));
	assert.deepEqual([a.gaps, b.gaps], [[], []]);
	await close();
});

test('the previous container, and none; containers, pods and clusters that do not exist', async () => {
	const p = k.pod('crash-0');

	k.write(p, 'first words', 'last words');
	k.restart(p, 1);
	k.write(p, 'second life');
	const v = logs({pod: 'crash-0', previous: '1'});

	assert.equal((await v.end()).code, 1000);
	v.check(['first words', 'last words']);
	assert.equal(v.states.at(-1).state, 'ended');
	const fresh = k.pod('fresh-0');
	const ends = await Promise.all([logs({pod: 'fresh-0', previous: '1'}), logs({pod: 'none-0'}),
		logs({pod: 'fresh-0', container: 'other'}), logs({pod: 'fresh-0', cluster: 'elsewhere'}),
		logs({pod: '../../secrets/x'})].map(x => x.end()));

	assert.deepEqual(ends.map(e => e.code), [4404, 4404, 4404, 4404, 4404], JSON.stringify(ends));
	/* Without a container the pod's own is meant. */
	k.write(fresh, 'hello');
	const any = new Viewer(s, '/ws/logs', {token: s.tokens.viewer, query: {cluster: 'lab', pod: 'fresh-0'}});

	open.push(any);
	await any.has('hello');
	await close();
});

test('a container that has not begun is waited for; a pod that is replaced goes on', async () => {
	const p = k.pod('web-0', {state: {waiting: {reason: 'ImagePullBackOff'}}, owners: [{kind: 'StatefulSet', name: 'web'}]});
	const v = logs({pod: 'web-0'});

	assert.equal((await v.state('waiting')).why, 'ImagePullBackOff');
	p.state = {running: {}};
	k.tell('MODIFIED', p);
	k.write(p, 'one');
	await v.has('one');
	k.remove(p);
	const q = k.pod('web-0', {owners: [{kind: 'StatefulSet', name: 'web'}]});

	k.write(q, 'two');
	await v.has('two');
	assert.equal((await v.state('replaced')).uid, q.uid);
	k.pods.get('default/web-0').owners = [];
	q.owners = [];
	k.remove(q);
	assert.match((await v.state('ended')).why, /deleted/);
	assert.equal((await v.end()).code, 1000);
	v.check(['one', 'two']);
	await close();
});

test('a lost upstream: reconnecting is told, nothing is missing or twice; what is, is marked', async () => {
	const p = k.pod('net-0');

	k.write(p, ...numbers(1, 3));
	const v = logs({pod: 'net-0'});

	await v.has('line 3');
	k.refuse = {status: 500, message: 'dial tcp 10.0.0.1:10250: i/o timeout'};
	k.cut(p);
	assert.equal((await v.state('reconnecting')).state, 'reconnecting');
	k.write(p, ...numbers(4, 3));
	k.refuse = null;
	await v.has('line 6');
	v.check(numbers(1, 6));
	assert.deepEqual(v.gaps, []);
	assert.deepEqual(v.states.map(x => x.state).filter(x => x !== 'following'), ['reconnecting']);
	/* Rotated away while we were not looking. */
	k.refuse = {status: 500, message: 'away'};
	k.cut(p);
	await waitFor('the loss', () => v.states.filter(x => x.state === 'reconnecting').length === 2);
	p.lines = [];
	p.clock += 5000;
	k.write(p, 'after the rotation');
	k.refuse = null;
	await v.has('after the rotation');
	assert.deepEqual(v.gaps.map(g => [g.seq, g.missed, g.why]), [[7, null, 'upstream']]);
	v.check();
	await close();
});

test('a viewer that comes back gets what followed, once; too late, a marked gap', async () => {
	const p = k.pod('back-0');

	k.write(p, ...numbers(1, 10));
	const v = logs({pod: 'back-0'});

	await v.has('line 10');
	for (let i = 11; i < 60; i += 10) {
		v.stop();
		await v.end();
		k.write(p, ...numbers(i, 10));
		v.open();
		await v.has(`line ${i + 9}`);
	}
	v.check(numbers(1, 60));
	assert.deepEqual(v.gaps, []);
	assert.equal(new Set(v.hellos.map(h => h.epoch)).size, 1);
	/* More than the buffer holds. */
	v.stop();
	await v.end();
	const long = 'x'.repeat(8000);

	for (let i = 0; i < 12; i++)
		k.write(p, ...Array.from({length: 100}, () => long));
	k.write(p, 'the end');
	await waitFor('the buffer to turn over', async () => {
		const w = logs({pod: 'back-0', tail: 1});

		await w.has('the end');
		return true;
	});
	v.open();
	await v.has('the end');
	assert.equal(v.gaps.length, 1);
	assert.equal(v.gaps[0].why, 'buffer');
	assert.equal(v.gaps[0].missed, 1201 - (v.lines.length - 60));
	v.check();
	await close();
});

test('a viewer that talks, sends nonsense or leaves in the middle harms nobody', async () => {
	const p = k.pod('talk-0');

	k.write(p, 'begin');
	const quiet = logs({pod: 'talk-0'}), talks = logs({pod: 'talk-0'});

	await quiet.has('begin');
	await talks.has('begin');
	for (let i = 0; i < 6; i++)
		talks.ws.send('x'.repeat(1000));
	assert.equal((await talks.end()).code, 1008);
	const path = '/ws/logs?cluster=lab&pod=talk-0&container=main';
	const raw = await Promise.all(Array.from({length: 3}, () => rawViewer(path, s.tokens.operator)));

	raw[0].write(Buffer.concat([Buffer.from([0x81, 126, 0x13, 0x88]), randomBytes(5000)])); /* not masked, too much */
	raw[1].write(Buffer.from([0x83, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])); /* 2^63 bytes of no type */
	raw[2].resetAndDestroy();
	raw.slice(0, 2).forEach(c => c.resume());
	await waitFor('both are closed', () => raw.every(c => c.destroyed));
	k.write(p, 'end');
	await quiet.has('end');
	quiet.check(['begin', 'end']);
	await close();
});

/** A WebSocket by hand, that reads only when it is told to. */
function rawViewer(path, token)
{
	return new Promise((resolve, reject) => {
		const c = net.connect(s.port, '127.0.0.1', () => c.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${s.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nAuthorization: Bearer ${token}\r\n\r\n`));

		c.pause();
		c.on('error', reject);
		c.once('readable', () => resolve(c));
	});
}

test('a viewer that does not read harms nobody and learns how much it has missed', async () => {
	const p = k.pod('fast-0');

	k.write(p, 'begin');
	const quick = logs({pod: 'fast-0'});
	const slow = await rawViewer('/ws/logs?cluster=lab&pod=fast-0&container=main', s.tokens.operator);

	await quick.has('begin');
	const text = 'y'.repeat(4000);
	let written = 1;

	/* 24 MB: more than the ring and all the sockets on the way hold. */
	for (let i = 0; i < 60; i++) {
		k.write(p, ...Array.from({length: 100}, () => text));
		written += 100;
		await waitFor('the quick one to keep up', () => quick.next > written - 300);
	}
	k.write(p, 'end');
	await quick.has('end');
	assert.deepEqual(quick.gaps, []);
	quick.check();
	assert.equal(quick.lines.length, written + 1);
	const missed = await metric('live_missed_total');
	let received = '';

	slow.on('data', d => received = (received + d.toString('latin1')).slice(-200000) );
	const gap = [];
	slow.on('data', d => {
		const found = /"t":"gap","seq":(\d+),"missed":(\d+),"why":"slow"/.exec(d.toString('latin1'));

		if (found)
			gap.push(found.slice(1).map(Number));
	});
	slow.resume();
	await waitFor('the end at the slow one', () => received.includes('"end"'));
	assert(gap.length >= 1 && gap.every(([, n]) => n > 0), JSON.stringify(gap));
	assert.equal(await metric('live_missed_total') - missed, gap.reduce((n, [, more]) => n + more, 0));
	slow.destroy();
	await close();
});

test('text of any bytes: one frame stays one JSON object; long lines are cut and say so', async () => {
	const p = k.pod('odd-0');
	const odd = ['quote " and \\ and \t tab', 'ünïcode 測試 🚀', '\u001b[31mred\u001b[0m', '', ' leading', 'a\rb'];

	k.write(p, ...odd, 'z'.repeat(20000), 'last');
	const v = logs({pod: 'odd-0'});

	await v.has('last');
	assert.deepEqual(v.texts().slice(0, odd.length), odd);
	const cut = v.lines[odd.length];

	assert.equal(cut[2], 1);
	assert(cut[1].length > 15000 && cut[1].length <= 16384, String(cut[1].length));
	v.check();
	await close();
});

test('who may: no token, a dead one, a foreign origin, another port, no upgrade, too many', async () => {
	k.pod('auth-0');
	const path = '/ws/logs?cluster=lab&pod=auth-0&container=main';
	const cookie = await signIn(s);
	const upgrade = {host: `127.0.0.1:${s.port}`, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': randomBytes(16).toString('base64')};
	const handshake = headers => new Promise((resolve, reject) => {
		const req = http.request({host: '127.0.0.1', port: s.port, path, headers: {...upgrade, ...headers}}, res => {
			res.resume();
			resolve(res.statusCode);
		});

		req.on('upgrade', (res, socket) => {
			socket.destroy();
			resolve(101);
		});
		req.on('error', reject);
		req.end();
	});
	const own = `http://127.0.0.1:${s.port}`;

	assert.deepEqual(await Promise.all([
		handshake({origin: 'https://evil.example', cookie}),
		handshake({origin: 'null', cookie}),
		handshake({origin: 'http://localhost.evil.example', cookie}),
		/* SameSite does not tell ports apart; we do. */
		handshake({origin: 'http://127.0.0.1:1', cookie}),
		handshake({cookie}),
		handshake({origin: own, cookie, host: 'evil.example'}),
		handshake({origin: own, cookie}),
		handshake({authorization: `Bearer ${s.tokens.viewer}`}),
		handshake({authorization: `Bearer ${s.tokens.viewer}`, origin: 'https://evil.example'}),
	]), [403, 403, 403, 403, 403, 403, 101, 101, 403]);
	const plain = await bare(s, 'GET', path, {host: `127.0.0.1:${s.port}`, authorization: `Bearer ${s.tokens.viewer}`});

	assert.equal(plain.status, 426);
	const refused = await Promise.all([logs({pod: 'auth-0'}, {token: undefined}), logs({pod: 'auth-0'}, {token: 'is_nothing'}),
		events({token: undefined})].map(v => v.end()));

	assert.deepEqual(refused.map(e => e.code), [4401, 4401, 4401]);
	/* What a client sends as X-Live is nothing. */
	const forged = new Viewer(s, '/ws/events', {});

	forged.ws.close();
	assert.equal(await handshake({'x-live': '{"user":"x","feed":"events"}'}), 101);
	const many = Array.from({length: PER_USER + 2}, () => events({token: s.tokens.operator}));

	await waitFor('two too many', () => many.filter(v => v.closed?.code === 4429).length === 2);
	assert.equal(many.filter(v => !v.closed).length, PER_USER);
	await close();
});

test('a token that is revoked and a session that is over end their connections', async () => {
	const made = await call(s, 'POST', '/api/v1/tokens', {role: 'admin', body: {name: 'short', role: 'viewer', principal: 'temp'}});
	const cookie = await signIn(s);
	const a = events({token: made.json.token}), b = events({token: undefined, cookie, origin: s.url}), c = events();

	await waitFor('hellos', () => [a, b, c].every(v => v.hellos.length));
	await call(s, 'POST', `/api/v1/tokens/${made.json.id}:revoke`, {role: 'admin'}).catch(() => {});
	psql(s, `select token_revoke(id) from token where principal = 'temp' and revoked_at is null`);
	psql(s, `delete from session`);
	delete s.cookie;
	assert.deepEqual([(await a.end()).code, (await b.end()).code], [4401, 4401]);
	assert.equal(c.closed, null);
	await close();
});

test('events: an operation, the catalog, each once; two see the same; a place is found again', async () => {
	const a = events(), b = events({token: s.tokens.operator});

	await waitFor('hellos', () => a.hellos.length && b.hellos.length);
	const id = operation(s);
	/* Nothing looks again after a time: it is pushed, or it never comes. */
	const seen = v => waitFor('the event', () => v.frames.find(f => f.t === 'operation' && f.id === id));
	const [x, y] = await Promise.all([seen(a), seen(b)]);

	assert.deepEqual(x, y);
	assert.deepEqual([x.version, x.kind, x.status, x.parent], [1, 'test_kind', 'pending', null].map((v, i) => i === 2 ? x.status : v));
	a.stop();
	await a.end();
	change(s, id);
	psql(s, `select catalog_put('dependency', 'lab', 'cert-manager', null, '{"status": "ready"}', null)`);
	psql(s, `select catalog_put('dependency', 'lab', 'cert-manager', null, '{"status": "ready"}', null)`);
	a.open();
	await waitFor('both', () => a.frames.some(f => f.t === 'operation' && f.id === id && f.version === 2)
		&& a.frames.some(f => f.t === 'catalog' && f.what === 'dependency'));
	const catalog = a.frames.filter(f => f.t === 'catalog' && f.what === 'dependency');

	assert.deepEqual(catalog.map(f => [f.cluster, f.name]), [['lab', 'cert-manager']], 'an unchanged row is no event');
	a.check();
	b.check();
	assert.deepEqual([a.gaps, b.gaps], [[], []]);
	/* The database goes away for a moment: read everything again. */
	psql(s, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'instantstart-live'");
	await waitFor('the gap', () => b.gaps.length === 1);
	const later = operation(s);

	await waitFor('events go on', () => b.frames.some(f => f.id === later));
	await close();
});

test('nginx is reloaded, its workers are killed: nothing is missing', async () => {
	const p = k.pod('ngx-0');

	k.write(p, 'begin');
	const v = logs({pod: 'ngx-0'});

	await v.has('begin');
	process.kill(s.pids.nginx, 'SIGHUP');
	await sleep(300);
	k.write(p, 'after the reload');
	await v.has('after the reload');
	assert.equal(v.closed, null, 'a reload is not noticed');
	for (const pid of childrenOf(s.pids.nginx))
		process.kill(pid, 'SIGKILL');
	await v.end();
	k.write(p, 'while away');
	await waitFor('nginx', () => fetch(`${s.url}/healthz`).then(r => r.ok, () => false));
	v.open();
	await v.has('while away');
	v.check(['begin', 'after the reload', 'while away']);
	assert.deepEqual(v.gaps, []);
	await close();
});

test('kill -9 of live: viewers come back and their numbers go on, without loss', async () => {
	const p = k.pod('kill-0');

	k.write(p, ...numbers(1, 20));
	const all = [logs({pod: 'kill-0'}), logs({pod: 'kill-0', tail: 7}, {token: s.tokens.operator})];

	for (const v of all)
		await v.has('line 20');
	const numbered = new Map(all[0].lines.map(([n, text]) => [text, n]));

	await killWorker(s, 'live');
	for (const v of all)
		await v.end();
	k.write(p, ...numbers(21, 5));
	await waitFor('live', async () => {
		all[0].open();
		await waitFor('either', () => all[0].closed || all[0].hellos.length > 1);
		return !all[0].closed;
	});
	await all[0].has('line 25');
	all[1].open();
	await all[1].has('line 25');
	for (const v of all) {
		v.check();
		assert.deepEqual(v.gaps, []);
		assert.deepEqual(v.texts().slice(-5), numbers(21, 5));
		assert.equal(new Set(v.texts()).size, v.texts().length, 'nothing twice');
	}
	assert.deepEqual(all[0].texts(), numbers(1, 25));
	assert.equal(all[0].lines.at(-1)[0], numbered.get('line 20') + 5, 'the same numbers');
	await close();
});

test('the process that makes tokens dies: live begins anew, viewers go on', async () => {
	const p = k.pod('keys-0');

	k.write(p, 'one');
	const v = logs({pod: 'keys-0'});

	await v.has('one');
	const [worker] = childrenOf(s.pids.live), [keyring] = childrenOf(worker);

	process.kill(keyring, 'SIGKILL');
	await v.end();
	k.write(p, 'two');
	await waitFor('live', async () => {
		v.open();
		await waitFor('either', () => v.closed || v.hellos.length > 1);
		return !v.closed;
	});
	await v.has('two');
	v.check(['one', 'two']);
	assert.deepEqual(v.gaps, []);
	assert.notEqual(childrenOf(s.pids.live)[0], worker);
	await close();
});

test('SIGTERM sends viewers away with 1001, and they find their place', async () => {
	const p = k.pod('term-0');

	k.write(p, 'one');
	const v = logs({pod: 'term-0'});

	await v.has('one');
	const restarted = restart(s, 'live');

	assert.equal((await v.end()).code, 1001);
	await restarted;
	k.write(p, 'two');
	await waitFor('live', async () => {
		v.open();
		await waitFor('either', () => v.closed || v.hellos.length > 1);
		return !v.closed;
	});
	await v.has('two');
	v.check(['one', 'two']);
	assert.deepEqual(v.gaps, []);
	await close();
});

test('a connection that is silent without an end is found out, and nothing is missing', async () => {
	const p = k.pod('mute-0');

	k.write(p, 'one');
	const v = logs({pod: 'mute-0'});

	await v.has('one');
	/* A log that has nothing to say is no lost one: no reconnecting is told. */
	const opened = k.opened.log;

	await waitFor('a second look', () => k.opened.log > opened);
	await sleep(300);
	assert(!v.states.some(x => x.state === 'reconnecting'), JSON.stringify(v.states));
	k.mute(p);
	k.write(p, 'two', 'three');
	await v.has('three');
	v.check(['one', 'two', 'three']);
	assert.deepEqual(v.gaps, []);
	await close();
});

test('list_pods and get_pod_logs: filters, bounds, the end of the log, both faces', async () => {
	const viewer = {role: 'viewer'};
	const p = k.pod('job-0', {ns: 'train', labels: {HPJob: 'big', app: 'trainer'}});

	k.pod('job-1', {ns: 'train', labels: {HPJob: 'small'}, state: {waiting: {reason: 'ContainerCreating'}}, phase: 'Pending'});
	for (let i = 0; i < 30; i++)
		k.write(p, ...Array.from({length: 100}, (_, j) => `step ${i * 100 + j} loss=${i}.${j}`));
	k.write(p, '\u001b[31mNCCL WARN\u001b[0m peer \u0007lost');
	const all = await call(s, 'GET', '/api/v1/clusters/lab/pods?namespace=train', viewer);

	assert.deepEqual(all.json.items.map(i => i.name), ['job-0', 'job-1']);
	assert.deepEqual(all.json.items[1].containers[0], {name: 'main', state: 'waiting', ready: false, restarts: 0, reason: 'ContainerCreating'});
	const names = async query => (await call(s, 'GET', `/api/v1/clusters/lab/pods?namespace=train&${query}`, viewer)).json.items.map(i => i.name);

	assert.deepEqual(await names('job=big'), ['job-0']);
	assert.deepEqual(await names('label=HPJob%3Dsmall'), ['job-1']);
	const page = await call(s, 'GET', '/api/v1/clusters/lab/pods?namespace=train&limit=1', viewer);

	assert.deepEqual(await names(`limit=1&cursor=${page.json.next_cursor}`), ['job-1']);
	const log = async (query, pod = 'job-0') => call(s, 'GET', `/api/v1/clusters/lab/pods/${pod}/logs?namespace=train&${query}`, viewer);
	const small = await log('');

	assert(small.json.text.length <= 4096 && small.json.truncated, String(small.json.text.length));
	assert(small.json.text.endsWith('NCCL WARN peer lost\n'), 'the end of it, without controls');
	const found = await log('grep=loss%3D2%5C.(1|2)%24&tail=5');

	assert.deepEqual(found.json.text.split('\n').filter(Boolean), ['step 201 loss=2.1', 'step 202 loss=2.2']);
	const whole = await log('tail=100000&limit_bytes=2097152');

	assert.equal(whole.json.lines, 3001);
	assert.equal(whole.json.truncated, false);
	const since = await log(`since=${encodeURIComponent(whole.json.last_time)}&timestamps=true&limit_bytes=100000&tail=5000`);

	assert(since.json.lines < 3001 && since.json.text.startsWith(since.json.first_time), since.json.text.slice(0, 80));
	const early = await log('', 'job-1');

	assert.deepEqual([early.json.state, early.json.reason, early.json.text], ['not_started', 'ContainerCreating', '']);
	assert.equal((await log('previous=true')).status, 404);
	k.restart(p, 1);
	const before = await log('previous=true&tail=1');

	assert.equal(before.json.text, 'NCCL WARN peer lost\n');
	assert.equal(before.json.exit_code, 1);
	assert.equal((await log('', 'none')).json.code, 'not-found');
	assert.equal((await log('grep=%28')).json.code, 'invalid-input');
	/* Doubling with every letter: refused in time, and no line is dropped in silence. */
	k.write(k.pod('slow-0', {ns: 'train'}), `${'a'.repeat(40)}!`, 'fine');
	const began = performance.now();
	const costly = await log(`grep=${encodeURIComponent('^(a|aa)+$')}`, 'slow-0');

	assert.deepEqual([costly.status, costly.json.field], [400, '/grep'], costly.text);
	assert.match(costly.json.detail, /too long/);
	const ms = performance.now() - began;

	/* Tried to its end it would take hours. */
	assert(ms < 10000, `${ms} ms`);
	const cheap = k.pod('many-0', {ns: 'train'});

	/* Each line within its bound, all together not. */
	k.write(cheap, ...Array.from({length: 20000}, () => `${'a'.repeat(19)}!`));
	const all_lines = await log(`grep=${encodeURIComponent('^(a|aa)+$')}`, 'many-0');

	assert.match(all_lines.json.detail, /takes too long/, all_lines.text.slice(0, 300));
	/* Bytes that are no UTF-8 are a container's right: the worker serves on. */
	const bytes = Buffer.concat([Buffer.from('2026-01-02T03:04:05Z caf'), Buffer.from([0xe9, 0x0a]),
		Buffer.from([0xff, 0xfe, 0x0a, 0x80, 0x20, 0x00, 0x0a]), Buffer.from('2026-01-02T03:04:06Z \0after\n')]);

	k.pod('bytes-0', {ns: 'train', raw: bytes});
	for (const query of ['', 'timestamps=true', 'grep=.', 'timestamps=true&grep=after']) {
		const odd = await log(query, 'bytes-0');

		assert.equal(odd.status, 200, `${query}: ${odd.text}`);
		assert(odd.json.text.endsWith('after\n'), JSON.stringify(odd.json));
	}
	/* Much more than is kept: the newest lines are those that count. */
	const huge = k.pod('huge-0', {ns: 'train'});

	for (let i = 0; i < 10; i++)
		k.write(huge, ...Array.from({length: 1000}, (_, j) => `line ${i * 1000 + j} ${'z'.repeat(1500)}`));
	k.write(huge, 'the newest');
	for (const query of ['tail=100000&limit_bytes=2097152', 'grep=line|newest', 'tail=100000&limit_bytes=256']) {
		const end = await log(query, 'huge-0');

		assert(end.json.text.endsWith('the newest\n'), `${query}: ${end.text.slice(-200)}`);
		assert.equal(end.json.truncated, true, query);
	}
	const byTool = await tool(s, 'get_pod_logs', {cluster: 'lab', namespace: 'train', pod: 'job-0', previous: true}, {role: 'viewer'});

	assert.equal(byTool.structuredContent.previous, true);
	assert(byTool.structuredContent.text.length <= 4096, `${byTool.structuredContent.text.length} characters`);
	assert.equal((await tool(s, 'list_pods', {cluster: 'lab'}, {role: 'viewer'})).structuredContent.items.length > 0, true);
});

/** A number of /metrics. */
const metric = async name => Number(new RegExp(`^instantstart_${name} (\\d+)$`, 'm').exec(await (await fetch(`${s.url}/metrics`)).text())?.[1]);
/** What a process holds of its own: pages of files are the kernel's. */
const memoryKb = pid => Number(/RssAnon:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
/** The most that the kernel keeps of one TCP connection, at its two ends together. */
const inKernel = () => ['rmem', 'wmem'].reduce((sum, name) =>
	sum + Number(fs.readFileSync(`/proc/sys/net/ipv4/tcp_${name}`, 'utf8').trim().split(/\s+/)[2]), 0);

test('a log is downloaded whole, however long, in little memory; what breaks off is not the whole', async () => {
	const p = k.pod('big-0', {ns: 'train'});
	const at = (pod, query = '') => `${s.url}/api/v1/clusters/lab/pods/${pod}/logs:download?namespace=train&${query}`;
	const get = (pod, query, more) => fetch(at(pod, query), {headers: {authorization: `Bearer ${s.tokens.viewer}`}, ...more});
	const [live] = childrenOf(s.services.live.pid);
	const before = memoryKb(live), begun = await metric('live_downloads_total');
	const handed = await metric('live_downloaded_bytes_total');

	/* 40 MB: no list of fixed length, no buffer of ours holds that. */
	for (let i = 0; i < 10; i++)
		k.write(p, ...Array.from({length: 4000}, (_, j) => `${i * 4000 + j} ${'x'.repeat(1000)}`));
	const whole = await get('big-0');
	const text = await whole.text();

	assert.equal(whole.status, 200);
	assert.equal(whole.headers.get('content-disposition'), 'attachment; filename="big-0-main.log"');
	assert.match(whole.headers.get('content-type'), /^text\/plain/);
	assert.equal(whole.headers.get('x-live'), null);
	assert.equal(text, p.lines.map(l => `${l.text}\n`).join(''));
	const timed = await (await get('big-0', `timestamps=true&since=${encodeURIComponent(p.lines.at(-1).time)}`)).text();

	assert.equal(timed.trimEnd().split('\n').at(-1), `${p.lines.at(-1).time} ${p.lines.at(-1).text}`);
	assert(timed.length < text.length, `${timed.length} of ${text.length} bytes`);
	assert.equal(await metric('live_downloads_total') - begun, 2);
	assert.equal(await metric('live_downloaded_bytes_total') - handed, text.length + timed.length);
	/* Nobody reads, and the log has no end: the cluster waits, and nothing piles up here. */
	k.write(k.pod('endless-0', {ns: 'train', endless: true}), ...Array.from({length: 2000}, () => 'e'.repeat(1000)));
	const stalled = await rawConnection(s, `GET ${new URL(at('endless-0')).pathname}?namespace=train HTTP/1.1\r\n`
		+ `Host: localhost\r\nAuthorization: Bearer ${s.tokens.viewer}\r\n\r\n`);

	await waitFor('a download', async () => await metric('live_downloads_total') - begun === 3);
	const sent = await waitFor('the cluster to be held up', async () => {
		const was = k.sent;

		await sleep(300);
		return was > 0 && was === k.sent ? was : null;
	});
	const grown = memoryKb(live) - before;

	/* How much two connections keep, the kernel decides as it goes; ours is less than one MB. */
	assert(sent < 2 * inKernel() + 1e6, `${sent} bytes were taken for a reader that takes none; the kernel keeps ${inKernel()} of a connection`);
	assert(grown < 6000, `${before} kB before, ${grown} kB more while ${sent} bytes wait`);
	assert.equal(await metric('live_downloads'), 1);
	stalled.destroy();
	await waitFor('the download to be given up', async () => await metric('live_downloads') === 0);
	/* Half of it is not handed over as if it were all. */
	const lost = k.pod('lost-0', {ns: 'train', breaks: 3e6});

	k.write(lost, ...Array.from({length: 6000}, () => 'y'.repeat(1000)));
	await assert.rejects(get('lost-0').then(r => r.text()));
	k.restart(p, 1);
	k.write(p, 'second life');
	assert.equal(await (await get('big-0')).text(), 'second life\n');
	assert.equal((await (await get('big-0', 'previous=true')).text()).length, text.length);
	const problems = async (pod, query) => {
		const r = await get(pod, query);

		return [r.status, (await r.json()).code];
	};

	k.pod('new-0', {ns: 'train', state: {waiting: {reason: 'ContainerCreating'}}, phase: 'Pending'});
	assert.deepEqual(await problems('none-0'), [404, 'not-found']);
	assert.deepEqual(await problems('big-0', 'container=other'), [404, 'not-found']);
	assert.deepEqual(await problems('new-0'), [502, 'cloud-refused']);
	assert.deepEqual(await problems('big-0', 'previuos=true'), [400, 'invalid-input']);
	k.refuse = {status: 500, message: 'the kubelet is away'};
	assert.deepEqual(await problems('big-0'), [502, 'cloud-unavailable']);
	k.refuse = null;
	/* More than four at once of one user. */
	const p2 = k.pod('big-1', {ns: 'train'});

	k.write(p2, ...Array.from({length: 20000}, () => 'z'.repeat(1000)));
	const held = await Promise.all(Array.from({length: 4}, () => get('big-1')));

	assert.deepEqual(held.map(r => r.status), [200, 200, 200, 200]);
	assert.deepEqual(await problems('big-1'), [429, 'rate-limited']);
	const other = await fetch(at('big-1'), {headers: {authorization: `Bearer ${s.tokens.operator}`}});

	assert.equal((await other.text()).length, 20000 * 1001);
	await Promise.all(held.map(r => r.body.cancel()));
	await waitFor('all to be given up', async () => await metric('live_downloads') === 0);
});

test('metrics of the live channel: who watches, what was sent, what slow viewers missed', async () => {
	const names = ['live_lines_total', 'live_frames_total', 'live_viewers_total', 'live_refused_total'];
	const [lines, frames, viewers, refused] = await Promise.all(names.map(metric));

	assert.equal((await logs({pod: 'count-0', cluster: 'elsewhere'}).end()).code, 4404);
	k.pod('count-0');
	const v = logs({pod: 'count-0'});

	await waitFor('the greeting', () => v.hellos.length);

	k.write(k.pods.get('default/count-0'), 'one', 'two');
	await v.has('two');
	assert.equal(await metric('live_up'), 1);
	assert.equal(await metric('live_viewers'), 1);
	assert.notEqual(await metric('live_streams'), 0);
	assert.equal(await metric('live_lines_total') - lines, 2);
	assert.notEqual(await metric('live_frames_total'), frames);
	assert.equal(await metric('live_viewers_total') - viewers, 2);
	assert.equal(await metric('live_refused_total') - refused, 1);
	await close();
	await waitFor('all to have gone', async () => await metric('live_viewers') === 0);
	await stop(s, 'live');
	assert.equal(await metric('live_up'), 0);
	startService(s, 'live');
	await waitFor('live', async () => await metric('live_up') === 1);
});
