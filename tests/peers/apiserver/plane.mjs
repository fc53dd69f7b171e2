// A real Kubernetes control plane (control/), started and led from Node.
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {Agent, request} from 'node:https';
import readline from 'node:readline';
import {fileURLToPath} from 'node:url';

/** The program; builds it when need be. Ends this process with status 77 when that
 * cannot be: the last line says why. */
export function planeProgram()
{
	const build = spawnSync(fileURLToPath(new URL('build', import.meta.url)),
		{encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 26});

	process.stdout.write(build.stdout);
	if (build.status !== 0)
		process.exit(build.status ?? 1);
	return build.stdout.trim().split('\n').at(-1);
}

/** Lines of a child's standard output, asked for one by one; null: it has ended. */
export function lineReader(child)
{
	const lines = [];
	const waiting = [];
	const give = line => (waiting.length ? waiting.shift()(line) : lines.push(line));
	const reader = readline.createInterface({input: child.stdout});

	reader.on('line', give);
	reader.on('close', () => give(null));
	return () => (lines.length ? Promise.resolve(lines.shift())
		: new Promise(resolve => waiting.push(resolve)));
}

/* As EKS runs it: device plugins and the drivers of storages are privileged. */
const EKS = ['--allow-privileged=true'];

/**
 * Starts one in the folder dir, which must not have had one before; flags go to
 * kube-apiserver. Gives {url, ca (file), token (system:masters), nobody, kubeconfig,
 * pods, version} and:
 *   request(method, path, body, more)  as the administrator: {status, json}
 *   command('compact' | 'restart kube-apiserver')
 *   stop()
 */
export async function startPlane(dir, flags = [])
{
	const program = planeProgram();

	fs.mkdirSync(dir, {recursive: true});
	const child = spawn(program, ['run', '--dir', dir, '--', ...EKS, ...flags], {stdio: ['pipe', 'pipe', 'inherit']});
	const next = lineReader(child);
	const first = await next();

	if (first === null)
		throw new Error(`the control plane did not start; see ${dir}/log`);
	const plane = JSON.parse(first);
	const ended = new Promise(resolve => child.once('exit', resolve));
	const agent = new Agent({ca: fs.readFileSync(plane.ca), keepAlive: true});

	return {
		...plane,
		request: (method, path, body, more = {}) => ask(agent, plane, method, path, body, more),
		async command(line)
		{
			child.stdin.write(`${line}\n`);
			const answer = JSON.parse(await next());

			if (answer.error)
				throw new Error(`${line}: ${answer.error}`);
			return answer;
		},
		async stop()
		{
			agent.destroy();
			child.stdin.end();
			await ended;
		},
	};
}

/* more: {type, token, headers} */
function ask(agent, plane, method, path, body, more)
{
	return new Promise((resolve, reject) => {
		const req = request(`${plane.url}${path}`, {method, agent, headers: {
			authorization: `Bearer ${more.token ?? plane.token}`, accept: 'application/json',
			...(body === undefined ? {} : {'content-type': more.type ?? 'application/json'}), ...more.headers}},
		res => {
			const pieces = [];

			res.on('data', d => pieces.push(d));
			res.on('error', reject);
			res.on('end', () => {
				const text = Buffer.concat(pieces).toString();
				let json = null;

				try {
					json = JSON.parse(text);
				} catch {
					/* a log, or a word such as "ok" */
				}
				resolve({status: res.statusCode, json, text, headers: res.headers});
			});
		});

		req.on('error', reject);
		req.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
	});
}
