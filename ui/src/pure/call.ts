// The same call for a shell and for an agent.
import {urlOf, type Call} from '../api/client';
import {changes} from '../api/generated/calls';

const quote = (s: string) => `'${s.replaceAll("'", `'\\''`)}'`;

/** A change as the server names it for agents: the tool, and all its arguments. */
export function callOfTool(tool: string, args: Record<string, unknown>): Call | undefined
{
	if (!(tool in changes))
		return undefined;
	const {method, path} = changes[tool as keyof typeof changes];
	const inPath = new Set(Array.from(path.matchAll(/\{(\w+)\}/g), m => m[1]!));
	const {confirm, ...members} = args;
	const some = (wanted: boolean) => Object.fromEntries(Object.entries(members).filter(([k]) => inPath.has(k) === wanted));

	/* Made by the server, of its own table: what it does not take it does not name. */
	return {capability: tool, method, path, params: some(true), [method === 'DELETE' ? 'query' : 'body']: some(false),
		...typeof confirm === 'string' ? {confirm} : {}} as unknown as Call;
}

/** A value of an address or a form, if the API takes it. */
export const oneOf = <T extends string>(all: readonly T[], value: string | null | undefined): T | undefined =>
	all.find(x => x === value);

/** What a page reads, as a call. */
export interface Reading { capability: string; path: string; query?: Record<string, unknown>; args?: Record<string, unknown>; restOnly?: boolean }

export function curlOfReading(origin: string, r: Reading): string
{
	const query = new URLSearchParams(Object.entries(r.query ?? {}).map(([k, v]) => [k, String(v)]));

	return `curl -sS ${quote(`${origin}/api/v1${r.path}${query.size ? `?${query}` : ''}`)} \\\n  -H "Authorization: Bearer $TOKEN"`;
}

export function curlOf(origin: string, call: Call, key: string): string
{
	const url = origin + urlOf(call, {confirm: call.confirm});
	const lines = [`curl -sS -X ${call.method} ${quote(url)}`, '-H "Authorization: Bearer $TOKEN"',
		`-H ${quote(`Idempotency-Key: ${key}`)}`];

	if (call.method !== 'DELETE')
		lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(call.body ?? {}))}`);
	return lines.join(' \\\n  ');
}

export function mcpArguments(call: Call): Record<string, unknown>
{
	return {...call.params, ...call.query, ...call.body, ...(call.confirm ? {confirm: call.confirm} : {})};
}

export const mcpOf = (name: string, args: Record<string, unknown> = {}) =>
	JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name, arguments: args}}, null, 2);
