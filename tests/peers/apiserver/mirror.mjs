// What AWS itself puts into the Kubernetes of an EKS cluster: HyperPod's nodes, the
// workloads of add-ons. The simulated cloud writes them to its own API server; this
// writes them to the real one, for as long as it runs.
import {sleep} from '../../stack/stack.mjs';

/* Of the simulated store: the resource, and its path. Order matters: a pod needs the
 * account that its workload names. */
const KINDS = [
	['/namespaces', 'api/v1', 'namespaces'],
	['/nodes', 'api/v1', 'nodes'],
	['/serviceaccounts', 'api/v1', 'serviceaccounts'],
	['/configmaps', 'api/v1', 'configmaps'],
	['storage.k8s.io/csidrivers', 'apis/storage.k8s.io/v1', 'csidrivers'],
	['apps/daemonsets', 'apis/apps/v1', 'daemonsets'],
	['apps/deployments', 'apis/apps/v1', 'deployments'],
	['apiextensions.k8s.io/customresourcedefinitions', 'apis/apiextensions.k8s.io/v1',
		'customresourcedefinitions'],
];

/* kwok is the kubelet: addresses, conditions and the taint of a node that is not ready
 * are of its making. */
function nodeOf(o)
{
	const {capacity, allocatable, nodeInfo} = o.status;

	return {...o, spec: {...o.spec, taints: o.spec.taints?.filter(t => t.key !== 'node.kubernetes.io/not-ready')},
		status: {capacity, allocatable, nodeInfo: {...nodeInfo}}};
}

function bare(o)
{
	const {name, namespace, labels, annotations} = o.metadata;
	const copy = {...o, metadata: {name, namespace, labels, annotations}};

	if (o.kind === 'Node')
		return nodeOf(copy);
	delete copy.status;
	return copy;
}

/* What the simulated controllers make of an API server without our program. */
const made = o => o.metadata.name === 'default' || /^kube-root-ca/.test(o.metadata.name) || o.metadata.ownerReferences;

/** Starts; stop() ends it and tells what was written: ["nodes/hyperpod-i-…", …]. */
export function mirror(cloud, plane, name)
{
	const written = new Map();
	const told = new Set();
	let on = true;

	async function write(path, plural, o)
	{
		const where = o.metadata.namespace ? `/${path}/namespaces/${o.metadata.namespace}/${plural}` : `/${path}/${plural}`;
		const id = `${where}/${o.metadata.name}`;
		const body = bare(o);
		const text = JSON.stringify(body);

		if (written.get(id) === text)
			return id;
		let r = await plane.request('POST', where, body);

		/* A definition that is there may be a published one: stricter. */
		if (r.status === 409 && o.kind === 'CustomResourceDefinition')
			r.status = 200;
		if (r.status === 409) {
			delete body.status;
			r = await plane.request('PATCH', `${id}?fieldManager=eks&force=true`, body, {type: 'application/apply-patch+yaml'});
		}
		if (r.status < 300)
			written.set(id, text);
		else if (!told.has(`${id} ${r.status}`))
			console.log(`mirror: ${id}: ${r.status} ${r.text}`);
		told.add(`${id} ${r.status}`);
		return id;
	}

	async function once()
	{
		const objects = (await cloud.state()).kube?.[name]?.objects ?? {};
		const seen = new Set();

		for (const [resource, path, plural] of KINDS)
			for (const o of Object.values(objects[resource] ?? {}))
				if (!made(o))
					seen.add(await write(path, plural, o));
		for (const id of [...written.keys()].filter(i => !seen.has(i))) {
			await plane.request('DELETE', id);
			written.delete(id);
		}
	}

	const running = (async () => {
		while (on) {
			/* The API server may be restarting; what was not written is, later. */
			await once().catch(e => console.log(`mirror: ${e.message}`));
			await sleep(200);
		}
	})();

	return {async stop() {
		on = false;
		await running;
		return [...written.keys()];
	}};
}
