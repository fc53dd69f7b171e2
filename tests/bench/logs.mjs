// bench-logs: one pod at RATE lines a second, watched by 1, 50 and 200 viewers; then
// with a storm of viewers that come and go, nginx reloaded and a worker of it killed.
// Beside each row the same load from a bare broadcast behind the same nginx: what the
// sockets of this machine cost, which nothing can be better than.
//
//   BENCH_SECONDS (60) of each row; BENCH_RATE (10000); BENCH_VIEWERS (1,50,200);
//   BENCH_STORM (40): connections that come and go
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {childrenOf, down, psql, sleep, token, up, waitFor} from '../stack/stack.mjs';
import {background, end, freePort, isRoot} from '../stack/process.mjs';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
const RATE = Number(process.env.BENCH_RATE ?? 10000);
const VIEWERS = (process.env.BENCH_VIEWERS ?? '1,50,200').split(',').map(Number);
const STORM = Number(process.env.BENCH_STORM ?? 40);
const B = process.env.INSTANTSTART_BUILD;
const TICKS = 100; /* of CPU time a second, as /proc counts */

const program = name => `${B}/tests/bench/${name}`;

/** Runs to its end; answers the JSON it printed. */
function json(command, args)
{
	return new Promise((resolve, reject) => {
		const p = spawn(command, args, {stdio: ['ignore', 'pipe', 'inherit']});
		let text = '';

		p.stdout.on('data', d => text += d);
		p.on('close', code => code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`${command}: ${code}`)));
	});
}

/** A program whose first line is a port. */
function source()
{
	return new Promise((resolve, reject) => {
		const p = spawn(program('log_source'), [String(RATE)], {stdio: ['ignore', 'pipe', 'inherit']});
		let text = '';

		p.stdout.on('data', d => {
			text += d;
			if (text.includes('\n'))
				resolve({port: Number(text.split('\n')[0]), stop: () => new Promise(done => {
					p.on('close', () => done(Number(text.split('\n')[1])));
					p.kill();
				})});
		});
		p.on('error', reject);
	});
}

/* --- what processes cost ----------------------------------------------------------- */

/** What a changing group of processes has used since the first look. */
class Usage {
	constructor(pids)
	{
		this.pids = pids;
		this.first = new Map();
		this.last = new Map();
		this.look();
		for (const [pid, t] of this.last)
			this.first.set(pid, t);
	}

	look()
	{
		for (const pid of this.pids())
			try {
				const f = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');

				this.last.set(pid, Number(f[11]) + Number(f[12]));
			} catch { /* it has ended */ }
	}

	ticks()
	{
		this.look();
		return [...this.last].reduce((sum, [pid, t]) => sum + t - (this.first.get(pid) ?? 0), 0);
	}
}

const rssMb = pid => {
	try {
		return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
	} catch {
		return 0;
	}
};

/** Runs fn; answers its result with the CPU of two groups and the peak of one. */
async function costs(live, nginx, fn)
{
	const used = [live, nginx].map(pids => new Usage(pids)), began = performance.now();
	let peak = 0;
	const timer = setInterval(() => {
		peak = Math.max(peak, ...live().map(rssMb));
		used.forEach(u => u.look());
	}, 200);
	const result = await fn();

	clearInterval(timer);
	const share = (performance.now() - began) / 1000 * TICKS / 100;

	return {...result, cpu: used[0].ticks() / share, nginx: used[1].ticks() / share, rss: peak};
}

/* --- rows ----------------------------------------------------------------------------- */

const PATH = '/ws/logs?cluster=lab&pod=fast&container=main&tail=100';
const viewers = (port, target, key, steady, storm) =>
	json(program('log_viewers'), [String(port), target, key, String(steady), String(storm), String(SECONDS)]);
const digits = v => v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2);

const table = [['viewers', 'lines delivered', 'of', 'lag p50', 'p99', 'max', 'CPU', 'nginx', 'RSS', 'gaps', 'unmarked']];

function row(name, n, r)
{
	table.push([name, String(r.lines), `${digits(100 * r.lines / (RATE * SECONDS * n))} %`, `${digits(r.p50)} ms`,
		`${digits(r.p99)} ms`, `${digits(r.max)} ms`, `${digits(r.cpu)} %`, `${digits(r.nginx)} %`,
		`${digits(r.rss)} MB`, String(r.gaps), String(r.faults)]);
}

const liveOf = s => () => childrenOf(s.services.live.pid);
const nginxOf = s => () => childrenOf(s.services.nginx.pid);

/** Reloads and a killed worker, spread over the time. */
async function disturb(s)
{
	const killed = [];

	for (let i = 0; i < 4; i++) {
		await sleep(SECONDS * 1000 / 6);
		if (i === 2) {
			killed.push(nginxOf(s)().at(-1));
			process.kill(killed[0], 'SIGKILL');
		} else {
			process.kill(s.services.nginx.pid, 'SIGHUP');
		}
	}
	return killed.length;
}

async function ours(s)
{
	for (const n of VIEWERS)
		row(`${n}`, n, await costs(liveOf(s), nginxOf(s), () => viewers(s.port, PATH, s.token, n, 0)));
	const n = VIEWERS.at(-1), before = liveOf(s)().join();
	const [r, killed] = await Promise.all([
		costs(liveOf(s), nginxOf(s), () => viewers(s.port, PATH, s.token, n, STORM)), disturb(s)]);

	row(`${n} + ${STORM}: storm, reloads, kill`, n + STORM, r);
	const deaths = (fs.readFileSync(`${s.dir}/nginx-error.log`, 'utf8').match(/exited on signal/g) ?? []).length;

	return {crashes: deaths - killed + (liveOf(s)().join() === before ? 0 : 1), storm: r};
}

const rawConf = (dir, port) => `${isRoot ? 'user root;' : ''} worker_processes 2; worker_rlimit_nofile 8192;
pid ${dir}/raw-nginx.pid; error_log ${dir}/raw-error.log warn; daemon off;
events { worker_connections 4096; }
http { access_log off; server { listen 127.0.0.1:${port}; location / {
	proxy_pass http://unix:${dir}/raw.sock; proxy_http_version 1.1; proxy_set_header Upgrade websocket;
	proxy_set_header Connection upgrade; proxy_read_timeout 90s; proxy_buffer_size 32k; proxy_buffers 8 32k; } } }
`;

/** The bare broadcast, by the same viewers. */
async function raw(dir)
{
	const port = await freePort(0), env = {...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`};

	fs.writeFileSync(`${dir}/raw-nginx.conf`, rawConf(dir, port));
	const broadcast = background(program('log_raw'), [`${dir}/raw.sock`, String(RATE)], env, `${dir}/raw.log`);
	const nginx = background('nginx', ['-e', `${dir}/raw-error.log`, '-c', `${dir}/raw-nginx.conf`], env, `${dir}/raw-nginx.log`);

	try {
		await waitFor('the bare broadcast', () => fetch(`http://127.0.0.1:${port}/`).then(() => true, e => e.cause?.code !== 'ECONNREFUSED'));
		for (const n of VIEWERS)
			row(`${n} (bare broadcast)`, n, await costs(() => [broadcast.pid], () => childrenOf(nginx.pid),
				() => viewers(port, '/?x=1', 'none', n, 0)));
	} finally {
		await end('nginx', nginx);
		await end('log_raw', broadcast);
	}
}

function print()
{
	const widths = table[0].map((_, i) => Math.max(...table.map(r => r[i].length)));

	for (const r of table)
		console.log(r.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd());
}

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'is-logs-'));
const from = await source();
const s = await up(dir, {poller: false, rate: 1000000, burst: 1000000,
	env: {AWS_ENDPOINT_URL: `http://127.0.0.1:${from.port}`, INSTANTSTART_LIVE_PER_USER: '4000'}});
let failed;

try {
	s.token = await token(s, 'viewer', 'bench');
	psql(s, `select cluster_put('lab', '{"eks_name": "lab"}')`);
	psql(s, `select installation_put('111122223333', 'us-west-2', 'aws', 'arn:aws:iam::111122223333:role/x')`);
	console.log(`# ${RATE} lines/s of 136 bytes, ${SECONDS} s a row, ${os.cpus().length} cores`);
	const {crashes, storm} = await ours(s);

	await raw(dir);
	print();
	console.log(`# storm: ${storm.connects} connections made, ${storm.refused} refused, ${storm.cut} cut by the server; ${storm.missed} lines in marked gaps`);
	console.log(`# crashes: ${crashes}`);
	failed = crashes > 0 || table.slice(1).some(r => r.at(-1) !== '0');
} finally {
	await down(s);
	await from.stop();
	fs.rmSync(dir, {recursive: true, force: true});
}
if (failed) {
	console.error('bench-logs: something crashed, or lines were missing without a mark');
	process.exit(1);
}
