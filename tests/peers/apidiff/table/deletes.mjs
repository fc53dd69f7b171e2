// Deletion: preconditions, propagation, finalizers, grace, collections, namespaces.
import {configMap, names, PATCH, pod} from '../make.mjs';

const NS = 'diff-deletes';
const CM = `/api/v1/namespaces/${NS}/configmaps`;
const options = more => ({body: {kind: 'DeleteOptions', apiVersion: 'v1', ...more}});

export async function deletes(k)
{
	await k.namespace(NS);
	const a = await k.set('POST', CM, configMap('a'));

	await k.case('delete with another uid', 'DELETE', `${CM}/a`, options({preconditions: {uid: '11111111-1111-1111-1111-111111111111'}}));
	await k.case('delete with another version', 'DELETE', `${CM}/a`, options({preconditions: {resourceVersion: '1'}}));
	await k.case('delete with both', 'DELETE', `${CM}/a`, options({preconditions: {uid: a.metadata.uid,
		resourceVersion: a.metadata.resourceVersion}}));
	await k.case('delete again', 'DELETE', `${CM}/a`);
	await k.set('POST', CM, configMap('b'));
	await k.case('delete, an unknown policy', 'DELETE', `${CM}/b?propagationPolicy=Some`);
	await k.case('delete, an unknown policy in the body', 'DELETE', `${CM}/b`, options({propagationPolicy: 'Some'}));
	await k.case('delete, orphans and a policy', 'DELETE', `${CM}/b`, options({propagationPolicy: 'Orphan', orphanDependents: true}));
	await k.case('delete, not JSON', 'DELETE', `${CM}/b`, {body: '{'});
	await k.case('delete, another kind as options', 'DELETE', `${CM}/b`, {body: configMap('b')});
	await k.case('delete, options without a kind', 'DELETE', `${CM}/b`, {body: {gracePeriodSeconds: 0}});
	await k.set('POST', CM, configMap('held', {}, {finalizers: ['diff.example.com/hold']}));
	await k.case('delete what is held', 'DELETE', `${CM}/held`);
	await k.case('get what is held', 'GET', `${CM}/held`, {also: r => [Boolean(r.body.metadata.deletionTimestamp),
		r.body.metadata.deletionGracePeriodSeconds]});
	await k.case('delete what is held again', 'DELETE', `${CM}/held`, {also: r => r.body.kind});
	await k.case('a held one takes changes', 'PATCH', `${CM}/held`, {...PATCH.merge, body: {data: {a: 'b'}}, only: ['data']});
	await k.case('a held one takes no finalizers', 'PATCH', `${CM}/held`, {...PATCH.merge, body: {metadata: {finalizers: ['diff.example.com/hold', 'diff.example.com/more']}}});
	await k.case('a name that is held', 'POST', CM, {body: configMap('held')});
	await k.case('let it go', 'PATCH', `${CM}/held`, {...PATCH.merge, body: {metadata: {finalizers: null}}, also: r => r.body.metadata.name});
	await k.case('it is gone', 'GET', `${CM}/held`);
}

export async function owners(k)
{
	const owner = async name => {
		const o = await k.set('POST', CM, configMap(name));

		await k.set('POST', CM, configMap(`${name}-child`, {}, {ownerReferences: [{apiVersion: 'v1', kind: 'ConfigMap', name,
			uid: o.metadata.uid, blockOwnerDeletion: true, controller: true}]}));
	};
	const gone = name => k.until(`${CM}/${name}`, r => r.status === 404);

	await owner('bg');
	await k.case('delete in the background', 'DELETE', `${CM}/bg?propagationPolicy=Background`);
	await gone('bg-child');
	await owner('fg');
	await k.case('delete in the foreground', 'DELETE', `${CM}/fg?propagationPolicy=Foreground`, {drop: ['metadata.managedFields']});
	await gone('fg');
	await k.case('the child went first', 'GET', `${CM}/fg-child`);
	await owner('or');
	await k.case('delete and orphan', 'DELETE', `${CM}/or`, {...options({propagationPolicy: 'Orphan'}), only: ['metadata.finalizers']});
	await gone('or');
	await k.case('the orphan', 'GET', `${CM}/or-child`, {also: r => r.body.metadata.ownerReferences ?? null});
	await k.set('POST', CM, configMap('lost', {}, {ownerReferences: [{apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody',
		uid: '11111111-1111-1111-1111-111111111111'}]}));
	await gone('lost');
	await k.case('an orphan of nobody goes', 'GET', `${CM}/lost`);
	await k.case('two controllers', 'POST', CM, {body: configMap('two', {}, {ownerReferences: ['a', 'b'].map((n, i) => ({apiVersion: 'v1',
		kind: 'ConfigMap', name: n, uid: `${i}1111111-1111-1111-1111-111111111111`, controller: true}))})});
}

export async function collections(k)
{
	for (const name of ['c1', 'c2', 'c3'])
		await k.set('POST', CM, configMap(name, {}, {labels: {set: name === 'c3' ? 'other' : 'this'}}));
	await k.case('delete a collection', 'DELETE', `${CM}?labelSelector=set=this`, {also: r => [r.body.kind, r.body.apiVersion, names(r)]});
	await k.case('what is left of it', 'GET', `${CM}?labelSelector=set`, {also: names});
	await k.case('delete a collection by field', 'DELETE', `${CM}?fieldSelector=metadata.name=c3`, {also: r => names(r)});
	await k.case('delete an empty collection', 'DELETE', `${CM}?labelSelector=set`, {also: r => [r.body.kind, names(r)]});
	await k.case('delete a collection, an odd selector', 'DELETE', `${CM}?labelSelector=a%20b`);
}

export async function pods(k)
{
	const PODS = `/api/v1/namespaces/${NS}/pods`;

	await k.set('POST', PODS, pod('p1'));
	await k.case('delete a pod that runs nowhere', 'DELETE', `${PODS}/p1`, {also: r => [r.body.kind, r.body.metadata.deletionGracePeriodSeconds ?? null]});
	await k.case('it went at once', 'GET', `${PODS}/p1`);
	await k.set('POST', PODS, pod('p2'));
	await k.case('delete a pod by force', 'DELETE', `${PODS}/p2?gracePeriodSeconds=0`, {also: r => r.body.kind});
	await k.set('POST', PODS, pod('p3'));
	await k.case('delete a pod, a negative grace', 'DELETE', `${PODS}/p3?gracePeriodSeconds=-1`, {also: r => r.body.kind});
	await k.case('delete a pod, an odd grace', 'DELETE', `${PODS}/p3?gracePeriodSeconds=x`);
}

export async function namespaces(k)
{
	const N = '/api/v1/namespaces';

	await k.case('delete the default namespace', 'DELETE', `${N}/default`);
	await k.case('delete kube-system', 'DELETE', `${N}/kube-system`);
	await k.namespace('diff-gone');
	await k.set('POST', `${N}/diff-gone/configmaps`, configMap('held', {}, {finalizers: ['diff.example.com/hold']}));
	await k.case('delete a namespace', 'DELETE', `${N}/diff-gone`, {drop: ['metadata.managedFields'], status: false});
	await k.case('a namespace that goes', 'GET', `${N}/diff-gone`, {also: r => [r.body.status.phase, r.body.spec.finalizers,
		Boolean(r.body.metadata.deletionTimestamp), r.body.metadata.deletionGracePeriodSeconds ?? null]});
	await k.case('nothing new in it', 'POST', `${N}/diff-gone/configmaps`, {body: configMap('late')});
	await k.case('nothing applied in it', 'PATCH', `${N}/diff-gone/configmaps/late?fieldManager=diff`, {...PATCH.apply, body: configMap('late')});
	await k.case('delete it again', 'DELETE', `${N}/diff-gone`, {only: ['kind']});
	await k.set('PATCH', `${N}/diff-gone/configmaps/held`, {metadata: {finalizers: null}}, PATCH.merge);
	await k.until(`${N}/diff-gone`, r => r.status === 404);
	await k.case('it has gone', 'GET', `${N}/diff-gone`);
	await k.case('finalize without an end', 'PUT', `${N}/${NS}/finalize`, {body: {apiVersion: 'v1', kind: 'Namespace', metadata: {name: NS},
		spec: {finalizers: ['kubernetes']}}, only: ['spec']});
}
