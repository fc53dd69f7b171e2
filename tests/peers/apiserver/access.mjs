// Who may what: EKS tokens, access entries, access policies, RBAC.
import assert from 'node:assert/strict';
import {waitFor} from '../../stack/stack.mjs';
import {ok, refused} from './expect.mjs';

const maps = ns => ({api: 'v1', plural: 'configmaps', ns});

/* A role of the account, assumed; gives its ARN and keys. */
async function assumed(w, name)
{
	const {Account} = await w.aws(['sts', 'get-caller-identity']);
	const {Role} = await w.aws(['iam', 'create-role', '--role-name', name, '--assume-role-policy-document',
		JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Allow', Principal: {AWS: Account},
			Action: 'sts:AssumeRole'}]})]);
	const {Credentials: c} = await waitFor('AssumeRole', () => w.aws(['sts', 'assume-role', '--role-arn', Role.Arn,
		'--role-session-name', 'someone']), 20000, 300);

	return {arn: Role.Arn, keys: {AWS_ACCESS_KEY_ID: c.AccessKeyId, AWS_SECRET_ACCESS_KEY: c.SecretAccessKey,
		AWS_SESSION_TOKEN: c.SessionToken}};
}

const entry = (w, verb, arn, ...more) => w.aws(['eks', verb, '--cluster-name', 'client', '--principal-arn', arn, ...more]);
const policy = name => ['--policy-arn', `arn:aws:eks::aws:cluster-access-policy/${name}`];

export const cases = {
	async 'access entries, policies and RBAC'(w) {
		const {arn, keys} = await assumed(w, 'someone');
		const {ask} = w.another(keys);
		const get = {do: 'get', ...maps(w.ns), name: 'kube-root-ca.crt'};
		const soon = (what, test) => waitFor(what, test, 20000, 300);

		await soon('the namespace has its map', async () => (await w.ask(get)).ok);
		/* EKS does not know who that is. */
		refused(await ask(get), 401, 'Unauthorized', 'credentials');
		await entry(w, 'create-access-entry', arn, '--kubernetes-groups', 'readers');
		await soon('the entry is there', async () => (await ask(get)).status === 403);
		const denied = refused(await ask(get), 403, 'Forbidden', 'cloud-denied');

		assert.match(denied.message, /User "arn:aws:sts::\d+:assumed-role\/someone\/someone" cannot get resource "configmaps"/);
		/* A group of the entry, bound by the cluster's own RBAC. */
		const rbac = 'rbac.authorization.k8s.io/v1';

		ok(await w.ask({do: 'apply', api: rbac, plural: 'roles', ns: w.ns, name: 'reader', body: {apiVersion: rbac,
			kind: 'Role', metadata: {name: 'reader'}, rules: [{apiGroups: [''], resources: ['configmaps'], verbs: ['get']}]}}));
		ok(await w.ask({do: 'apply', api: rbac, plural: 'rolebindings', ns: w.ns, name: 'reader', body: {apiVersion: rbac,
			kind: 'RoleBinding', metadata: {name: 'reader'}, roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'Role',
				name: 'reader'}, subjects: [{apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'readers'}]}}));
		await soon('RBAC allows it', async () => (await ask(get)).ok);
		refused(await ask({do: 'list', ...maps(w.ns)}), 403, 'Forbidden', 'cloud-denied');
		/* A policy of EKS for a namespace alone. */
		await entry(w, 'associate-access-policy', arn, ...policy('AmazonEKSEditPolicy'), '--access-scope',
			`type=namespace,namespaces=${w.ns}`);
		await soon('the policy allows it', async () => (await ask({do: 'list', ...maps(w.ns)})).ok);
		ok(await ask({do: 'apply', ...maps(w.ns), name: 'c', body: {apiVersion: 'v1', kind: 'ConfigMap',
			metadata: {name: 'c'}, data: {}}}));
		refused(await ask({do: 'list_all', ...maps('default')}), 403, 'Forbidden', 'cloud-denied');
		refused(await ask({do: 'list_all', api: 'v1', plural: 'nodes'}), 403, 'Forbidden', 'cloud-denied');
		await entry(w, 'associate-access-policy', arn, ...policy('AmazonEKSViewPolicy'), '--access-scope', 'type=cluster');
		await soon('it may look', async () => (await ask({do: 'list', ...maps('default')})).ok);
		refused(await ask({do: 'delete', ...maps('kube-system'), name: 'kube-root-ca.crt'}), 403, 'Forbidden', 'cloud-denied');
		refused(await ask({do: 'list', api: 'v1', plural: 'secrets', ns: 'kube-system'}), 403, 'Forbidden', 'cloud-denied');
		await entry(w, 'delete-access-entry', arn);
		await soon('the entry has gone', async () => (await ask(get)).status === 401);
	},
	async 'a token for another cluster'(w) {
		const r = await w.plane.request('GET', '/api/v1/nodes', undefined, {token: await other(w)});

		assert.equal(r.status, 401);
	},
	async 'our own rights'(w) {
		const body = (verb, resource) => ({apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview',
			metadata: {}, spec: {resourceAttributes: {verb, resource, namespace: w.ns}}});
		const q = {do: 'create', api: 'authorization.k8s.io/v1', plural: 'selfsubjectaccessreviews'};

		assert.equal(ok(await w.ask({...q, body: body('delete', 'secrets')})).status.allowed, true);
	},
};

async function other(w)
{
	const {status} = await w.aws(['eks', 'get-token', '--cluster-name', 'other']);

	return status.token;
}
