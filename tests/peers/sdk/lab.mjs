// The simulated cloud, and the official clients that speak to it. Every answer is
// held against the published model after the client has parsed it.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createRequire} from 'node:module';
import {model, violations} from '../models.mjs';

const require = createRequire(import.meta.url);
const PACKAGES = {elbv2: 'elastic-load-balancing-v2', logs: 'cloudwatch-logs'};
const KEYS = {
	accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
	secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};

export const sleep = ms => new Promise(r => setTimeout(r, ms));

async function start(out, dir)
{
	const ready = path.join(dir, 'ready');
	const models = [out, path.dirname(out)].map(d => `${d}/cloud-models.json`)
		.find(f => fs.existsSync(f));
	const server = spawn(`${out}/instantstart-cloud`, ['--models', models, '--port', '0',
		'--tls-port', '0', '--speed', '300', '--ca-file', path.join(dir, 'ca.pem'),
		'--ready-file', ready], {stdio: ['ignore', 'inherit', 'inherit']});
	const end = Date.now() + 20000;

	while (!fs.existsSync(ready)) {
		assert(server.exitCode === null && Date.now() < end, 'the simulated cloud does not start');
		await sleep(20);
	}
	return {server, url: `http://127.0.0.1:${JSON.parse(fs.readFileSync(ready, 'utf8')).http}`};
}

/** {sdk, client} of a service by its model's name. */
function clients(url)
{
	const made = new Map();

	return (service, more = {}) => {
		if (!made.has(service) || Object.keys(more).length) {
			const sdk = require(`@aws-sdk/client-${PACKAGES[service] ?? service}`);
			const Client = Object.entries(sdk).find(([k, v]) => /Client$/.test(k) &&
				k !== '__Client' && typeof v === 'function')[1];
			const client = new Client({region: 'us-west-2', endpoint: url, credentials: KEYS,
				maxAttempts: 1, forcePathStyle: true, ...more});

			if (Object.keys(more).length)
				return {sdk, client};
			made.set(service, {sdk, client});
		}
		return made.get(service);
	};
}

/* What a stream holds is read, so that it can be judged and compared. */
async function plain(value)
{
	if (typeof value?.transformToString === 'function')
		return new TextEncoder().encode(await value.transformToString());
	return value;
}

export async function lab(out, tally)
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'peer-sdk-'));
	const {server, url} = await start(out, dir);
	const of = clients(url);
	const answered = new Set();

	async function control(method, what, body)
	{
		const res = await fetch(`${url}/_cloud/${what}`, {method,
			body: body === undefined ? undefined : JSON.stringify(body)});

		assert(res.ok, `${method} ${what}: ${res.status} ${await res.text()}`);
	}

	/** The parsed answer, as the client gives it. */
	async function send(service, op, input = {}, more)
	{
		const {sdk, client} = of(service, more);
		const answer = await client.send(new sdk[`${op}Command`](input));

		assert(answer.$metadata.httpStatusCode < 300);
		delete answer.$metadata;
		for (const [k, v] of Object.entries(answer))
			answer[k] = await plain(v);
		return answer;
	}

	const cloud = {
		of, send, url, answered,
		settings: patch => control('POST', 'settings', patch),
		fault: rule => control('POST', 'faults', rule),
		balancer: one => control('POST', 'balancer', one),
		clearFaults: () => control('DELETE', 'faults'),
		advance: ms => control('POST', 'clock', {advance_ms: ms}),

		/** One case: the answer parses and is what the model says. */
		async ok(service, op, input = {}, expect = undefined)
		{
			let answer;

			await tally.case(`${service}.${op}`, async () => {
				answer = await send(service, op, input);
				const m = model(service);
				const shape = m.operations[op].output?.shape;
				const found = shape ? violations(m, shape, answer) : [];

				answered.add(`${service}.${op}`);
				for (const {key, what} of found.filter(f => tally.knows(f.key)))
					tally.count(key, what);
				assert.deepEqual(found.filter(f => !tally.knows(f.key))
					.map(f => `${f.key}: ${f.path} ${f.what}`), []);
				if (expect)
					await expect(answer);
			});
			return answer ?? {};
		},

		/** One case: refused, as the class that the client has for it. */
		async refused(service, op, input, name, message = /./)
		{
			await tally.case(`${service}.${op} refused ${name}`, async () => {
				const {sdk} = of(service);
				const e = await send(service, op, input).then(() => assert.fail('not refused'), x => x);

				assert.equal(e.name, name, `${e.name}: ${e.message}`);
				assert.match(e.message, message);
				assert(e.$metadata.httpStatusCode >= 300 && e.$metadata.requestId,
					'no status or request id');
				if (sdk[name])
					assert(e instanceof sdk[name], `not a ${name}`);
			});
		},

		/** Asks until the answer pleases; real time is short, the cloud's is not. */
		async until(service, op, input, pleases, ms = 60000)
		{
			const end = Date.now() + ms;

			for (;;) {
				const answer = await send(service, op, input).catch(e => e);

				if (pleases(answer))
					return answer;
				assert(Date.now() < end, `${service} ${op}: ${JSON.stringify(answer).slice(0, 400)}`);
				await sleep(50);
			}
		},

		/** Small pages hold what big ones hold. The client writes into its input. */
		async pages(service, op, input, list, size = 2, {empty, ...more} = {})
		{
			await tally.case(`${service}.paginate${op}`, async () => {
				const {sdk, client} = of(service);
				const whole = [];
				const joined = [];
				let pages = 0;

				for await (const page of sdk[`paginate${op}`]({client, ...more}, {...input}))
					whole.push(...(page[list] ?? []));

				for await (const page of sdk[`paginate${op}`]({client, pageSize: size, ...more},
					{...input})) {
					joined.push(...(page[list] ?? []));
					assert(++pages < 200, 'pages without end');
				}
				answered.add(`${service}.paginate${op}`);
				assert(empty || whole.length > 0, 'nothing to page through');
				assert.deepEqual(joined, whole);
				if (size && whole.length > size)
					assert(pages >= whole.length / size, `${pages} pages of ${size} for ${whole.length}`);
			});
		},

		async waits(service, what, input, run = null)
		{
			await tally.case(`${service}.waitUntil${what}`, async () => {
				const {sdk, client} = of(service);
				const done = sdk[`waitUntil${what}`]({client, maxWaitTime: 60, minDelay: 0.05,
					maxDelay: 0.2}, input);

				answered.add(`${service}.waitUntil${what}`);
				if (run)
					await run();
				assert.equal((await done).state, 'SUCCESS');
			});
		},

		async stop()
		{
			const gone = new Promise(r => server.once('exit', r));

			server.kill('SIGTERM');
			await gone;
			fs.rmSync(dir, {recursive: true, force: true});
		},
	};

	return cloud;
}
