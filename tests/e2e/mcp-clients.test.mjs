// What clients of MCP are known to do, and to break on: a list, one row a quirk. Each
// request is sent as that client sends it; sources are their own trackers.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {META, bare, end, modern, operation, post, start, tool} from './faces.mjs';

let s;

before(async () => {
	s = await start({poller: false, cloud: true});
});
after(() => end(s));

const rpc = (method, params, id = 1) => ({jsonrpc: '2.0', id, method, ...(params ? {params} : {})});
const hello = (protocolVersion, name, version, capabilities = {}) =>
	rpc('initialize', {protocolVersion, capabilities, clientInfo: {name, version}}, 0);
const initialized = {jsonrpc: '2.0', method: 'notifications/initialized'};
const legacy = version => ({'mcp-protocol-version': version});
const claim = more => ({_meta: {...META, ...more}});
const H = (method, name) => ({'mcp-protocol-version': '2026-07-28', 'mcp-method': method,
	...(name ? {'mcp-name': name} : {})});
const result = r => {
	assert.equal(r.status, 200, r.text);
	return r.json.result;
};
const isTools = r => assert(result(r).tools.length > 20, r.text.slice(0, 300));
const isQuiet = r => assert.equal(`${r.status} ${r.text}`, '202 ');
const negotiates = version => r => {
	assert.equal(result(r).protocolVersion, version);
	assert.equal(r.headers.get('mcp-session-id'), null, 'no session');
};

/* [client, quirk, source, message, {headers, query}, what the answer must be] */
const quirks = [
	['Claude Code', 'probes server/discover first, with the modern envelope', 'recorded: presa 0.1.1',
		rpc('server/discover', claim({'io.modelcontextprotocol/clientInfo': {name: 'claude-code', version: '2.1.317'}})),
		{headers: H('server/discover')}, r => assert.deepEqual(result(r).supportedVersions, ['2026-07-28'])],
	['Claude Code', 'probes without headers: told that the server is modern, not that it is a stranger', 'SDK v2: -32020 means modern',
		rpc('server/discover', claim()), {}, r => assert.equal(`${r.status} ${r.json.error.code}`, '400 -32020')],
	['Claude Code', 'falls back to the handshake, with roots and elicitation declared', 'recorded: presa 0.1.1',
		hello('2025-11-25', 'claude-code', '2.1.317', {roots: {}, elicitation: {}}), {}, negotiates('2025-11-25')],
	['Claude Code', 'a handshake that asks for the modern revision never gets it', 'gitlab 627825',
		hello('2026-07-28', 'claude-code', '2.1.317'), {}, negotiates('2025-11-25')],
	['Claude Code', 'numbers its requests from 0, and sends a progress token', 'SDK v1',
		rpc('tools/call', {name: 'get_me', arguments: {}, _meta: {progressToken: 0}}, 0), {headers: legacy('2025-11-25')},
		r => assert.equal(`${r.json.id} ${result(r).isError}`, '0 false')],
	['Claude Code', 'asks for prompts and resources although none are declared', 'SDK v1: listed at connection',
		rpc('prompts/list'), {headers: legacy('2025-11-25')}, r => assert.equal(`${r.status} ${r.json.error.code}`, '200 -32601')],
	['Codex', 'speaks 2025-06-18 alone', 'codex 33952',
		hello('2025-06-18', 'codex-mcp-client', '0.165.0', {elicitation: {}}), {}, negotiates('2025-06-18')],
	['Codex', 'dies of a body in the answer to a notification', 'awslabs/mcp 3295, rmcp',
		initialized, {headers: legacy('2025-06-18')}, isQuiet],
	['Codex', 'sends params: {} and _meta: {} where there is nothing to say', 'rmcp',
		rpc('tools/list', {_meta: {}}), {headers: legacy('2025-06-18')}, isTools],
	['Codex', 'takes only what Accept names in the other order', 'rmcp: text/event-stream, application/json',
		rpc('tools/list'), {headers: {...legacy('2025-06-18'), accept: 'text/event-stream, application/json'}},
		r => {
			assert.match(r.headers.get('content-type'), /^application\/json/);
			isTools(r);
		}],
	['Cursor', 'sends no version header after the handshake', 'servers assume 2025-03-26',
		rpc('tools/list'), {}, isTools],
	['Cursor', 'asks for 2025-03-26', 'handshake of older releases',
		hello('2025-03-26', 'cursor-vscode', '1.0.0', {tools: true, prompts: true, resources: true, logging: false}), {},
		negotiates('2025-03-26')],
	['Cursor', 'calls a tool without arguments', 'arguments may be absent',
		rpc('tools/call', {name: 'get_me'}), {}, r => assert.equal(result(r).isError, false)],
	['VS Code', 'declares tasks of 2025-11-25 and asks for one: gets the result itself', 'vscode 277888',
		rpc('tools/call', {name: 'get_me', arguments: {}, task: {ttl: 60000}}), {headers: legacy('2025-11-25')}, r => {
			assert.equal(result(r).task, undefined);
			assert.equal(result(r).isError, false);
		}],
	['VS Code', 'sets the log level at once', 'vscode: logging/setLevel after initialize',
		rpc('logging/setLevel', {level: 'info'}), {headers: legacy('2025-11-25')},
		r => assert.equal(`${r.status} ${r.json.error.code}`, '200 -32601')],
	['VS Code', 'pings by text id', 'ids may be texts',
		rpc('ping', undefined, 'p-1'), {headers: legacy('2025-11-25')}, r => assert.equal(r.text, '{"jsonrpc":"2.0","id":"p-1","result":{}}')],
	['Kiro', 'keeps a session id from elsewhere, or loses its own', 'Kiro 9140',
		rpc('tools/list'), {headers: {...legacy('2025-11-25'), 'mcp-session-id': 'gone', 'last-event-id': '7'}}, isTools],
	['Kiro', 'sends charset with the type', 'reqwest and axios',
		rpc('ping'), {headers: {'content-type': 'application/json;charset=UTF-8'}}, r => assert.equal(r.status, 200)],
	['Copilot CLI', 'accepts anything', 'Accept: */*',
		rpc('ping'), {headers: {accept: '*/*'}}, r => assert.match(r.headers.get('content-type'), /^application\/json/)],
	['Copilot Studio', 'posts an answer to what was never asked', 'responses are taken note of',
		{jsonrpc: '2.0', id: 3, result: {roots: []}}, {headers: legacy('2025-11-25')}, isQuiet],
	['go-sdk', 'is modern by default; sends unknown _meta keys and trace context', 'go-sdk 1.7.0',
		rpc('tools/list', claim({traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, 'com.example/k': [1]})),
		{headers: H('tools/list')}, r => assert.equal(result(r).resultType, 'complete')],
	['go-sdk', 'pins legacy and retries the handshake with the header set', 'go-sdk 1.7.0',
		hello('2025-11-25', 'go', '1'), {headers: legacy('2025-11-25')}, negotiates('2025-11-25')],
	['gateways', 'put the name of a tool in base64', 'values that look like the sentinel',
		rpc('tools/call', {name: 'get_me', arguments: {}, ...claim()}),
		{headers: H('tools/call', `=?base64?${Buffer.from('get_me').toString('base64')}?=`)},
		r => assert.equal(result(r).isError, false)],
	['gateways', 'add an address of their own', 'X-Forwarded-* says nothing here',
		rpc('ping'), {headers: {'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example'}}, r => assert.equal(r.status, 200)],
	['old clients', 'send a batch', 'removed in 2025-06-18',
		[rpc('ping'), initialized], {}, r => assert.equal(`${r.status} ${r.json.error.code}`, '400 -32600')],
];

for (const who of new Set(quirks.map(q => q[0])))
	test(`${who}: what it sends`, async () => {
		for (const [, quirk, source, message, options, check] of quirks.filter(q => q[0] === who)) {
			const r = await post(s, message, options);

			try {
				check(r);
			} catch (e) {
				throw new Error(`${quirk} (${source}): ${r.status} ${r.text.slice(0, 400)}: ${e.message}`, {cause: e});
			}
		}
	});

test('streams and sessions of old transports are refused as clients understand it', async () => {
	const own = {host: `127.0.0.1:${s.port}`, authorization: `Bearer ${s.tokens.viewer}`, accept: 'text/event-stream'};

	/* Kiro IDE and every SDK: GET after the handshake; 405 says that there is no stream. */
	for (const method of ['GET', 'DELETE']) {
		const r = await bare(s, method, '/mcp', {...own, 'mcp-session-id': 'x'});

		assert.equal(`${r.status} ${r.headers.allow}`, '405 POST', method);
	}
	/* The two-address transport of 2024-11-05, and OAuth's well-known addresses: not a 200. */
	for (const path of ['/sse', '/mcp/sse', '/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp',
		'/.well-known/oauth-authorization-server', '/.well-known/openid-configuration', '/register']) {
		const r = await bare(s, 'GET', path, own);

		assert.equal(r.status, 404, path);
	}
});

/* --- the list, as each client measures it ------------------------------------------- */

/* [client, quirk, source, what must hold for a tool] */
const limits = [
	['Claude Code', '64 characters with mcp__instantstart__ before the name', 'claude-code 19882', t => `mcp__instantstart__${t.name}`.length <= 64],
	['Cursor', '60 characters of server and tool', 'awslabs/mcp 1283', t => `instantstart:${t.name}`.length <= 60],
	['Copilot CLI', 'no dots or slashes in names', 'copilot-cli 1879', t => /^[a-zA-Z0-9_-]{1,128}$/.test(t.name)],
	['Claude Code', 'cuts descriptions at 2048 characters', 'claude-code 87650', t => t.description.length <= 600],
	['Claude Code', 'rejects the conversation for a combinator at the root', 'claude-code 56174', t =>
		!/"(oneOf|anyOf|allOf|not|if)":/.test(JSON.stringify([t.inputSchema, t.outputSchema]))],
	['Kiro, Copilot, Gemini', 'drops or breaks on $ref and $defs', 'fastmcp 2808, gemini-cli 13326', t =>
		!/"\$(ref|defs|schema|id|anchor)":/.test(JSON.stringify([t.inputSchema, t.outputSchema]))],
	['VS Code', 'refuses an array without items', 'vscode 248810', t => every(t, x => x.type !== 'array' || x.items)],
	['Gemini, Inspector', 'knows one type a member', 'inspector --strict', t => every(t, x => typeof x.type === 'string')],
	['Kiro', 'calls a deep schema improperly formed', 'Kiro 3431', t => depth(t.inputSchema) <= 5 && depth(t.outputSchema) <= 7],
	['Anthropic API', 'names of members are ^[a-zA-Z0-9_.-]{1,64}$', 'claude-code 4886', t =>
		every(t, x => Object.keys(x.properties ?? {}).every(n => /^[a-zA-Z0-9_.-]{1,64}$/.test(n)))],
	['Kiro', 'approves by name: only reads look like reads', 'allowedTools globs', t =>
		t.annotations.readOnlyHint === /^(get|list|check|search|verify)_/.test(t.name)],
	['ChatGPT, VS Code', 'asks before what is not marked as read', 'annotations default to the worst', t =>
		['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'].every(h => typeof t.annotations[h] === 'boolean')],
];

/* Keywords of one schema hold for all schemas in it. */
function every(t, test)
{
	const of = schema => test(schema) && Object.values(schema.properties ?? {}).every(of)
		&& (!schema.items || of(schema.items));

	return of(t.inputSchema) && of(t.outputSchema);
}

const depth = schema => 1 + Math.max(0, ...[...Object.values(schema.properties ?? {}), ...schema.items ? [schema.items] : []].map(depth));

test('the list of tools: every limit that a client has', async () => {
	const {tools} = (await modern(s, 'tools/list')).json.result;

	for (const [who, quirk, source, holds] of limits)
		assert.deepEqual(tools.filter(t => !holds(t)).map(t => t.name), [], `${who}: ${quirk} (${source})`);
	assert(tools.length <= 128, 'VS Code takes 128 (vscode 294055)');
});

/*
 * What a model reads of every tool in every conversation: name, description, input.
 * A tool may take 650 bytes, 170 for each member of its own and 100 for each option
 * that changes share; what it answers is for programs, and may take 1600 for a change,
 * 4500 for a read.
 */
test('the list of tools: its weight', async t => {
	const {tools} = (await modern(s, 'tools/list')).json.result;
	const bytes = x => Buffer.byteLength(JSON.stringify(x));
	const common = ['idempotency_key', 'dry_run', 'plan_digest', 'queue', 'confirm', 'accept_missing_rights'];
	const members = schema => Object.entries(schema.properties ?? {}).reduce((n, [name, p]) =>
		n + (common.includes(name) ? 0 : 1) + members(p), 0);
	const read = x => bytes({name: x.name, description: x.description, input_schema: x.inputSchema});
	const sum = f => tools.reduce((n, x) => n + f(x), 0);
	const rows = tools.map(x => ({name: x.name, model: read(x), room: 650 + 170 * members(x.inputSchema)
		+ common.filter(o => o in x.inputSchema.properties).length * 100, output: bytes(x.outputSchema),
	most: x.annotations.readOnlyHint ? 4500 : 1600}));

	t.diagnostic(`${tools.length} tools: ${sum(read)} bytes for the model (${Math.round(sum(read) / tools.length)} a tool), ${
		sum(x => bytes(x.outputSchema))} of output schemas, ${bytes(tools)} in all`);
	assert.deepEqual(rows.filter(r => r.model > r.room || r.output > r.most), []);
	/* Nothing is said twice to one reader: no description repeats a title or another's. */
	const words = tools.map(x => x.description);

	assert.equal(new Set(words).size, words.length);
});

/* --- what a call answers -------------------------------------------------------------- */

test('answers: each client sees all of it, by text or by structure', async () => {
	const id = operation(s);

	for (const headers of [legacy('2025-06-18'), legacy('2025-11-25'), null]) {
		const r = headers ? (await post(s, rpc('tools/call', {name: 'get_operation', arguments: {id}}), {headers})).json.result
			: await tool(s, 'get_operation', {id});

		/* Claude Code and VS Code show the structure alone, others the text alone. */
		assert.deepEqual(JSON.parse(r.content[0].text), r.structuredContent);
		assert.equal(r.content.length, 1);
		/* Schemas know no null, so neither do answers. */
		assert(!/:\s*null\b/.test(r.content[0].text), r.content[0].text);
	}
	/* Every client gives up at 60 s at the latest; nothing here waits longer than 25. */
	const {tools} = (await modern(s, 'tools/list')).json.result;
	const wait = tools.find(t => t.name === 'get_operation').inputSchema.properties.wait_seconds;

	assert(wait.maximum <= 25);
	/* Misspelt arguments are named, in a result that the model reads, not in an error. */
	const wrong = await tool(s, 'get_operation', {operation_id: id});

	assert.equal(wrong.isError, true);
	assert.match(wrong.content[0].text, /operation_id/);
	/* A model's favourites: a number as text, null and "" for what it leaves out. Taken;
	 * a text that holds no number is told. */
	const plain = await tool(s, 'get_operation', {id});

	for (const args of [{wait_seconds: '0'}, {wait_seconds: null}, {seen_version: ''}])
		assert.deepEqual((await tool(s, 'get_operation', {id, ...args})).structuredContent, plain.structuredContent, JSON.stringify(args));
	const texts = await tool(s, 'get_operation', {id, wait_seconds: 'five'});

	assert.equal(JSON.parse(texts.content[0].text).errors[0].field, '/wait_seconds');
});

test('instructions: whole in every client', async () => {
	const {instructions} = (await post(s, hello('2025-11-25', 'x', '1'))).json.result;

	assert(instructions.length <= 2048, 'Claude Code cuts there (claude-code 87650)');
	/* Codex: the first 512 characters stand alone. */
	const first = instructions.slice(0, 512);

	for (const word of ['operation', 'get_operation', 'idempotency_key', 'dry_run'])
		assert(first.includes(word), word);
});
