// Load generators, and what they send: wrk for HTTP, pgbench for PostgreSQL, with
// the statements that the program was seen to send.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {psql, top} from '../stack/stack.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export const CLIENTS = 16;
export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
export const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);

export const median = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** Without blocking: this process may hold connections of its own meanwhile. */
export function command(name, args, options = {})
{
	return new Promise((resolve, reject) => {
		const child = spawn(name, args, {cwd: top, stdio: ['ignore', 'pipe', 'pipe'], ...options});
		let out = '', err = '';

		child.stdout.on('data', d => out += d);
		child.stderr.on('data', d => err += d);
		child.on('error', reject);
		child.on('close', code => code === 0 ? resolve(out)
			: reject(new Error(`${name} ${args.join(' ').slice(0, 300)}: ${err || out}`)));
	});
}

/** One wrk run; args as requests.lua has them. An error is no result. */
export async function wrk(url, args, seconds = SECONDS)
{
	const out = await command('wrk', ['-t', '1', '-c', String(CLIENTS), '-d', `${seconds}s`,
		'--timeout', '10s', '-s', `${here}/requests.lua`, url, '--', ...args]);
	const r = JSON.parse(out.trim().split('\n').at(-1));

	if (r.errors > 0 || r.requests === 0)
		throw new Error(`wrk ${args[0]} ${url}: ${r.errors} errors in ${r.requests} requests`);
	return {...r, perSecond: r.requests / r.us * 1e6};
}

/** One pgbench run of a script; variables become bound parameters. */
export async function pgbench(s, script, variables, seconds = SECONDS)
{
	const file = `${s.dir}/bench.sql`;

	fs.writeFileSync(file, script);
	const out = await command('pgbench', ['-n', '-M', 'prepared', '-c', String(CLIENTS), '-j', '4',
		'-T', String(Math.ceil(seconds)), '-f', file,
		...Object.entries(variables).flatMap(([k, v]) => ['-D', `${k}=${v}`]), 'instantstart'],
	{env: {...process.env, PGHOST: `${s.dir}/pg`, PGUSER: variables.role,
		PGOPTIONS: '-c search_path=instantstart,pg_temp'}});
	const tps = /^tps = ([\d.]+)/m.exec(out);

	if (!tps || !/number of failed transactions: 0 /.test(out))
		throw new Error(`pgbench: ${out}`);
	return Number(tps[1]);
}

/** The text of a named query of sql/queries. */
export function query(name)
{
	for (const file of fs.readdirSync(`${top}/sql/queries`)) {
		const parts = fs.readFileSync(`${top}/sql/queries/${file}`, 'utf8').split(/^-- name: /m);
		const found = parts.find(p => p.startsWith(`${name}\n`));

		if (found)
			return found.slice(name.length + 1).replace(/^--.*$/gm, '').trim();
	}
	throw new Error(`no query ${name}`);
}

/** A parameter as PostgreSQL logs it. */
const PARAM = /\$(\d+) = (NULL|'((?:[^']|'')*)')/g;

/**
 * The statements that programs send while fn() runs: [{name, params}]. The
 * server logs them, so that what pgbench repeats is what was seen.
 */
export async function seen(s, fn)
{
	const log = `${s.dir}/pg/log`;
	const from = fs.statSync(log).size;
	const set = ms => {
		psql(s, `alter system set log_min_duration_statement = ${ms}`);
		psql(s, 'select pg_reload_conf()');
	};

	set(0);
	try {
		/* Each backend reads the setting before its next statement. */
		await fn();
	} finally {
		set(-1);
	}
	const lines = fs.readFileSync(log, 'utf8').slice(from).split('\n');
	const all = [];
	let one = null;

	for (const line of lines) {
		const name = /LOG: .* execute (\w+): /.exec(line)?.[1];
		const detail = /DETAIL: {2}parameters: (.*)$/.exec(line)?.[1];

		if (/LOG: /.test(line))
			one = name ? {name, params: []} : null;
		if (name)
			all.push(one);
		if (!detail || !one)
			continue;
		for (const [, n, text, value] of detail.matchAll(PARAM))
			one.params[n - 1] = text === 'NULL' ? null : value.replaceAll("''", "'");
	}
	return all;
}

/** The last statement of that name; fails when there is none. */
export function lastOf(statements, name)
{
	const one = statements.findLast(x => x.name === name);

	if (!one)
		throw new Error(`the program did not send ${name}, but ${statements.map(x => x.name)}`);
	return one;
}

/** Visits a and b in turn, one round of each first to warm up. */
export async function alternate(measures)
{
	const results = measures.map(() => []);

	for (let round = -1; round < ROUNDS; round++)
		for (const [i, measure] of measures.entries()) {
			const r = await measure(round < 0 ? Math.min(1, SECONDS) : SECONDS);

			if (round >= 0)
				results[i].push(r);
		}
	return results;
}
