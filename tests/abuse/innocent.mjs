// Somebody who does nothing wrong, beside those who do: what counts is what he feels.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import {fileURLToPath} from 'node:url';

/** One request on a connection of its own; gives {status, ms}, status 0 when it failed. */
export function ask(s, {method = 'GET', target = '/api/v1/operations?limit=1', token, headers = {}, body, agent} = {})
{
	const began = process.hrtime.bigint();

	return new Promise(resolve => {
		const done = status => resolve({status, ms: Number(process.hrtime.bigint() - began) / 1e6});
		const req = http.request({host: '127.0.0.1', port: s.port, method, path: target, agent,
			headers: {host: `127.0.0.1:${s.port}`, ...(token ? {authorization: `Bearer ${token}`} : {}),
				...(body === undefined ? {} : {'content-type': 'application/json', 'content-length': Buffer.byteLength(body)}),
				...headers}}, res => {
			res.resume();
			res.on('end', () => done(res.statusCode));
			res.on('error', () => done(0));
		});

		req.on('error', () => done(0));
		req.end(body);
	});
}

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

/** Asks so many times a second; gives the answers. */
async function asked(s, token, ms, perSecond)
{
	const all = [], end = Date.now() + ms;

	for (let next = Date.now(); next < end; next += 1000 / perSecond) {
		await sleep(Math.max(0, next - Date.now()));
		all.push(ask(s, {token}));
	}
	return Promise.all(all);
}

/**
 * The same in a process of its own: what the attackers do in theirs is not what this one
 * feels. 40 a second are within anybody's budget, and 120 make a p99.
 */
export function innocent(s, token, ms, perSecond = 40)
{
	return new Promise((resolve, reject) => {
		const child = spawn(process.execPath, [fileURLToPath(import.meta.url), String(s.port), String(ms), String(perSecond)],
			{stdio: ['pipe', 'pipe', 'inherit']});
		let text = '';

		child.stdout.on('data', d => text += d);
		child.on('error', reject);
		child.on('close', code => code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`innocent: ${code}`)));
		child.stdin.end(token);
	});
}

/** The answer that one in a hundred exceeds; of fewer than a hundred it would be the worst. */
export function p99(answers)
{
	const sorted = answers.map(a => a.ms).sort((a, b) => a - b);

	return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [port, ms, perSecond] = process.argv.slice(2).map(Number);
	const token = fs.readFileSync(0, 'utf8');

	console.log(JSON.stringify(await asked({port}, token, ms, perSecond)));
}
