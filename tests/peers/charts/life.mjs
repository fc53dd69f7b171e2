// The life of the releases on one API server, by our own Helm client and our values.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import zlib from 'node:zlib';
import {waitFor} from '../../stack/stack.mjs';
import {gpuNode} from '../apiserver/workloads.mjs';
import {imagesOf, PARTS} from './render.mjs';

const fine = (what, r) => assert(r.ok, `${what}: ${r.errc}: ${r.output}`);

function worldOf(w, charts)
{
	const list = JSON.parse(fs.readFileSync(`${charts}/charts.json`, 'utf8'));
	const helm = async (name, more = {}) => {
		const k = await w.ask({do: 'component', name, mirror: more.mirror});

		return w.ask({do: 'helm', release: k.release, ns: k.ns, chart: `${charts}/${list.find(r => r.component === name).chart}`,
			labels: 'instantstart/cluster=client', ...more, values: {...k.values, ...more.values}});
	};
	const state = async name => {
		const k = await w.ask({do: 'component', name});
		const r = await w.ask({do: 'release', ns: k.ns, release: k.release, label: 'instantstart/cluster'});

		return `${r.status} ${r.revision}`;
	};

	return {...w, helm, state, list, charts};
}

const service = (w, name, ns = 'default') => w.ask({do: 'create', api: 'v1', plural: 'services', ns, body: {apiVersion: 'v1', kind: 'Service',
	metadata: {name, namespace: ns}, spec: {ports: [{port: 80}], selector: {app: name}}}});

/** Makes the newest record of a release what a helm that died has left. */
async function stick(w, name, status)
{
	const k = await w.ask({do: 'component', name});
	const {revision} = await w.ask({do: 'release', ns: k.ns, release: k.release});
	const at = {api: 'v1', plural: 'secrets', ns: k.ns, name: `sh.helm.release.v1.${k.release}.v${revision}`};
	const secret = (await w.ask({do: 'get', ...at})).out;
	const record = JSON.parse(zlib.gunzipSync(Buffer.from(Buffer.from(secret.data.release, 'base64').toString(), 'base64')));

	record.info.status = status;
	const release = Buffer.from(zlib.gzipSync(JSON.stringify(record)).toString('base64')).toString('base64');
	const r = await w.ask({do: 'patch', ...at, body: {metadata: {labels: {status}}, data: {release}}});

	assert(r.ok, r.message);
	return at;
}

async function needNode(w)
{
	const node = gpuNode('hyperpod-i-1');

	assert((await w.ask({do: 'create', api: 'v1', plural: 'nodes', body: node})).ok);
	if (!w.real)
		assert((await w.ask({do: 'patch', api: 'v1', plural: 'nodes', name: 'hyperpod-i-1', subresource: 'status',
			body: {status: {...node.status, conditions: [{type: 'Ready', status: 'True'}]}}})).ok);
}

const available = (w, ns, name) => waitFor(`${name} is available`, async () => {
	const r = await w.ask({do: 'get', api: 'apps/v1', plural: 'deployments', ns, name});

	return r.ok && r.out.status?.availableReplicas >= 1;
}, 60000, 200);

const scenes = {
	async 'installed, again, changed, back'(w) {
		for (const name of PARTS.filter(p => w.nodes || p !== 'load_balancers')) {
			fine(`${name} 1`, await w.helm(name));
			fine(`${name} 2`, await w.helm(name));
			fine(`${name} 3`, await w.helm(name, {values: {nameOverride: undefined, podLabels: {a: 'b'}, labels: {a: 'b'}}}));
			fine(`${name} back`, await w.helm(name, {verb: 'rollback', revision: 2}));
			assert.equal(await w.state(name), 'deployed 4', name);
		}
	},
	async 'with operators that write their own roles'(w) {
		const values = {trainingOperators: {enabled: true}, 'mpi-operator': {enabled: true}};

		for (const round of [1, 2])
			fine(`operators ${round}`, await w.helm('hyperpod', {values}));
		fine('back to them', await w.helm('hyperpod', {verb: 'rollback', revision: 5}));
		fine('and without', await w.helm('hyperpod'));
	},
	async 'what a webhook refuses while its pods have no node'(w) {
		const hook = /failed calling webhook "mservice.elbv2.k8s.aws": failed to call webhook: Post "https:\/\/aws-load-balancer-webhook-service.kube-system.svc:443\/mutate-v1-service\?timeout=10s": no endpoints available for service "aws-load-balancer-webhook-service"/;

		if (w.nodes)
			return;
		for (const name of ['hyperpod', 'kuberay'])
			fine(name, await w.helm(name));
		assert((await service(w, 'before')).ok);
		fine('the controller', await w.helm('load_balancers'));
		const r = await service(w, 'after');

		assert.equal(`${r.ok} ${r.status} ${r.code} ${r.errc}`, 'false 500 InternalError webhook-unserved');
		assert.match(r.message, hook);
		const ray = await w.helm('kuberay', {release: 'ray-2', ns: 'ray-2', values: {fullnameOverride: 'ray-2', rbacEnable: false}});

		assert.equal(`${ray.ok} ${ray.errc}`, 'false webhook-unserved', ray.output);
		/* Everything that is there can still be kept up to date. */
		for (const name of PARTS)
			fine(name, await w.helm(name));
		fine('it goes', await w.helm('load_balancers', {verb: 'uninstall'}));
		assert((await service(w, 'after')).ok);
	},
	async 'definitions are applied over those that Helm has made'(w) {
		for (const row of w.list.filter(r => w.nodes || r.component !== 'load_balancers')) {
			fine(row.component, await w.helm(row.component));
			for (const {name} of (row.definitions ?? []).filter(d => !d.when)) {
				const at = {api: 'apiextensions.k8s.io/v1', plural: 'customresourcedefinitions', name};
				const had = (await w.ask({do: 'get', ...at})).out;
				const by = had.metadata.managedFields.filter(m => m.fieldsV1['f:spec']).map(m => m.manager);

				assert(by.length && by.every(m => ['helm', 'instantstart', 'kube-apiserver'].includes(m)), `${name}: ${by}`);
				const body = JSON.parse(fs.readFileSync(`${w.charts}/definitions/${row.component}/${name}.json`, 'utf8'));

				body.metadata.annotations = {...body.metadata.annotations, 'instantstart/definition': 'x'};
				const r = await w.ask({do: 'apply', ...at, body, force: true});

				assert(r.ok, `${name}: ${r.message}`);
				assert.equal(r.out.metadata.annotations['instantstart/definition'], 'x');
				assert.deepEqual(r.out.spec.versions.map(v => v.name), had.spec.versions.map(v => v.name));
			}
			fine(`${row.component} again`, await w.helm(row.component));
		}
	},
	async 'definitions of a part of a chart'(w) {
		const row = w.list.find(r => r.component === 'hyperpod');
		const parts = row.definitions.filter(d => d.when);
		const there = async () => (await Promise.all(parts.map(({name}) => w.ask({do: 'get', api: 'apiextensions.k8s.io/v1',
			plural: 'customresourcedefinitions', name})))).map(r => r.ok);

		assert(parts.some(d => d.name === 'pytorchjobs.kubeflow.org' && d.when === 'trainingOperators.enabled'), JSON.stringify(parts));
		fine('without', await w.helm('hyperpod'));
		fine('with it', await w.helm('hyperpod', {values: {trainingOperators: {enabled: true}}}));
		assert((await there()).every(Boolean) || (await there()).every(ok => !ok), 'all or, at an upgrade, none');
	},
	async 'what a dead helm has left'(w) {
		for (const name of ['hyperpod', 'kuberay']) {
			for (const round of [1, 2])
				fine(`${name} ${round}`, await w.helm(name));
			const [, revision] = (await w.state(name)).split(' ').map(Number);

			await stick(w, name, 'pending-upgrade');
			assert.equal((await w.helm(name)).errc, 'cloud-conflict');
			fine(`${name} goes back`, await w.helm(name, {verb: 'rollback', revision: revision - 1}));
			assert.equal(await w.state(name), `deployed ${revision + 1}`);
		}
		/* A first install that stopped midway is forgotten, and installed over. */
		const k = await w.ask({do: 'component', name: 'kuberay'});

		fine('it goes', await w.helm('kuberay', {verb: 'uninstall'}));
		fine('anew', await w.helm('kuberay'));
		const at = await stick(w, 'kuberay', 'pending-install');
		const before = (await w.ask({do: 'get', api: 'apps/v1', plural: 'deployments', ns: k.ns, name: 'kuberay-operator'})).out;

		assert.equal((await w.helm('kuberay')).errc, 'cloud-conflict');
		assert((await w.ask({do: 'delete', ...at})).ok);
		/* Deleted in the foreground: the collector has the last word. */
		await waitFor('the record is gone', async () => !(await w.ask({do: 'get', ...at})).ok, 30000, 50);
		fine('over it', await w.helm('kuberay'));
		assert.equal(await w.state('kuberay'), 'deployed 1');
		assert.equal((await w.ask({do: 'get', api: 'apps/v1', plural: 'deployments', ns: k.ns, name: 'kuberay-operator'})).out.metadata.uid,
			before.metadata.uid, 'the same object');
	},
	/* An object that the stopped upgrade was about to take away: Helm will not go back over it. */
	async 'what a dead helm has not taken away yet'(w) {
		const ns = {api: 'v1', plural: 'namespaces', name: 'kubeflow'};
		const k = await w.ask({do: 'component', name: 'hyperpod'});

		await waitFor('no such namespace', async () => !(await w.ask({do: 'get', ...ns})).ok, 60000, 100);
		fine('with it', await w.helm('hyperpod', {values: {trainingOperators: {enabled: true}}}));
		const [, revision] = (await w.state('hyperpod')).split(' ').map(Number);

		fine('without', await w.helm('hyperpod'));
		await waitFor('it is gone', async () => !(await w.ask({do: 'get', ...ns})).ok, 60000, 100);
		assert((await w.ask({do: 'create', api: 'v1', plural: 'namespaces', body: {apiVersion: 'v1', kind: 'Namespace', metadata: {
			name: ns.name, labels: {'app.kubernetes.io/managed-by': 'Helm'}, annotations: {
				'meta.helm.sh/release-name': k.release, 'meta.helm.sh/release-namespace': k.ns}}}})).ok);
		await stick(w, 'hyperpod', 'pending-upgrade');
		const back = await w.helm('hyperpod', {verb: 'rollback', revision});

		assert.equal(`${back.ok} ${back.errc}`, 'false dependency-failed', back.output);
		assert.match(back.output, /original object Namespace with the name "kubeflow" not found/);
		assert.equal(await w.state('hyperpod'), `failed ${revision + 2}`);
		fine('the upgrade', await w.helm('hyperpod'));
		assert.equal(await w.state('hyperpod'), `deployed ${revision + 3}`);
	},
	async 'pods of the controllers run'(w) {
		if (!w.nodes)
			return;
		await available(w, 'kube-system', 'aws-load-balancer-controller');
		await available(w, 'kuberay-operator', 'kuberay-operator');
	},
	async 'all images by a mirror'(w) {
		const mirror = 'registry.example.com:5000/mirror';
		let seen = 0;

		for (const name of PARTS.filter(p => p !== 'load_balancers')) {
			fine(name, await w.helm(name, {mirror}));
			const k = await w.ask({do: 'component', name});

			for (const plural of ['daemonsets', 'deployments']) {
				const {items} = (await w.ask({do: 'list', api: 'apps/v1', plural})).out;

				for (const i of imagesOf(items.filter(o => o.metadata.annotations?.['meta.helm.sh/release-name'] === k.release))) {
					assert(i.image.startsWith(`${mirror}/`), `${i.of}: ${i.image}`);
					seen++;
				}
			}
		}
		assert(seen >= 6, `${seen} images`);
	},
	async 'removed'(w) {
		for (const name of PARTS) {
			fine(name, await w.helm(name, {verb: 'uninstall'}));
			fine(`${name}, which is gone`, await w.helm(name, {verb: 'uninstall'}));
			assert.match(await w.state(name), /^(null|undefined) 0$/);
		}
	},
};

export async function life(w, t, charts, nodes)
{
	const all = {...worldOf(w, charts), nodes};

	if (nodes)
		await needNode(w);
	for (const [name, scene] of Object.entries(scenes)) {
		if (process.env.CASE && !name.includes(process.env.CASE))
			continue;
		await t.case(`${w.real ? 'real' : 'simulated'}, ${nodes ? 'a node' : 'no node'}: ${name}`, () => scene(all));
	}
}
