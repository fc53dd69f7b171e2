// make demo and make run: brings the program up, and on the simulated cloud lets
// one request make a whole cluster while the terminal shows how.
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {clear, cloudOf, loginLink, shellEnv, token, tools, top, up} from '../stack/stack.mjs';
import {envText, printed, shown} from './commands.mjs';
import {bold, dim, follow, green, red} from './follow.mjs';

const PORT = Number(process.env.DEMO_PORT ?? 3099);
const [build, flag] = process.argv.slice(2);
const aws = flag === '--aws';
const dir = path.relative(top, process.env.DEMO_DIR ?? path.join(top, aws ? '.run/aws' : '.run/demo'));
const short = file => path.relative(top, file).startsWith('..') ? file : path.relative(top, file);

const REQUEST = {
	name: 'demo',
	zone: 'us-west-2a',
	instance_type: 'ml.g5.12xlarge',
	count: 2,
};

/** A command of the list, as it would be typed, with the file to source sourced. */
function show(s, command)
{
	console.log(`\n${bold(`$ ${command}`)}`);
	const done = spawnSync('bash', ['-c', `. ${s.dir}/env && ${command}`],
		{encoding: 'utf8', cwd: top, env: shellEnv(s)});

	process.stdout.write(done.stdout);
	if (done.status !== 0)
		throw new Error(`${command}: ${done.stderr}`);
}

/** An administrator's token in a file, for curl. */
async function writeToken(s)
{
	const text = await token(s, 'admin', 'demo');

	fs.writeFileSync(`${s.dir}/token`, `${text}\n`, {mode: 0o600});
	return text;
}

async function makeCluster(s)
{
	const bearer = {authorization: `Bearer ${await writeToken(s)}`};
	const get = async p => {
		const res = await fetch(s.url + p, {headers: bearer});

		if (!res.ok)
			throw new Error(`${p}: ${res.status} ${await res.text()}`);
		return res.json();
	};

	console.log(`\n${bold('POST /api/v1/clusters')} ${JSON.stringify(REQUEST)}`);
	const began = Date.now();
	const res = await fetch(`${s.url}/api/v1/clusters`, {method: 'POST',
		headers: {...bearer, 'content-type': 'application/json', 'idempotency-key': 'demo-1'},
		body: JSON.stringify(REQUEST)});
	const accepted = await res.json();

	if (res.status !== 202)
		throw new Error(`${res.status} ${JSON.stringify(accepted, null, 2)}`);
	console.log(dim(`202 Accepted, ${res.headers.get('location')}\n`));
	const end = await follow(get, accepted.id, began);

	if (end.state !== 'succeeded')
		throw new Error(`${end.state}: ${JSON.stringify(end.error ?? end.question, null, 2)}`);
	return {cluster: await get('/api/v1/clusters/demo'), seconds: (Date.now() - began) / 1000};
}

function printEnd(s, link)
{
	console.log(`
${bold('InstantStart')}   ${s.url}
${bold('Sign in')}        ${link}
${bold('Stop')}           make stop`);
}

async function demo()
{
	/* The simulated cloud forgets when it ends; a journal that remembers would be wrong. */
	await clear(path.join(top, dir));
	fs.rmSync(path.join(top, dir), {recursive: true, force: true});
	console.log(dim('starting PostgreSQL, simulated cloud, FastCGI, pollers, nginx …'));
	const s = await up(path.join(top, dir), {build, cloud: true, port: PORT, pgEnv: {PG_FSYNC: 'on'},
		speed: 40, env: {INSTANTSTART_PUBLIC_URL: `http://localhost:${PORT}`}});

	console.log(dim(`serving on ${s.url}`));
	/* An account that was granted GPUs: a new one has none (ml.g5.12xlarge). */
	await cloudOf(s.cloud_url).settings({quota: {'L-4C3F99F6': 16}});
	const {cluster, seconds} = await makeCluster(s);

	fs.writeFileSync(`${s.dir}/env`, envText(s.env, s.dir, tools), {mode: 0o600});

	console.log(`\n${green('✓')} ${bold(`${cluster.name} is ${cluster.status}`)} after ${seconds.toFixed(0)} s: ${
		cluster.resources.length} objects made, Kubernetes ${cluster.kubernetes_version}, ${cluster.endpoint}`);
	for (const command of shown(short(s.dir)))
		show(s, command);
	console.log(`\nLook around yourself:\n\n${printed(short(s.dir), s.url).map(c => `  ${c}`).join('\n')}`);
	printEnd(s, s.login ?? loginLink(s));
}

async function real()
{
	/* The program knows best what it would work with: region, credentials, account. */
	const check = spawnSync(`${build}/instantstart-poller`, ['--check'], {encoding: 'utf8', cwd: top,
		env: {...process.env, INSTANTSTART_PUBLIC_URL: `http://localhost:${PORT}`}});

	if (check.status !== 0)
		throw new Error(check.stderr.trim());
	console.log(dim(check.stdout.split('\n').filter(l => /^[a-z]+: /.test(l)).join('\n')));
	const region = /^region: (\S+)/m.exec(check.stdout)[1];
	const s = await up(path.join(top, dir), {build, aws: true, port: PORT, pgEnv: {PG_FSYNC: 'on'},
		env: {INSTANTSTART_PUBLIC_URL: `http://localhost:${PORT}`}});

	await writeToken(s);
	console.log(`Serving with your AWS credentials. Nothing has been made. This plans a cluster: every object
and call, and the quota it needs; without ?dry_run=plan it makes it.

  curl -s '${s.url}/api/v1/clusters?dry_run=plan' \\
    -H "Authorization: Bearer $(cat ${short(s.dir)}/token)" -H 'Content-Type: application/json' \\
    -d '{"name": "demo", "zone": "${region}a", "instance_type": "ml.g5.12xlarge"}'

Logs are in ${short(s.dir)}.`);
	printEnd(s, loginLink(s));
}

try {
	await (aws ? real() : demo());
} catch (e) {
	console.error(`\n${red('✗')} ${e.message}\n\nLogs are in ${short(path.join(top, dir))}; make stop stops what is running.`);
	process.exit(1);
}
