// The main job on a real API server: one request makes the cluster. AWS is simulated;
// Kubernetes, behind the EKS cluster's endpoint, is not.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';
import {sleep, tools, waitFor} from '../../stack/stack.mjs';
import {call, end, tool} from '../../e2e/faces.mjs';
import {create, ended, remove, stage, succeeded, TYPE, until, world} from '../../e2e/pipeline.mjs';
import {Viewer} from '../../e2e/viewer.mjs';
import {stick} from './helm.mjs';
import {mirror} from './mirror.mjs';
import {definitions} from './objects.mjs';
import {awsOf, planeOf} from './world.mjs';

const NAME = 'real';
const JOB_MS = 240000;
const charts = fileURLToPath(new URL('../../cloud/charts', import.meta.url));

/** options: charts, a folder of other charts than ours; only, names of cases. */
export async function run(out, dir, t, options = {})
{
	const s = await world({build: out, env: options.charts ? {INSTANTSTART_CHARTS: options.charts} : undefined});
	let plane, copies;

	try {
		plane = await planeOf(`${dir}/plane`, s.cloud_url, NAME);
		copies = mirror(s.cloud, plane, NAME);
		const w = {s, plane, dir};

		for (const [name, scene] of Object.entries(cases)) {
			if (options.only && !options.only.includes(name))
				continue;
			if (process.env.CASE && name !== 'create_cluster' && !name.includes(process.env.CASE))
				continue;
			if (!await t.case(`job ${name}`, () => scene(w)) && name === 'create_cluster')
				return;
		}
	} finally {
		await copies?.stop();
		for (const log of ['poller', 'fcgi', 'live'])
			fs.copyFileSync(`${s.dir}/${log}.log`, `${dir}/${log}.log`);
		await end(s);
		await plane?.stop();
	}
}

function kubectl(w, ...args)
{
	const done = spawnSync(`${tools}/kubectl`, ['--kubeconfig', w.plane.kubeconfig, ...args, '-o', 'json',
		'--show-managed-fields'],
		{encoding: 'utf8', maxBuffer: 1 << 26});

	assert.equal(done.status, 0, done.stderr);
	return JSON.parse(done.stdout).items;
}

const get = (w, path) => call(w.s, 'GET', `/api/v1${path}`, {role: 'viewer'});

/* Says of every object of a kind that it is ready. */
function autoscaler(plane, path)
{
	let on = true;
	const running = (async () => {
		while (on) {
			const {items = []} = (await plane.request('GET', `/${path}`)).json;

			for (const o of items.filter(i => !i.status?.conditions?.length)) {
				const conditions = ['Ready', 'NodeClassReady', 'ValidationSucceeded', 'InstanceGroupReady', 'SubnetsReady']
					.map(type => ({type, status: 'True', reason: type, message: '', lastTransitionTime: new Date().toISOString()}));
				const instanceGroups = o.spec.instanceGroups?.map(name => ({name, instanceTypes: [TYPE],
					subnets: [{id: 'subnet-1', zone: 'us-west-2a', zoneId: 'usw2-az1'}]}));
				const r = await plane.request('PATCH', `/${path}/${o.metadata.name}/status`, {status: {conditions, instanceGroups}},
					{type: 'application/merge-patch+json'});

				assert.equal(r.status, 200, r.text);
			}
			await sleep(100);
		}
	})();

	return () => {
		on = false;
		return running;
	};
}

async function reconcile(w)
{
	const r = await call(w.s, 'POST', `/api/v1/clusters/${NAME}/dependencies:reconcile`, {role: 'admin', body: {}});

	assert.equal(r.status, 202, r.text);
	return succeeded(w.s, r.json.id, JOB_MS);
}

const cases = {
	async create_cluster(w) {
		const op = await create(w.s, NAME, {count: 2});

		await succeeded(w.s, op.id, JOB_MS);
		const cluster = (await get(w, `/clusters/${NAME}`)).json;

		assert.equal(cluster.status, 'in_service');
		assert.equal(cluster.storages[0].observed.status, 'mounted');
		assert(cluster.dependencies.every(d => d.observed.state === 'ready'), JSON.stringify(cluster.dependencies));
	},
	async 'what the real API server has'(w) {
		const nodes = kubectl(w, 'get', 'nodes');

		assert.equal(nodes.length, 2);
		assert(nodes.every(n => n.status.conditions.some(c => c.type === 'Ready' && c.status === 'True')));
		assert(nodes.every(n => Number(n.status.allocatable['nvidia.com/gpu']) === 4), 'ml.g5.12xlarge');
		assert(nodes.every(n => n.metadata.labels['sagemaker.amazonaws.com/node-health-status'] === 'Schedulable'));
		const [claim] = kubectl(w, 'get', 'pvc', '-A');
		const [volume] = kubectl(w, 'get', 'pv');

		assert.equal(`${claim.metadata.name} ${claim.status.phase} ${volume.status.phase}`, 'data Bound Bound');
		assert.equal(volume.spec.csi.driver, 's3.csi.aws.com');
		assert.equal(volume.metadata.labels['app.kubernetes.io/managed-by'], 'instantstart');
		assert(volume.metadata.managedFields.some(f => f.manager === 'instantstart' && f.operation === 'Apply'));
		assert.deepEqual(kubectl(w, 'get', 'jobs', '-A'), [], 'the probe cleans up after itself');
		const releases = kubectl(w, 'get', 'secrets', '-A', '-l', 'owner=helm');

		assert(releases.length > 0 && releases.every(r => r.metadata.labels.status === 'deployed'));
		const pods = kubectl(w, 'get', 'pods', '-A').filter(p => !p.metadata.ownerReferences?.some(o => o.kind === 'Job'));

		assert(pods.length > 0 && pods.every(p => p.status.phase === 'Running'), JSON.stringify(pods.map(p =>
			[p.metadata.name, p.status.phase])));
	},
	async 'who we were there'(w) {
		const audit = fs.readFileSync(`${w.plane.pods}/../log/audit.log`, 'utf8').trim().split('\n').map(l => JSON.parse(l));
		const ours = audit.filter(e => e.userAgent?.startsWith('instantstart/'));
		/* 404s are answers to looks; what else was refused is worth a line. */
		const odd = ours.filter(e => e.responseStatus.code >= 400 && ![404, 409].includes(e.responseStatus.code));

		assert(ours.length > 0);
		assert(ours.every(e => /^arn:aws:/.test(e.user.username)), ours[0].user.username);
		assert.deepEqual(odd.map(e => `${e.verb} ${e.requestURI} ${e.responseStatus.code} ${e.responseStatus.message}`)
			.filter((l, i, all) => all.indexOf(l) === i), []);
	},
	async 'repeated, nothing is written'(w) {
		const before = kubectl(w, 'get', 'pv,pvc,deploy,ds', '-A').map(o => `${o.kind} ${o.metadata.name} ${o.metadata.generation}`);
		await reconcile(w);
		assert.deepEqual(kubectl(w, 'get', 'pv,pvc,deploy,ds', '-A').map(o =>
			`${o.kind} ${o.metadata.name} ${o.metadata.generation}`), before);
	},
	/* The autoscaler itself is not here: its words of readiness are said for it. The
	 * definitions are the published ones, with their rules, where they are at hand. */
	async 'autoscaling: node classes and pools'(w) {
		for (const {body, name} of definitions(/^(reconstructed_)?karpenter\./))
			assert.equal((await w.plane.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body)).status,
				201, name);
		const group = (await w.s.cloud.state())['sagemaker.cluster'][NAME].InstanceGroups[0];

		await awsOf(w.s.cloud_url, w.dir)(['sagemaker', 'update-cluster', '--cluster-name', NAME, '--instance-groups', JSON.stringify([
			{InstanceGroupName: 'pool-a', InstanceType: TYPE, InstanceCount: 0, ExecutionRole: group.ExecutionRole,
				LifeCycleConfig: group.LifeCycleConfig}])]);
		const done = async (method, path, body) => {
			const r = await call(w.s, method, `/api/v1/clusters/${NAME}/${path}`, {role: 'operator', body});

			assert.equal(r.status, 202, r.text);
			return succeeded(w.s, r.json.id, JOB_MS);
		};
		const say = plural => autoscaler(w.plane, plural);
		const stops = [];

		try {
			await done('PATCH', 'features', {autoscaling: {enabled: true}});
			stops.push(say('apis/karpenter.sagemaker.amazonaws.com/v1/hyperpodnodeclasses'), say('apis/karpenter.sh/v1/nodepools'));
			await done('POST', 'node-classes', {name: 'gpu', instance_groups: ['pool-a']});
			await done('POST', 'node-pools', {name: 'train', node_class_ref: {name: 'gpu'}, instance_types: [TYPE],
				zones: ['us-west-2a'], labels: {team: 'train'}, taints: [{key: 'team', value: 'train', effect: 'NoSchedule'}],
				limits: {'nvidia.com/gpu': '16'}, weight: 5, consolidation: 'WhenEmptyOrUnderutilized', consolidate_after: '10m',
				expire_after: '720h', termination_grace_period: '1h'});
			const [pool] = kubectl(w, 'get', 'nodepools.karpenter.sh');

			assert.equal(pool.spec.template.spec.nodeClassRef.name, 'gpu');
			assert.equal(pool.metadata.managedFields.find(f => f.manager === 'instantstart').operation, 'Apply');
			assert.equal((await get(w, `/clusters/${NAME}/node-pools`)).json.items[0].state, 'ready');
			await done('DELETE', 'node-pools/train');
			await done('DELETE', 'node-classes/gpu');
			assert.deepEqual(kubectl(w, 'get', 'nodepools.karpenter.sh'), []);
		} finally {
			await Promise.all(stops.map(stop => stop()));
		}
		await done('PATCH', 'features', {autoscaling: {enabled: false}});
	},
	async 'releases that a dead helm has left'(w) {
		const releases = () => Object.fromEntries(kubectl(w, 'get', 'secrets', '-A', '-l', 'owner=helm').map(o => o.metadata.labels)
			.sort((a, b) => a.version - b.version).map(l => [l.name, `${l.version} ${l.status}`]));
		const helm = spawnSync(`${tools}/helm`, ['--kubeconfig', w.plane.kubeconfig, 'upgrade', '-n', 'kube-system',
			'hyperpod-dependencies', `${charts}/hyperpod-helm-chart`, '--reuse-values', '--labels', `instantstart/cluster=${NAME}`],
		{encoding: 'utf8'});

		assert.equal(helm.status, 0, helm.stderr);
		await stick(w.plane, 'kuberay-operator', 'kuberay-operator', 1, 'pending-install');
		await stick(w.plane, 'kube-system', 'hyperpod-dependencies', 2, 'pending-upgrade');
		assert.equal(`${releases()['kuberay-operator']}, ${releases()['hyperpod-dependencies']}`,
			'1 pending-install, 2 pending-upgrade');
		await reconcile(w);
		assert.equal(`${releases()['kuberay-operator']}, ${releases()['hyperpod-dependencies']}`, '1 deployed, 3 deployed');
	},
	async 'pods and their logs'(w) {
		const file = `${w.plane.pods}/train.log`;
		const line = i => `2026-01-01T00:00:${String(i).padStart(2, '0')}.5Z stdout F step ${i}\n`;
		const kwok = {apiVersion: 'kwok.x-k8s.io/v1alpha1', kind: 'Logs', metadata: {name: 'train-0', namespace: 'default'},
			spec: {logs: [{containers: ['main'], logsFile: file, follow: true}]}};

		fs.writeFileSync(file, [1, 2, 3].map(line).join(''));
		await w.plane.request('POST', '/apis/kwok.x-k8s.io/v1alpha1/namespaces/default/logs', kwok);
		await w.plane.request('POST', '/api/v1/namespaces/default/pods', {metadata: {name: 'train-0'}, spec: {containers: [
			{name: 'main', image: 'busybox:1', resources: {limits: {'nvidia.com/gpu': '4'}}}]}});
		await waitFor('it runs', async () => (await get(w, `/clusters/${NAME}/pods?namespace=default`)).json.items
			.some(p => p.name === 'train-0' && p.phase === 'Running'));
		const log = await waitFor('its log', async () => {
			const r = await get(w, `/clusters/${NAME}/pods/train-0/logs?namespace=default&tail=2`);

			return r.status === 200 && /step 3/.test(r.text) && r.json;
		});

		assert.match(JSON.stringify(log), /step 2.*step 3/);
		assert.doesNotMatch(JSON.stringify(log), /step 1/);
		const byMcp = await tool(w.s, 'get_pod_logs', {cluster: NAME, namespace: 'default', pod: 'train-0'}, {role: 'viewer'});

		assert.match(JSON.stringify(byMcp.structuredContent), /step 1/);
		const v = new Viewer(w.s, '/ws/logs', {token: w.s.tokens.viewer, query: {cluster: NAME, namespace: 'default',
			pod: 'train-0', container: 'main'}});

		await waitFor('the lines that are there', () => v.lines.length >= 3);
		for (const i of [4, 5, 6])
			fs.appendFileSync(file, line(i));
		await waitFor('the lines that come', () => v.lines.length >= 6);
		assert.deepEqual(v.lines.map(([, text]) => text), [1, 2, 3, 4, 5, 6].map(i => `step ${i}`));
		await w.plane.command('restart kube-apiserver');
		for (const i of [7, 8])
			fs.appendFileSync(file, line(i));
		await waitFor('the lines after a restart of the API server', () => v.lines.length >= 8, 40000);
		assert.deepEqual(v.lines.map(([, text]) => text), [1, 2, 3, 4, 5, 6, 7, 8].map(i => `step ${i}`));
		await w.plane.request('DELETE', '/api/v1/namespaces/default/pods/train-0');
		await waitFor('its end is told', () => /gone|deleted|ended/.test(JSON.stringify(v.states.at(-1) ?? '')), 40000);
		assert.deepEqual(v.faults, []);
		v.ws.close();
	},
	async 'storage that is used is not unmounted'(w) {
		await w.plane.request('POST', '/api/v1/namespaces/default/pods', {metadata: {name: 'user'}, spec: {containers: [
			{name: 'main', image: 'busybox:1'}], volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'data'}}]}});
		await waitFor('it runs', () => kubectl(w, 'get', 'pods').some(p => p.metadata.name === 'user' && p.status.phase === 'Running'));
		const ask = () => call(w.s, 'DELETE', `/api/v1/clusters/${NAME}/storages/data?confirm=data`, {role: 'admin'});
		const held = await ask();

		/* Refused at once, before anything is begun. */
		assert.equal(`${held.status} ${held.json.code}`, '409 blocked', held.text);
		assert.match(held.json.detail, /Pods still use the storage data: user/);
		assert.equal(kubectl(w, 'get', 'pvc').length, 1);
		await w.plane.request('DELETE', '/api/v1/namespaces/default/pods/user');
		await waitFor('it has gone', () => kubectl(w, 'get', 'pods').every(p => p.metadata.name !== 'user'));
		await succeeded(w.s, (await ask()).json.id, JOB_MS);
		await waitFor('claim and volume go', () => kubectl(w, 'get', 'pv,pvc', '-A').length === 0);
	},
	async 'an API server that restarts under the job'(w) {
		const name = 'troubled';
		const plane = await planeOf(`${w.dir}/plane-${name}`, w.s.cloud_url, name);
		const copies = mirror(w.s.cloud, plane, name);

		try {
			const op = await create(w.s, name, {count: 1});

			/* First in the middle of what Helm does: its record is made, its objects are not. */
			await waitFor('Helm begins', () => /"userAgent":"Helm[^\n]*"verb":"create"|"verb":"create"[^\n]*"userAgent":"Helm/
				.test(fs.readFileSync(`${plane.pods}/../log/audit.log`, 'utf8')), JOB_MS, 5);
			await plane.command('restart kube-apiserver');
			for (const kind of ['create_hyperpod_cluster', 'create_s3_storage']) {
				await stage(w.s, op.id, kind, JOB_MS);
				await plane.command('compact');
				await plane.command('restart kube-apiserver');
			}
			await succeeded(w.s, op.id, JOB_MS);
			const there = {...w, plane};

			assert(kubectl(there, 'get', 'secrets', '-A', '-l', 'owner=helm').some(o => o.metadata.labels.status === 'deployed'));
			assert.deepEqual(kubectl(there, 'get', 'pv,pvc', '-A').map(o => o.status.phase), ['Bound', 'Bound']);
			assert.deepEqual(kubectl(there, 'get', 'jobs', '-A'), []);
			await succeeded(w.s, (await remove(w.s, name)).id, JOB_MS);
		} finally {
			await copies.stop();
			await plane.stop();
		}
	},
	async 'storage is mounted again over what a person deleted'(w) {
		const made = {name: 'again'};
		const mount = async () => {
			const r = await call(w.s, 'POST', `/api/v1/clusters/${NAME}/storages`, {role: 'operator', body: made});

			assert.equal(r.status, 202, r.text);
			return succeeded(w.s, r.json.id, JOB_MS);
		};

		await mount();
		await w.plane.request('DELETE', '/api/v1/namespaces/default/persistentvolumeclaims/again');
		await waitFor('released', () => kubectl(w, 'get', 'pv').some(o => o.status.phase === 'Released'));
		await mount();
		assert(kubectl(w, 'get', 'pv,pvc').every(o => o.status.phase === 'Bound'));
		/* A claim that is used goes when its user does: until then nothing is made of it. */
		await w.plane.request('POST', '/api/v1/namespaces/default/pods', {metadata: {name: 'holder'}, spec: {containers: [
			{name: 'main', image: 'busybox:1'}], volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'again'}}]}});
		await waitFor('it runs', () => kubectl(w, 'get', 'pods').some(p => p.metadata.name === 'holder' && p.status.phase === 'Running'));
		await w.plane.request('DELETE', '/api/v1/namespaces/default/persistentvolumeclaims/again');
		const waits = (await call(w.s, 'POST', `/api/v1/clusters/${NAME}/storages`, {role: 'operator', body: made})).json;

		await until(w.s, waits.id, 'it waits', op => /to be deleted/.test(op.waiting_for ?? ''), JOB_MS);
		await w.plane.request('DELETE', '/api/v1/namespaces/default/pods/holder');
		await waitFor('the claim goes', () => !kubectl(w, 'get', 'pods').some(p => p.metadata.name === 'holder'));
		const op = await ended(w.s, waits.id, JOB_MS);

		assert.equal(op.state, 'succeeded', JSON.stringify(op.error));
		assert(kubectl(w, 'get', 'pv,pvc').every(o => o.status.phase === 'Bound'));
	},
	async delete_cluster(w) {
		const op = await remove(w.s, NAME);

		await succeeded(w.s, op.id, JOB_MS);
		assert.equal((await get(w, `/clusters/${NAME}`)).status, 404);
	},
};
