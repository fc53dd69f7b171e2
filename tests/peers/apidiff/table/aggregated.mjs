// APIs that another server answers, while nobody serves them: what becomes of their own
// group, of discovery, and of namespaces that are deleted meanwhile.
import {configMap} from '../make.mjs';

const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const NAME = 'v1beta1.stale.diff.example.com';
const NS = 'diff-aggregated';
const AGGREGATED = {headers: {accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'}};

const apiService = () => ({apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: {name: NAME}, spec: {
	group: 'stale.diff.example.com', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100,
	insecureSkipTLSVerify: true, service: {name: 'nobody', namespace: NS, port: 443}}});
const conditions = r => (r.body.status?.conditions ?? []).map(c => [c.type, c.status, c.reason, c.message])
	.sort((a, b) => (a[0] < b[0] ? -1 : 1));
const available = r => (r.body?.status?.conditions ?? []).find(c => c.type === 'Available');

export async function unserved(k)
{
	await k.namespace(NS);
	await k.set('POST', SERVICES, apiService());
	await k.until(`${SERVICES}/${NAME}`, r => available(r)?.reason === 'ServiceNotFound');
	await k.case('an API whose service is missing', 'GET', `${SERVICES}/${NAME}`, {also: conditions, drop: ['status', 'metadata.managedFields']});
	await k.set('POST', `/api/v1/namespaces/${NS}/services`, {metadata: {name: 'nobody'},
		spec: {selector: {app: 'nobody'}, ports: [{name: 'https', port: 443}]}});
	await k.until(`${SERVICES}/${NAME}`, r => available(r)?.reason === 'MissingEndpoints');
	await k.case('an API whose service has no endpoints', 'GET', `${SERVICES}/${NAME}`, {also: conditions, drop: ['status', 'metadata.managedFields']});
	for (const [what, path] of [['its version', '/v1beta1'], ['its resources', '/v1beta1/things'], ['one of them', '/v1beta1/namespaces/default/things/a']])
		await k.case(`an unserved API, ${what}`, 'GET', `/apis/stale.diff.example.com${path}`, {type: true});
	await k.case('an unserved API, a write', 'POST', '/apis/stale.diff.example.com/v1beta1/things', {body: {}});
	await k.case('an unserved API, its group', 'GET', '/apis/stale.diff.example.com');
	await k.case('discovery of an unserved API', 'GET', '/apis', {only: ['kind'], also: r => r.body.groups.find(g => g.name === 'stale.diff.example.com') ?? null});
	await k.until('/apis/stale.diff.example.com', r => r.status === 200);
	await k.case('aggregated discovery of an unserved API', 'GET', '/apis', {...AGGREGATED, only: ['kind'],
		also: r => r.body.items.find(g => g.metadata.name === 'stale.diff.example.com')?.versions ?? null});
}

export async function namespaces(k)
{
	await k.namespace('diff-stale');
	await k.set('POST', '/api/v1/namespaces/diff-stale/configmaps', configMap('c'));
	await k.set('DELETE', '/api/v1/namespaces/diff-stale');
	const failed = r => (r.body?.status?.conditions ?? []).some(c => c.type === 'NamespaceDeletionDiscoveryFailure' && c.status === 'True');

	await k.until('/api/v1/namespaces/diff-stale', failed);
	await k.until('/api/v1/namespaces/diff-stale/configmaps/c', r => r.status === 404);
	await k.case('a namespace that cannot go', 'GET', '/api/v1/namespaces/diff-stale', {also: r => [r.body.status.phase, conditions(r)]});
	await k.set('DELETE', `${SERVICES}/${NAME}`);
	await k.until('/apis/stale.diff.example.com/v1beta1', r => r.status !== 503);
	await k.case('an API that is gone', 'GET', '/apis/stale.diff.example.com/v1beta1', {text: false});
	await k.until('/api/v1/namespaces/diff-stale', r => r.status === 404);
	/* What holds it is named otherwise. */
	await k.namespace('diff-held');
	await k.set('POST', '/api/v1/namespaces/diff-held/configmaps', configMap('held', {}, {finalizers: ['diff.example.com/hold']}));
	await k.set('DELETE', '/api/v1/namespaces/diff-held');
	await k.until('/api/v1/namespaces/diff-held', r => (r.body?.status?.conditions ?? []).some(c => c.status === 'True' &&
		c.type === 'NamespaceFinalizersRemaining'));
	await k.case('a namespace whose content is held', 'GET', '/api/v1/namespaces/diff-held', {also: conditions});
	await k.set('PATCH', '/api/v1/namespaces/diff-held/configmaps/held', {metadata: {finalizers: null}},
		{headers: {'content-type': 'application/merge-patch+json'}});
	await k.until('/api/v1/namespaces/diff-held', r => r.status === 404);
}
