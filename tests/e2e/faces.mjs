// What the tests of the faces share: a stack, callers, and answers that are held
// against the published schemas.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import Ajv from '../node_modules/ajv/dist/2020.js';
import {down, psql, token, up} from '../stack/stack.mjs';

export const ROLES = ['viewer', 'operator', 'admin'];

export async function start(options = {})
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'is-e2e-'));
	/* Limits are for tests/abuse: here one token makes the requests of many. */
	const s = await up(dir, {rate: 5000, burst: 5000, ...options,
		env: {INSTANTSTART_REQUEST_RATE: '5000', INSTANTSTART_SLOW_PER_USER: '64', ...options.env}});

	try {
		s.tokens = {};
		for (const role of ROLES)
			s.tokens[role] = await token(s, role);
		s.openapi = await (await fetch(`${s.url}/api/v1/openapi.json`)).json();
		s.schemas = compile(s.openapi);
	} catch (e) {
		await down(s);
		throw e;
	}
	return s;
}

/* What no log of a healthy program has; workers that tests kill die of 9. */
const FAULTS = /^.*(ERROR: AddressSanitizer|LeakSanitizer|runtime error:|arena: past|ev=worker_died .*signal=(?!9\b|15\b)\d).*$/mg;

export async function end(s)
{
	if (!s) /* it did not come up; its own error is the one to read */
		return;
	await down(s);
	const faults = fs.readdirSync(s.dir).filter(f => f.endsWith('.log')).flatMap(f =>
		(fs.readFileSync(path.join(s.dir, f), 'utf8').match(FAULTS) ?? []).map(line => `${f}: ${line}`));

	if (faults.length && process.env.KEEP)
		console.error(`kept: ${s.dir}`);
	else
		fs.rmSync(s.dir, {recursive: true, force: true});
	assert.deepEqual(faults, []);
}

/** operationId and status to a validator; 'default' is the problem document. */
function compile(openapi)
{
	const ajv = new Ajv({strict: false, allErrors: true});
	const all = new Map();

	ajv.addSchema({$id: 'api', components: openapi.components});
	const inApi = schema => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));

	for (const [p, methods] of Object.entries(openapi.paths))
		for (const [method, o] of Object.entries(methods))
			for (const [status, r] of Object.entries(o.responses)) {
				/* A switch to another protocol has no document. */
				for (const {schema} of Object.values(r.content ?? {}).slice(0, 1))
					all.set(`${o.operationId} ${status}`, ajv.compile(inApi(schema)));
			}
	all.set('problem', ajv.compile({$ref: 'api#/components/schemas/Problem'}));
	return all;
}

/** Every capability: {name, method, path, role, effect}. */
export function capabilities(s)
{
	return Object.entries(s.openapi.paths).flatMap(([p, methods]) =>
		Object.entries(methods).map(([method, o]) => ({name: o.operationId,
			method: method.toUpperCase(), path: p, role: o['x-role'], effect: o['x-effect']})));
}

function capabilityOf(s, method, target)
{
	const here = target.split('?')[0].replace('/api/v1', '');
	const fits = ([p]) => new RegExp(`^${p.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/:]+')}$`)
		.test(here);

	for (const [p, methods] of Object.entries(s.openapi.paths).filter(fits))
		if (methods[method.toLowerCase()])
			return methods[method.toLowerCase()].operationId;
	return null;
}

/** Names of the capabilities whose good answers were seen and checked. */
export const exercised = new Set();

/** One REST request; the answer is held against its schema. */
export async function call(s, method, target, {role, body, headers = {}, raw} = {})
{
	const all = {...headers};

	if (role)
		all.authorization = `Bearer ${s.tokens[role] ?? role}`;
	if (body !== undefined)
		all['content-type'] ??= 'application/json';
	const res = await fetch(s.url + target, {method, headers: all, redirect: 'manual',
		body: raw ?? (body === undefined ? undefined : JSON.stringify(body))});
	const text = await res.text();
	const type = res.headers.get('content-type') ?? '';
	const json = type.includes('json') && text ? JSON.parse(text) : null;
	const name = target.startsWith('/api/v1/') ? capabilityOf(s, method, target) : null;

	assert.match(res.headers.get('request-id') ?? '', /^[0-9a-f]{32}$/, `${method} ${target}: Request-Id`);
	if (res.status >= 400)
		assertProblem(s, json, res.status, `${method} ${target}`);
	else if (name && json) {
		const check = s.schemas.get(`${name} ${res.status}`);

		assert(check, `${name}: no schema for ${res.status}`);
		assert(check(json), `${name}: ${JSON.stringify(check.errors?.slice(0, 3))} in ${text.slice(0, 500)}`);
		exercised.add(name);
	}
	return {status: res.status, json, text, headers: res.headers, type};
}

export function assertProblem(s, json, status, what)
{
	const check = s.schemas.get('problem');

	assert(json, `${what}: ${status} without a problem document`);
	assert(check(json), `${what}: ${JSON.stringify(check.errors)} in ${JSON.stringify(json)}`);
	assert.equal(json.status, status, what);
	assert.equal(json.type, `/api/v1/problems/${json.code}`, what);
}

export const META = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
};

/** One MCP message as it is; answers {status, json, text, headers}. */
export async function post(s, message, {role = 'admin', headers = {}, query = ''} = {})
{
	const all = {accept: 'application/json, text/event-stream', 'content-type': 'application/json',
		...(role ? {authorization: `Bearer ${s.tokens[role] ?? role}`} : {}), ...headers};

	for (const name of Object.keys(all))
		if (all[name] === null)
			delete all[name];
	const res = await fetch(`${s.url}/mcp${query}`, {method: 'POST', headers: all,
		body: typeof message === 'string' ? message : JSON.stringify(message)});
	const text = await res.text();

	return {status: res.status, text, headers: res.headers,
		json: text && (res.headers.get('content-type') ?? '').includes('json') ? JSON.parse(text) : null};
}

/** A well-formed modern request. */
export function modern(s, method, params = {}, options = {})
{
	return post(s, {jsonrpc: '2.0', id: options.id ?? 1, method, params: {...params, _meta: META}},
		{...options, headers: {'mcp-protocol-version': '2026-07-28', 'mcp-method': method,
			...(params.name ? {'mcp-name': params.name} : {}), ...options.headers}});
}

export async function tool(s, name, args, options)
{
	const r = await modern(s, 'tools/call', {name, arguments: args}, options);

	return {...r.json?.result, http: r.status, rpc: r.json?.error};
}

let made = 0;

/** An operation of no kind of the program's, made as a face would. */
export function operation(s, more = {})
{
	const id = `op_${String(Date.now()).padStart(13, '0')}${String(++made).padStart(13, '0')}`;
	const request = {id, kind: 'test_kind', title: 'Test', target: `t${made}`, input: {},
		digest: `d${made}`, principal: 'admin', face: 'rest', capability: 'test', queue: false,
		locks: [], step: 'one', phase: 'first', phases: [{name: 'first', title: 'First'}],
		deadline_s: 3600, ...more};

	psql(s, `select op_submit('${JSON.stringify(request)}')`);
	return id;
}

/** Something visible changes. */
export function change(s, id, words = 'something else')
{
	psql(s, `update operation set waiting_for = '${words}' where id = '${id}'`);
}

/** A raw connection that sends `text` and stays open. */
export function rawConnection(s, text)
{
	return new Promise((resolve, reject) => {
		const c = net.connect(s.port, '127.0.0.1', () => c.write(text, () => resolve(c)));

		c.on('error', reject);
	});
}

/** node:http, for what fetch() forbids: Host and Origin of one's own. */
export function bare(s, method, target, headers, body)
{
	return new Promise((resolve, reject) => {
		const req = http.request({host: '127.0.0.1', port: s.port, method, path: target, headers},
			res => {
				let text = '';

				res.setEncoding('utf8');
				res.on('data', d => text += d);
				res.on('end', () => resolve({status: res.statusCode, text, headers: res.headers,
					json: (res.headers['content-type'] ?? '').includes('json') && text
						? JSON.parse(text) : null}));
			});

		req.on('error', reject);
		req.end(body);
	});
}
