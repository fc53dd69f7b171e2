// A cluster whose pods a test holds in its hands: DescribeCluster of EKS, and of
// Kubernetes the pods, their watch and their logs. Lines are written, containers
// restarted, connections cut exactly when the test says so.
import http from 'node:http';
import {randomUUID} from 'node:crypto';

const pad = n => String(n).padStart(9, '0');

export class Cluster {
	constructor()
	{
		this.pods = new Map();
		this.version = 1;
		this.watches = new Set();
		this.follows = new Set();
		this.opened = {log: 0, watch: 0};
		this.refuse = null; /* {status, message}: what logs answer instead */
		this.server = http.createServer((req, res) => this.serve(req, res));
	}

	async listen()
	{
		await new Promise(r => this.server.listen(0, '127.0.0.1', r));
		this.url = `http://127.0.0.1:${this.server.address().port}`;
		return this;
	}

	close()
	{
		this.server.closeAllConnections();
		return new Promise(r => this.server.close(r));
	}

	/* --- what a test does ------------------------------------------------------- */

	pod(name, more = {})
	{
		const p = {ns: 'default', name, container: 'main', policy: 'Always', uid: randomUUID(),
			restarts: 0, state: {running: {startedAt: new Date().toISOString()}}, last: null,
			phase: 'Running', lines: [], previous: null, owners: [], labels: {}, clock: Date.now() - 60000, ...more};

		this.pods.set(`${p.ns}/${name}`, p);
		this.tell('ADDED', p);
		return p;
	}

	/** Lines of a pod, each a millisecond of its own. */
	write(p, ...texts)
	{
		const made = texts.map(text => {
			const at = p.clock = Math.max(p.clock + 1, p.ticks ? p.clock + 1 : 0);

			return {at, time: `${new Date(at).toISOString().slice(0, 19)}.${pad(at % 1000 * 1000000)}Z`, text};
		});

		p.lines.push(...made);
		for (const f of this.follows)
			if (f.pod === p && !f.mute)
				f.res.write(made.map(l => f.text(l)).join(''));
		return made;
	}

	endFollows(p)
	{
		for (const f of this.take(p))
			f.res.end();
	}

	restart(p, exitCode = 1)
	{
		p.last = {terminated: {exitCode, reason: exitCode ? 'Error' : 'Completed'}};
		p.previous = p.lines;
		p.lines = [];
		p.state = {waiting: {reason: 'CrashLoopBackOff'}};
		p.clock += 1000;
		this.endFollows(p);
		this.tell('MODIFIED', p);
		p.restarts++;
		p.state = {running: {}};
		this.tell('MODIFIED', p);
	}

	finish(p, exitCode = 0)
	{
		p.state = {terminated: {exitCode, reason: exitCode ? 'Error' : 'Completed'}};
		p.phase = exitCode ? 'Failed' : 'Succeeded';
		this.endFollows(p);
		this.tell('MODIFIED', p);
	}

	remove(p)
	{
		this.pods.delete(`${p.ns}/${p.name}`);
		this.endFollows(p);
		this.tell('DELETED', p);
	}

	/** As when a middle box forgets a connection: it stays open, and nothing comes. */
	mute(p)
	{
		for (const f of this.follows)
			if (f.pod === p)
				f.mute = true;
	}

	/** As when the network fails: no end of the answer, only of the connection. */
	cut(p)
	{
		for (const f of this.take(p))
			f.res.destroy();
	}

	take(p)
	{
		const theirs = [...this.follows].filter(f => f.pod === p);

		theirs.forEach(f => this.follows.delete(f));
		return theirs;
	}

	/* --- what it answers ----------------------------------------------------------- */

	tell(type, p)
	{
		p.version = ++this.version;
		for (const w of this.watches)
			if (w.ns === p.ns && w.name === p.name)
				w.res.write(`${JSON.stringify({type, object: this.object(p)})}\n`);
	}

	object(p)
	{
		return {apiVersion: 'v1', kind: 'Pod',
			metadata: {name: p.name, namespace: p.ns, uid: p.uid, labels: p.labels,
				resourceVersion: String(p.version), ownerReferences: p.owners},
			spec: {restartPolicy: p.policy, nodeName: 'node-1', containers: [{name: p.container, image: 'x'}]},
			status: {phase: p.phase, startTime: '2026-01-02T03:04:05Z',
				conditions: [{type: 'Ready', status: p.state.running ? 'True' : 'False'}],
				containerStatuses: [{name: p.container, restartCount: p.restarts, state: p.state,
					ready: Boolean(p.state.running), lastState: p.last ?? {}}]}};
	}

	serve(req, res)
	{
		const url = new URL(req.url, 'http://x');
		const q = url.searchParams;
		const parts = url.pathname.split('/').filter(Boolean);

		if (parts[0] === 'clusters')
			return this.json(res, 200, {cluster: {name: parts[1], status: 'ACTIVE', endpoint: this.url}});
		if (!/^Bearer k8s-aws-v1\./.test(req.headers.authorization ?? ''))
			return this.status(res, 401, 'Unauthorized', 'no token');
		const ns = parts[2] === 'namespaces' ? parts[3] : null;
		const [, name, sub] = parts.slice(ns ? 4 : 2);
		const pod = this.pods.get(`${ns}/${name}`);

		if (q.get('watch') === 'true')
			return this.watch(res, ns, q);
		if (!name)
			return this.list(res, ns, q);
		if (!pod)
			return this.status(res, 404, 'NotFound', `pods "${name}" not found`);
		return sub === 'log' ? this.log(res, pod, q) : this.json(res, 200, this.object(pod));
	}

	json(res, status, body)
	{
		res.writeHead(status, {'content-type': 'application/json'});
		res.end(JSON.stringify(body));
	}

	status(res, code, reason, message)
	{
		this.json(res, code, {kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message});
	}

	list(res, ns, q)
	{
		const label = /^(\w+)=(\w+)$/.exec(q.get('labelSelector') ?? '');
		const all = [...this.pods.values()].filter(p => (!ns || p.ns === ns) && (!label || p.labels[label[1]] === label[2]));
		const from = Number(q.get('continue') ?? 0), limit = Number(q.get('limit') ?? 500);

		this.json(res, 200, {kind: 'PodList', apiVersion: 'v1', metadata: {resourceVersion: String(this.version),
			...(from + limit < all.length ? {continue: String(from + limit)} : {})},
		items: all.slice(from, from + limit).map(p => this.object(p))});
	}

	watch(res, ns, q)
	{
		const w = {res, ns, name: /^metadata\.name=(.+)$/.exec(q.get('fieldSelector') ?? '')?.[1]};
		const p = this.pods.get(`${ns}/${w.name}`);

		this.opened.watch++;
		res.writeHead(200, {'content-type': 'application/json'});
		res.flushHeaders();
		if (p && (!q.get('resourceVersion') || Number(q.get('resourceVersion')) < p.version))
			res.write(`${JSON.stringify({type: 'ADDED', object: this.object(p)})}\n`);
		this.watches.add(w);
		res.on('close', () => this.watches.delete(w));
	}

	/** As fast as it is taken, again and again if it is without end; this.sent says how
	 * much that was. */
	pace(res, body, endless)
	{
		let at = 0;

		this.sent = 0;
		const more = () => {
			while (at < body.length && !res.destroyed) {
				const piece = body.slice(at, at + 65536);
				const taken = res.write(piece);

				this.sent += piece.length;
				at += piece.length;
				if (endless && at === body.length)
					at = 0;
				if (!taken)
					return res.once('drain', more);
			}
			res.end();
		};

		more();
	}

	log(res, p, q)
	{
		const previous = q.get('previous') === 'true';
		const text = l => `${q.get('timestamps') === 'true' ? `${l.time} ` : ''}${l.text}\n`;

		this.opened.log++;
		if (this.refuse)
			return this.status(res, this.refuse.status, 'InternalError', this.refuse.message);
		if (q.get('container') && q.get('container') !== p.container)
			return this.status(res, 400, 'BadRequest', `container ${q.get('container')} is not valid for pod ${p.name}`);
		if (previous && !p.previous)
			return this.status(res, 400, 'BadRequest', `previous terminated container "${p.container}" in pod "${p.name}" not found`);
		if (p.state.waiting && !p.last)
			return this.status(res, 400, 'BadRequest', `container "${p.container}" in pod "${p.name}" is waiting to start: ${p.state.waiting.reason}`);
		let lines = previous ? p.previous : p.lines;

		if (q.get('sinceTime'))
			lines = lines.filter(l => l.at >= Math.floor(Date.parse(q.get('sinceTime')) / 1000) * 1000);
		if (q.get('tailLines'))
			lines = lines.slice(-Number(q.get('tailLines')));
		if (p.raw) { /* any bytes, as a container may write them */
			res.writeHead(200, {'content-type': 'text/plain'});
			return res.end(p.raw);
		}
		res.writeHead(200, {'content-type': 'text/plain'});
		res.flushHeaders();
		if (p.breaks) /* lost in the middle */
			return res.write(lines.map(text).join('').slice(0, p.breaks), () => res.destroy());
		let body = lines.map(text).join('');

		/* The first bytes of what was asked for, as the kubelet has it. */
		if (q.get('limitBytes'))
			body = body.slice(0, Number(q.get('limitBytes')));
		if (body.length > 1e6 && q.get('follow') !== 'true')
			return this.pace(res, body, p.endless);
		res.write(body);
		if (q.get('follow') !== 'true' || p.state.terminated)
			return res.end();
		const f = {res, pod: p, text};

		this.follows.add(f);
		res.on('close', () => this.follows.delete(f));
	}
}
