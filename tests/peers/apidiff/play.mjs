// Plays the table against one server and says what came of each case.
import {api} from './api.mjs';
import {event, observe} from './normal.mjs';

export const sleep = ms => new Promise(r => setTimeout(r, ms));

/**
 * target: see api.mjs. Answers a Map: name of the case -> what is compared of its
 * answer. A scene that cannot go on is a case of its own, "scene NAME".
 */
export async function play(target, scenes, only = undefined)
{
	const server = api(target);
	const seen = new Map();

	function note(name, what)
	{
		if (seen.has(name))
			throw new Error(`two cases are called "${name}"`);
		seen.set(name, what);
	}

	const k = {
		/** A case; the whole answer comes back. */
		async case(name, method, path, o = {}) {
			const r = await server.ask(method, path, o);

			note(name, observe(r, o));
			if (process.env.V === name)
				console.log(method, path, JSON.stringify(r, null, 2));
			return r;
		},
		/** No case: what a scene needs, and may not fail. */
		async set(method, path, body, o = {}) {
			const r = await server.ask(method, path, {...o, body});

			if (r.status >= 300)
				throw new Error(`${method} ${path}: ${r.status} ${r.text.slice(0, 400)}`);
			return r.body;
		},
		note,
		ask: server.ask,
		/** The server forgets what was: from now on old versions have expired. */
		forget: () => target.forget(),
		/** Until fn(answer) holds; the answer. */
		async until(path, fn, ms = 30000) {
			const end = Date.now() + ms;

			for (;;) {
				const r = await server.ask('GET', path);

				if (fn(r))
					return r;
				if (Date.now() > end)
					throw new Error(`GET ${path} does not come to what it should: ${
						r.status} ${r.text.slice(0, 400)}`);
				await sleep(100);
			}
		},
		/** A namespace with its default service account. */
		async namespace(name) {
			await k.set('POST', '/api/v1/namespaces', {metadata: {name}});
			await k.until(`/api/v1/namespaces/${name}/serviceaccounts/default`, r => r.status === 200);
			await k.until(`/api/v1/namespaces/${name}/configmaps/kube-root-ca.crt`,
				r => r.status === 200);
			return name;
		},
		/** A case: the events of a watch, during which act() happens. */
		async watch(name, path, o, act = undefined) {
			const s = await server.stream(path, o);

			if (act)
				await act(s);
			await s.until(o.until, o.ms);
			s.close();
			note(name, {code: s.status, events: s.events.filter(o.keep ?? (() => true))
				.map(o.event ?? event), ...(o.ends ? {ended: s.ended} : {})});
			return s.events;
		},
	};

	for (const scene of scenes.filter(s => !only || only.includes(s.name.split(' ')[0]))) {
		try {
			await scene.play(k);
			note(`scene ${scene.name}`, {done: true});
		} catch (e) {
			note(`scene ${scene.name}`, {done: false, why: process.env.V ? e.stack : e.message});
		}
	}
	server.close();
	return seen;
}
