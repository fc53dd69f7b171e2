// What runs: GPU nodes of HyperPod's labels, pods, jobs, volumes, evictions, quotas.
import assert from 'node:assert/strict';
import {waitFor} from '../../stack/stack.mjs';
import {ok, refused} from './expect.mjs';

const GPUS = 8;
const pods = ns => ({api: 'v1', plural: 'pods', ns});

/** A node as HyperPod's kubelet would register it; kwok keeps it alive. */
export const gpuNode = (name, more = {}) => ({apiVersion: 'v1', kind: 'Node', metadata: {name, labels: {
	'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64',
	'node.kubernetes.io/instance-type': 'ml.p5.48xlarge', 'sagemaker.amazonaws.com/compute-type': 'hyperpod',
	'sagemaker.amazonaws.com/node-health-status': 'Schedulable', ...more.labels}}, spec: {
	providerID: `aws:///usw2-az1/sagemaker/cluster/${name}`}, status: {allocatable: {cpu: '192', memory: '2Ti',
	pods: '110', 'nvidia.com/gpu': String(GPUS), 'vpc.amazonaws.com/efa': '32'}, capacity: {cpu: '192', memory: '2Ti',
	pods: '110', 'nvidia.com/gpu': String(GPUS), 'vpc.amazonaws.com/efa': '32'}}});

export async function needNode(w, name)
{
	const r = await w.plane.request('POST', '/api/v1/nodes', gpuNode(name));

	assert(r.status === 201 || r.status === 409, r.text);
	await waitFor('the node is ready', async () => {
		const node = ok(await w.ask({do: 'get', api: 'v1', plural: 'nodes', name}));

		return node.status.conditions?.some(c => c.type === 'Ready' && c.status === 'True') &&
			!node.spec.taints?.length;
	}, 30000, 100);
}

export const pod = (ns, name, more = {}) => ({apiVersion: 'v1', kind: 'Pod', metadata: {name, namespace: ns,
	labels: {app: name}}, spec: {containers: [{name: 'main', image: 'busybox:1', ...more.container}], ...more.spec}});

export const running = (w, name) => waitFor(`pod ${name} runs`, async () => {
	const r = await w.ask({do: 'get', ...pods(w.ns), name});

	return r.out?.status?.phase === 'Running' && r.out;
}, 20000, 100);

const gpus = n => ({container: {resources: {limits: {'nvidia.com/gpu': String(n), 'vpc.amazonaws.com/efa': '1'}}}});

export const cases = {
	async 'GPU nodes'(w) {
		await needNode(w, 'hyperpod-i-1');
		const [node] = ok(await w.ask({do: 'list_all', api: 'v1', plural: 'nodes',
			label_selector: 'sagemaker.amazonaws.com/compute-type=hyperpod'})).items;

		assert.equal(node.status.allocatable['nvidia.com/gpu'], String(GPUS));
		assert.equal(node.status.allocatable['vpc.amazonaws.com/efa'], '32');
		ok(await w.ask({do: 'patch', api: 'v1', plural: 'nodes', name: 'hyperpod-i-1',
			body: {metadata: {labels: {'example.com/team': 'red'}}}}));
		ok(await w.ask({do: 'create', ...pods(w.ns), body: pod(w.ns, 'fits', gpus(GPUS))}));
		assert.equal((await running(w, 'fits')).spec.nodeName, 'hyperpod-i-1');
		ok(await w.ask({do: 'create', ...pods(w.ns), body: pod(w.ns, 'waits', gpus(1))}));
		const events = await waitFor('FailedScheduling', async () => {
			const list = ok(await w.ask({do: 'list_all', api: 'v1', plural: 'events', ns: w.ns,
				field_selector: 'involvedObject.name=waits,type=Warning'}));

			return list.items.length && list.items;
		});

		assert.match(events[0].message, /1 Insufficient nvidia\.com\/gpu/);
		ok(await w.ask({do: 'delete', ...pods(w.ns), name: 'fits'}));
		await running(w, 'waits');
		ok(await w.ask({do: 'delete', ...pods(w.ns), name: 'waits'}));
	},
	async 'a job ends, and takes its pods with it'(w) {
		const jobs = {api: 'batch/v1', plural: 'jobs', ns: w.ns};

		await needNode(w, 'hyperpod-i-1');
		ok(await w.ask({do: 'create', ...jobs, body: {apiVersion: 'batch/v1', kind: 'Job', metadata: {name: 'j'}, spec: {
			backoffLimit: 0, template: {spec: {restartPolicy: 'Never', containers: [{name: 'main', image: 'busybox:1'}]}}}}}));
		await waitFor('the job completes', async () => ok(await w.ask({do: 'get', ...jobs, name: 'j'})).status.conditions
			?.some(c => c.type === 'Complete' && c.status === 'True'), 30000);
		assert.equal(ok(await w.ask({do: 'list_all', ...pods(w.ns), label_selector: 'job-name=j'})).items.length, 1);
		ok(await w.ask({do: 'delete', ...jobs, name: 'j'}));
		await waitFor('the job goes', async () => (await w.ask({do: 'get', ...jobs, name: 'j'})).status === 404, 30000);
		assert.deepEqual(ok(await w.ask({do: 'list_all', ...pods(w.ns)})).items, [], 'foreground: pods first');
	},
	async 'dependents left alone'(w) {
		await needNode(w, 'hyperpod-i-1');
		const d = {api: 'apps/v1', plural: 'deployments', ns: w.ns};
		const labels = {app: 'd'};

		ok(await w.ask({do: 'apply', ...d, name: 'd', body: {apiVersion: 'apps/v1', kind: 'Deployment',
			metadata: {name: 'd'}, spec: {replicas: 2, selector: {matchLabels: labels}, template: {metadata: {labels},
				spec: {containers: [{name: 'main', image: 'busybox:1'}]}}}}}));
		await waitFor('two run', async () => ok(await w.ask({do: 'get', ...d, name: 'd'})).status.readyReplicas === 2, 30000);
		ok(await w.ask({do: 'delete', ...d, name: 'd', orphan: true}));
		await waitFor('it goes', async () => (await w.ask({do: 'get', ...d, name: 'd'})).status === 404);
		assert.equal(ok(await w.ask({do: 'list_all', ...pods(w.ns)})).items.length, 2);
	},
	async 'an eviction that a budget forbids'(w) {
		await needNode(w, 'hyperpod-i-1');
		ok(await w.ask({do: 'create', ...pods(w.ns), body: pod(w.ns, 'p')}));
		ok(await w.ask({do: 'apply', api: 'policy/v1', plural: 'poddisruptionbudgets', ns: w.ns, name: 'b', body: {
			apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: {name: 'b'},
			spec: {minAvailable: 1, selector: {matchLabels: {app: 'p'}}}}}));
		await running(w, 'p');
		const evict = {do: 'create', ...pods(w.ns), name: 'p', subresource: 'eviction', body: {apiVersion: 'policy/v1',
			kind: 'Eviction', metadata: {name: 'p', namespace: w.ns}}};

		await waitFor('the budget counts', async () => ok(await w.ask({do: 'get', api: 'policy/v1',
			plural: 'poddisruptionbudgets', ns: w.ns, name: 'b'})).status?.currentHealthy === 1);
		const r = refused(await w.ask(evict), 429, 'TooManyRequests', 'cloud-conflict');

		assert.match(r.message, /disruption budget/);
		ok(await w.ask({do: 'delete', api: 'policy/v1', plural: 'poddisruptionbudgets', ns: w.ns, name: 'b'}));
		await waitFor('evicted', async () => (await w.ask(evict)).ok);
	},
	async 'a quota, a policy'(w) {
		ok(await w.ask({do: 'create', api: 'v1', plural: 'resourcequotas', ns: w.ns, body: {apiVersion: 'v1',
			kind: 'ResourceQuota', metadata: {name: 'q'}, spec: {hard: {'count/secrets': '0'}}}}));
		const secret = {do: 'create', api: 'v1', plural: 'secrets', ns: w.ns, dry_run: true, body: {apiVersion: 'v1', kind: 'Secret',
			metadata: {name: 's'}}};

		await waitFor('the quota is counted', async () => !(await w.ask(secret)).ok);
		refused(await waitFor('the quota says so', async () => {
			const r = await w.ask(secret);

			return /exceeded quota/.test(r.message) && r;
		}), 403, 'Forbidden', 'quota');
		const api = 'admissionregistration.k8s.io/v1', name = `no-${w.ns}`;

		ok(await w.ask({do: 'apply', api, plural: 'validatingadmissionpolicies', name, body: {apiVersion: api,
			kind: 'ValidatingAdmissionPolicy', metadata: {name}, spec: {failurePolicy: 'Fail', matchConstraints: {
				resourceRules: [{apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps']}]},
			validations: [{expression: 'false', message: 'not here'}]}}}));
		ok(await w.ask({do: 'apply', api, plural: 'validatingadmissionpolicybindings', name, body: {apiVersion: api,
			kind: 'ValidatingAdmissionPolicyBinding', metadata: {name}, spec: {policyName: name, validationActions: ['Deny'],
				matchResources: {namespaceSelector: {matchLabels: {'kubernetes.io/metadata.name': w.ns}}}}}}));
		const denied = await waitFor('the policy denies', async () => {
			const r = await w.ask({do: 'apply', api: 'v1', plural: 'configmaps', ns: w.ns, name: 'c', dry_run: true,
				body: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'c'}}});

			return !r.ok && r;
		});

		assert.equal(`${denied.errc} ${denied.ambiguous}`, 'cloud-refused false', denied.message);
		assert.match(denied.message, /not here/);
	},
	async 'a webhook that nobody answers'(w) {
		const api = 'admissionregistration.k8s.io/v1', name = `hook-${w.ns}`;

		ok(await w.ask({do: 'apply', api, plural: 'validatingwebhookconfigurations', name, body: {apiVersion: api,
			kind: 'ValidatingWebhookConfiguration', metadata: {name}, webhooks: [{name: 'hook.example.com',
				admissionReviewVersions: ['v1'], sideEffects: 'None', timeoutSeconds: 2, clientConfig: {service: {
					name: 'none', namespace: w.ns, path: '/'}}, namespaceSelector: {matchLabels: {
					'kubernetes.io/metadata.name': w.ns}}, rules: [{apiGroups: [''], apiVersions: ['v1'],
					operations: ['CREATE'], resources: ['configmaps']}]}]}}));
		const r = await waitFor('the webhook is called', async () => {
			const x = await w.ask({do: 'create', api: 'v1', plural: 'configmaps', ns: w.ns, dry_run: true, body: {
				apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'c'}}});

			return !x.ok && x;
		});

		assert.match(r.message, /failed calling webhook/);
		assert.equal(`${r.status} ${r.errc} ${r.ambiguous}`, '500 webhook-unserved false', 'refused before it was stored');
	},
	async 'volumes and claims'(w) {
		const name = `data-${w.ns}`;
		const spec = {accessModes: ['ReadWriteMany'], storageClassName: ''};

		ok(await w.ask({do: 'apply', api: 'v1', plural: 'persistentvolumes', name, body: {apiVersion: 'v1',
			kind: 'PersistentVolume', metadata: {name}, spec: {...spec, capacity: {storage: '1200Gi'},
				persistentVolumeReclaimPolicy: 'Retain', claimRef: {namespace: w.ns, name: 'data'},
				csi: {driver: 's3.csi.aws.com', volumeHandle: name, volumeAttributes: {bucketName: 'bucket'}}}}}));
		const claims = {api: 'v1', plural: 'persistentvolumeclaims', ns: w.ns};

		ok(await w.ask({do: 'apply', ...claims, name: 'data', body: {apiVersion: 'v1', kind: 'PersistentVolumeClaim',
			metadata: {name: 'data'}, spec: {...spec, volumeName: name, resources: {requests: {storage: '1200Gi'}}}}}));
		await waitFor('the claim is bound', async () => ok(await w.ask({do: 'get', ...claims, name: 'data'})).status.phase ===
			'Bound', 30000);
		const pv = ok(await w.ask({do: 'get', api: 'v1', plural: 'persistentvolumes', name}));

		assert.equal(pv.status.phase, 'Bound');
		assert(pv.spec.claimRef.uid, 'the controller owns that');
		/* Applied again, what the controller wrote is no conflict. */
		ok(await w.ask({do: 'apply', api: 'v1', plural: 'persistentvolumes', name, body: {apiVersion: 'v1',
			kind: 'PersistentVolume', metadata: {name}, spec: {...spec, capacity: {storage: '1200Gi'},
				persistentVolumeReclaimPolicy: 'Retain', claimRef: {namespace: w.ns, name: 'data'},
				csi: {driver: 's3.csi.aws.com', volumeHandle: name, volumeAttributes: {bucketName: 'bucket'}}}}}));
		const other = await w.ask({do: 'apply', api: 'v1', plural: 'persistentvolumes', name, force: true, body: {
			apiVersion: 'v1', kind: 'PersistentVolume', metadata: {name}, spec: {...spec, capacity: {storage: '1200Gi'},
				csi: {driver: 's3.csi.aws.com', volumeHandle: 'other'}}}});

		assert.equal(`${other.status} ${other.errc}`, '422 cloud-refused', 'a volume\'s source does not change');
		ok(await w.ask({do: 'create', ...pods(w.ns), body: pod(w.ns, 'user', {spec: {volumes: [{name: 'v',
			persistentVolumeClaim: {claimName: 'data'}}]}})}));
		await running(w, 'user');
		/* Who uses it holds it. */
		ok(await w.ask({do: 'delete', ...claims, name: 'data'}));
		assert.deepEqual(ok(await w.ask({do: 'get', ...claims, name: 'data'})).metadata.finalizers
			.filter(f => /pvc-protection/.test(f)), ['kubernetes.io/pvc-protection']);
		ok(await w.ask({do: 'delete', ...pods(w.ns), name: 'user'}));
		await waitFor('the claim goes', async () => (await w.ask({do: 'get', ...claims, name: 'data'})).status === 404, 30000);
		await waitFor('released', async () => ok(await w.ask({do: 'get', api: 'v1', plural: 'persistentvolumes', name}))
			.status.phase === 'Released', 30000);
		ok(await w.ask({do: 'delete', api: 'v1', plural: 'persistentvolumes', name}));
	},
};
