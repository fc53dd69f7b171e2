// Memory of every process of the program over many requests and operations: flat
// once warm. What grows with each request shows; what is allocated once does not.
import {setTimeout as sleep} from 'node:timers/promises';
import fs from 'node:fs';
import {childrenOf, psql, waitFor} from '../stack/stack.mjs';

/* A process may grow by this. Without a leak it is 0 to 16; one of 100 bytes in each
 * request was seen as 212 (10,000 requests, four workers). */
const SLACK_KB = 64;
const META = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
};

function kb(pid)
{
	const text = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
	const of = name => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)[1]);

	return {rss: of('VmRSS'), anon: of('RssAnon')};
}

/** Masters and workers: 'fcgi 1' to {pid, rss, anon}. */
function processes(s)
{
	const all = {};

	for (const name of ['fcgi', 'live', 'poller']) {
		const {pid} = s.services[name];

		[pid, ...childrenOf(pid)].forEach((p, i) =>
			all[i === 0 ? name : `${name} ${i}`] = {pid: p, ...kb(p)});
	}
	return all;
}

/* --- requests ------------------------------------------------------------------ */

const modern = (name, args) => ({
	method: 'POST', target: '/mcp',
	headers: {accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28',
		'mcp-method': 'tools/call', 'mcp-name': name},
	body: {jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name, arguments: args, _meta: META}},
});
const legacy = (method, params) => ({method: 'POST', target: '/mcp',
	headers: {accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18'},
	body: {jsonrpc: '2.0', id: 1, method, params}});
const get = target => ({method: 'GET', target: `/api/v1${target}`});
const change = (target, body, headers) => ({method: 'POST', target: `/api/v1${target}`, body, headers});

/** Kinds of requests, with the statuses that each may get. */
const MIX = [
	[200, id => get(`/operations/${id}`)],
	[200, () => get('/operations?limit=20')],
	[200, id => get(`/operations/${id}/events`)],
	[200, () => get('/me')],
	[200, () => get('/clusters')],
	[200, () => get('/openapi.json')],
	[200, () => get('/zones')],
	[200, (id, n) => change('/control-planes?dry_run=plan', {name: `leak-plan-${n}`})],
	[200, id => modern('get_operation', {id})],
	[200, () => modern('list_operations', {limit: 5})],
	[200, () => modern('get_operation', {id: 'op_none'})],
	[200, () => legacy('tools/list', {})],
	[200, () => legacy('initialize', {protocolVersion: '2025-06-18', capabilities: {},
		clientInfo: {name: 'leaks', version: '1'}})],
	[200, (id, n) => change('/tokens', {name: `leak ${n}`, role: 'viewer'}, {'idempotency-key': `t${n}`})],
	[401, () => ({...get('/me'), token: 'ist_nobody'})],
	[404, () => get('/operations/op_none')],
	[404, () => get('/nowhere')],
	[400, () => get('/operations?limit=ten')],
	[400, () => change('/tokens', {nmae: 1, role: 'root'})],
	[400, () => ({...change('/tokens'), raw: '{"name":'})],
	[405, () => ({...get('/operations'), method: 'PUT'})],
	[400, () => ({...legacy('x'), raw: '[1'})],
];

async function send(s, {method, target, headers = {}, body, raw, token = s.token})
{
	const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
	const res = await fetch(s.url + target, {method, body: text, headers: {
		authorization: `Bearer ${token}`, ...(text ? {'content-type': 'application/json'} : {}), ...headers}});

	return {status: res.status, text: await res.text()};
}

/** n jobs, 16 at a time. */
async function each(n, job)
{
	let next = 0;

	await Promise.all(Array.from({length: 16}, async () => {
		while (next < n)
			await job(next++);
	}));
}

async function requests(s, id, n, from)
{
	await each(n, async i => {
		const [status, make] = MIX[i % MIX.length];
		const request = make(id, from + i);
		const r = await send(s, request);

		if (r.status !== status)
			throw new Error(`${request.method} ${request.target}: ${r.status}, not ${status}: ${r.text.slice(0, 300)}`);
	});
	await waits(s, id, Math.ceil(n / 100));
}

/** n clients that have seen all there is: live holds them for a second. */
async function waits(s, id, n)
{
	const {version} = JSON.parse((await send(s, get(`/operations/${id}`))).text);
	const began = Date.now();

	await Promise.all(Array.from({length: n}, async () => {
		const r = await send(s, get(`/operations/${id}?wait=1&seen_version=${version}`));

		if (r.status !== 200)
			throw new Error(`a waiting client got ${r.status}`);
	}));
	if (Date.now() - began < 900)
		throw new Error('nobody waited');
}

/** Imports of what does not exist, over both faces: each asks the cloud and fails. */
async function operations(s, n, from)
{
	await each(n, async i => {
		const name = `leak-${from + i}`;
		const args = {eks_name: name, idempotency_key: name};
		const r = i % 2 ? await send(s, modern('import_cluster', args))
			: await send(s, change('/clusters:import', {eks_name: name}, {'idempotency-key': name}));

		if (r.status !== (i % 2 ? 200 : 202) || /"isError":true/.test(r.text))
			throw new Error(`import: ${r.status} ${r.text.slice(0, 300)}`);
	});
	await waitFor(`${n} operations end`, () => psql(s,
		'select count(*) from operation where ended_at is null') === '0', 120000);
}

/**
 * s has pollers and a cloud. Gives rows for the table, with .growth: what each
 * process has grown by, in kB.
 */
export async function leaks(s, {n = 10000, ops = 1000, parts = 6} = {})
{
	const samples = [];
	const first = await send(s, change('/clusters:import', {eks_name: 'leak-first'}));
	const {id} = JSON.parse(first.text);

	await operations(s, 1, n * parts);
	for (let part = 0; part < parts; part++) {
		await requests(s, id, n / parts, part * n);
		await operations(s, ops / parts, part * n);
		await sleep(50);
		samples.push(processes(s));
	}
	/*
	 * A leak grows in most parts, one jump of two is none. A process that was first used late warms up
	 * then: its first two parts of work are left out, and with fewer than two
	 * left there is nothing to judge.
	 */
	const steps = samples.length - 1;
	const steady = (name, of) => {
		const v = samples.map(x => of(x[name]));
		const grown = v.slice(1).map((kb, k) => kb - v[k]);
		const first = grown.findIndex(kb => kb > 0);
		const judged = (first > 0 ? grown.slice(first + 2) : grown).sort((a, b) => a - b);

		return judged.length < 2 ? 0 : judged[Math.floor((judged.length - 1) / 2)] * steps;
	};
	const growth = Object.entries(samples.at(-1)).map(([name, {pid}]) => {
		if (samples.some(x => x[name]?.pid !== pid))
			throw new Error(`${name} is another process than before`);
		return {name, kb: steady(name, p => p.anon), rss: steady(name, p => p.rss),
			all: samples.map(x => x[name].anon)};
	});
	const row = (what, of, aim) => {
		const worst = growth.reduce((a, b) => of(b) > of(a) ? b : a);

		return {name: `growth of ${what}, ${n} requests, ${ops} operations (${worst.name})`,
			got: of(worst), unit: 'kB', ratios: [], spread: growth.map(of), aim: `≤ ${aim}`,
			ok: v => v <= aim};
	};

	if (process.env.BENCH_VERBOSE)
		for (const g of growth)
			console.error(`bench: ${g.name}: RSS grew by ${g.rss} kB, anonymous ${g.all.join(' ')}`);
	return Object.assign([row('memory', g => g.kb, SLACK_KB), row('RSS', g => g.rss, 4 * SLACK_KB)],
		{growth, slack: SLACK_KB});
}
