// Our AWS client as a process, and moto as the AWS that it speaks to.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import net from 'node:net';
import readline from 'node:readline';
import {fileURLToPath} from 'node:url';

const sleep = ms => new Promise(r => setTimeout(r, ms));

function freePort()
{
	return new Promise(resolve => {
		const s = net.createServer().listen(0, '127.0.0.1', () => {
			const {port} = s.address();

			s.close(() => resolve(port));
		});
	});
}

/** {url, version, implemented, stop}. */
export async function startMoto(out, ops)
{
	const bin = `${out}/peers/venv/bin`;
	const told = spawnSync(`${bin}/python`,
		[fileURLToPath(new URL('implemented.py', import.meta.url))], {input: ops.join('\n')});

	assert.equal(told.status, 0, String(told.stderr));
	const {version, operations} = JSON.parse(told.stdout);
	const port = await freePort();
	const server = spawn(`${bin}/moto_server`, ['-H', '127.0.0.1', '-p', String(port)],
		{stdio: ['ignore', 'ignore', process.env.V ? 'inherit' : 'ignore'], env: {...process.env,
			MOTO_IAM_LOAD_MANAGED_POLICIES: 'true'}});
	const url = `http://127.0.0.1:${port}`;
	const end = Date.now() + 60000;

	while (!await fetch(`${url}/moto-api/`).then(r => r.ok, () => false)) {
		assert(server.exitCode === null && Date.now() < end, 'moto does not start');
		await sleep(100);
	}
	return {url, version, implemented: operations, async stop() {
		const gone = new Promise(r => server.once('exit', r));

		server.kill('SIGTERM');
		await gone;
	}};
}

export function listOps(out)
{
	return spawnSync(`${out}/tests/peers/aws_moto`, ['--list'], {encoding: 'utf8'}).stdout
		.trim().split('\n').map(JSON.parse);
}

export function startClient(out, url)
{
	const p = spawn(`${out}/tests/peers/aws_moto`, [], {stdio: ['pipe', 'pipe', 'inherit'], env: {
		PATH: process.env.PATH, AWS_ENDPOINT_URL: url, AWS_REGION: 'us-west-2',
		AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE', AWS_EC2_METADATA_DISABLED: 'true',
		AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'}});
	const lines = readline.createInterface({input: p.stdout})[Symbol.asyncIterator]();

	return {
		async call(op, input = {}, more = {}) {
			p.stdin.write(`${JSON.stringify({op, in: input, ...more})}\n`);
			const {value, done} = await lines.next();

			assert(!done, `the client died at ${op}`);
			return JSON.parse(value);
		},
		stop: () => p.stdin.end(),
	};
}
