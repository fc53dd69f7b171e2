// The whole program in a folder: PostgreSQL, the simulated cloud, FastCGI, pollers,
// live, nginx. For end to end tests, benchmarks and the demo.
//
//   node tests/stack/stack.mjs up DIR [--port P] [--cloud] [--build B] [--env K=V …]
//   node tests/stack/stack.mjs down DIR
//
// up prints one JSON line: {url, login, pids, env}; the same is in DIR/stack.json.
// As a module: import {up, down, waitFor, token} from it.
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const isRoot = process.getuid() === 0;

export const sleep = ms => new Promise(r => setTimeout(r, ms));

/** Waits until fn() gives something true; fails with `what` after the deadline. */
export async function waitFor(what, fn, ms = 20000)
{
	const end = Date.now() + ms;
	let last;

	while (Date.now() < end) {
		try {
			const got = await fn();

			if (got)
				return got;
		} catch (e) {
			last = e;
		}
		await sleep(25);
	}
	throw new Error(`${what}: not within ${ms} ms${last ? ` (${last.message})` : ''}`);
}

async function freePort()
{
	const server = net.createServer();

	await new Promise(r => server.listen(0, '127.0.0.1', r));
	const {port} = server.address();
	await new Promise(r => server.close(r));
	return port;
}

function run(command, args, options = {})
{
	const done = spawnSync(command, args, {encoding: 'utf8', cwd: top, ...options});

	if (done.status !== 0)
		throw new Error(`${command} ${args.join(' ')}: ${done.stderr || done.stdout || done.error}`);
	return done.stdout;
}

/** A service in the background; its log is DIR/NAME.log. */
function service(s, name, command, args = [], env = {})
{
	const log = fs.openSync(path.join(s.dir, `${name}.log`), 'a');
	const child = spawn(command, args, {cwd: top, detached: true,
		stdio: ['ignore', log, log], env: {...process.env, ...s.env, ...env}});

	fs.closeSync(log);
	child.unref();
	if (!child.pid)
		throw new Error(`${command} does not start`);
	s.pids[name] = child.pid;
	return child;
}

const alive = pid => {
	try {
		process.kill(pid, 0);
		/* A zombie of ours has ended. */
		return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
	} catch {
		return false;
	}
};

export function psql(s, sql)
{
	return run('psql', ['-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1', s.owner_url, '-c', sql],
		{env: {...process.env, PGOPTIONS: '-c search_path=instantstart'}}).trim();
}

function url_of(s, user)
{
	return `host=${s.dir}/pg user=${user} dbname=instantstart`;
}

function startPostgres(s)
{
	run('tests/lib/pg.sh', ['start', `${s.dir}/pg`], {env: {...process.env, ...s.pgEnv}});
	const there = run('psql', ['-X', '-A', '-t', `host=${s.dir}/pg user=postgres dbname=postgres`,
		'-c', "select 1 from pg_database where datname = 'instantstart'"]).trim();

	if (there !== '1')
		run('psql', ['-X', '-q', `host=${s.dir}/pg user=postgres dbname=postgres`, '-c',
			'create database instantstart']);
	s.owner_url = url_of(s, 'postgres');
}

async function startCloud(s, options)
{
	const ready = `${s.dir}/cloud.json`;

	fs.rmSync(ready, {force: true});
	service(s, 'cloud', `${s.build}/instantstart-cloud`, ['--port', '0', '--tls-port', '0',
		'--ca-file', `${s.dir}/cloud-ca.pem`, '--ready-file', ready, ...(options.cloudArgs ?? [])]);
	const {http} = await waitFor('cloud', () =>
		fs.existsSync(ready) && JSON.parse(fs.readFileSync(ready, 'utf8')), 30000);
	s.cloud_url = `http://127.0.0.1:${http}`;
	Object.assign(s.env, {
		AWS_ENDPOINT_URL: s.cloud_url,
		INSTANTSTART_CA_FILE: `${s.dir}/cloud-ca.pem`,
	});
}

/** nginx.conf from its template. */
export function nginxConf(s, options = {})
{
	const hosts = (options.hosts ?? []).map(h => h.replace(/[.]/g, '\\.')).join('|');
	const values = {
		PORT: s.port, LISTEN: '127.0.0.1', RUN: s.run, LOG: s.dir, UI: `${top}/${
			fs.existsSync(`${top}/ui/dist/index.html`) ? 'ui/dist' : 'ui/public'}`,
		HOSTS: hosts || '(?!)', USER: isRoot ? 'user root;' : '', WORKERS: 2,
		RATE: options.rate ?? 5000, BURST: options.burst ?? 5000,
	};
	const text = fs.readFileSync(`${top}/nginx/nginx.conf.in`, 'utf8')
		.replace(/^(?!#).*$/gm, line => line.replace(/@([A-Z]+)@/g, (_, name) => values[name] ?? `@${name}@`));

	fs.writeFileSync(`${s.dir}/nginx.conf`, text);
	return `${s.dir}/nginx.conf`;
}

async function startNginx(s, options)
{
	const conf = nginxConf(s, options);

	run('nginx', ['-t', '-q', '-e', `${s.dir}/nginx-error.log`, '-c', conf]);
	service(s, 'nginx', 'nginx', ['-e', `${s.dir}/nginx-error.log`, '-c', conf, '-g', 'daemon off;']);
}

export function startService(s, name)
{
	return service(s, name, `${s.build}/instantstart-${name}`);
}

/** The one-time login link of the administrator, used up for its cookie. */
export async function signIn(s)
{
	const out = run(`${s.build}/instantstart-fcgi`, ['--new-login-link'],
		{env: {...process.env, ...s.env}});
	const code = /code=(\S+)/.exec(out)[1];
	const res = await fetch(`${s.url}/login?code=${code}`, {redirect: 'manual'});

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
		body: JSON.stringify({name: `test ${role}`, role, principal})});
	const body = await res.json();

	if (res.status !== 200)
		throw new Error(`token: ${res.status} ${JSON.stringify(body)}`);
	return body.token;
}

export async function up(dir, options = {})
{
	const s = {dir: path.resolve(dir), pids: {}, env: {...options.env}};

	s.build = path.resolve(options.build ?? process.env.INSTANTSTART_BUILD ?? `${top}/build`);
	s.run = `${s.dir}/run`;
	s.pgEnv = options.pgEnv ?? {};
	s.port = options.port ?? await freePort();
	s.url = `http://127.0.0.1:${s.port}`;
	fs.mkdirSync(s.run, {recursive: true});
	/* PostgreSQL runs as another user then. */
	if (isRoot)
		fs.chmodSync(s.dir, 0o755);
	startPostgres(s);
	s.env = {
		INSTANTSTART_RUN_DIR: s.run,
		INSTANTSTART_DATABASE_URL: url_of(s, 'instantstart_faces'),
		INSTANTSTART_OWNER_DATABASE_URL: url_of(s, 'postgres'),
		INSTANTSTART_PUBLIC_URL: s.url,
		INSTANTSTART_REGION: 'us-west-2',
		AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
		AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
		...s.env,
	};
	if (options.cloud)
		await startCloud(s, options);
	startService(s, 'fcgi');
	await waitFor('fcgi', () => fs.existsSync(`${s.run}/fcgi-slow.sock`) || !alive(s.pids.fcgi));
	if (!alive(s.pids.fcgi))
		throw new Error(`fcgi: ${fs.readFileSync(`${s.dir}/fcgi.log`, 'utf8').slice(-2000)}`);
	startService(s, 'live');
	if (options.poller !== false && fs.existsSync(`${s.build}/instantstart-poller`))
		service(s, 'poller', `${s.build}/instantstart-poller`, [],
			{INSTANTSTART_DATABASE_URL: url_of(s, 'instantstart_poller')});
	await startNginx(s, options);
	await waitFor('nginx', async () => (await fetch(`${s.url}/healthz`)).ok);
	s.login = /\S+\/login\?code=\S+/.exec(fs.readFileSync(`${s.dir}/fcgi.log`, 'utf8'))?.[0];
	fs.writeFileSync(`${s.dir}/stack.json`, JSON.stringify(s, null, '\t'));
	return s;
}

export async function stop(s, name, signal = 'SIGTERM')
{
	const pid = s.pids[name];

	if (!pid || !alive(pid))
		return;
	process.kill(pid, signal);
	await waitFor(`${name} ends`, () => !alive(pid), 40000).catch(() => {
		process.kill(pid, 'SIGKILL');
	});
	delete s.pids[name];
}

export async function down(dirOrStack)
{
	const s = typeof dirOrStack === 'string'
		? JSON.parse(fs.readFileSync(path.join(dirOrStack, 'stack.json'), 'utf8')) : dirOrStack;

	await stop(s, 'nginx');
	await Promise.all(['poller', 'live', 'fcgi', 'cloud'].map(name => stop(s, name)));
	run('tests/lib/pg.sh', ['stop', `${s.dir}/pg`]);
}

function args(argv)
{
	const options = {env: {}};

	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--cloud')
			options.cloud = true;
		else if (argv[i] === '--port')
			options.port = Number(argv[++i]);
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
	} else {
		console.error('usage: stack.mjs up|down DIR [--port P] [--cloud] [--build B] [--env K=V]');
		process.exit(2);
	}
}
