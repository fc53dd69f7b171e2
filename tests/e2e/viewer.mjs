// A client of the live channel, as the console is one: it keeps its place by epoch,
// number and time, and checks that nothing is missing or twice that is not marked.
import assert from 'node:assert/strict';
import {waitFor} from '../stack/stack.mjs';

export class Viewer {
	/** query: of /ws/logs; none: /ws/events. */
	constructor(s, path, {token, cookie, origin, query = {}} = {})
	{
		this.s = s;
		this.path = path;
		this.query = query;
		this.headers = {...(token ? {authorization: `Bearer ${token}`} : {}), ...(cookie ? {cookie} : {}),
			...(origin ? {origin} : {})};
		this.lines = [];   /* [number, text] */
		this.frames = [];
		this.gaps = [];
		this.states = [];
		this.hellos = [];
		this.faults = [];
		this.next = null;
		this.open();
	}

	open()
	{
		const q = new URLSearchParams(this.query);

		if (this.epoch && this.next !== null) {
			q.set('epoch', this.epoch);
			q.set('after', String(this.next - 1));
			if (this.time)
				q.set('time', this.time);
		}
		this.closed = null;
		this.ws = new WebSocket(`${this.s.url.replace('http', 'ws')}${this.path}?${q}`, {headers: this.headers});
		this.ws.onmessage = e => this.take(JSON.parse(e.data));
		this.ws.onclose = e => this.closed = {code: e.code, reason: e.reason};
		/* A handshake that failed has no close of its own. */
		this.ws.onerror = () => this.closed ??= {code: 1006, reason: ''};
	}

	take(f)
	{
		this.frames.push(f);
		if (f.t === 'hello') {
			this.hellos.push(f);
			if (f.epoch !== this.epoch || this.next === null)
				this.next = f.seq + (this.path.endsWith('events') ? 1 : 0);
			this.epoch = f.epoch;
		} else if (f.t === 'gap') {
			this.gaps.push(f);
			this.next = this.path.endsWith('events') ? f.seq + 1 : f.seq;
		} else if (f.t === 'state') {
			this.states.push(f);
		} else if (f.t === 'lines') {
			if (f.seq !== this.next)
				this.faults.push(`line ${f.seq} where ${this.next} was due`);
			f.lines.forEach(([time, text, cut], i) => {
				this.lines.push([f.seq + i, text, cut]);
				this.time = time;
			});
			this.next = f.seq + f.lines.length;
		} else {
			if (f.seq !== this.next)
				this.faults.push(`event ${f.seq} where ${this.next} was due`);
			this.next = f.seq + 1;
		}
	}

	texts()
	{
		return this.lines.map(l => l[1]);
	}

	has(text)
	{
		return waitFor(`the line ${text}`, () => this.lines.some(l => l[1] === text));
	}

	state(name)
	{
		return waitFor(`the state ${name}`, () => this.states.find(f => f.state === name));
	}

	end()
	{
		return waitFor('the close', () => this.closed);
	}

	/** What was received is whole, in order, and once. */
	check(texts)
	{
		assert.deepEqual(this.faults, []);
		if (texts)
			assert.deepEqual(this.texts(), texts);
	}

	stop()
	{
		this.ws.close();
	}
}
