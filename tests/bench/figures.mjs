// The figures. Each gives rows: {name, got, limit, ratios, aim, ok, unit}.
import fs from 'node:fs';
import http from 'node:http';
import {setTimeout as sleep} from 'node:timers/promises';
import {childrenOf, nginxConf, psql, top, waitFor} from '../stack/stack.mjs';
import {background, end, freePort} from '../stack/process.mjs';
import {CLIENTS, alternate, command, lastOf, median, pgbench, query, seen, wrk} from './load.mjs';

/** A row of rates against a limit: their quotient, round by round. */
function rate(name, ours, limits, aim)
{
	return {name, got: median(ours), limit: median(limits), unit: '/s',
		ratios: ours.map((v, i) => v / limits[i]), aim: `≥ ${aim}`, ok: r => r >= aim};
}

let serial = 0;

async function post(s, eksName)
{
	const res = await fetch(`${s.url}/api/v1/clusters:import`, {method: 'POST',
		headers: {authorization: `Bearer ${s.token}`, 'content-type': 'application/json',
			'idempotency-key': eksName},
		body: JSON.stringify({eks_name: eksName})});
	const body = await res.json();

	if (res.status !== 202)
		throw new Error(`import: ${res.status} ${JSON.stringify(body)}`);
	return body;
}

/* --- accept -------------------------------------------------------------------- */

/** pgbench's script of an accepted import: the statements that one was seen to send. */
function acceptScript(statements, id, name)
{
	const submit = JSON.parse(lastOf(statements, 'op_submit').params[0]);
	const taken = lastOf(statements, 'cluster_taken').params;
	const body = JSON.stringify({...submit, id: 'op_@'}).replaceAll(name, 'p@');

	if (submit.id !== id || !body.includes('p@'))
		throw new Error(`not the import's submit: ${body}`);
	return {
		script: ['\\set i :i + 1', '\\set n :base + :i * 100 + :client_id',
			`${query('cluster_taken').replaceAll('$1', ':n').replaceAll('$2', ':who')
				.replaceAll('$3', ':n')};`,
			`${query('op_submit').replace('$1', "replace(:body, '@', :n)")};`].join('\n'),
		variables: {role: 'instantstart_faces', i: 0, who: taken[1], body},
	};
}

export async function accept(s)
{
	let made;
	const statements = await seen(s, async () => {
		await sleep(100);
		made = await post(s, 'example-of-accept');
	});
	const {script, variables} = acceptScript(statements, made.id, 'example-of-accept');
	const count = () => Number(psql(s, "select count(*) from operation where id not like 'op\\_bench%'"));
	const ours = async seconds => {
		const before = count();
		const r = await wrk(s.url, ['accept', s.token, `a${++serial}-`], seconds);

		if (count() - before < r.requests)
			throw new Error(`${r.requests} accepted, ${count() - before} stored`);
		return r.perSecond;
	};
	const theirs = seconds => pgbench(s, script,
		{...variables, base: 1e15 + ++serial * 1e12}, seconds);
	const [a, b] = await alternate([ours, theirs]);

	return [rate('accept: POST to durable 202, against pgbench', a, b, 0.7)];
}

/* --- waiting ------------------------------------------------------------------------ */

/** n clients in long polls, each starting the next when one ends. */
async function park(s, id, n)
{
	const agent = new http.Agent({keepAlive: true, maxSockets: n});
	let open = 0, on = true;
	const poll = () => {
		const req = http.get(`${s.url}/api/v1/operations/${id}?wait=25`,
			{agent, headers: {authorization: `Bearer ${s.token}`}}, res => {
				res.resume();
				res.on('end', () => {
					open--;
					if (on && res.statusCode !== 200)
						throw new Error(`a waiting client got ${res.statusCode}`);
					if (on)
						poll();
				});
			});

		open++;
		req.on('error', e => {
			open--;
			if (on)
				throw e;
		});
	};
	const parked = async () => Number(/^\w*parked_total (\d+)/m
		.exec(await (await fetch(`${s.url}/metrics`)).text())?.[1]);
	const before = await parked();

	for (let i = 0; i < n; i++)
		poll();
	await waitFor(`${n} parked clients`, async () => await parked() - before >= n);
	return {
		open: () => open,
		stop: () => {
			on = false;
			agent.destroy();
		},
	};
}

export async function waiting(s)
{
	const N = 200;
	const id = (await post(s, 'example-of-waiting')).id;
	const other = seconds => wrk(s.url, ['get', s.token, '/api/v1/me'], seconds)
		.then(r => r.p99_ms);
	const withWaiting = async seconds => {
		const p = await park(s, id, N);

		try {
			const ms = await other(seconds);

			if (p.open() < N)
				throw new Error(`only ${p.open()} clients wait`);
			return ms;
		} finally {
			p.stop();
		}
	};
	const [a, b] = await alternate([withWaiting, other]);

	return [{name: `p99 of another route with ${N} waiting, against none`, got: median(a),
		limit: median(b), unit: 'ms', ratios: a.map((v, i) => v / b[i]), aim: '< 2', ok: r => r < 2}];
}

/* --- reading one operation ------------------------------------------------------------ */

/** The same nginx over another program; edit changes its configuration. */
async function other(s, name, start, edit = text => text)
{
	const o = {...s, dir: `${s.dir}/${name}`, run: `${s.dir}/${name}`, port: await freePort(),
		services: {}};

	fs.mkdirSync(o.dir, {recursive: true});
	o.url = `http://127.0.0.1:${o.port}`;
	const conf = nginxConf(o, {rate: 1000000, burst: 1000000});

	fs.writeFileSync(conf, edit(fs.readFileSync(conf, 'utf8')));
	const log = `${o.dir}/log`;
	const env = {...process.env, NODE_ENV: 'production', PATH: `${process.env.PATH}:/usr/sbin:/sbin`};
	const program = background(start[0], start.slice(1), env, log);
	const nginx = background('nginx', ['-e', log, '-c', conf, '-g', 'daemon off;'], env, log);

	o.stop = async () => {
		await end('nginx', nginx);
		await end(name, program);
	};
	return o;
}

const toHttp = text => text.replace(/fastcgi_pass fast;/g,
	'proxy_pass http://fast; proxy_http_version 1.1; proxy_set_header Connection "";')
	.replace(/fastcgi_keep_conn on;/g, '');

export async function get(s)
{
	const id = (await post(s, 'example-of-get')).id;
	const at = `/api/v1/operations/${id}`;
	const socket = name => `${s.dir}/${name}/fcgi.sock`;
	const express = (name, processes) => other(s, name, [process.execPath,
		'tests/bench/express.mjs', socket(name), `${s.dir}/pg`, String(processes),
		query('operation_get')], toHttp);
	const others = [
		await other(s, 'bare', [`${s.build}/tests/bench/bare`,
			`host=${s.dir}/pg user=instantstart_faces dbname=instantstart`, socket('bare'), '4']),
		await express('express', 1),
		await express('express4', 4),
	];
	const same = await (await fetch(s.url + at, {headers: {authorization: `Bearer ${s.token}`}})).text();

	try {
		for (const o of others)
			await waitFor(o.dir, async () => await (await fetch(o.url + at)).text() === same);
		const [a, b, c, d] = await alternate([s, ...others].map(o =>
			seconds => wrk(o.url, ['get', s.token, at], seconds).then(r => r.perSecond)));

		return [
			rate('GET /operations/{id}, against the bare loop', a, b, 0.7),
			rate('the same, against Express + pg behind nginx', a, c, 2.5),
			rate('the same, against four processes of Express', a, d, 2.5),
		];
	} finally {
		for (const o of others)
			await o.stop();
	}
}

/* --- steps ------------------------------------------------------------------------------ */

function stepsScript(statements)
{
	const [, , , , effect, name, digest, request] = lastOf(statements, 'op_intent').params;
	const settle = JSON.parse(lastOf(statements, 'op_settle').params[0]);

	Object.assign(settle, {op: '@op', gen: '@gen', step: '@step'});
	settle.next.step = '@next';
	settle.effect.epoch = '@epoch';
	return {
		script: [
			"select c::text as claim, c->>'op_id' as op, c->>'gen' as gen, c->>'step' as step,",
			"case c->>'step' when 'ping' then 'pong' else 'ping' end as next",
			'from op_claim(:worker, 60000::bigint) as c \\gset',
			"select * from op_intent(:op, :gen::bigint, :step, '', :effect, :name, :digest_sent,",
			':request::jsonb) \\gset i_',
			"select op_settle(replace(replace(replace(replace(replace(:settle, '@op', :op),",
			"'@gen', :gen), '@step', :step), '@next', :next), '@epoch', :i_epoch)::jsonb) as state;",
		].join('\n'),
		variables: {role: 'instantstart_poller', worker: 'pgbench', effect, name,
			digest_sent: digest, request, settle: JSON.stringify(settle)},
	};
}

export async function steps(s)
{
	const program = `${s.build}/tests/bench/steps`;
	const url = user => `host=${s.dir}/pg user=${user} dbname=instantstart`;
	const run = (workers, seconds) => command(program,
		[url('instantstart_poller'), 'run', String(workers), String(seconds)],
		{env: {...process.env, ...s.env}}).then(out => JSON.parse(out).per_second);

	/* What other figures have left would be claimed, too. */
	psql(s, "update operation set due_at = 'infinity' where state = 'live'");
	await command(program, [url('instantstart_faces'), 'submit', '256']);
	const {script, variables} = stepsScript(await seen(s, () => run(1, 0.3)));
	const [a, b] = await alternate([seconds => run(CLIENTS, seconds),
		seconds => pgbench(s, script, variables, seconds)]);

	psql(s, "update operation set due_at = 'infinity' where kind = 'bench'");
	return [rate('steps that do nothing, durable, against pgbench', a, b, 0.7)];
}

/* --- MCP and memory ------------------------------------------------------------------------ */

function memoryOf(pid)
{
	const text = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
	const mb = name => Number(new RegExp(`^${name}: +(\\d+)`, 'm').exec(text)[1]) / 1024;

	return {rss: mb('Rss'), pss: mb('Pss')};
}

const constant = (name, list, unit, aim, ok) => ({name, got: median(list), unit,
	ratios: [], spread: list, aim, ok});

export async function mcp(s)
{
	const id = (await post(s, 'example-of-mcp')).id;
	const [a] = await alternate([seconds => wrk(s.url, ['mcp', s.token, id], seconds)
		.then(r => r.perSecond)]);
	const workers = childrenOf(s.services.fcgi.pid).map(memoryOf);

	return [
		constant('MCP tools/call of a read', a, '/s', '≥ 5000', v => v >= 5000),
		constant('RSS of a FastCGI worker', workers.map(w => w.rss), 'MB', '≤ 18', v => v <= 18),
		constant('PSS of a FastCGI worker', workers.map(w => w.pss), 'MB', '≤ 18', v => v <= 18),
	];
}

/* --- from accepted to the first step --------------------------------------------------------- */

/** s with pollers. From the moment the request is sent to the first claim's commit. */
export async function wake(s)
{
	const N = 200;
	const sent = new Map();
	const ms = async () => {
		const name = `w${++serial}`;
		const at = performance.timeOrigin + performance.now();
		const {id} = await post(s, name);

		sent.set(id, at);
		/* The next one finds everybody idle again. */
		await waitFor(`${id} ends`, () => psql(s,
			`select 1 from operation where id = '${id}' and ended_at is not null`) === '1');
	};

	psql(s, `create table bench_claim (id text, at timestamptz);
		create function bench_claimed() returns trigger language plpgsql security definer as $$
		begin insert into instantstart.bench_claim values (new.id, clock_timestamp()); return new; end $$;
		create trigger zz_bench after update on operation for each row
			when (old.claim_gen = 0 and new.claim_gen = 1) execute function bench_claimed()`);
	for (let i = 0; i < N; i++)
		await ms();
	const rows = psql(s, `select id, extract(epoch from at) * 1000,
		extract(epoch from at - created_at) * 1000 from bench_claim join operation using (id)`)
		.split('\n').map(line => line.split('|'));
	const fromSent = rows.filter(r => sent.has(r[0])).map(r => Number(r[1]) - sent.get(r[0]));

	if (fromSent.length < N)
		throw new Error(`${fromSent.length} of ${N} were claimed`);
	return [
		constant('request sent to first step, p50', fromSent, 'ms', '≤ 5', v => v <= 5),
		constant('accepted to first step, p50', rows.map(r => Number(r[2])), 'ms', '≤ 5', v => v <= 5),
	];
}
