// Streams: watches that go on, watches that are too old, logs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {sleep, waitFor} from '../../stack/stack.mjs';
import {ok, refused} from './expect.mjs';
import {needNode, pod, running} from './workloads.mjs';

const maps = ns => ({api: 'v1', plural: 'configmaps', ns});
const pods = ns => ({api: 'v1', plural: 'pods', ns});
const map = (name, data = {}) => ({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}, data});

/* Changes that another does while our client reads the watch. */
async function meanwhile(w, list)
{
	for (const [method, path, body, type] of list) {
		const r = await w.plane.request(method, `${w.root}${path}`, body, {type});

		assert(r.status < 300, `${method} ${path}: ${r.text}`);
	}
}

const line = (i, text) => `2026-01-01T00:00:${String(i).padStart(2, '0')}.000000001Z stdout F ${text}\n`;

/* A pod whose log is a file of ours. */
async function logged(w, name, text, previous)
{
	const file = `${w.plane.pods}/${w.ns}-${name}.log`;

	fs.writeFileSync(file, text);
	if (previous !== undefined)
		fs.writeFileSync(`${file}.1`, previous);
	await needNode(w, 'hyperpod-i-1');
	const r = await w.plane.request('POST', `/apis/kwok.x-k8s.io/v1alpha1/namespaces/${w.ns}/logs`, {
		apiVersion: 'kwok.x-k8s.io/v1alpha1', kind: 'Logs', metadata: {name}, spec: {logs: [{containers: ['main'],
			logsFile: file, previousLogsFile: `${file}.1`, follow: true}]}});

	assert.equal(r.status, 201, r.text);
	ok(await w.ask({do: 'create', ...pods(w.ns), body: pod(w.ns, name)}));
	await running(w, name);
	await waitFor('kwok knows the log', async () => (await w.ask({do: 'log', ...pods(w.ns), name})).text === text
		.replace(/^\S+ stdout F /gm, ''));
	return file;
}

export const cases = {
	async 'a watch, in order, and on from where it stood'(w) {
		const {metadata: {resourceVersion}} = ok(await w.ask({do: 'list_all', ...maps(w.ns)}));
		const q = {do: 'watch', ...maps(w.ns), field_selector: 'metadata.name=c', watch_seconds: 30};
		const first = w.ask({...q, resource_version: resourceVersion, until: 2});

		await meanwhile(w, [['POST', '/configmaps', map('c')], ['POST', '/configmaps', map('other')],
			['PATCH', '/configmaps/c', {data: {a: '1'}}, 'application/merge-patch+json']]);
		const seen = await first;

		assert.deepEqual(seen.changes.map(([type, name]) => `${type} ${name}`), ['ADDED c', 'MODIFIED c']);
		/* The last change was what ended it: it does not count as seen. */
		assert.equal(seen.resource_version, seen.changes[0][2]);
		const second = w.ask({...q, resource_version: seen.resource_version, until: 3});

		await meanwhile(w, [['DELETE', '/configmaps/c'], ['POST', '/configmaps', map('c')]]);
		assert.deepEqual((await second).changes.map(([type]) => type), ['MODIFIED', 'DELETED', 'ADDED']);
	},
	async 'a watch that ends by its time stands at a bookmark'(w) {
		const {metadata: {resourceVersion}} = ok(await w.ask({do: 'list_all', ...maps(w.ns)}));
		const q = {do: 'watch', ...maps(w.ns), resource_version: resourceVersion, watch_seconds: 6, until: 9,
			field_selector: 'metadata.name=nothing'};
		let open = true;
		const watch = w.ask(q).finally(() => open = false);

		/* Changes that it does not ask for, all the time: it may not be there yet. */
		for (let i = 0; open; i++) {
			await meanwhile(w, [['POST', '/configmaps', map(`c${i}`)]]);
			await sleep(200);
		}
		const r = await watch; /* the server sends one two seconds before the end */

		assert.equal(`${r.end} ${r.status}`, 'resume 200');
		assert.deepEqual(r.changes, []);
		assert(BigInt(r.resource_version) > BigInt(resourceVersion), `${r.resource_version} > ${resourceVersion}`);
	},
	async 'a version that nobody gave'(w) {
		const r = await w.ask({do: 'watch', ...maps(w.ns), resource_version: 'rubbish', watch_seconds: 3, until: 1});

		/* 1.35 calls it an internal error. */
		assert.equal(`${r.end} ${r.status}`, 'refused 500', JSON.stringify(r));
		const future = await w.ask({do: 'watch', ...maps(w.ns), resource_version: '99999999999', watch_seconds: 3, until: 1});

		assert.equal(`${future.end} ${future.changes.length}`, 'resume 0', 'the server waits for it to come');
	},
	async 'logs'(w) {
		const text = ['one', 'two', 'three'].map((t, i) => line(i, t)).join('');

		await logged(w, 'p', text, line(0, 'before'));
		const log = async more => {
			const r = await w.ask({do: 'log', ...pods(w.ns), name: 'p', container: 'main', ...more});

			assert(r.ok, `${r.status} ${r.message}`);
			return r.text;
		};

		assert.equal(await log({tail_lines: 2}), 'two\nthree\n');
		assert.equal(await log({limit_bytes: 5}), 'one\nt');
		assert.equal(await log({timestamps: true, tail_lines: 1}), '2026-01-01T00:00:02.000000001Z three\n');
		/* The server knows whole seconds only: that second comes again. */
		assert.equal(await log({since_time: '2026-01-01T00:00:01.5Z'}), 'two\nthree\n');
		assert.equal(await log({previous: true}), 'before\n');
		const wrong = await w.ask({do: 'log', ...pods(w.ns), name: 'p', container: 'none'});

		refused(wrong, 400, 'BadRequest', 'cloud-refused');
		assert.match(wrong.message, /container none is not valid for pod p/);
		refused(await w.ask({do: 'log', ...pods(w.ns), name: 'none'}), 404, 'NotFound', 'cloud-not-found');
		ok(await w.ask({do: 'create', ...pods(w.ns), body: pod(w.ns, 'nowhere', {spec: {nodeSelector: {a: 'nowhere'}}})}));
		const unplaced = await w.ask({do: 'log', ...pods(w.ns), name: 'nowhere'});

		assert(!unplaced.ok || unplaced.text === '', JSON.stringify(unplaced));
	},
	async 'a log that is followed'(w) {
		const file = await logged(w, 'p', line(0, 'one'));
		const q = {do: 'follow', ...pods(w.ns), name: 'p', container: 'main', timestamps: true, watch_seconds: 30};
		const follow = w.ask({...q, until: 4});

		for (let i = 1; i < 4; i++) {
			await sleep(50); /* apart, as a program writes */
			fs.appendFileSync(file, line(i, `line ${i} ä`));
		}
		const r = await follow;

		assert.equal(r.status, 200);
		assert.deepEqual(r.lines, ['2026-01-01T00:00:00.000000001Z one', ...[1, 2, 3].map(i =>
			`2026-01-01T00:00:0${i}.000000001Z line ${i} ä`)]);
	},
	async 'too old: a list that goes on, a watch that goes on'(w) {
		for (let i = 0; i < 7; i++)
			ok(await w.ask({do: 'create', ...maps(w.ns), body: map(`c${i}`)}));
		const page = ok(await w.ask({do: 'list', ...maps(w.ns), limit: 3}));
		const old = page.metadata.resourceVersion;

		ok(await w.ask({do: 'create', ...maps(w.ns), body: map('later')}));
		await w.plane.command('compact');
		await w.plane.command('restart kube-apiserver');
		/* The kept connection is dead; a read is sent again. */
		const again = ok(await w.ask({do: 'list_all', ...maps(w.ns), limit: 3}));

		assert.equal(again.items.length, 9);
		const expired = await w.ask({do: 'list', ...maps(w.ns), limit: 3, continue: page.metadata.continue});

		refused(expired, 410, 'Expired', 'cloud-unavailable');
		const q = {do: 'watch', ...maps(w.ns), watch_seconds: 30};
		const tooOld = await w.ask({...q, resource_version: old, until: 1});

		assert.equal(tooOld.end, 'relist', JSON.stringify(tooOld));
		assert.match(tooOld.reason, /too old|compacted|expired/i);
		/* Listed again, the watch goes on. */
		const watch = w.ask({...q, resource_version: again.metadata.resourceVersion, until: 1});

		await meanwhile(w, [['POST', '/configmaps', map('new')]]);
		assert.deepEqual((await watch).changes.map(([type, name]) => `${type} ${name}`), ['ADDED new']);
	},
};
