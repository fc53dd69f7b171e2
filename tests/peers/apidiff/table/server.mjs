// What a server says of itself, and what it refuses before it looks at any object.
import {configMap, PATCH} from '../make.mjs';

const CM = '/api/v1/namespaces/diff-server/configmaps';

export async function discovery(k)
{
	await k.case('version', 'GET', '/version', {also: r => [r.body.major, /^v1\./.test(r.body.gitVersion),
		typeof r.body.platform, typeof r.body.goVersion]});
	for (const path of ['/healthz', '/livez', '/readyz'])
		await k.case(`health ${path}`, 'GET', path);
	await k.case('discovery /api', 'GET', '/api', {only: ['kind', 'versions']});
	await k.case('discovery /apis', 'GET', '/apis', {also: r => ({kind: r.body.kind,
		apiVersion: r.body.apiVersion, ...Object.fromEntries(r.body.groups.filter(g =>
			['apps', 'batch', 'policy', 'rbac.authorization.k8s.io', 'storage.k8s.io',
				'coordination.k8s.io', 'apiextensions.k8s.io'].includes(g.name))
			.map(g => [g.name, g.preferredVersion.version]))})});
	await k.case('discovery of a group', 'GET', '/apis/batch');
	const entry = (r, names) => Object.fromEntries(r.body.resources.filter(x => names.includes(x.name))
		.map(x => [x.name, {...x, storageVersionHash: Boolean(x.storageVersionHash)}]));

	await k.case('discovery /api/v1', 'GET', '/api/v1', {also: r => ({kind: r.body.kind,
		version: r.body.groupVersion, of: entry(r, ['pods', 'pods/log', 'pods/eviction', 'pods/status',
			'pods/binding', 'namespaces', 'namespaces/status', 'namespaces/finalize', 'nodes', 'secrets',
			'configmaps', 'serviceaccounts', 'serviceaccounts/token', 'services',
			'persistentvolumes', 'persistentvolumeclaims', 'persistentvolumeclaims/status', 'events'])})});
	await k.case('discovery /apis/apps/v1', 'GET', '/apis/apps/v1', {also: r => entry(r, ['deployments',
		'deployments/status', 'deployments/scale', 'daemonsets', 'statefulsets', 'statefulsets/scale',
		'replicasets', 'controllerrevisions'])});
	await k.case('discovery /apis/batch/v1', 'GET', '/apis/batch/v1', {also: r => entry(r, ['jobs',
		'jobs/status', 'cronjobs'])});
	await k.case('discovery /apis/rbac', 'GET', '/apis/rbac.authorization.k8s.io/v1', {also: r =>
		entry(r, ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'])});
	await k.case('discovery /apis/storage', 'GET', '/apis/storage.k8s.io/v1', {also: r =>
		entry(r, ['storageclasses', 'csidrivers', 'csinodes', 'volumeattachments'])});
	await k.case('discovery of reviews', 'GET', '/apis/authorization.k8s.io/v1', {also: r =>
		entry(r, ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'])});
	const aggregated = {headers: {accept:
		'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'}};
	const of = (r, group, version, names) => r.body.items.find(g => (g.metadata.name ?? '') === group)
		.versions.find(v => v.version === version).resources.filter(x => names.includes(x.resource))
		.sort((a, b) => (a.resource < b.resource ? -1 : 1))
		.map(x => ({...x, subresources: (x.subresources ?? []).filter(s => ['status', 'scale', 'log',
			'eviction'].includes(s.subresource)).sort((a, b) => (a.subresource < b.subresource ? -1 : 1))}));

	await k.case('aggregated discovery /api', 'GET', '/api', {...aggregated, type: true, also: r =>
		[r.body.kind, r.body.apiVersion, of(r, '', 'v1', ['pods', 'configmaps', 'nodes'])]});
	await k.case('aggregated discovery /apis', 'GET', '/apis', {...aggregated, type: true, also: r =>
		[r.body.kind, of(r, 'apps', 'v1', ['deployments', 'daemonsets']), of(r, 'batch', 'v1', ['jobs'])]});
	await k.case('discovery of no group', 'GET', '/apis/nothing.example.com', {text: false});
	await k.case('discovery of no version', 'GET', '/apis/apps/v9', {text: false});
	await k.case('OpenAPI v3', 'GET', '/openapi/v3', {also: r => ['api/v1', 'apis/apps/v1', 'apis/batch/v1']
		.map(p => [p, new URL(r.body.paths[p].serverRelativeURL, 'http://h').pathname
			.replace(/^\/k8s\/[^/]+/, '')])});
	await k.case('OpenAPI v3 of apps', 'GET', '/openapi/v3/apis/apps/v1', {also: r => {
		const path = r.body.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];

		return [r.body.openapi, path.patch['x-kubernetes-group-version-kind'],
			['dryRun', 'fieldManager', 'fieldValidation'].map(p => path.patch.parameters
				.some(x => x.name === p))];
	}});
}

export async function refusals(k)
{
	await k.namespace('diff-server');
	await k.case('no such path', 'GET', '/nothing', {text: false});
	await k.case('no such kind', 'GET', '/api/v1/namespaces/diff-server/nothings', {text: false});
	await k.case('no such group', 'GET', '/apis/nothing.example.com/v1/things', {text: false});
	await k.case('no such object', 'GET', `${CM}/nothing`);
	await k.case('no such object of a group', 'GET', '/apis/apps/v1/namespaces/diff-server/deployments/nothing');
	await k.case('no such namespace, get', 'GET', '/api/v1/namespaces/nowhere/configmaps/c');
	await k.case('no such namespace, list', 'GET', '/api/v1/namespaces/nowhere/configmaps', {only: ['items']});
	await k.case('no such namespace, create', 'POST', '/api/v1/namespaces/nowhere/configmaps',
		{body: configMap('c')});
	await k.case('no such subresource', 'GET', `${CM}/c/status`, {text: false});
	await k.case('delete nothing', 'DELETE', `${CM}/nothing`);
	await k.case('patch nothing', 'PATCH', `${CM}/nothing`, {...PATCH.merge, body: {data: {a: 'b'}}});
	await k.case('update nothing', 'PUT', `${CM}/nothing`, {body: configMap('nothing', {a: 'b'})});

	await k.case('POST to an object', 'POST', `${CM}/c`, {body: configMap('c')});
	await k.case('PUT to a collection', 'PUT', CM, {body: configMap('c')});
	await k.case('PATCH a collection', 'PATCH', CM, {...PATCH.merge, body: {}});
	await k.case('DELETE of all namespaces', 'DELETE', '/api/v1/namespaces');
	await k.case('create in all namespaces', 'POST', '/api/v1/configmaps', {body: configMap('c')});
	await k.case('an unknown method', 'OPTIONS', CM, {text: false});

	await k.case('not JSON', 'POST', CM, {body: '{"apiVersion": '});
	await k.case('an empty body', 'POST', CM, {body: ''});
	await k.case('no body', 'POST', CM);
	await k.case('a list as body', 'POST', CM, {body: '[]'});
	await k.case('a body without a kind', 'POST', CM, {body: {metadata: {name: 'bare'}}});
	await k.case('another kind', 'POST', CM, {body: {apiVersion: 'v1', kind: 'Secret', metadata: {name: 's'}}});
	await k.case('another version', 'POST', CM, {body: {apiVersion: 'v2', kind: 'ConfigMap',
		metadata: {name: 's'}}});
	await k.case('an unknown kind', 'POST', CM, {body: {apiVersion: 'v1', kind: 'Nothing',
		metadata: {name: 's'}}});
	await k.case('a number for a string', 'POST', CM, {body: configMap('n', {a: 1})});
	await k.case('a string for an object', 'POST', CM, {body: {...configMap('n'), data: 'text'}});
	await k.case('a string for a number', 'POST', '/apis/apps/v1/namespaces/diff-server/deployments',
		{body: {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd'}, spec: {replicas: 'two'}}});

	await k.case('an unknown media type, create', 'POST', CM, {headers: {'content-type': 'text/csv'},
		body: 'a,b'});
	await k.case('an unknown media type, patch', 'PATCH', `${CM}/bare`,
		{headers: {'content-type': 'text/csv'}, body: 'a,b'});
	await k.case('plain JSON as a patch', 'PATCH', `${CM}/bare`, {body: {data: {a: 'b'}}});
	await k.case('accept what is not served', 'GET', CM, {headers: {accept: 'text/csv'}, text: false});
	await k.case('accept anything', 'GET', `${CM}/bare`, {headers: {accept: '*/*'}, type: true});
	await k.case('accept in order', 'GET', `${CM}/bare`, {type: true,
		headers: {accept: 'text/csv, application/json'}});
	await k.case('a body as YAML', 'POST', CM, {headers: {'content-type': 'application/yaml'},
		body: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: "1"\n'});
	await k.case('a body that is too large', 'POST', CM, {body: configMap('big', {a: 'x'.repeat(3200000)})});
	await k.case('data that is too large', 'POST', CM, {body: configMap('big', {a: 'x'.repeat(1100000)}),
		only: []});
}
