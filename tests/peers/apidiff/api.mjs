// A Kubernetes API server, asked by hand: no client library stands between the table
// and the wire.
import http from 'node:http';
import https from 'node:https';
import {StringDecoder} from 'node:string_decoder';

const TIMEOUT_MS = 60000;

/** target: {url, token?, ca?, forget?}; forget() makes the server lose its history. */
export function api(target)
{
	const base = new URL(target.url);
	const agent = base.protocol === 'https:' ? new https.Agent({keepAlive: true, ca: target.ca})
		: new http.Agent({keepAlive: true});

	function open(method, path, o, onResponse, onError)
	{
		const text = o.body === undefined ? undefined
			: typeof o.body === 'string' ? o.body : JSON.stringify(o.body);
		const headers = {'user-agent': 'diff/1.0', accept: 'application/json'};

		if (target.token)
			headers.authorization = `Bearer ${target.token}`;
		if (text !== undefined) {
			headers['content-type'] = 'application/json';
			headers['content-length'] = Buffer.byteLength(text);
		}
		for (const [name, value] of Object.entries(o.headers ?? {})) {
			if (value === null)
				delete headers[name];
			else
				headers[name] = value;
		}
		const req = (base.protocol === 'https:' ? https : http).request({agent, method, headers,
			host: base.hostname, port: base.port,
			path: `${base.pathname.replace(/\/$/, '')}${path}`}, onResponse);

		req.on('error', onError);
		req.setTimeout(TIMEOUT_MS, () => req.destroy(new Error(`${method} ${path}: no answer`)));
		req.end(text);
		return req;
	}

	return {
		/** {status, headers, text, body}: body is the JSON, or null. */
		ask: (method, path, o = {}) => new Promise((resolve, reject) => {
			open(method, path, o, res => {
				const parts = [];

				res.on('data', p => parts.push(p));
				res.on('error', reject);
				res.on('end', () => {
					const text = Buffer.concat(parts).toString();
					let body = null;

					try {
						body = JSON.parse(text);
					} catch {
						// plain text: the caller looks at text
					}
					resolve({status: res.statusCode, headers: res.headers, text, body});
				});
			}, reject);
		}),
		/** A stream of JSON lines: {status, events, until(fn, ms), close()}. */
		stream: (path, o = {}) => new Promise((resolve, reject) => {
			const s = {events: [], ended: false, waiting: new Set()};
			const wake = () => [...s.waiting].forEach(fn => fn());
			const decoder = new StringDecoder('utf8');
			let rest = '';
			const req = open('GET', path, o, res => {
				s.status = res.statusCode;
				s.headers = res.headers;
				res.on('data', piece => {
					const lines = (rest + decoder.write(piece)).split('\n');

					rest = lines.pop();
					for (const line of lines.filter(l => l.trim()))
						s.events.push(JSON.parse(line));
					wake();
				});
				res.on('end', () => {
					if (rest.trim())
						s.events.push(JSON.parse(rest));
					s.ended = true;
					wake();
				});
				res.on('error', () => {
					s.ended = true;
					wake();
				});
				resolve(s);
			}, reject);

			s.close = () => req.destroy();
			s.until = (enough, ms = 20000) => new Promise(done => {
				const look = () => {
					if (!s.ended && !enough(s.events) && Date.now() < end)
						return;
					clearTimeout(timer);
					s.waiting.delete(look);
					done(s.events);
				};
				const end = Date.now() + ms;
				const timer = setTimeout(look, ms + 5);

				s.waiting.add(look);
				look();
			});
		}),
		close: () => agent.destroy(),
	};
}
