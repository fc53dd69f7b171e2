// Runs the figures and prints one table: what was got, the limit of the same run,
// their ratio with its spread, what was aimed at. See README.md.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {down, token, up} from '../stack/stack.mjs';
import {CLIENTS, ROUNDS, SECONDS, median} from './load.mjs';
import * as figures from './figures.mjs';
import {leaks} from './leaks.mjs';

const ALL = ['accept', 'waiting', 'get', 'steps', 'mcp', 'wake', 'leaks'];
/* These need pollers; the others are measured without. */
const LIVE = new Set(['wake', 'leaks']);
const wanted = process.env.BENCH_ONLY?.split(',') ?? ALL;

const digits = v => v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2);
const spread = list => list.length > 1
	? ` [${digits(Math.min(...list))}–${digits(Math.max(...list))}]` : '';

function line(row)
{
	const of = row.ratios.length > 0 ? row.ratios : row.spread;
	const value = row.ratios.length > 0 ? median(row.ratios) : row.got;

	return [row.name, `${digits(row.got)} ${row.unit}`,
		row.limit === undefined ? '' : `${digits(row.limit)} ${row.unit}`,
		digits(value) + spread(of), row.aim, row.ok(value) ? 'met' : 'MISSED'];
}

function print(rows)
{
	const table = [['figure', 'got', 'limit', 'ratio or value [min–max]', 'aim', ''], ...rows.map(line)];
	const widths = table[0].map((_, i) => Math.max(...table.map(r => r[i].length)));

	for (const r of table)
		console.log(r.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd());
}

async function withStack(name, options, run)
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'is-bench-'));
	const s = await up(dir, {rate: 1000000, burst: 1000000, pgEnv: {PG_FSYNC: 'on'}, ...options,
		env: {INSTANTSTART_REQUEST_RATE: '1000000', ...options.env}});

	try {
		s.token = await token(s, 'admin', 'bench');
		return await run(s);
	} finally {
		await down(s);
		fs.rmSync(dir, {recursive: true, force: true});
	}
}

const rows = [];

async function measure(names, options)
{
	if (names.length === 0)
		return;
	await withStack(names[0], options, async s => {
		for (const name of names) {
			console.error(`bench: ${name}`);
			rows.push(...await (figures[name] ?? leaks)(s));
		}
	});
}

const unknown = wanted.filter(w => !ALL.includes(w));

if (unknown.length > 0) {
	console.error(`bench: no figure ${unknown}; there are ${ALL}`);
	process.exit(2);
}
await measure(wanted.filter(w => !LIVE.has(w)), {poller: false, cloud: true});
await measure(wanted.filter(w => LIVE.has(w)), {cloud: true});
console.log(`\n${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(1)}; ${
	CLIENTS} clients, median of ${ROUNDS} rounds of ${SECONDS} s, visited in turn`);
print(rows);
