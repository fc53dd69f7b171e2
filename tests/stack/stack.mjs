// The whole program in a folder: PostgreSQL, the simulated cloud, FastCGI, pollers,
// live, nginx. For end to end tests, benchmarks and the demo.
//
//   node tests/stack/stack.mjs up DIR [--port P] [--cloud] [--aws] [--build B]
//        [--speed N] [--keep] [--env K=V …]
//   node tests/stack/stack.mjs down DIR
//   node tests/stack/stack.mjs restart DIR NAME
//
// up prints one JSON line: {url, login, pids, env}; DIR/stack.json has the rest.
// --aws takes the caller's own credentials, and its INSTANTSTART_DATABASE_URL if
// set, else the private PostgreSQL. --keep keeps what is committed through a crash
// of the machine. As a module: import {up, down, waitFor, token, …} from it.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {cloudOf} from './cloud.mjs';
import {background, childrenOf, end, freePort, isAlive, isRoot, run, sleep, tools, top, waitFor}
	from './process.mjs';

export {childrenOf, cloudOf, isAlive, run, sleep, tools, top, waitFor};

/* Order of starting; the reverse is that of stopping. */
const NAMES = ['cloud', 'fcgi', 'live', 'poller', 'nginx'];

/* The documented example keys of AWS: what the simulated cloud knows. */
export const KEYS = {
	AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
	AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};

/* The program's own key of the same caller: bound by the policy that it prints. */
const PROGRAM_KEYS = {
	AWS_ACCESS_KEY_ID: 'AKIAI44QH8DHBEXAMPLE',
	AWS_SECRET_ACCESS_KEY: 'je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY',
};

function save(s)
{
	fs.writeFileSync(`${s.dir}/stack.json`, JSON.stringify(s, null, '\t'), {mode: 0o600});
}

export function load(dir)
{
	return JSON.parse(fs.readFileSync(path.join(path.resolve(dir), 'stack.json'), 'utf8'));
}

/* What a stack's processes see: nothing that the caller's shell happens to have set
 * changes a test; a stack for real AWS takes it all, credentials first. */
function environment(s, more = {})
{
	if (s.aws)
		return {...process.env, ...s.env, ...more};
	const clean = Object.entries(process.env)
		.filter(([k]) => !/^(AWS_|INSTANTSTART_|KUBE|HELM_|PG|https?_proxy$|HTTPS?_PROXY$)/.test(k));

	return {...Object.fromEntries(clean), AWS_EC2_METADATA_DISABLED: 'true', NO_PROXY: '127.0.0.1',
		...s.env, ...more};
}

/** The environment of a command a person types: the same cloud, the same keys. */
export const shellEnv = s => environment(s, {PATH: `${tools}:${process.env.PATH}`});

/** A service in the background; its log is DIR/NAME.log. */
function service(s, name, command, args = [], env = {})
{
	const p = background(command, args, environment(s, env), path.join(s.dir, `${name}.log`));

	s.pids[name] = p.pid;
	s.services[name] = {command, args, env, ...p};
	save(s);
	return p;
}

const tailOf = (s, name) => {
	try {
		return fs.readFileSync(`${s.dir}/${name}.log`, 'utf8').slice(-2000);
	} catch {
		return '';
	}
};

/** Until ready() is true; fails at once, with its log, when the service has ended. */
async function awaitService(s, name, ready, ms = 30000)
{
	await waitFor(name, async () => {
		if (await ready())
			return true;
		const {pid, start} = s.services[name];

		if (!isAlive(pid, start))
			throw Object.assign(new Error(`${name} ended: ${tailOf(s, name)}`), {fatal: true});
		return false;
	}, ms).catch(e => {
		throw e.fatal ? e : new Error(`${e.message}\n${tailOf(s, name)}`);
	});
}

export function isRunning(s, name)
{
	const p = s.services[name];

	return Boolean(p && isAlive(p.pid, p.start));
}

/* --- PostgreSQL ---------------------------------------------------------------- */

export function psql(s, sql)
{
	return run('psql', ['-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1', s.owner_url, '-c', sql],
		{env: {...process.env, PGOPTIONS: '-c search_path=instantstart -c default_transaction_read_only=off'}}).trim();
}

/* With a standby: both, and whoever takes writes is the one. */
const urlOf = (s, user) => s.pgStandby
	? `host=${s.dir}/pg,${s.dir}/pg2 user=${user} dbname=instantstart target_session_attrs=primary`
	: `host=${s.dir}/pg user=${user} dbname=instantstart`;

/** pg.sh on one of the two servers of a stack with pgStandby: 'pg' or 'pg2'. */
export function pgServer(s, verb, name, of, env = {})
{
	return run('tests/lib/pg.sh', [verb, `${s.dir}/${name}`, ...(of ? [`${s.dir}/${of}`] : [])],
		{env: {...process.env, ...s.pgEnv, ...env}});
}

function pg(s, verb, env = {})
{
	return run('tests/lib/pg.sh', [verb, `${s.dir}/pg`], {env: {...process.env, ...s.pgEnv, ...env}});
}

function startPostgres(s)
{
	const as_postgres = `host=${s.dir}/pg user=postgres dbname=postgres`;

	pg(s, 'start');
	if (run('psql', ['-X', '-A', '-t', as_postgres, '-c',
		"select 1 from pg_database where datname = 'instantstart'"]).trim() !== '1')
		run('psql', ['-X', '-q', as_postgres, '-c', 'create database instantstart']);
	s.owner_url = urlOf(s, 'postgres');
}

/** immediate: as after kill -9 of the server. */
export function restartPostgres(s, mode = 'fast')
{
	pg(s, 'stop', {PG_STOP: mode});
	pg(s, 'start');
}

/* --- the simulated cloud ---------------------------------------------------------- */

/* Speeds, lags and pauses of a stack on the simulated cloud. */
const PACE = {
	INSTANTSTART_TICK_MS: '200',
	INSTANTSTART_POLL_SCALE_PERCENT: '4',
	INSTANTSTART_VISIBILITY_MS: '2000',
	INSTANTSTART_LEASE_MS: '60000',
};

async function startCloud(s, options)
{
	const ready = `${s.dir}/cloud.json`;

	fs.rmSync(ready, {force: true});
	/* A sanitizer build lies in a folder of the build that has the models. */
	const models = [s.build, path.dirname(s.build)].map(d => `${d}/cloud-models.json`)
		.find(f => fs.existsSync(f));

	fs.writeFileSync(`${s.dir}/cloud-settings.json`, JSON.stringify({
		keys: {[PROGRAM_KEYS.AWS_ACCESS_KEY_ID]: PROGRAM_KEYS.AWS_SECRET_ACCESS_KEY},
		policies: {[PROGRAM_KEYS.AWS_ACCESS_KEY_ID]:
			JSON.parse(run(`${s.build}/instantstart-poller`, ['--iam-policy']))},
	}));
	service(s, 'cloud', `${s.build}/instantstart-cloud`, ['--models', models, '--port', '0',
		'--tls-port', '0', '--ca-file', `${s.dir}/cloud-ca.pem`, '--ready-file', ready,
		'--speed', String(options.speed ?? 60), '--settings', `${s.dir}/cloud-settings.json`,
		...(options.cloudArgs ?? [])]);
	await awaitService(s, 'cloud', () => fs.existsSync(ready));
	const {http, https} = JSON.parse(fs.readFileSync(ready, 'utf8'));

	s.cloud_url = `http://127.0.0.1:${http}`;
	s.cloud_tls_url = `https://127.0.0.1:${https}`;
	s.env = {
		AWS_ENDPOINT_URL: s.cloud_url,
		INSTANTSTART_CA_FILE: `${s.dir}/cloud-ca.pem`,
		...PACE,
		...s.env,
	};
}

/* --- nginx --------------------------------------------------------------------------- */

/* Debian's libnginx-mod-http-brotli-static; gzip serves where it is not. */
const BROTLI = '/usr/lib/nginx/modules/ngx_http_brotli_static_module.so';

/** nginx.conf from its template. */
export function nginxConf(s, options = {})
{
	const hosts = (options.hosts ?? []).map(h => h.replace(/[.]/g, '\\.')).join('|');
	const values = {
		PORT: s.port, LISTEN: '127.0.0.1', RUN: s.run, LOG: s.dir, UI: `${top}/${
			fs.existsSync(`${top}/ui/dist/index.html`) ? 'ui/dist' : 'ui/public'}`,
		HOSTS: hosts || '(?!)', USER: isRoot ? 'user root;' : '', WORKERS: 2,
		RATE: options.rate ?? 50, BURST: options.burst ?? 200,
		MODULES: fs.existsSync(BROTLI) ? `load_module ${BROTLI};` : '',
		BROTLI: fs.existsSync(BROTLI) ? 'brotli_static on;' : '',
	};
	const text = fs.readFileSync(`${top}/nginx/nginx.conf.in`, 'utf8')
		.replace(/^(?!#).*$/gm, line => line.replace(/@([A-Z]+)@/g, (_, name) => values[name] ?? `@${name}@`));

	fs.writeFileSync(`${s.dir}/nginx.conf`, text);
	return `${s.dir}/nginx.conf`;
}

function startNginx(s, options)
{
	const conf = nginxConf(s, options);

	run('nginx', ['-t', '-q', '-e', `${s.dir}/nginx-error.log`, '-c', conf],
		{env: {...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`}});
	service(s, 'nginx', 'nginx', ['-e', `${s.dir}/nginx-error.log`, '-c', conf, '-g', 'daemon off;'],
		{PATH: `${process.env.PATH}:/usr/sbin:/sbin`});
}

/* --- the program ------------------------------------------------------------------------ */

export function startService(s, name)
{
	/* Each with the role that is its own; the owner is the migrations', which the first
	 * of them makes. */
	const own = {poller: {INSTANTSTART_DATABASE_URL: urlOf(s, 'instantstart_poller')},
		fcgi: {INSTANTSTART_OWNER_DATABASE_URL: s.owner_url}};

	return service(s, name, `${s.build}/instantstart-${name}`, [], {
		...(s.cloud_url ? PROGRAM_KEYS : {}), ...(s.private_pg ? own[name] : {})});
}

const healthy = s => fetch(`${s.url}/healthz`).then(r => r.ok, () => false);

async function startProgram(s, options)
{
	for (const socket of ['fcgi.sock', 'fcgi-slow.sock', 'live.sock'])
		fs.rmSync(`${s.run}/${socket}`, {force: true});
	startService(s, 'fcgi');
	await awaitService(s, 'fcgi', () => fs.existsSync(`${s.run}/fcgi-slow.sock`));
	startService(s, 'live');
	if (options.poller !== false)
		startService(s, 'poller');
	startNginx(s, options);
	await awaitService(s, 'nginx', () => healthy(s)).catch(e => {
		throw new Error(`${e.message}\n${tailOf(s, 'fcgi')}`);
	});
	if (options.poller !== false)
		await awaitService(s, 'poller', () => /polling/.test(tailOf(s, 'poller')));
}

/** Kills and starts one of them anew. */
export async function restart(s, name, signal = 'SIGTERM')
{
	const {command, args, env} = s.services[name];

	await stop(s, name, signal);
	service(s, name, command, args, env);
	if (name === 'fcgi' || name === 'nginx')
		await awaitService(s, name, () => healthy(s));
}

/** Kills one worker of a service, as a crash would; gives its pid. */
export async function killWorker(s, name)
{
	const [pid] = await waitFor(`a worker of ${name}`, () => {
		const workers = childrenOf(s.services[name].pid);

		return workers.length ? workers : null;
	});

	process.kill(pid, 'SIGKILL');
	return pid;
}

/* --- access ------------------------------------------------------------------------------- */

/** A one-time login link of the administrator. */
export function loginLink(s)
{
	return /\S+\/login\?code=\S+/.exec(run(`${s.build}/instantstart-fcgi`, ['--new-login-link'],
		{env: environment(s)}))[0];
}

/** A login link, used up for its cookie. */
export async function signIn(s)
{
	const res = await fetch(loginLink(s).replace(/^https?:\/\/[^/]+/, s.url), {redirect: 'manual'});

	if (res.status !== 303)
		throw new Error(`login: ${res.status} ${await res.text()}`);
	return res.headers.get('set-cookie').split(';')[0];
}

/** A token for a role, made as an administrator would. */
export async function token(s, role, principal = role)
{
	s.cookie ??= await signIn(s);
	const res = await fetch(`${s.url}/api/v1/tokens`, {method: 'POST',
		headers: {cookie: s.cookie, origin: s.url, 'content-type': 'application/json'},
		body: JSON.stringify({name: `${role} ${principal}`, role, principal})});
	const body = await res.json();

	if (res.status !== 200)
		throw new Error(`token: ${res.status} ${JSON.stringify(body)}`);
	return body.token;
}

/* --- up and down ---------------------------------------------------------------------------- */

/** Stops what a run, crashed or not, has left in this folder. */
export async function clear(dir)
{
	if (!fs.existsSync(`${dir}/stack.json`))
		return;
	try {
		await down(dir);
	} catch (e) {
		console.error(`stack: leftovers in ${dir}: ${e.message}`);
	}
}

function programEnv(s, options)
{
	const theirs = s.aws && process.env.INSTANTSTART_DATABASE_URL;

	s.private_pg = !theirs;
	return {
		INSTANTSTART_RUN_DIR: s.run,
		...(theirs ? {} : {
			INSTANTSTART_DATABASE_URL: urlOf(s, 'instantstart_faces'),
		}),
		INSTANTSTART_PUBLIC_URL: s.url,
		INSTANTSTART_HELM: `${tools}/helm`,
		...(s.aws ? {INSTANTSTART_CHARTS: process.env.INSTANTSTART_CHARTS ?? `${s.build}/charts`} : {
			INSTANTSTART_REGION: 'us-west-2',
			INSTANTSTART_CHARTS: `${top}/tests/cloud/charts`,
			...KEYS,
		}),
		...options.env,
	};
}

/**
 * options: port, cloud (the simulated one), aws (the real one), speed, cloudArgs,
 * build, env, poller (false: none), pgEnv, pgStandby (the programs know of a second
 * server in DIR/pg2), hosts, rate, burst.
 */
export async function up(dir, options = {})
{
	const s = {dir: path.resolve(dir), pids: {}, services: {}};

	await clear(s.dir);
	s.aws = Boolean(options.aws);
	s.build = path.resolve(options.build ?? process.env.INSTANTSTART_BUILD ?? `${top}/build`);
	s.run = `${s.dir}/run`;
	s.pgEnv = options.pgEnv ?? {};
	s.pgStandby = Boolean(options.pgStandby);
	s.port = await freePort(options.port ?? 0).catch(e => {
		throw new Error(`port ${options.port}: ${e.message}`);
	});
	s.url = `http://127.0.0.1:${s.port}`;
	fs.mkdirSync(s.run, {recursive: true});
	fs.rmSync(`${s.run}/login-link`, {force: true});
	/* PostgreSQL runs as another user then: it may pass, nobody may look around. */
	fs.chmodSync(s.dir, isRoot ? 0o711 : 0o700);
	s.env = programEnv(s, options);
	try {
		if (s.private_pg)
			startPostgres(s);
		if (options.cloud)
			await startCloud(s, options);
		await startProgram(s, options);
	} catch (e) {
		await down(s).catch(() => {});
		throw e;
	}
	s.login = fs.existsSync(`${s.run}/login-link`)
		? fs.readFileSync(`${s.run}/login-link`, 'utf8').trim() : undefined;
	save(s);
	return s;
}

export async function stop(s, name, signal = 'SIGTERM')
{
	const p = s.services[name];

	if (!p)
		return;
	const workers = childrenOf(p.pid);

	await end(name, p, signal);
	/* Workers of a killed master end by themselves; nobody starts over them. */
	await waitFor(`workers of ${name}`, () => !workers.some(w => isAlive(w)), 40000);
	delete s.pids[name];
}

export async function down(dirOrStack)
{
	const s = typeof dirOrStack === 'string' ? load(dirOrStack) : dirOrStack;

	await stop(s, 'nginx');
	await Promise.all(['poller', 'live', 'fcgi'].map(name => stop(s, name)));
	await stop(s, 'cloud');
	for (const name of ['pg2', 'pg'])
		if (fs.existsSync(`${s.dir}/${name}`))
			pgServer(s, 'stop', name, null, {PG_STOP: 'immediate'});
}

/* --- command line ------------------------------------------------------------------------------ */

function args(argv)
{
	const options = {env: {}};

	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--cloud' || argv[i] === '--aws')
			options[argv[i].slice(2)] = true;
		else if (argv[i] === '--keep')
			options.pgEnv = {PG_FSYNC: 'on'};
		else if (argv[i] === '--port' || argv[i] === '--speed')
			options[argv[i].slice(2)] = Number(argv[++i]);
		else if (argv[i] === '--build')
			options.build = argv[++i];
		else if (argv[i] === '--env') {
			const [key, ...value] = argv[++i].split('=');

			options.env[key] = value.join('=');
		} else
			throw new Error(`unknown option ${argv[i]}`);
	}
	return options;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [verb, dir, ...rest] = process.argv.slice(2);

	if (verb === 'up' && dir) {
		const s = await up(dir, args(rest));

		console.log(JSON.stringify({url: s.url, login: s.login, pids: s.pids, env: s.env}));
	} else if (verb === 'down' && dir) {
		await down(dir);
	} else if (verb === 'restart' && dir && NAMES.includes(rest[0])) {
		await restart(load(dir), rest[0]);
	} else {
		console.error('usage: stack.mjs up|down|restart DIR …; see the head of the file');
		process.exit(2);
	}
}
