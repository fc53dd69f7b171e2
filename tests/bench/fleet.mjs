// A large fleet: how fast the first page of its nodes is, how long a whole look at it
// takes and what that costs. `make bench-fleet`; see README.md.
//
// FLEET_GROUPS, FLEET_NODES, FLEET_PODS (of each node) make it smaller.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {childrenOf, cloudOf, down, psql, token, up, waitFor} from '../stack/stack.mjs';
import {command, median, query} from './load.mjs';

const GROUPS = Number(process.env.FLEET_GROUPS ?? 100);
const NODES = Number(process.env.FLEET_NODES ?? 5000);
const PODS = Number(process.env.FLEET_PODS ?? 2);
const ROUNDS = 5, REQUESTS = 200, SECONDS = 3;
const AIM = {page_ms: 50, refresh_s: 60, calls: 5, rss_mb: 64};
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'is-fleet-'));

const percentile = (list, p) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * p))];

async function ask(s, method, target, body)
{
	const r = await fetch(s.url + target, {method, body: body && JSON.stringify(body),
		headers: {authorization: `Bearer ${s.token}`, ...(body ? {'content-type': 'application/json'} : {})}});
	const json = await r.json();

	if (!r.ok)
		throw new Error(`${method} ${target}: ${r.status} ${JSON.stringify(json)}`);
	return json;
}

/** A cluster by the pipeline, then the fleet at once. */
async function fleet(s)
{
	const cloud = cloudOf(s.cloud_url);

	await cloud.settings({quota: {'L-4C3F99F6': 10}});
	const op = await ask(s, 'POST', '/api/v1/clusters', {name: 'fleet', zone: 'us-west-2a', instance_type: 'ml.g5.12xlarge'});

	await waitFor('the cluster', async () => {
		const o = await ask(s, 'GET', `/api/v1/operations/${op.id}?wait=5`);

		if (o.done && o.state !== 'succeeded')
			throw new Error(JSON.stringify(o.error));
		return o.done;
	}, 120000);
	const began = Date.now();

	await cloud.fleet({cluster: 'fleet', groups: GROUPS, nodes: NODES, pods: PODS});
	console.error(`fleet: ${NODES} nodes in ${GROUPS} groups made in ${((Date.now() - began) / 1000).toFixed(1)} s`);
}

const state = s => JSON.parse(psql(s, 'select row_to_json(r) from refresh r'));

/** One whole look that begins now. */
async function refresh(s)
{
	const before = await waitFor('the look before', () => {
		const r = state(s);

		return r.phase === 'idle' ? r : null;
	}, 120000);

	await ask(s, 'GET', '/api/v1/clusters/fleet/nodes?limit=1&fresh=true');
	const r = await waitFor('a whole look', () => {
		const now = state(s);

		if (now.error)
			throw new Error(now.error);
		return now.round > before.round && now.phase === 'idle' ? now : null;
	}, 240000);
	const seconds = (Date.parse(r.finished_at) - Date.parse(r.started_at)) / 1000;

	return {seconds, calls: r.calls, perSecond: r.calls / seconds};
}

async function page(s, target)
{
	const ms = [];

	for (let i = 0; i < REQUESTS; i++) {
		const began = performance.now();
		const r = await ask(s, 'GET', target);

		ms.push(performance.now() - began);
		if (r.total < NODES || r.items.length !== 20)
			throw new Error(`${target}: ${r.items.length} of ${r.total} nodes`);
	}
	return ms;
}

/** The same statement without anything around it: pgbench, one client. */
async function bare(s)
{
	const log = `${s.dir}/latency`;
	const script = `${s.dir}/fleet.sql`;

	fs.writeFileSync(script, query('node_page').replace(/\$1/g, "'fleet'").replace(/\$4/g, '20').replace(/\$\d/g, 'null'));
	await command('pgbench', ['-n', '-M', 'prepared', '-c', '1', '-T', String(SECONDS), '-l', '--log-prefix', log,
		'-f', script, 'instantstart'], {env: {...process.env, PGHOST: `${s.dir}/pg`, PGUSER: 'instantstart_faces',
		PGOPTIONS: '-c search_path=instantstart,pg_temp'}});
	const files = fs.readdirSync(s.dir).filter(f => f.startsWith('latency'));
	const ms = files.flatMap(f => fs.readFileSync(`${s.dir}/${f}`, 'utf8').trim().split('\n').map(l => Number(l.split(' ')[2]) / 1000));

	files.forEach(f => fs.rmSync(`${s.dir}/${f}`));
	return ms;
}

const peak = pid => Number(/^VmHWM:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

function row(name, got, aim, met)
{
	console.log([name.padEnd(44), got.padEnd(26), aim.padEnd(14), met ? 'met' : 'MISSED'].join('  '));
	if (!met)
		process.exitCode = 1;
}

const s = await up(dir, {cloud: true, speed: 1000, rate: 1000000, burst: 1000000, pgEnv: {PG_FSYNC: 'on'},
	env: {INSTANTSTART_REQUEST_RATE: '1000000', INSTANTSTART_POLL_SCALE_PERCENT: '1', INSTANTSTART_VISIBILITY_MS: '1000',
		/* Looks begin when they are asked for. */
		INSTANTSTART_REFRESH_MS: '3600000'}});

try {
	s.token = await token(s, 'admin', 'bench');
	await fleet(s);
	const first = await refresh(s);

	await waitFor('all nodes', () => Number(psql(s, "select count(*) from catalog where kind = 'node'")) > NODES, 120000);
	const next = await refresh(s);
	const got = [], filtered = [], alone = [];

	for (let i = 0; i < ROUNDS; i++) {
		got.push(await page(s, '/api/v1/clusters/fleet/nodes'));
		filtered.push(await page(s, '/api/v1/clusters/fleet/nodes?health=Schedulable&zone=us-west-2a&group=fleet-001'));
		alone.push(await bare(s));
	}
	const of = (lists, p) => median(lists.map(l => percentile(l, p)));
	const rss = Math.max(...childrenOf(s.services.poller.pid).map(peak));
	const ms = v => `${v.toFixed(1)} ms`;

	console.log(`\n${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(1)}; ${NODES} nodes, ${
		GROUPS} groups, ${PODS} pods a node; median of ${ROUNDS} rounds, visited in turn`);
	row('first page, p50 and p99', `${ms(of(got, 0.5))}, ${ms(of(got, 0.99))}`, `< ${AIM.page_ms} ms`, of(got, 0.99) < AIM.page_ms);
	row('first page of a group by health and zone', `${ms(of(filtered, 0.5))}, ${ms(of(filtered, 0.99))}`, `< ${AIM.page_ms} ms`,
		of(filtered, 0.99) < AIM.page_ms);
	row('the statement alone (pgbench)', `${ms(of(alone, 0.5))}, ${ms(of(alone, 0.99))}`, '', true);
	for (const [name, r] of [['first whole look', first], ['whole look', next]])
		row(`${name}: time, calls to AWS`, `${r.seconds.toFixed(1)} s, ${r.calls} (${r.perSecond.toFixed(1)}/s)`,
			`≤ ${AIM.refresh_s} s, ≤ ${AIM.calls}/s`, r.seconds <= AIM.refresh_s && r.perSecond <= AIM.calls);
	row('peak memory of a poller (RSS)', `${rss.toFixed(1)} MB`, `≤ ${AIM.rss_mb} MB`, rss <= AIM.rss_mb);
} finally {
	await down(s);
	if (!process.env.KEEP)
		fs.rmSync(dir, {recursive: true, force: true});
}
