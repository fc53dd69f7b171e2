// Helm as the program runs it, and what the Secrets of a release say.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import zlib from 'node:zlib';
import {fileURLToPath} from 'node:url';
import {waitFor} from '../../stack/stack.mjs';
import {ok} from './expect.mjs';

const charts = fileURLToPath(new URL('../../cloud/charts', import.meta.url));

function chart(w, name, template)
{
	const dir = `${w.plane.pods}/../chart-${w.ns}-${name}`;

	fs.mkdirSync(`${dir}/templates`, {recursive: true});
	fs.writeFileSync(`${dir}/Chart.yaml`, `apiVersion: v2\nname: ${name}\nversion: 1.2.3\n`);
	fs.writeFileSync(`${dir}/templates/all.yaml`, template);
	return dir;
}

const MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-map}
data: {a: {{ .Values.a | default "none" | quote }}}
`;

/* A chart that cannot be changed to: a selector is immutable. */
const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: {{ .Values.app | default "one" }}}}
  template:
    metadata: {labels: {app: {{ .Values.app | default "one" }}}}
    spec: {containers: [{name: main, image: "busybox:1"}]}
`;

/** As an installer that died a while ago has left it. */
export async function stick(plane, ns, release, revision, status, ago_s = 3600)
{
	const path = `/api/v1/namespaces/${ns}/secrets/sh.helm.release.v1.${release}.v${revision}`;
	const secret = (await plane.request('GET', path)).json;
	const packed = Buffer.from(Buffer.from(secret.data.release, 'base64').toString(), 'base64');
	const record = JSON.parse(zlib.gunzipSync(packed));

	record.info.status = status;
	const data = Buffer.from(zlib.gzipSync(JSON.stringify(record)).toString('base64')).toString('base64');
	const modifiedAt = String(Math.floor(Date.now() / 1000) - ago_s);
	const r = await plane.request('PATCH', path, {metadata: {labels: {status, modifiedAt}}, data: {release: data}},
		{type: 'application/merge-patch+json'});

	assert.equal(r.status, 200, r.text);
}

const fine = r => assert(r.ok, `${r.exit_code} ${r.errc}: ${r.output}`);

export const cases = {
	async 'install, upgrade, uninstall'(w) {
		const q = {do: 'helm', release: 'one', ns: w.ns, chart: chart(w, 'one', MAP), labels: 'instantstart=yes'};
		const state = () => w.ask({do: 'release', ns: w.ns, release: 'one', label: 'instantstart'});

		assert.equal((await state()).revision, 0);
		fine(await w.ask({...q, values: {a: 'x'}}));
		const first = await state();

		assert.equal(`${first.status} ${first.revision} ${first.deployed} ${first.chart_version} ${first.label}`,
			'deployed 1 1 1.2.3 yes');
		assert(Math.abs(first.modified_s - Date.now() / 1000) < 60);
		fine(await w.ask({...q, values: {a: 'y'}}));
		const second = await state();

		assert.equal(`${second.status} ${second.revision} ${second.deployed}`, 'deployed 2 2');
		assert.equal(ok(await w.ask({do: 'get', api: 'v1', plural: 'configmaps', ns: w.ns, name: 'one-map'})).data.a, 'y');
		fine(await w.ask({...q, verb: 'rollback', revision: 1}));
		assert.equal(ok(await w.ask({do: 'get', api: 'v1', plural: 'configmaps', ns: w.ns, name: 'one-map'})).data.a, 'x');
		assert.equal(`${(await state()).revision} ${(await state()).label}`, '3 yes', 'who began it stays on the record');
		fine(await w.ask({...q, verb: 'uninstall'}));
		assert.equal((await state()).revision, 0);
		fine(await w.ask({...q, verb: 'uninstall'}));
	},
	async 'a namespace of its own'(w) {
		const ns = `${w.ns}-own`;

		fine(await w.ask({do: 'helm', release: 'one', ns, chart: chart(w, 'own', MAP)}));
		assert.equal((await w.ask({do: 'release', ns, release: 'one'})).status, 'deployed');
	},
	async 'a release that is stuck recovers'(w) {
		const q = {do: 'helm', release: 'one', ns: w.ns, chart: chart(w, 'one', MAP)};
		const state = async () => {
			const r = await w.ask({do: 'release', ns: w.ns, release: 'one'});

			return `${r.status} ${r.revision} ${r.deployed}`;
		};

		fine(await w.ask({...q, values: {a: '1'}}));
		fine(await w.ask({...q, values: {a: '2'}}));
		await stick(w.plane, w.ns, 'one', 2, 'pending-upgrade');
		await stick(w.plane, w.ns, 'one', 1, 'deployed');
		assert.equal(await state(), 'pending-upgrade 2 1');
		const busy = await w.ask({...q, values: {a: '3'}});

		assert.equal(`${busy.ok} ${busy.errc} ${busy.ambiguous}`, 'false cloud-conflict false', busy.output);
		fine(await w.ask({...q, verb: 'rollback', revision: 1}));
		assert.equal(await state(), 'deployed 3 3');
		fine(await w.ask({...q, values: {a: '3'}}));
		assert.equal(await state(), 'deployed 4 4');
		/* Never installed: there is nothing to go back to. */
		fine(await w.ask({...q, release: 'two'}));
		await stick(w.plane, w.ns, 'two', 1, 'pending-install');
		assert.equal((await w.ask({...q, release: 'two'})).errc, 'cloud-conflict');
		fine(await w.ask({...q, release: 'two', verb: 'uninstall'}));
		fine(await w.ask({...q, release: 'two'}));
	},
	async 'what fails is a failed revision'(w) {
		const q = {do: 'helm', release: 'web', ns: w.ns, chart: chart(w, 'web', DEPLOYMENT)};

		fine(await w.ask(q));
		const bad = await w.ask({...q, values: {app: 'two'}});

		assert.equal(`${bad.ok} ${bad.errc} ${bad.ambiguous}`, 'false dependency-failed false', bad.output);
		assert.match(bad.output, /field is immutable/);
		const r = await w.ask({do: 'release', ns: w.ns, release: 'web'});

		assert.equal(`${r.status} ${r.revision} ${r.deployed}`, 'failed 2 1');
		fine(await w.ask(q));
		assert.equal((await w.ask({do: 'release', ns: w.ns, release: 'web'})).status, 'deployed');
	},
	async 'objects of another'(w) {
		await w.plane.request('POST', `${w.root}/configmaps`, {metadata: {name: 'one-map'}});
		const r = await w.ask({do: 'helm', release: 'one', ns: w.ns, chart: chart(w, 'one', MAP)});

		assert.equal(`${r.ok} ${r.errc} ${r.ambiguous}`, 'false foreign-object false', r.output);
	},
	async 'a field that Kubernetes does not know'(w) {
		const r = await w.ask({do: 'helm', release: 'odd', ns: w.ns, chart: chart(w, 'odd', `${MAP}bogus: 1\n`)});

		assert.equal(r.ambiguous, false, r.output);
	},
	async 'the charts of the main job'(w) {
		const {default: list} = await import('../../cloud/charts/charts.json', {with: {type: 'json'}});

		/* As the program orders them: after what refuses every Service no other comes. */
		for (const c of list.toSorted((a, b) => (a.component === 'load_balancers') - (b.component === 'load_balancers'))) {
			const q = {do: 'helm', release: c.release, ns: c.namespace, chart: `${charts}/${c.chart}`,
				values: {clusterName: 'client'}};

			fine(await w.ask(q));
			const r = await w.ask({do: 'release', ns: c.namespace, release: c.release});

			assert.equal(`${r.status} ${r.revision} ${r.chart_version}`, `deployed 1 ${c.version}`);
		}
		await waitFor('what they bring runs', async () => {
			const {items} = ok(await w.ask({do: 'list_all', api: 'apps/v1', plural: 'deployments', ns: 'kube-system'}));

			return items.length > 0 && items.every(d => d.status.readyReplicas === d.spec.replicas);
		}, 60000, 300);
	},
};
