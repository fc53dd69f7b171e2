// Processes of a stack: started in the background, known by pid and start time
// (a pid alone may be somebody else's after a crash), waited for by condition.
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

/* What a stack writes, nginx's logs too, is for nobody else. */
process.umask(0o077);

export const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const isRoot = process.getuid() === 0;
/** Binaries that npm brought: kubectl, helm, aws, node. */
export const tools = `${top}/tests/node_modules/.tools/bin`;

export const sleep = ms => new Promise(r => setTimeout(r, ms));

/** Waits until fn() gives something true; fails with `what` after the deadline. */
export async function waitFor(what, fn, ms = 20000, every = 25)
{
	const end = Date.now() + ms;
	let last;

	while (Date.now() < end) {
		try {
			const got = await fn();

			if (got)
				return got;
		} catch (e) {
			if (e.fatal)
				throw e;
			last = e;
		}
		await sleep(every);
	}
	throw new Error(`${what}: not within ${ms} ms${last ? ` (${last.message})` : ''}`);
}

async function tryPort(port)
{
	const server = net.createServer();

	await new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen(port, '127.0.0.1', resolve);
	});
	await new Promise(r => server.close(r));
	return port;
}

export async function freePort(port = 0)
{
	if (port)
		return tryPort(port);
	/* Below those that the kernel gives to outgoing connections: one of these would
	 * take a port between this look and its use. */
	for (let i = 0; i < 50; i++) {
		const got = await tryPort(12000 + Math.floor(Math.random() * 20000)).catch(() => 0);

		if (got)
			return got;
	}
	throw new Error('no free port');
}

export function run(command, args, options = {})
{
	const done = spawnSync(command, args, {encoding: 'utf8', cwd: top, maxBuffer: 1 << 26,
		...options});

	if (done.status !== 0)
		throw new Error(`${command} ${args.join(' ')}: ${done.stderr || done.stdout || done.error}`);
	return done.stdout;
}

/** Fields of /proc/PID/stat after the name: state is the first. */
function stat(pid)
{
	try {
		const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');

		return text.slice(text.lastIndexOf(')') + 2).split(' ');
	} catch {
		return null;
	}
}

export const startOf = pid => stat(pid)?.[19] ?? null;

/** start: as startOf() told then. A zombie of ours has ended. */
export function isAlive(pid, start)
{
	const s = stat(pid);

	return Boolean(s && s[0] !== 'Z' && (!start || s[19] === start));
}

export function childrenOf(pid)
{
	try {
		return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
			.filter(Boolean).map(Number).filter(p => isAlive(p));
	} catch {
		return [];
	}
}

/** Starts it detached, its output appended to log. */
export function background(command, args, env, log)
{
	const fd = fs.openSync(log, 'a', 0o600);
	const child = spawn(command, args, {cwd: top, detached: true, stdio: ['ignore', fd, fd], env});

	fs.closeSync(fd);
	child.on('error', () => {});
	child.unref();
	if (!child.pid)
		throw new Error(`${command} does not start`);
	return {pid: child.pid, start: startOf(child.pid)};
}

/** TERM, and KILL for what does not end in time. */
export async function end(name, {pid, start}, signal = 'SIGTERM', ms = 40000)
{
	if (!isAlive(pid, start))
		return;
	process.kill(pid, signal);
	await waitFor(`${name} ends`, () => !isAlive(pid, start), ms).catch(() => {
		/* It may have ended at last, and its number be another's. */
		if (isAlive(pid, start))
			process.kill(pid, 'SIGKILL');
	});
}
