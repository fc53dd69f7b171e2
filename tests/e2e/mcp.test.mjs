// MCP message by message: envelopes and errors of both eras, what tools say.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {psql} from '../stack/stack.mjs';
import {META, bare, end, modern, operation, post, start, tool} from './faces.mjs';

const V = 'io.modelcontextprotocol/protocolVersion', C = 'io.modelcontextprotocol/clientCapabilities';
let s;

before(async () => {
	s = await start({poller: false, cloud: true});
});
after(() => end(s));

const rpc = (method, params, id = 1) => ({jsonrpc: '2.0', id, method, ...(params ? {params} : {})});
const H = (method, name) => ({'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name ? {'mcp-name': name} : {})});
const meta = (more = {}) => ({_meta: {...META, ...more}});
const base64 = text => `=?base64?${Buffer.from(text).toString('base64')}?=`;

test('envelopes: every refusal has its code and status', async () => {
	const call = {name: 'get_me', arguments: {}, ...meta()};
	const rows = [
		// what, message, headers, HTTP, code
		['not JSON', '{', {}, 400, -32700],
		['bad UTF-8 is not JSON', '{"jsonrpc":"2.0","id":"\\ud800"}', {}, 400, -32700],
		['a batch', [rpc('ping')], {}, 400, -32600],
		['no jsonrpc', {id: 1, method: 'ping'}, {}, 400, -32600],
		['jsonrpc 1.0', {jsonrpc: '1.0', id: 1, method: 'ping'}, {}, 400, -32600],
		['a number', '7', {}, 400, -32600],
		['id null', rpc('ping', undefined, null), {}, 400, -32600],
		['id a fraction', rpc('ping', undefined, 1.5), {}, 400, -32600],
		['id a boolean', rpc('ping', undefined, true), {}, 400, -32600],
		['no method', {jsonrpc: '2.0', id: 1}, {}, 400, -32600],
		['method a number', {jsonrpc: '2.0', id: 1, method: 3}, {}, 400, -32600],
		['params a list', {jsonrpc: '2.0', id: 1, method: 'ping', params: []}, {}, 400, -32600],
		['deep nesting', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(3000)}${']'.repeat(3000)}}}`, {}, 400, -32700],
		['_meta a string', rpc('tools/list', {_meta: 'x'}), {}, 400, -32602],
		['claim of the wrong type', rpc('tools/list', {_meta: {[V]: 7, [C]: {}}}), H('tools/list'), 400, -32602],
		['claim without capabilities', rpc('tools/list', {_meta: {[V]: '2026-07-28'}}), H('tools/list'), 400, -32602],
		['claim without the version header', rpc('tools/list', meta()), {'mcp-method': 'tools/list'}, 400, -32020],
		['claim that is not the header', rpc('tools/list', meta()), {...H('tools/list'), 'mcp-protocol-version': '2025-11-25'}, 400, -32020],
		['claim of a version not served', rpc('tools/list', meta({[V]: '2027-01-01'})), {...H('tools/list'), 'mcp-protocol-version': '2027-01-01'}, 400, -32022],
		['claim of a legacy version', rpc('tools/list', meta({[V]: '2025-11-25'})), {...H('tools/list'), 'mcp-protocol-version': '2025-11-25'}, 400, -32022],
		['no Mcp-Method', rpc('tools/list', meta()), {'mcp-protocol-version': '2026-07-28'}, 400, -32020],
		['Mcp-Method of another', rpc('tools/list', meta()), H('tools/call'), 400, -32020],
		['Mcp-Method differs by case', rpc('tools/list', meta()), H('Tools/List'), 400, -32020],
		['no Mcp-Name', rpc('tools/call', call), H('tools/call'), 400, -32020],
		['Mcp-Name of another', rpc('tools/call', call), H('tools/call', 'list_operations'), 400, -32020],
		['Mcp-Name differs by case', rpc('tools/call', call), H('tools/call', 'Get_me'), 400, -32020],
		['Mcp-Name in bad base64', rpc('tools/call', call), H('tools/call', '=?base64?!!?='), 400, -32020],
		['modern initialize', rpc('initialize', {protocolVersion: '2026-07-28', ...meta()}), H('initialize'), 404, -32601],
		['modern ping', rpc('ping', meta()), H('ping'), 404, -32601],
		['modern unknown method', rpc('tasks/get', meta()), H('tasks/get'), 404, -32601],
		['modern listen', rpc('subscriptions/listen', meta()), H('subscriptions/listen'), 404, -32601],
		['handshake by a modern header', rpc('initialize', {protocolVersion: '2025-11-25'}), {'mcp-protocol-version': '2026-07-28'}, 400, -32020],
		['modern header without a claim', rpc('tools/list'), {'mcp-protocol-version': '2026-07-28'}, 400, -32602],
		['legacy version not served', rpc('tools/list'), {'mcp-protocol-version': '2024-01-01'}, 400, -32600],
		['legacy unknown method', rpc('prompts/list'), {}, 200, -32601],
		['legacy discover', rpc('server/discover'), {}, 200, -32601],
		['unknown tool', rpc('tools/call', {...call, name: 'nope'}), H('tools/call', 'nope'), 200, -32602],
		['REST-only row is no tool', rpc('tools/call', {...call, name: 'create_token'}), H('tools/call', 'create_token'), 200, -32602],
		['name missing', rpc('tools/call', meta()), H('tools/call'), 200, -32602],
		['arguments a list', rpc('tools/call', {...call, arguments: []}), H('tools/call', 'get_me'), 200, -32602],
		['bad cursor', rpc('tools/list', {cursor: 'x', ...meta()}), H('tools/list'), 200, -32602],
		['a response, modern', {jsonrpc: '2.0', id: 1, result: {}}, {'mcp-protocol-version': '2026-07-28'}, 400, -32600],
		['wrong type of body', rpc('ping'), {'content-type': 'text/plain'}, 415, -32600],
	];

	for (const [what, message, headers, status, code] of rows) {
		const r = await post(s, message, {headers});

		assert.equal(`${r.status} ${r.json?.error?.code}`, `${status} ${code}`, `${what}: ${r.text}`);
		assert.equal(r.json.jsonrpc, '2.0', what);
		assert(r.json.error.message, what);
		assert(!('id' in r.json) || r.json.id !== null, what);
	}
	const version = (await post(s, rpc('tools/list', meta({[V]: '2027-01-01'})), {headers: {...H('tools/list'), 'mcp-protocol-version': '2027-01-01'}})).json.error;

	assert.deepEqual(version.data, {supported: ['2026-07-28'], requested: '2027-01-01'});
});

test('what is accepted: ids, headers, notifications, the other media type', async () => {
	for (const id of ['a', '', 'ä"\\', 0, -5, 9007199254740993n]) {
		const text = typeof id === 'bigint' ? String(id) : JSON.stringify(id);
		const r = await post(s, `{"jsonrpc":"2.0","id":${text},"method":"ping"}`);

		assert.equal(r.text, `{"jsonrpc":"2.0","id":${text},"result":{}}`);
	}
	const quiet = [
		[{jsonrpc: '2.0', method: 'notifications/initialized'}, {}],
		[{jsonrpc: '2.0', method: 'notifications/unknown', params: {}}, {'mcp-protocol-version': '2025-06-18'}],
		[{jsonrpc: '2.0', method: 'notifications/cancelled', params: meta()}, H('notifications/cancelled')],
		[{jsonrpc: '2.0', id: 9, result: {}}, {'mcp-protocol-version': '2025-11-25'}],
	];

	for (const [message, headers] of quiet) {
		const r = await post(s, message, {headers});

		assert.equal(`${r.status} ${r.text}`, '202 ', JSON.stringify(message));
	}
	const ok = [
		{...H('tools/call', base64('get_me'))},
		{...H('tools/call', '  get_me ')},
		{...H('tools/call', 'get_me'), 'mcp-session-id': 'x', 'last-event-id': '7'},
		{...H('tools/call', 'get_me'), accept: null},
		{...H('tools/call', 'get_me'), 'content-type': 'application/json; charset=utf-8'},
	];

	for (const headers of ok) {
		const r = await post(s, rpc('tools/call', {name: 'get_me', ...meta({'com.example/more': 1})}), {headers});

		assert.equal(r.json?.result?.isError, false, `${JSON.stringify(headers)}: ${r.text}`);
		assert.equal(r.headers.get('mcp-session-id'), null);
	}
	const sse = await post(s, rpc('ping'), {headers: {accept: 'text/event-stream'}});

	assert.match(sse.headers.get('content-type'), /^text\/event-stream/);
	assert.equal(sse.text, 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
});

test('methods, access and origins of the address itself', async () => {
	const own = {host: `127.0.0.1:${s.port}`, authorization: `Bearer ${s.tokens.viewer}`};

	for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']) {
		const r = await bare(s, method, '/mcp', own);

		assert.equal(`${r.status} ${r.headers.allow}`, '405 POST', method);
	}
	const body = JSON.stringify(rpc('ping')), json = {'content-type': 'application/json', 'content-length': body.length};

	assert.equal((await bare(s, 'POST', '/mcp', {...own, ...json, origin: 'http://evil.example'}, body)).status, 403);
	assert.equal((await bare(s, 'POST', '/mcp', {...own, ...json, origin: 'null'}, body)).status, 403);
	assert.equal((await bare(s, 'POST', '/mcp', {...own, ...json, host: 'evil.example'}, body)).status, 403);
	assert.equal((await bare(s, 'POST', '/mcp', {...own, ...json, origin: `http://localhost:${s.port}`}, body)).status, 200);
	/* Before anything is parsed: neither the method nor the body matters. */
	for (const message of [rpc('ping'), '{', rpc('nope', meta())]) {
		const r = await post(s, message, {role: null});

		assert.equal(r.status, 401);
		assert.match(r.headers.get('www-authenticate'), /^Bearer/);
	}
	assert.equal((await post(s, 'x'.repeat(1048577))).status, 413);
	assert.equal((await post(s, rpc('ping'), {query: '?toolset=nope'})).json.error.code, -32602);
	assert.equal((await post(s, rpc('ping'), {query: '?tools=operations'})).json.error.code, -32602);
});

test('discovery and handshake', async () => {
	const d = (await modern(s, 'server/discover')).json.result;

	assert.deepEqual(d.supportedVersions, ['2026-07-28']);
	assert.deepEqual(d.capabilities, {tools: {}});
	assert.equal(d.resultType, 'complete');
	assert(Number.isInteger(d.ttlMs) && ['public', 'private'].includes(d.cacheScope));
	assert.equal(d._meta['io.modelcontextprotocol/serverInfo'].name, 'instantstart');
	assert(d.instructions.length < 2000);
	for (const [asked, given] of [['2025-11-25', '2025-11-25'], ['2025-06-18', '2025-06-18'], ['2025-03-26', '2025-03-26'], ['2024-11-05', '2025-11-25'], ['2026-07-28', '2025-11-25'], ['nope', '2025-11-25']]) {
		const r = (await post(s, rpc('initialize', {protocolVersion: asked, capabilities: {}, clientInfo: {name: 'x', version: '1'}}))).json.result;

		assert.equal(r.protocolVersion, given, asked);
		assert.equal(r.serverInfo.name, 'instantstart');
		assert.equal(r.resultType, undefined);
	}
});

test('the list of tools: what clients choke on is not in it', async () => {
	const list = (await modern(s, 'tools/list')).json.result;
	const again = (await modern(s, 'tools/list', {}, {role: 'viewer'})).json.result;
	const legacy = (await post(s, rpc('tools/list'))).json.result;

	assert.deepEqual(again.tools, list.tools, 'the same for every role');
	assert.deepEqual(legacy, {tools: list.tools});
	assert(Number.isInteger(list.ttlMs) && list.cacheScope);
	const names = list.tools.map(t => t.name);

	assert.equal(new Set(names).size, names.length);
	for (const t of list.tools) {
		assert.match(t.name, /^[a-z0-9_]{1,30}$/);
		assert(t.title && t.description && t.description.length < 600, t.name);
		assert.deepEqual(Object.keys(t.annotations).sort(), ['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint', 'title']);
		for (const schema of [t.inputSchema, t.outputSchema]) {
			assert.equal(schema.type, 'object', t.name);
			assert(!/"(\$ref|\$defs|oneOf|anyOf|allOf|\$schema)"/.test(JSON.stringify(schema)), t.name);
			walk(schema, t.name);
		}
		assert.equal(t.inputSchema.additionalProperties, false, t.name);
		if (!t.annotations.readOnlyHint)
			for (const option of ['idempotency_key', 'dry_run', 'plan_digest'])
				assert(t.inputSchema.properties[option], `${t.name}: ${option}`);
	}
	const reads = (await post(s, rpc('tools/list'), {query: '?read_only=1'})).json.result.tools;

	assert(reads.length && reads.every(t => t.annotations.readOnlyHint));
	const some = (await post(s, rpc('tools/list'), {query: '?toolset=operations,me'})).json.result.tools.map(t => t.name);

	assert(some.includes('get_operation') && some.includes('get_me') && !some.includes('list_audit'));
	const hidden = await post(s, rpc('tools/call', {name: 'cancel_operation', arguments: {}}), {query: '?read_only=1'});

	assert.equal(hidden.json.error.code, -32602);
});

function walk(schema, where)
{
	if (schema.type === 'array')
		assert(schema.items, `${where}: an array without items`);
	assert(!Array.isArray(schema.type) || schema.type.length === 2, where);
	for (const [name, p] of Object.entries(schema.properties ?? {})) {
		assert.match(name, /^[a-zA-Z0-9_.-]{1,64}$/);
		walk(p, `${where}.${name}`);
	}
	if (schema.items)
		walk(schema.items, `${where}[]`);
}

test('what clients send for nothing is nothing, and models may send texts', async () => {
	const result = async params => (await modern(s, 'tools/call', {name: 'list_operations', ...params})).json.result;
	const plain = await result({arguments: {limit: 5}});

	for (const args of [{limit: '5'}, {limit: 5, cursor: null, state: '', kind: null}, '{"limit": 5}'])
		assert.deepEqual((await result({arguments: args})).structuredContent, plain.structuredContent, JSON.stringify(args));
	for (const args of [null, ''])
		assert(!(await result({arguments: args})).isError, JSON.stringify(args));
	assert((await result({arguments: {limit: 'five'}})).isError);
	/* Legacy: params, _meta and cursor. */
	for (const params of [null, '', {_meta: null}, {cursor: null}, {cursor: '', _meta: ''}])
		assert((await post(s, {jsonrpc: '2.0', id: 1, method: 'tools/list', params})).json.result?.tools, JSON.stringify(params));
	const slash = await fetch(`${s.url}/mcp/`, {method: 'POST', headers: {authorization: `Bearer ${s.tokens.admin}`,
		'content-type': 'application/json'}, body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'ping'})});

	assert.deepEqual((await slash.json()).result, {});
});

test('unknown tools lead to the nearest, members of others to ours', async () => {
	assert.match((await tool(s, 'getOperation', {})).rpc.message, /Did you mean get_operation\?/);
	assert.match((await tool(s, 'create_clusters', {})).rpc.message, /Did you mean create_cluster\?/);
	assert.match((await tool(s, 'list_operations', {MaxResults: 5})).content[0].text, /did you mean limit\?/);
	assert.match((await tool(s, 'list_operations', {NextToken: 'x'})).content[0].text, /did you mean cursor\?/);
});

test('calls: structure and text are twins, refusals are results', async () => {
	const id = operation(s);
	const got = await tool(s, 'get_operation', {id});

	assert.deepEqual(JSON.parse(got.content[0].text), got.structuredContent);
	assert.equal(got.structuredContent.next.tool, 'get_operation');
	const wrong = await tool(s, 'get_operation', {id, cluser: 'x', wait_seconds: 99});
	const problem = JSON.parse(wrong.content[0].text);

	assert.equal(wrong.isError, true);
	assert.equal(wrong.structuredContent, undefined);
	assert.deepEqual(problem.errors.map(e => e.field).sort(), ['/cluser', '/wait_seconds']);
	assert.equal((await tool(s, 'get_operation', {id: 'op_none'})).isError, true);
	const order = await tool(s, 'cancel_operation', {id, idempotency_key: 'mcp1'}, {role: 'operator'});

	assert.equal(order.isError, false);
	assert.equal(order.structuredContent.id, id);
	const plan = await tool(s, 'cancel_operation', {id, dry_run: 'plan'}, {role: 'operator'});

	assert.match(plan.structuredContent.plan_digest, /^[0-9a-f]{64}$/);
	const reused = await tool(s, 'cancel_operation', {id, undo: true, confirm: id, idempotency_key: 'mcp1'}, {role: 'operator'});

	assert.equal(JSON.parse(reused.content[0].text).code, 'idempotency-key-reused');
});

test('long answers: the text stays short and says how to get the rest; terminals are safe', async () => {
	const ids = Array.from({length: 20}, () => operation(s, {input: {cluster: 'long'}}));
	const list = await tool(s, 'list_operations', {cluster: 'long'});

	assert.equal(list.structuredContent.items.length, 20);
	assert(Buffer.byteLength(list.content[0].text) <= 4096);
	const text = JSON.parse(list.content[0].text);

	assert(text.items.length > 0 && text.items.length < 20);
	assert.match(text.truncated, new RegExp(`^${text.items.length} of 20`));
	psql(s, `update operation set waiting_for = E'red \\x1b[31m bell \\x07 tab \\t end\\u007f\\u009b2J\\u202e\\U000E0041.' where id = '${ids[0]}'`);
	const tamed = await tool(s, 'get_operation', {id: ids[0]});

	assert.equal(tamed.structuredContent.waiting_for, 'red  [31m bell   tab \t end   2J       .');
	assert(!/[\x00-\x08\x0b-\x1f]/.test(JSON.parse(tamed.content[0].text).waiting_for));
});

test('an abandoned call leaves one operation ordered, not none and not two', async () => {
	const id = operation(s);
	const controller = new AbortController();
	const body = JSON.stringify(rpc('tools/call', {name: 'cancel_operation', arguments: {id, idempotency_key: 'gone'}, ...meta()}));
	const request = () => fetch(`${s.url}/mcp`, {method: 'POST', body, signal: controller.signal, headers: {authorization: `Bearer ${s.tokens.operator}`,
		'content-type': 'application/json', accept: 'application/json', ...H('tools/call', 'cancel_operation')}});
	const first = request().catch(() => null);

	setTimeout(() => controller.abort(), 3);
	await first;
	const again = await tool(s, 'cancel_operation', {id, idempotency_key: 'gone'}, {role: 'operator'});

	assert.equal(again.isError, false);
	assert.equal(psql(s, `select count(*) from event where op_id = '${id}' and what = 'cancel'`), '1');
});
