// Somebody who does nothing wrong, beside those who do: what counts is what he feels.
import http from 'node:http';

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

/** Asks 25 times a second until `until()`; gives the answers. */
export async function innocent(s, token, until)
{
	const asked = [];

	for (let next = Date.now(); !until(); next += 40) {
		await sleep(Math.max(0, next - Date.now()));
		asked.push(ask(s, {token}));
	}
	return Promise.all(asked);
}

export function p99(answers)
{
	const sorted = answers.map(a => a.ms).sort((a, b) => a - b);

	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))];
}
