// Lists: chunks, selectors, versions, other forms.
import {configMap, names, pod} from '../make.mjs';

const NS = 'diff-lists';
const CM = `/api/v1/namespaces/${NS}/configmaps`;
const TABLE = {headers: {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'}};
const META = {headers: {accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'}};
const METAS = {headers: {accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'}};
const brief = r => ({kind: r.body.kind, apiVersion: r.body.apiVersion, names: names(r),
	more: Boolean(r.body.metadata.continue), left: r.body.metadata.remainingItemCount ?? null,
	version: typeof r.body.metadata.resourceVersion});

export async function chunks(k)
{
	await k.namespace(NS);
	for (const [i, name] of ['c', 'a', 'e', 'b', 'd'].entries())
		await k.set('POST', CM, configMap(name, {n: String(i)}, {labels: {n: String(i), app: i % 2 ? 'odd' : 'even',
			...(i === 4 ? {only: 'here'} : {})}}));
	const only = 'fieldSelector=metadata.name!=kube-root-ca.crt';

	await k.case('list', 'GET', `${CM}?${only}`, {also: brief});
	await k.case('list, one item as it is', 'GET', `${CM}?fieldSelector=metadata.name=a`, {drop: ['metadata.resourceVersion']});
	const first = await k.case('list, limit', 'GET', `${CM}?limit=2`, {also: brief});
	const token = encodeURIComponent(first.body.metadata.continue);

	await k.set('POST', CM, configMap('a2'));
	const second = await k.case('list, continue', 'GET', `${CM}?limit=2&continue=${token}`, {also: r => [brief(r),
		r.body.metadata.resourceVersion === first.body.metadata.resourceVersion]});

	await k.case('list, to the end', 'GET', `${CM}?continue=${encodeURIComponent(second.body.metadata.continue)}`, {also: brief});
	await k.case('list, limit and selector', 'GET', `${CM}?limit=2&labelSelector=app=even`, {also: brief});
	await k.case('list, limit over all', 'GET', `${CM}?limit=100`, {also: brief});
	await k.case('list, no such token', 'GET', `${CM}?limit=2&continue=bogus`);
	await k.case('list, limit is no number', 'GET', `${CM}?limit=x`);
	await k.case('list, a negative limit', 'GET', `${CM}?limit=-1`, {also: brief});
	await k.case('list, continue with a version', 'GET', `${CM}?limit=2&resourceVersion=1&continue=${token}`);
	await k.case('list, all namespaces', 'GET', `/api/v1/configmaps?labelSelector=app`, {also: r =>
		r.body.items.map(i => `${i.metadata.namespace}/${i.metadata.name}`)});
	await k.case('HEAD', 'HEAD', `${CM}/a`, {text: false});
}

export async function selectors(k)
{
	for (const s of ['app=even', 'app==even', 'app!=even', 'app', '!app', 'app in (odd,even)', 'app notin (odd)',
		'app=even,n=2', 'n>2', 'n<1', 'only', 'app in ()', 'app=', '=x', 'app in (odd', 'a b', 'app=a b', ',', 'app=even,',
		'-x=1', 'app='.concat('v'.repeat(64))])
		await k.case(`labels ${s.length > 60 ? 'too long' : s}`, 'GET', `${CM}?labelSelector=${encodeURIComponent(s)}`,
			{also: r => names(r).filter(n => !/kube-root/.test(n))});
	for (const s of ['metadata.name=a', 'metadata.name!=a', 'metadata.namespace=diff-lists', 'data.n=1', 'metadata.uid=x',
		'metadata.name', 'metadata.name=a,metadata.name=b', 'metadata.name in (a)'])
		await k.case(`fields ${s}`, 'GET', `${CM}?fieldSelector=${encodeURIComponent(s)}`,
			{also: r => names(r).filter(n => !/kube-root/.test(n))});
	const PODS = `/api/v1/namespaces/${NS}/pods`;

	await k.set('POST', PODS, pod('p1', {restartPolicy: 'Never'}));
	for (const s of ['spec.restartPolicy=Never', 'spec.nodeName=', 'status.phase=Pending', 'spec.nodeName=n1',
		'spec.schedulerName=default-scheduler', 'spec.serviceAccountName=default', 'status.podIP=', 'spec.hostNetwork=false',
		'spec.priority=0', 'status.nominatedNodeName='])
		await k.case(`pods by ${s}`, 'GET', `${PODS}?fieldSelector=${encodeURIComponent(s)}`, {also: names});
	const of = (path, s) => k.case(`${path.split('/').pop()} by ${s}`, 'GET',
		`${path}?fieldSelector=${encodeURIComponent(s)}`, {also: r => r.body.items.length >= 0});

	await of('/api/v1/nodes', 'spec.unschedulable=false');
	await of('/api/v1/nodes', 'status.phase=x');
	await of('/api/v1/secrets', 'type=helm.sh/release.v1');
	await of('/api/v1/namespaces', 'status.phase=Active');
	await of('/api/v1/events', 'involvedObject.name=x');
	await of('/api/v1/events', 'reason=x,type=Warning,involvedObject.kind=Pod,involvedObject.uid=x');
	await of('/api/v1/persistentvolumes', 'status.phase=Bound');
	await of('/apis/apps/v1/deployments', 'spec.replicas=1');
	await of('/apis/batch/v1/jobs', 'status.successful=1');
}

export async function versions(k)
{
	const CMS = `${CM}?limit=1`;
	const now = (await k.set('GET', CM)).metadata.resourceVersion;

	await k.case('list at 0', 'GET', `${CM}?resourceVersion=0&labelSelector=app`, {also: names});
	await k.case('list at now', 'GET', `${CM}?resourceVersion=${now}&labelSelector=app`, {also: names});
	await k.case('list at the exact version', 'GET',
		`${CM}?resourceVersion=${now}&resourceVersionMatch=Exact&labelSelector=app`, {also: r => [names(r),
			r.body.metadata.resourceVersion === now]});
	await k.set('DELETE', `${CM}/a2`);
	await k.case('list at an exact version of the past', 'GET',
		`${CM}?resourceVersion=${now}&resourceVersionMatch=Exact`, {also: r => names(r).includes('a2')});
	await k.case('list not older than', 'GET',
		`${CM}?resourceVersion=${now}&resourceVersionMatch=NotOlderThan&labelSelector=app`, {also: names});
	await k.case('list, a match without a version', 'GET', `${CM}?resourceVersionMatch=Exact`);
	await k.case('list, exactly 0', 'GET', `${CM}?resourceVersion=0&resourceVersionMatch=Exact`);
	await k.case('list, an unknown match', 'GET', `${CM}?resourceVersion=1&resourceVersionMatch=Some`);
	await k.case('list, an odd version', 'GET', `${CM}?resourceVersion=x`);
	await k.case('list of the future', 'GET', `${CM}?resourceVersion=99999999`);
	await k.case('get at 0', 'GET', `${CM}/a?resourceVersion=0`, {also: r => r.body.data});
	await k.case('get of the future', 'GET', `${CM}/a?resourceVersion=99999999`);
	await k.case('get, an odd version', 'GET', `${CM}/a?resourceVersion=x`);
	await k.case('list, sendInitialEvents', 'GET', `${CMS}&sendInitialEvents=true`);
}

export async function forms(k)
{
	const tables = {
		configmaps: `${CM}?labelSelector=only`, namespaces: `/api/v1/namespaces?fieldSelector=metadata.name=${NS}`,
		pods: `/api/v1/namespaces/${NS}/pods`, serviceaccounts: `/api/v1/namespaces/${NS}/serviceaccounts`,
	};

	for (const [name, path] of Object.entries(tables))
		await k.case(`table of ${name}`, 'GET', path, {...TABLE, also: r => ({kind: r.body.kind, apiVersion: r.body.apiVersion,
			columns: r.body.columnDefinitions.map(c => [c.name, c.type, c.format, c.priority]),
			cells: r.body.rows.map(row => row.cells.map((c, i) => (r.body.columnDefinitions[i].name === 'Age' ? '<age>' : c))),
			object: r.body.rows[0]?.object?.kind ?? null})});
	for (const [name, path] of Object.entries({nodes: '/api/v1/nodes', secrets: '/api/v1/secrets', services: '/api/v1/services',
		events: '/api/v1/events', persistentvolumes: '/api/v1/persistentvolumes',
		persistentvolumeclaims: '/api/v1/persistentvolumeclaims', deployments: '/apis/apps/v1/deployments',
		daemonsets: '/apis/apps/v1/daemonsets', statefulsets: '/apis/apps/v1/statefulsets', replicasets: '/apis/apps/v1/replicasets',
		jobs: '/apis/batch/v1/jobs', cronjobs: '/apis/batch/v1/cronjobs', storageclasses: '/apis/storage.k8s.io/v1/storageclasses',
		poddisruptionbudgets: '/apis/policy/v1/poddisruptionbudgets', leases: '/apis/coordination.k8s.io/v1/leases',
		roles: '/apis/rbac.authorization.k8s.io/v1/roles', rolebindings: '/apis/rbac.authorization.k8s.io/v1/rolebindings',
		crds: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'}))
		await k.case(`columns of ${name}`, 'GET', path, {...TABLE, also: r =>
			r.body.columnDefinitions.map(c => [c.name, c.type, c.format, c.priority])});
	await k.case('table of one', 'GET', `${CM}/a`, {...TABLE, also: r => [r.body.kind, r.body.rows.length,
		r.body.rows[0].cells.slice(0, 2)]});
	await k.case('table with whole objects', 'GET', `${CM}?labelSelector=only&includeObject=Object`, {...TABLE,
		also: r => r.body.rows[0].object.data});
	await k.case('table with no objects', 'GET', `${CM}?labelSelector=only&includeObject=None`, {...TABLE,
		also: r => r.body.rows[0].object ?? null});
	await k.case('metadata of one', 'GET', `${CM}/a`, {...META, type: true});
	await k.case('metadata of a list', 'GET', `${CM}?labelSelector=only`, {...METAS, drop: ['metadata.resourceVersion']});
	await k.case('pretty', 'GET', `${CM}/a?pretty=true`, {also: r => r.text.includes('\n  "kind"')});
}
