// REST as a caller sees it: statuses, problem documents, lists, access, CSRF.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {psql, signIn, startService, stop, waitFor} from '../stack/stack.mjs';
import {ROLES, bare, call, capabilities, change, end, exercised, operation, start, tool} from './faces.mjs';

let s;

before(async () => {
	s = await start({poller: false, cloud: true});
});
after(() => end(s));

const admin = {role: 'admin'};
const long = 'x'.repeat(1048577);

test('every bad request gets its exact status and problem', async () => {
	const id = operation(s);
	const json = {'content-type': 'application/json'};
	const rows = [
		// method, address, options, status, code, more of the problem
		['GET', '/api/v1/nope', admin, 404, 'no-such-route'],
		['GET', '/api/v1', admin, 404, 'no-such-route'],
		['GET', '/api/v1/operations/', admin, 404, 'no-such-route'],
		['GET', '/api/v1/a/b/c/d/e/f/g/h/i/j/k/l/m', admin, 404, 'no-such-route'],
		['GET', '/api/v2/operations', admin, 404, 'no-such-route'],
		['DELETE', '/api/v1/operations', admin, 405, 'method-not-allowed', {expected: 'GET, HEAD'}],
		['POST', `/api/v1/operations/${id}`, admin, 405, 'method-not-allowed', {expected: 'GET, HEAD'}],
		['GET', `/api/v1/operations/${id}:retry`, admin, 405, 'method-not-allowed', {expected: 'POST'}],
		['PUT', '/api/v1/tokens', admin, 405, 'method-not-allowed', {expected: 'POST, GET, HEAD'}],
		['POST', '/api/v1/openapi.json', admin, 405, 'method-not-allowed'],
		['GET', '/api/v1/operations?limit=0', admin, 400, 'invalid-input', {field: '/limit', seen: '0'}],
		['GET', '/api/v1/operations?limit=ten', admin, 400, 'invalid-input', {field: '/limit'}],
		['GET', '/api/v1/operations?limt=5', admin, 400, 'invalid-input', {field: '/limt'}],
		['GET', '/api/v1/operations?limit=1&limit=2', admin, 400, 'invalid-input', {field: '/limit'}],
		/* A list may be repeated, as OpenAPI has it: then it is the cluster that is not there. */
		['DELETE', '/api/v1/clusters/none?confirm=none&delete_buckets=a-a&delete_buckets=b-b,c-c', admin, 404, 'not-found'],
		['GET', '/api/v1/training-plan-offerings?instance_type=ml.p5.48xlarge&count=1&duration_hours=24&ends_before=0000-00-00T00:00:00Z', admin, 400, 'invalid-input', {field: '/ends_before'}],
		['GET', `/api/v1/clusters/demo/events/0`, admin, 400, 'invalid-input', {field: '/event'}],
		['GET', '/api/v1/operations?state=odd', admin, 400, 'invalid-input', {field: '/state', seen: '"odd"'}],
		['GET', '/api/v1/operations?cursor=%ff', admin, 400, 'malformed-request'],
		['GET', '/api/v1/operations?cursor=%zz', admin, 400, 'malformed-request'],
		['GET', '/api/v1/operations/%00', admin, 400, 'malformed-request'],
		['GET', '/api/v1/operations/op_none', admin, 404, 'not-found', {field: '/id', seen: 'op_none'}],
		['GET', '/api/v1/operations/OP', admin, 400, 'invalid-input', {field: '/id'}],
		['GET', `/api/v1/operations/${id}?wait=26`, admin, 400, 'invalid-input'],
		['GET', `/api/v1/operations/${id}?dry_run=plan`, admin, 400, 'invalid-input', {field: '/dry_run'}],
		['GET', `/api/v1/operations/${id}?id=x`, admin, 400, 'invalid-input', {field: '/id'}],
		['GET', '/api/v1/operations?q=' + 'x'.repeat(5000), admin, 413, 'too-large'],
		/* nginx's word for an address is 414; the problem and its status are one. */
		['GET', '/api/v1/operations?cursor=' + 'x'.repeat(9000), admin, 413, 'too-large'],
		['GET', '/api/v1/problems/nope', {}, 404, 'not-found'],
		['POST', '/api/v1/tokens', {...admin, raw: '{"name":', headers: json}, 400, 'malformed-request'],
		['POST', '/api/v1/tokens', {...admin, raw: '{} {}', headers: json}, 400, 'malformed-request'],
		['POST', '/api/v1/tokens', {...admin, raw: Buffer.from('{"name":"\xff"}', 'latin1'), headers: json}, 400, 'malformed-request'],
		['POST', '/api/v1/tokens', {...admin, raw: '{"name":"a","name":"b"}', headers: json}, 400, 'malformed-request'],
		['POST', '/api/v1/tokens', {...admin, raw: '['.repeat(5000), headers: json}, 400, 'malformed-request'],
		['POST', '/api/v1/tokens', {...admin, raw: '[]', headers: json}, 400, 'invalid-input'],
		['POST', '/api/v1/tokens', {...admin, raw: '"x"', headers: json}, 400, 'invalid-input'],
		['POST', '/api/v1/tokens', {...admin, body: {name: 'a', role: 'viewer'}, headers: {accept: 'application/xml'}}, 406, 'not-acceptable', {expected: 'application/json'}],
		['GET', '/api/v1/me', {...admin, headers: {accept: 'text/event-stream, application/json;q=0'}}, 406, 'not-acceptable'],
		['POST', '/api/v1/tokens', {...admin, raw: '{}', headers: {'content-type': 'text/plain'}}, 415, 'unsupported-media-type'],
		['POST', '/api/v1/tokens', {...admin, raw: 'a=b', headers: {'content-type': 'application/x-www-form-urlencoded'}}, 415, 'unsupported-media-type'],
		['POST', '/api/v1/tokens', {...admin, raw: long, headers: json}, 413, 'too-large'],
		['POST', '/api/v1/tokens', {...admin, body: {}}, 400, 'invalid-input', {field: '/name'}],
		['POST', '/api/v1/tokens', {...admin, body: {name: 'a', role: 'viewer', rol: 1}}, 400, 'invalid-input', {field: '/rol'}],
		['POST', '/api/v1/tokens', {...admin, body: {name: 'a', role: 'viewer', dry_run: 'plan'}}, 400, 'invalid-input', {field: '/dry_run'}],
		['POST', '/api/v1/tokens?name=a', {...admin, body: {role: 'viewer'}}, 400, 'invalid-input', {field: '/name'}],
		['POST', '/api/v1/tokens?dry_run=yes', {...admin, body: {name: 'a', role: 'viewer'}}, 400, 'invalid-input', {field: '/dry_run', seen: '"yes"'}],
		['POST', '/api/v1/tokens?plan_digest=' + '0'.repeat(64), {...admin, body: {name: 'a', role: 'viewer'}}, 409, 'plan-changed'],
		['POST', '/api/v1/tokens', {...admin, body: {name: 'a', role: 'viewer'}, headers: {'idempotency-key': 'x'.repeat(129)}}, 400, 'invalid-input', {field: '/idempotency_key'}],
		/* Sent empty it is a wrong key: somebody relies on it. */
		['POST', '/api/v1/tokens', {...admin, body: {name: 'a', role: 'viewer'}, headers: {'idempotency-key': ''}}, 400, 'invalid-input', {field: '/idempotency_key'}],
		['POST', '/api/v1/tokens', {...admin, body: {name: 'a', role: 'viewer'}, headers: {'idempotency-key': 'schl\xfcssel'}}, 400, 'malformed-request'],
		['GET', '/api/v1/me', {...admin, headers: {'if-none-match': '"\xe4"'}}, 400, 'malformed-request'],
		['DELETE', '/api/v1/tokens/tok_none', admin, 404, 'not-found'],
		/* nginx itself: where only files are. */
		['POST', '/index.html', {...admin, body: {}}, 405, 'method-not-allowed'],
		['DELETE', '/clusters/demo', admin, 405, 'method-not-allowed'],
		['PUT', '/assets/x.js', admin, 405, 'method-not-allowed'],
		['POST', `/api/v1/operations/${id}:retry`, admin, 409, 'state-conflict'],
		['POST', `/api/v1/operations/${id}:answer`, {...admin, body: {choice: 'x'}}, 409, 'state-conflict'],
		['POST', `/api/v1/operations/${id}:answer`, {...admin, body: {id, choice: 'x'}}, 400, 'invalid-input', {field: '/id'}],
		['POST', '/api/v1/operations/op_none:cancel', admin, 404, 'not-found'],
		['GET', '/api/v1/me', {}, 401, 'unauthenticated'],
		['GET', '/api/v1/me', {role: 'ist_' + '0'.repeat(64)}, 401, 'unauthenticated'],
		['GET', '/api/v1/me', {headers: {authorization: 'Basic YTpi'}}, 401, 'unauthenticated'],
		['GET', '/api/v1/nope', {}, 401, 'unauthenticated'],
		['GET', '/login?code=isl_nope', {}, 401, 'unauthenticated'],
		['POST', '/login', {}, 401, 'unauthenticated'],
		['PUT', '/login', {}, 405, 'method-not-allowed'],
		['GET', '/api/v1/tokens', {role: 'operator'}, 403, 'forbidden'],
	];

	for (const [method, target, options, status, code, more = {}] of rows) {
		const what = `${method} ${target.slice(0, 80)}`;
		const r = await call(s, method, target, options);

		assert.equal(`${r.status} ${r.json.code}`, `${status} ${code}`, `${what}: ${r.text.slice(0, 300)}`);
		for (const [key, value] of Object.entries(more))
			assert.equal(r.json[key], value, `${what}: ${key} in ${r.text}`);
		if (status === 405)
			assert(r.headers.get('allow'), what);
		if (status === 401)
			assert.match(r.headers.get('www-authenticate') ?? 'Bearer', /^Bearer/, what);
	}
});

test('all violations at once, each with pointer, value and what would work', async () => {
	const r = await call(s, 'POST', '/api/v1/tokens', {...admin,
		body: {name: 7, role: 'root', expires_in_days: 0, principal: 'No!', color: 'red'}});

	assert.equal(r.status, 400);
	assert.deepEqual(r.json.errors.map(e => e.field).sort(),
		['/color', '/expires_in_days', '/name', '/principal', '/role']);
	for (const e of r.json.errors)
		assert(e.detail && (e.expected || e.field === '/color'), JSON.stringify(e));
	/* By the name that was sent, which is another for agents. */
	const wait = await call(s, 'GET', `/api/v1/operations/${operation(s)}?wait=25s`, admin);

	assert.equal(wait.status, 400);
	assert.deepEqual([wait.json.field, wait.json.errors[0].field], ['/wait', '/wait']);
	assert.match(wait.json.detail, /^\/wait has/);
});

test('a filter that can find nothing is refused, not answered by an empty list', async () => {
	for (const [target, field] of [['operations?kind=create_clster', '/kind'], ['operations?cursor=abc', '/cursor']]) {
		const r = await call(s, 'GET', `/api/v1/${target}`, admin);

		assert.equal(r.status, 400, target);
		assert.equal(r.json.field, field);
	}
	assert.match((await call(s, 'GET', '/api/v1/operations?kind=create_clster', admin)).json.expected, /did you mean create_cluster/);
	assert.equal((await call(s, 'GET', '/api/v1/operations?kind=create_cluster', admin)).status, 200);
});

test('what was refused is recorded, a large one by its beginning', async () => {
	const name = 'x'.repeat(300000);
	const r = await call(s, 'POST', '/api/v1/clusters', {role: 'operator', body: {name, zone: 7}});

	assert.equal(r.status, 400);
	const row = psql(s, `select length(parameters::text) || ' ' || length(target) || ' ' || (parameters->>'bytes')
		from audit where request_id = '${r.headers.get('request-id')}'`).split(' ').map(Number);

	assert(row[0] < 2000 && row[1] < 300 && row[2] > 300000, String(row));
});

test('problem types explain themselves', async () => {
	const all = await call(s, 'GET', '/api/v1/problems');

	assert(all.json.items.length > 30);
	for (const item of all.json.items.slice(0, 5)) {
		const one = await call(s, 'GET', item.type);

		assert.equal(one.status, 200);
		assert.deepEqual(one.json, item);
	}
});

test('lists page in a stable order; reads know what the caller has', async () => {
	const ids = Array.from({length: 5}, () => operation(s, {input: {cluster: 'paged'}})).reverse();
	const seen = [];
	let cursor = '';

	do {
		const r = await call(s, 'GET', `/api/v1/operations?cluster=paged&limit=2${cursor}`, admin);

		assert.equal(r.status, 200);
		assert(r.json.items.length <= 2);
		seen.push(...r.json.items.map(o => o.id));
		cursor = r.json.next_cursor && `&cursor=${r.json.next_cursor}`;
	} while (cursor);
	assert.deepEqual(seen, ids);

	const one = await call(s, 'GET', `/api/v1/operations/${ids[0]}`, admin);
	const etag = one.headers.get('etag');

	assert.match(etag, /^"\d+"$/);
	const again = await call(s, 'GET', `/api/v1/operations/${ids[0]}`, {...admin, headers: {'if-none-match': etag}});

	assert.equal(again.status, 304);
	assert.equal(again.text, '');
	change(s, ids[0]);
	assert.equal((await call(s, 'GET', `/api/v1/operations/${ids[0]}`, {...admin, headers: {'if-none-match': etag}})).status, 200);
	const events = await call(s, 'GET', `/api/v1/operations/${ids[0]}/events`, admin);

	assert.equal(events.json.items[0].what, 'submitted');
	assert.equal((await bare(s, 'HEAD', `/api/v1/operations/${ids[0]}`, {host: `localhost:${s.port}`, authorization: `Bearer ${s.tokens.viewer}`})).status, 200);
});

test('orders: cancel is 202 with the operation, its place and its key', async () => {
	const id = operation(s);
	const cancel = key => call(s, 'POST', `/api/v1/operations/${id}:cancel`, {role: 'operator',
		body: {undo: false}, headers: {'idempotency-key': key}});
	const first = await cancel('k1');

	assert.equal(first.status, 202, first.text);
	assert.equal(first.headers.get('location'), `/api/v1/operations/${id}`);
	assert.equal(first.headers.get('operation-location'), `/api/v1/operations/${id}`);
	assert.equal(first.headers.get('retry-after'), '1');
	assert.equal((await cancel('k1')).status, 202);
	/* What undo removes is gone: as with every deletion, the name is asked for. */
	for (const query of ['', '?confirm=op_other']) {
		const bare = await call(s, 'POST', `/api/v1/operations/${id}:cancel${query}`, {role: 'operator', body: {undo: true}});

		assert.deepEqual([bare.status, bare.json.code, bare.json.field, bare.json.expected], [422, 'confirmation-needed', '/confirm', id]);
	}
	const other = await call(s, 'POST', `/api/v1/operations/${id}:cancel?confirm=${id}`, {role: 'operator',
		body: {undo: true}, headers: {'idempotency-key': 'k1'}});

	assert.equal(`${other.status} ${other.json.code}`, '422 idempotency-key-reused');
	const plan = await call(s, 'POST', `/api/v1/operations/${id}:cancel?dry_run=plan`, {role: 'operator'});

	assert.equal(plan.status, 200);
	assert.match(plan.json.plan_digest, /^[0-9a-f]{64}$/);
});

/* Nobody confirms what is refused all the same; nor is a plan made of it. */
test('orders: an operation that has ended says so before a confirmation is asked for', async () => {
	const ended = state => {
		const id = operation(s);

		psql(s, `update operation set state = '${state}', ended_at = now() where id = '${id}'`);
		return id;
	};
	const told = async (id, verb, body, query = '') => {
		const r = await call(s, 'POST', `/api/v1/operations/${id}:${verb}${query}`, {role: 'operator', body});

		return [r.status, r.json.code, r.json.seen ?? ''];
	};

	for (const state of ['succeeded', 'failed', 'cancelled']) {
		const id = ended(state);
		const over = [409, 'state-conflict', state];

		for (const query of ['', '?dry_run=plan', `?confirm=${id}`])
			assert.deepEqual(await told(id, 'cancel', {undo: true}, query), over, `${state} ${query}`);
		assert.deepEqual(await told(id, 'answer', {choice: 'yes'}, '?dry_run=plan'), over);
		assert.deepEqual(await told(id, 'answer', {choice: 'yes'}), over);
	}
	const done = ended('succeeded');

	for (const query of ['', '?dry_run=plan'])
		assert.deepEqual(await told(done, 'retry', {}, query), [409, 'state-conflict', 'succeeded'], query);
	/* What goes on is asked for as before. */
	assert.deepEqual((await told(operation(s), 'cancel', {undo: true})).slice(0, 2), [422, 'confirmation-needed']);
});

test('tokens: made once, used, listed without secret, revoked at once, audited', async () => {
	const plan = await call(s, 'POST', '/api/v1/tokens?dry_run=plan', {...admin, body: {name: 'x', role: 'viewer', principal: 'p1'}});
	const made = await call(s, 'POST', `/api/v1/tokens?plan_digest=${plan.json.plan_digest}`, {...admin,
		body: {name: 'x', role: 'viewer', principal: 'p1'}, headers: {'idempotency-key': 'once'}});

	assert.equal(made.status, 200, made.text);
	const twice = await call(s, 'POST', '/api/v1/tokens', {...admin,
		body: {name: 'x', role: 'viewer', principal: 'p1'}, headers: {'idempotency-key': 'once'}});

	assert.equal(`${twice.status} ${twice.json.code}`, '409 state-conflict');
	const me = await call(s, 'GET', '/api/v1/me', {role: made.json.token});

	assert.equal(`${me.json.id} ${me.json.role}`, 'p1 viewer');
	const list = await call(s, 'GET', '/api/v1/tokens', admin);

	assert(!list.text.includes(made.json.token.slice(4)));
	assert(list.json.items.some(t => t.id === made.json.id && t.last_used_at));
	assert.equal((await call(s, 'DELETE', `/api/v1/tokens/${made.json.id}`, admin)).status, 200);
	assert.equal((await call(s, 'GET', '/api/v1/me', {role: made.json.token})).status, 401);
	assert.equal(psql(s, `select count(*) from token where hash like '%${made.json.token.slice(4)}%'`), '0');

	const audit = await call(s, 'GET', '/api/v1/audit?limit=100', admin);
	const outcomes = audit.json.items.map(a => `${a.capability} ${a.outcome}`);

	for (const want of ['create_token done', 'create_token refused', 'revoke_token done', 'revoke_token refused', 'cancel_operation accepted', 'login done'])
		assert(outcomes.includes(want), `${want} in ${outcomes}`);
	assert(!audit.text.includes(made.json.token));
	const filtered = name => call(s, 'GET', `/api/v1/audit?capability=${name}`, admin);

	for (const name of ['create_token', 'login'])
		assert((await filtered(name)).json.items.every(a => a.capability === name));
	const unknown = await filtered('create_tokn');

	assert.deepEqual([unknown.status, unknown.json.field, unknown.json.expected], [400, '/capability', 'did you mean create_token?']);
	assert.equal((await call(s, 'GET', '/api/v1/audit:verify', admin)).json.ok, true);
});

test('Host, Origin and the console\'s cookie', async () => {
	const auth = {authorization: `Bearer ${s.tokens.viewer}`};
	const cookie = {cookie: await signIn(s)};
	const own = {host: `127.0.0.1:${s.port}`}, origin = {origin: `http://127.0.0.1:${s.port}`};
	const body = JSON.stringify({name: 'c', role: 'viewer'});
	const json = {'content-type': 'application/json', 'content-length': body.length};
	const rows = [
		['own', 'GET', {...own, ...auth}, 200],
		['localhost, any port', 'GET', {host: 'localhost:9', ...auth}, 200],
		['own Origin', 'GET', {...own, ...origin, ...auth}, 200],
		['foreign Host', 'GET', {host: 'evil.example', ...auth}, 403],
		['Host that begins like ours', 'GET', {host: 'localhost.evil.example', ...auth}, 403],
		['foreign Origin', 'GET', {...own, origin: 'http://evil.example', ...auth}, 403],
		['Origin null', 'GET', {...own, origin: 'null', ...auth}, 403],
		['Origin that begins like ours', 'GET', {...own, origin: 'http://localhost.evil.example', ...auth}, 403],
		['cookie reads', 'GET', {...own, ...cookie}, 200],
		['cookie changes without Origin', 'POST', {...own, ...cookie, ...json}, 403],
		['cookie changes with another port\'s Origin', 'POST', {...own, ...cookie, ...json, origin: 'http://127.0.0.1:1'}, 403],
		['cookie changes from its own page', 'POST', {...own, ...origin, ...cookie, ...json}, 200],
		['token changes without Origin', 'POST', {...own, authorization: `Bearer ${s.tokens.admin}`, ...json}, 200],
	];

	for (const [what, method, headers, status] of rows) {
		const r = await bare(s, method, method === 'GET' ? '/api/v1/me' : '/api/v1/tokens', headers, method === 'GET' ? undefined : body);

		assert.equal(r.status, status, `${what}: ${r.text}`);
		if (status === 403)
			assert.equal(r.json.code, 'forbidden', what);
	}
	const out = await bare(s, 'POST', '/api/v1/sign-out', {...own, ...origin, ...cookie});

	assert.equal(out.status, 200);
	assert.match(out.headers['set-cookie'][0], /Max-Age=0/);
	assert.equal((await bare(s, 'GET', '/api/v1/me', {...own, ...cookie})).status, 401);
	assert.equal((await bare(s, 'GET', '/api/v1/me', {...own, ...auth})).headers['access-control-allow-origin'], undefined);
});

test('a token opens a session that ends with it, and all sessions end at once', async () => {
	const made = await call(s, 'POST', '/api/v1/tokens', {role: 'admin', body: {name: 'browser', role: 'operator', principal: 'browser'}});
	const open = async () => {
		const res = await fetch(`${s.url}/login`, {method: 'POST', headers: {authorization: `Bearer ${made.json.token}`}});
		const set = res.headers.get('set-cookie') ?? '';

		assert.equal(res.status, 200);
		assert.match(set, /^instantstart_session=iss_[0-9a-f]{64};.*HttpOnly; SameSite=Strict/);
		return {cookie: set.split(';')[0]};
	};
	const me = async headers => {
		const r = await call(s, 'GET', '/api/v1/me', {headers});

		return [r.status, r.json.id, r.json.role];
	};
	const one = await open(), two = await open();

	assert.deepEqual(await me(one), [200, 'browser', 'operator']);
	const out = await call(s, 'POST', '/api/v1/sign-out:everywhere', {headers: {...one, origin: s.url}, body: {}});

	assert.deepEqual([out.status, out.json], [200, {signed_out: 2}]);
	assert.equal((await me(two))[0], 401);
	const three = await open();

	assert.equal((await me(three))[0], 200);
	await call(s, 'DELETE', `/api/v1/tokens/${made.json.id}`, {role: 'admin'});
	assert.equal((await me(three))[0], 401, 'the token is revoked');
	const page = await fetch(`${s.url}/login?code=isl_nope`, {redirect: 'manual', headers: {accept: 'text/html,*/*'}});

	assert.deepEqual([page.status, page.headers.get('location')], [303, '/sign-in?link=used']);
});

test('a login link is good for one visit', async () => {
	const before = psql(s, 'select count(*) from login_link where used_at is not null');

	assert.equal(psql(s, 'select count(*) from login_link where used_at is not null and hash like \'isl%\''), '0');
	assert(Number(before) > 0);
	const link = s.login.replace(s.url, '');

	assert.equal((await call(s, 'HEAD', link)).status, 200);
	const first = await call(s, 'GET', link);

	assert.equal(first.status, 303);
	assert.match(first.headers.get('set-cookie'), /^instantstart_session=iss_[0-9a-f]{64}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
	assert.equal((await call(s, 'GET', link)).status, 401);
});

test('headers that a browser needs', async () => {
	for (const target of ['/', '/api/v1/problems', '/api/v1/me']) {
		const r = await fetch(s.url + target);

		await r.text();
		for (const name of ['content-security-policy', 'x-content-type-options', 'x-frame-options', 'referrer-policy', 'request-id'])
			assert(r.headers.get(name), `${target}: ${name}`);
	}
});

// Whoever lacks the role is refused at call time on every face; whoever has it is not.
test('nginx and the program read an address in one way, or refuse it', async () => {
	const authorization = `Bearer ${s.tokens.admin}`;

	for (const target of ['//api/v1/me', '/api//v1/me', '/api/v1/./me', '/x/../api/v1/me', '/api/v1/%2e%2e/v1/me',
		'/api/v1/..%2fv1/me', '/api%2Fv1/me', '/%61pi/v1/me', '/metrics/%2E./api/v1/me', '/api/v1/me%5c..',
		'/%77s/logs', '/mcp/%2e', '/_error/../api/v1/me']) {
		const r = await bare(s, 'GET', target, {host: `127.0.0.1:${s.port}`, authorization});

		assert.equal(r.status, 400, target);
		assert.equal(r.json?.code, 'malformed-request', target);
	}
	/* What is only odd goes on working: blanks and letters of other scripts in names. */
	assert.equal((await bare(s, 'GET', '/api/v1/clusters/d%C3%A4mo', {host: 'localhost', authorization})).status, 400);
	const odd = await bare(s, 'GET', '/api/v1/operations?cluster=a//b/../c', {host: 'localhost', authorization});

	assert.deepEqual([odd.status, odd.json.field, odd.json.seen], [400, '/cluster', 'a//b/../c'], 'as it was sent');
});

const key = 'dGhlIHNhbXBsZSBub25jZQ==';

/** A good handshake that is refused all the same. */
async function refused(target, more, status, code)
{
	const r = await bare(s, 'GET', target, {host: 'localhost', connection: 'upgrade', upgrade: 'websocket',
		authorization: `Bearer ${s.tokens.admin}`, 'sec-websocket-version': '13', 'sec-websocket-key': key, ...more});

	assert.deepEqual([r.status, r.json?.status, r.json?.code], [status, status, code], `${target.slice(0, 20)}: ${r.text}`);
}

test('a WebSocket handshake without a key, or of another version, is refused', async () => {
	const upgrade = {host: 'localhost', connection: 'upgrade', upgrade: 'websocket', authorization: `Bearer ${s.tokens.admin}`};

	for (const [more, status] of [[{}, 426], [{'sec-websocket-version': '13'}, 400],
		[{'sec-websocket-version': '8', 'sec-websocket-key': key}, 426],
		[{'sec-websocket-version': '13', 'sec-websocket-key': 'short'}, 400]])
		assert.equal((await bare(s, 'GET', '/ws/events', {...upgrade, ...more})).status, status, JSON.stringify(more));
	/* An address that nobody can read is the caller's fault, whoever is asked first. */
	for (const query of ['%00', '%ff', 'a=%'])
		await refused(`/ws/events?${query}`, {}, 400, 'malformed-request');
	await refused(`/ws/events?a=${'x'.repeat(7000)}`, {}, 413, 'too-large');
	await refused('/ws/events', {origin: 'http://evil.example'}, 403, 'forbidden');
});

/* What nginx answers for itself: one status, in the line and in the document. */
test('when the program is down, every request gets a problem whose status is its own', async () => {
	await stop(s, 'fcgi');
	const headers = {host: 'localhost', authorization: `Bearer ${s.tokens.admin}`, 'content-type': 'application/json'};

	try {
		for (const [method, target, size] of [['GET', '/api/v1/me', 0], ['POST', '/api/v1/tokens', 100], ['POST', '/api/v1/tokens', 900000],
			['POST', '/mcp', 900000], ['GET', '/login', 0]]) {
			const r = await bare(s, method, target, {...headers, 'content-length': size}, 'x'.repeat(size));

			assert.deepEqual([r.status, r.json?.status, r.json?.code], [502, 502, 'unavailable'], `${method} ${target} ${size}: ${r.text}`);
		}
		await refused('/ws/events', {}, 502, 'unavailable');
	} finally {
		startService(s, 'fcgi');
		await waitFor('the program', async () => (await fetch(`${s.url}/healthz`)).status === 200);
	}
});

test('a name that is nearly right leads to the one that is', async () => {
	psql(s, "insert into cluster (name, origin, created_at, updated_at) values ('nightly-eu', 'created', now(), now())");
	const wrong = await call(s, 'GET', '/api/v1/clusters/nigthly-eu', {role: 'viewer'});

	assert.equal(wrong.status, 404);
	assert.equal(wrong.json.expected, 'did you mean nightly-eu?');
	assert.equal((await call(s, 'GET', '/api/v1/clusters/production', {role: 'viewer'})).json.expected, 'a name from list_clusters');
	const storage = await call(s, 'DELETE', '/api/v1/clusters/nightly-eu/storages/dta?confirm=dta', {role: 'admin'});

	assert.match(storage.json.expected, /list_storages|did you mean/);
	psql(s, "delete from cluster where name = 'nightly-eu'");
});

test('blank members are not given, and a quoted key is the unquoted one', async () => {
	const body = {name: 'blank', role: 'viewer', expires_in_days: null, principal: ''};
	const sent = key => call(s, 'POST', '/api/v1/tokens?dry_run=plan', {role: 'admin', body, headers: {'idempotency-key': key}});
	const plain = await call(s, 'POST', '/api/v1/tokens?dry_run=plan', {role: 'admin', body: {name: 'blank', role: 'viewer'}});

	assert.equal((await sent('k-1')).json.plan_digest, plain.json.plan_digest);
	assert.equal((await sent('"k-1"')).status, 200);
});

test('authorisation matrix: every capability, role and face', async () => {
	let cells = 0;

	for (const c of capabilities(s)) {
		const target = `/api/v1${c.path.replace(/\{\w+\}/g, 'x')}${c.effect === 'read' ? '' : '?dry_run=plan'}`;
		const body = c.method === 'GET' || c.method === 'DELETE' ? undefined : {};
		const none = await call(s, c.method, target, {body});

		assert.equal(none.status, 401, c.name);
		for (const role of ROLES) {
			const may = ROLES.indexOf(role) >= ROLES.indexOf(c.role);
			const rest = await call(s, c.method, target, {role, body});

			assert.equal(rest.status === 403, !may, `${c.name} as ${role}: ${rest.text}`);
			assert.notEqual(rest.status, 401);
			const mcp = await tool(s, c.name, c.effect === 'read' ? {} : {dry_run: 'plan'}, {role});
			const text = mcp.content?.[0].text ?? '';

			/* REST-only rows are no tools at all. */
			if (mcp.rpc)
				assert.equal(mcp.rpc.code, -32602, c.name);
			else
				assert.equal(mcp.isError && /"code":"forbidden"/.test(text), !may, `${c.name} as ${role} by MCP: ${text}`);
			cells += 2;
		}
	}
	console.log(`# ${cells} cells of the authorisation matrix`);
});

/* nginx writes the request line of what goes wrong; a login link may still be good then. */
test('no log holds the code of a login link', async () => {
	const r = await fetch(`${s.url}/login?code=isl_canary`, {method: 'POST', body: 'x'.repeat(2e6)});

	assert.equal(r.status, 413);
	await fetch(`${s.url}/login?code=isl_canary`);
	for (const f of fs.readdirSync(s.dir).filter(name => name.endsWith('.log')))
		assert(!fs.readFileSync(path.join(s.dir, f), 'utf8').includes('isl_canary'), f);
});

test('probes, metrics and documents', async () => {
	assert.deepEqual((await call(s, 'GET', '/healthz')).json, {status: 'ok'});
	psql(s, "update operation set due_at = j_now() + interval '1 hour' where state = 'live'");
	/* Nobody works here, and nothing is due: that is no sign of life. */
	const alone = await fetch(`${s.url}/readyz`);

	assert.equal(alone.status, 503);
	assert.match((await alone.json()).checks.poller.detail, /No poller has run/);
	psql(s, "select heartbeat_put('poller', 'test', -1000)");
	assert.match((await (await fetch(`${s.url}/readyz`)).json()).checks.poller.detail, /No poller has been running since 20/);
	psql(s, "select heartbeat_put('poller', 'test', 600000)");
	assert.equal((await call(s, 'GET', '/readyz')).json.status, 'ready');
	const id = operation(s);

	psql(s, `update operation set due_at = j_now() - interval '1 minute' where id = '${id}'`);
	const silent = await fetch(`${s.url}/readyz`);

	assert.equal(silent.status, 503);
	assert.equal((await silent.json()).checks.poller.ok, false);
	const metrics = await (await fetch(`${s.url}/metrics`)).text();

	assert.match(metrics, /^instantstart_requests_total\{face="rest",status="2xx"\} [1-9]/m);
	assert.match(metrics, /^instantstart_operations\{label="live"\} [1-9]/m);
	for (const line of metrics.trimEnd().split('\n'))
		assert.match(line, /^(# (HELP|TYPE) \S+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)$/, line);
	assert.equal(s.openapi.openapi, '3.1.0');
});

test('every read that needs no cloud was exercised', () => {
	const needsCloud = new Set(['list_availability_zones', 'list_instance_types', 'check_quotas']);
	const missed = ['list_operations', 'get_operation', 'list_events', 'cancel_operation', 'get_me', 'create_token', 'list_tokens', 'revoke_token', 'list_audit', 'verify_audit']
		.filter(name => !exercised.has(name) && !needsCloud.has(name));

	assert.deepEqual(missed, []);
});
