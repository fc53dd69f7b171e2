// Who may do what: tokens, impersonation, roles, reviews.
import {configMap, meta, PATCH} from '../make.mjs';

const NS = 'diff-access';
const IN = `/api/v1/namespaces/${NS}`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const as = (user, ...groups) => ({headers: {'impersonate-user': user, ...(groups.length ? {'impersonate-group': groups[0]} : {})}});
const role = (kind, name, rules) => ({apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata: meta(name), rules});
const binding = (kind, name, ref, subjects) => ({apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata: meta(name),
	roleRef: {apiGroup: 'rbac.authorization.k8s.io', ...ref}, subjects});

export async function strangers(k)
{
	await k.namespace(NS);
	await k.case('a token that is none', 'GET', `${IN}/configmaps`, {headers: {authorization: 'Bearer nothing'}});
	await k.case('an odd scheme', 'GET', `${IN}/configmaps`, {headers: {authorization: 'Basic eDp5'}});
	await k.case('the version, for a token that is none', 'GET', '/version', {headers: {authorization: 'Bearer nothing'}});
	await k.case('health, for a token that is none', 'GET', '/healthz', {headers: {authorization: 'Bearer nothing'}});
}

export async function roles(k)
{
	const get = (name, path, user, o = {}) => k.case(`may: ${name}`, 'GET', path, {...user, only: ['kind'], ...o});
	const alice = as('diff-alice');

	await get('nothing', `${IN}/configmaps`, alice);
	await get('not one', `${IN}/configmaps/c`, alice);
	await get('not in a cluster', '/api/v1/nodes', alice);
	await get('not all namespaces', '/api/v1/configmaps', alice);
	await get('not of a group', `/apis/apps/v1/namespaces/${NS}/deployments`, alice);
	await get('not a subresource', `${IN}/pods/p/log`, alice);
	await get('discovery', '/api', as('diff-alice', 'system:authenticated'));
	await get('not another path', '/metrics', alice);
	await k.case('may: not create', 'POST', `${IN}/configmaps`, {...alice, body: configMap('c')});
	await k.case('may: not update', 'PUT', `${IN}/configmaps/c`, {...alice, body: configMap('c')});
	await k.case('may: not patch', 'PATCH', `${IN}/configmaps/c`, {headers: {...alice.headers, ...PATCH.merge.headers}, body: {}});
	await k.case('may: not delete', 'DELETE', `${IN}/configmaps/c`, alice);
	await k.case('may: not delete all', 'DELETE', `${IN}/configmaps`, alice);
	await k.case('may: not watch', 'GET', `${IN}/configmaps?watch=true&timeoutSeconds=1`, alice);
	await k.case('may: not evict', 'POST', `${IN}/pods/p/eviction`, {...alice, body: {}});
	await k.set('POST', `${RBAC}/namespaces/${NS}/roles`, role('Role', 'reader', [
		{apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list']},
		{apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get']},
		{apiGroups: ['apps'], resources: ['*'], verbs: ['*']},
		{apiGroups: [''], resources: ['pods/log'], verbs: ['get']}]));
	await k.set('POST', `${RBAC}/namespaces/${NS}/rolebindings`, binding('RoleBinding', 'reader', {kind: 'Role', name: 'reader'}, [
		{kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'diff-alice'},
		{kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'diff-team'},
		{kind: 'ServiceAccount', name: 'default', namespace: NS}]));
	await k.until(`${IN}/configmaps`, r => r.status === 200);
	for (let i = 0; i < 100 && (await k.ask('GET', `${IN}/configmaps`, alice)).status !== 200; i++)
		await new Promise(r => setTimeout(r, 100));
	await get('list', `${IN}/configmaps`, alice);
	await get('list elsewhere', '/api/v1/namespaces/default/configmaps', alice);
	await get('one by name', `${IN}/secrets/mine`, alice);
	await get('another by name', `${IN}/secrets/yours`, alice);
	await get('all in a group', `/apis/apps/v1/namespaces/${NS}/deployments`, alice);
	await get('a subresource', `${IN}/pods/p/log`, alice);
	await get('not the resource', `${IN}/pods/p`, alice);
	await get('by group', `${IN}/configmaps`, as('diff-bob', 'diff-team'));
	await get('by account', `${IN}/configmaps`, as(`system:serviceaccount:${NS}:default`));
	await get('by another account', `${IN}/configmaps`, as('system:serviceaccount:default:default'));
	await get('as a master', '/api/v1/nodes', as('diff-carol', 'system:masters'));
	await k.set('POST', `${RBAC}/clusterroles`, role('ClusterRole', 'diff-nodes', [{apiGroups: [''], resources: ['nodes'], verbs: ['list']}]));
	await k.set('POST', `${RBAC}/clusterrolebindings`, binding('ClusterRoleBinding', 'diff-nodes', {kind: 'ClusterRole', name: 'diff-nodes'}, [
		{kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'diff-alice'}]));
	for (let i = 0; i < 100 && (await k.ask('GET', '/api/v1/nodes', alice)).status !== 200; i++)
		await new Promise(r => setTimeout(r, 100));
	await get('nodes by a cluster role', '/api/v1/nodes', alice);
	await k.case('may: not give what it has not', 'POST', `${RBAC}/namespaces/${NS}/roles`, {...alice, body: role('Role', 'more', [
		{apiGroups: [''], resources: ['secrets'], verbs: ['*']}])});
	await k.case('may: not impersonate', 'GET', `${IN}/configmaps`, {headers: {'impersonate-group': 'x'}});
}

export async function reviews(k)
{
	const ask = (user, attributes) => ({...user, body: {apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: attributes}});
	const AT = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
	const alice = as('diff-alice', 'system:authenticated');
	const of = (namespace, verb, resource, more = {}) => ({resourceAttributes: {namespace, verb, resource, ...more}});

	await k.case('review: admin', 'POST', AT, {...ask({}, of(NS, 'create', 'pods')), also: r => r.body.status.allowed});
	await k.case('review: whole', 'POST', AT, {...ask(alice, of(NS, 'create', 'pods')), drop: ['metadata.managedFields']});
	for (const [name, a] of Object.entries({'list': of(NS, 'list', 'configmaps'), 'elsewhere': of('default', 'list', 'configmaps'),
		'one by name': of(NS, 'get', 'secrets', {name: 'mine'}), 'another by name': of(NS, 'get', 'secrets', {name: 'yours'}),
		'a group': of(NS, 'delete', 'deployments', {group: 'apps'}), 'a subresource': of(NS, 'get', 'pods', {subresource: 'log'}),
		'nodes': of('', 'list', 'nodes'), 'no such resource': of(NS, 'get', 'nothings'),
		'a path': {nonResourceAttributes: {path: '/healthz', verb: 'get'}}}))
		await k.case(`review: ${name}`, 'POST', AT, {...ask(alice, a), also: r => r.body.status.allowed});
	await k.case('review: nothing asked', 'POST', AT, ask({}, {}));
	await k.case('review: both asked', 'POST', AT, ask({}, {...of(NS, 'get', 'pods'), nonResourceAttributes: {path: '/', verb: 'get'}}));
	await k.case('review: get', 'GET', AT, {text: false});
	await k.case('review: who am I', 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {...alice,
		body: {apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview'}, also: r => [r.body.status.userInfo.username,
			[...r.body.status.userInfo.groups ?? []].sort()]});
	await k.case('review: rules', 'POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {...as('diff-alice'),
		body: {apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: {namespace: NS}}, also: r => [
			r.body.status.incomplete, r.body.status.resourceRules.filter(x => (x.resources ?? []).some(y => /configmaps|secrets/.test(y)))]});
	const token = (await k.set('POST', `${IN}/serviceaccounts/default/token`, {spec: {}})).status.token;
	const bearer = {headers: {authorization: `Bearer ${token}`}};

	await k.case('a token of an account', 'GET', `${IN}/configmaps`, {...bearer, only: ['kind']});
	await k.case('a token of an account, refused', 'GET', `${IN}/secrets`, bearer);
	await k.case('a token of an account, who', 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {...bearer, body: {},
		also: r => [r.body.status.userInfo.username, [...r.body.status.userInfo.groups].sort()]});
	await k.set('DELETE', `${RBAC}/clusterrolebindings/diff-nodes`);
	await k.set('DELETE', `${RBAC}/clusterroles/diff-nodes`);
}
