// Requests to our own server, by the session cookie. A refusal is a ProblemError.
import {learnTime} from '../pure/time';
import type {Call} from './calls';
import type {Answer, Asked, GetPath, Operation, Plan, Problem} from './types';

const BASE = '/api/v1';

export class ProblemError extends Error {
	constructor(readonly problem: Problem) {
		super(problem.detail);
	}
}

type Values = Record<string, unknown>;

export function fill(path: string, values: Values = {}): string
{
	return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
}

export function withQuery(path: string, query: Values = {}): string
{
	const all = new URLSearchParams();

	for (const [name, value] of Object.entries(query))
		if (value !== undefined && value !== '')
			all.set(name, String(value));
	return all.size ? `${path}?${all}` : path;
}

async function problemOf(res: Response): Promise<Problem>
{
	const body = await res.json().catch(() => null) as Problem | null;

	return body?.code ? body : {type: 'about:blank', title: res.statusText || `HTTP ${res.status}`,
		status: res.status, detail: `HTTP ${res.status}`, instance: '', code: 'unavailable', retry: 'same-key'};
}

let signedOut: () => void = () => {};

/** What happens when the server does not know the session (any more). */
export function onSignedOut(f: () => void)
{
	signedOut = f;
}

async function send(url: string, init: RequestInit): Promise<Response>
{
	const res = await fetch(url, {...init, credentials: 'same-origin', cache: 'no-store'});

	learnTime(res.headers.get('date'));
	if (res.ok)
		return res;
	const problem = await problemOf(res);

	if (res.status === 401)
		signedOut();
	throw new ProblemError(problem);
}

export async function read<P extends GetPath>(path: P, ...[asked]: {signal?: AbortSignal} extends Asked<P> ? [Asked<P>?] : [Asked<P>]): Promise<Answer<P>>
{
	const {params, query, signal} = (asked ?? {}) as {params?: Values; query?: Values; signal?: AbortSignal};
	const res = await send(BASE + withQuery(fill(path, params), query), {signal});

	return await res.json() as Answer<P>;
}

/** All pages of a list: the answer of the last one, with the items of all. */
export async function readAll<P extends GetPath>(path: P, ...[asked]: {signal?: AbortSignal} extends Asked<P> ? [Asked<P>?] : [Asked<P>]): Promise<Answer<P>>
{
	const {params, query, signal} = (asked ?? {}) as {params?: Values; query?: Values; signal?: AbortSignal};
	const items: unknown[] = [];
	let cursor: string | undefined;

	for (;;) {
		const res = await send(BASE + withQuery(fill(path, params), {limit: 100, ...query, cursor}), {signal});
		const page = await res.json() as {items: unknown[]; next_cursor: string | null};

		items.push(...page.items);
		if (!page.next_cursor)
			return {...page, items} as Answer<P>;
		cursor = page.next_cursor;
	}
}

/* --- changes ------------------------------------------------------------- */

export type {Call} from './calls';

export const urlOf = (call: Call, query: Values = {}) =>
	BASE + withQuery(fill(call.path, call.params), {...call.query, ...query});

function init(call: Call, headers: Record<string, string> = {}): RequestInit
{
	if (call.method === 'DELETE')
		return {method: call.method, headers};
	return {method: call.method, headers: {...headers, 'content-type': 'application/json'},
		body: JSON.stringify(call.body ?? {})};
}

export async function planOf(call: Call): Promise<Plan>
{
	return await (await send(urlOf(call, {dry_run: 'plan'}), init(call))).json() as Plan;
}

/** Runs exactly that plan; a repeat with the same key is the same operation. */
export async function run<T = Operation>(call: Call, key: string, digest?: string): Promise<T>
{
	const url = urlOf(call, {plan_digest: digest, confirm: call.confirm});
	const res = await send(url, init(call, {'idempotency-key': key}));

	return await res.json() as T;
}

/* --- signing in ------------------------------------------------------------ */

/** A login link, its code, or a token: the answer sets the session's cookie. */
export async function signIn(secret: string): Promise<void>
{
	const text = secret.trim();
	const code = /(?:[?&]code=)?(isl_[0-9a-f]+)$/.exec(text)?.[1];

	if (code) {
		/* The answer is a redirect to the console, where we are. */
		const res = await fetch(withQuery('/login', {code}), {redirect: 'manual', cache: 'no-store'});

		if (res.type !== 'opaqueredirect' && !res.ok)
			throw new ProblemError(await problemOf(res));
		return;
	}
	const res = await fetch('/login', {method: 'POST', cache: 'no-store', headers: {authorization: `Bearer ${text}`}});

	if (!res.ok)
		throw new ProblemError(await problemOf(res));
}
