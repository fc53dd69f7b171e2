// Subresources: status, scale, eviction, binding, log, token.
import {configMap, job, meta, PATCH, pod, workload} from '../make.mjs';

const NS = 'diff-subs';
const IN = `/api/v1/namespaces/${NS}`;
const DEPLOY = `/apis/apps/v1/namespaces/${NS}/deployments`;

export async function statuses(k)
{
	await k.namespace(NS);
	await k.set('POST', `${IN}/pods`, pod('p', {schedulerName: 'nobody'}));
	await k.case('status of a pod', 'GET', `${IN}/pods/p/status`, {only: ['kind', 'status.phase', 'status.qosClass']});
	await k.case('patch the status of a pod', 'PATCH', `${IN}/pods/p/status?fieldManager=kube-me`, {...PATCH.strategic,
		body: {metadata: {labels: {l: 'v'}}, spec: {nodeName: 'x'}, status: {phase: 'Running', conditions: [{type: 'Mine', status: 'True'}]}},
		also: r => [r.body.status.phase, r.body.status.conditions.map(c => [c.type, c.status]), r.body.metadata.labels ?? null, r.body.spec.nodeName ?? null]});
	await k.case('patch the status by the pod', 'PATCH', `${IN}/pods/p`, {...PATCH.merge, body: {status: {phase: 'Failed'}}, only: ['status.phase']});
	await k.case('status of nothing', 'GET', `${IN}/pods/nothing/status`);
	await k.set('POST', DEPLOY, workload('Deployment', 'd'));
	await k.case('replace the status of a deployment', 'PATCH', `${DEPLOY}/d/status?fieldManager=me`, {...PATCH.merge, body: {spec: {replicas: 5},
		status: {conditions: [{type: 'Mine', status: 'True', reason: 'R', message: 'M', lastUpdateTime: '2020-01-01T00:00:00Z', lastTransitionTime: '2020-01-01T00:00:00Z'}]}},
	also: r => [r.body.spec.replicas, r.body.metadata.generation, r.body.status.conditions.find(c => c.type === 'Mine'),
		r.body.metadata.managedFields.filter(m => m.manager === 'me').map(m => [m.operation, m.subresource])]});
	await k.case('a status with unknown fields, Strict', 'PATCH', `${DEPLOY}/d/status?fieldValidation=Strict`, {...PATCH.merge, body: {status: {bogus: 1}}});
	await k.case('delete a status', 'DELETE', `${DEPLOY}/d/status`, {text: false});
	await k.case('post a status', 'POST', `${DEPLOY}/d/status`, {body: {}, text: false});
	await k.set('POST', '/api/v1/nodes', {metadata: meta('diff-subs')});
	await k.case('patch the status of a node', 'PATCH', '/api/v1/nodes/diff-subs/status', {...PATCH.strategic, body: {status: {
		allocatable: {cpu: '4', 'nvidia.com/gpu': '8'}, capacity: {cpu: '4', 'nvidia.com/gpu': '8'}, addresses: [{type: 'InternalIP', address: '10.0.0.1'}],
		conditions: [{type: 'Mine', status: 'True', reason: 'R', message: 'm', lastHeartbeatTime: '2020-01-01T00:00:00Z', lastTransitionTime: '2020-01-01T00:00:00Z'}]}},
	also: r => [r.body.status.allocatable.cpu, r.body.status.allocatable['nvidia.com/gpu'], r.body.status.capacity['nvidia.com/gpu']]});
	await k.set('DELETE', '/api/v1/nodes/diff-subs');
}

export async function scales(k)
{
	await k.case('get a scale', 'GET', `${DEPLOY}/d/scale`, {drop: ['status']});
	await k.case('scale by PUT', 'PUT', `${DEPLOY}/d/scale`, {body: {apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: meta('d', {namespace: NS}), spec: {replicas: 0}}, only: ['kind', 'spec', 'metadata.name']});
	await k.case('scale by a patch', 'PATCH', `${DEPLOY}/d/scale`, {...PATCH.merge, body: {spec: {replicas: 2}}, only: ['spec']});
	await k.case('scale below zero', 'PATCH', `${DEPLOY}/d/scale`, {...PATCH.merge, body: {spec: {replicas: -1}}});
	await k.case('scale to what is no number', 'PATCH', `${DEPLOY}/d/scale`, {...PATCH.merge, body: {spec: {replicas: 'two'}}});
	await k.case('scale with an old version', 'PUT', `${DEPLOY}/d/scale`, {body: {apiVersion: 'autoscaling/v1', kind: 'Scale',
		metadata: meta('d', {namespace: NS, resourceVersion: '1'}), spec: {replicas: 0}}});
	await k.case('scale, dry run', 'PATCH', `${DEPLOY}/d/scale?dryRun=All`, {...PATCH.merge, body: {spec: {replicas: 9}}, only: ['spec']});
	await k.case('after the scales', 'GET', `${DEPLOY}/d`, {only: ['spec.replicas']});
	await k.case('scale of nothing', 'GET', `${DEPLOY}/nothing/scale`);
	await k.case('scale of a daemon set', 'GET', `/apis/apps/v1/namespaces/${NS}/daemonsets/x/scale`, {text: false});
	await k.case('another name in a scale', 'PUT', `${DEPLOY}/d/scale`, {body: {apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: meta('e', {namespace: NS}), spec: {replicas: 0}}});
	await k.case('a deployment in place of a scale', 'PUT', `${DEPLOY}/d/scale`, {body: workload('Deployment', 'd')});
}

export async function evictions(k)
{
	const evict = name => ({body: {apiVersion: 'policy/v1', kind: 'Eviction', metadata: meta(name, {namespace: NS})}});

	await k.set('POST', `${IN}/pods`, pod('e1', {}, {labels: {app: 'e'}}));
	await k.case('evict, dry run', 'POST', `${IN}/pods/e1/eviction?dryRun=All`, evict('e1'));
	await k.case('evict', 'POST', `${IN}/pods/e1/eviction`, evict('e1'));
	await k.until(`${IN}/pods/e1`, r => r.status === 404);
	await k.case('evict nothing', 'POST', `${IN}/pods/nothing/eviction`, evict('nothing'));
	await k.case('evict another name', 'POST', `${IN}/pods/p/eviction`, evict('q'));
	await k.case('evict without a body', 'POST', `${IN}/pods/p/eviction`, {body: {}});
	await k.case('get an eviction', 'GET', `${IN}/pods/p/eviction`, {text: false});
	await k.case('evict with another uid', 'POST', `${IN}/pods/p/eviction`, {body: {...evict('p').body, deleteOptions: {preconditions: {uid: '11111111-1111-1111-1111-111111111111'}}}});
}

export async function bindings(k)
{
	await k.set('POST', '/api/v1/nodes', {metadata: meta('diff-node')});
	await k.set('POST', `${IN}/pods`, pod('b', {schedulerName: 'nobody', nodeSelector: {}}));
	const bind = (name, node) => ({body: {apiVersion: 'v1', kind: 'Binding', metadata: meta(name), target: {apiVersion: 'v1', kind: 'Node', name: node}}});

	await k.case('bind', 'POST', `${IN}/pods/b/binding`, bind('b', 'diff-node'));
	await k.case('what is bound', 'GET', `${IN}/pods/b`, {only: ['spec.nodeName']});
	await k.case('bind again', 'POST', `${IN}/pods/b/binding`, bind('b', 'diff-other'));
	await k.case('bind nothing', 'POST', `${IN}/pods/nothing/binding`, bind('nothing', 'diff-node'));
	await k.case('bind to no node', 'POST', `${IN}/pods/p/binding`, {body: {apiVersion: 'v1', kind: 'Binding', metadata: meta('p'), target: {kind: 'Node'}}});
	await k.case('bind to another kind', 'POST', `${IN}/pods/p/binding`, {body: {apiVersion: 'v1', kind: 'Binding', metadata: meta('p'), target: {kind: 'Pod', name: 'x'}}});
	await k.set('DELETE', '/api/v1/nodes/diff-node');
}

export async function logs(k)
{
	await k.case('log of nothing', 'GET', `${IN}/pods/nothing/log`);
	await k.set('POST', `${IN}/pods`, pod('two', {containers: [{name: 'a', image: 'x'}, {name: 'b', image: 'y'}]}));
	await k.case('log without a container', 'GET', `${IN}/pods/two/log`);
	await k.case('log of no such container', 'GET', `${IN}/pods/two/log?container=c`);
	await k.case('log of what runs nowhere', 'GET', `${IN}/pods/two/log?container=a`, {text: false});
	for (const query of ['tailLines=-1', 'tailLines=x', 'limitBytes=0', 'sinceSeconds=0', 'sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z'])
		await k.case(`log with ${query}`, 'GET', `${IN}/pods/two/log?container=a&${query}`);
}

export async function tokens(k)
{
	const ask = (spec = {}) => ({body: {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {audiences: [], ...spec}}});

	await k.case('a token', 'POST', `${IN}/serviceaccounts/default/token`, {...ask({expirationSeconds: 3600}), also: r => [r.body.kind, r.body.apiVersion,
		r.body.metadata.name, r.body.status.token.split('.').length, /^\d{4}-/.test(r.body.status.expirationTimestamp), r.body.spec.expirationSeconds]});
	await k.case('a token of nobody', 'POST', `${IN}/serviceaccounts/nobody/token`, ask());
	await k.case('a token, too short', 'POST', `${IN}/serviceaccounts/default/token`, ask({expirationSeconds: 10}));
	await k.case('a token for a pod that is not there', 'POST', `${IN}/serviceaccounts/default/token`, ask({boundObjectRef: {kind: 'Pod', apiVersion: 'v1', name: 'nothing'}}));
	await k.case('get a token', 'GET', `${IN}/serviceaccounts/default/token`, {text: false});
}
