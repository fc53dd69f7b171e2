// Server-side apply: who owns what, conflicts, force, dry runs, giving up.
import {configMap, PATCH, pod, workload} from '../make.mjs';

const NS = 'diff-applies';
const CM = `/api/v1/namespaces/${NS}/configmaps`;
const DEPLOY = `/apis/apps/v1/namespaces/${NS}/deployments`;
const apply = (k, name, path, manager, body, more = {}) => k.case(name, 'PATCH',
	`${path}${path.includes('?') ? '&' : '?'}fieldManager=${manager}`, {...PATCH.apply, body, ...more});
const owners = r => Object.fromEntries((r.body.metadata.managedFields ?? []).filter(m => !/^kube/.test(m.manager))
	.map(m => [`${m.manager} ${m.operation} ${m.subresource ?? ''}`.trim(), m.fieldsV1]));

export async function applies(k)
{
	await k.namespace(NS);
	await apply(k, 'apply makes', `${CM}/a`, 'one', configMap('a', {x: '1', y: '2'}, {labels: {l: 'v'}}));
	const before = await k.set('GET', `${CM}/a`);

	await apply(k, 'apply again', `${CM}/a`, 'one', configMap('a', {x: '1', y: '2'}, {labels: {l: 'v'}}),
		{whole: true, also: r => r.body.metadata.resourceVersion === before.metadata.resourceVersion});
	await apply(k, 'apply gives up a field', `${CM}/a`, 'one', configMap('a', {x: '1'}, {labels: {l: 'v'}}));
	await apply(k, 'apply conflicts', `${CM}/a`, 'two', configMap('a', {x: '9'}));
	await apply(k, 'apply conflicts, two fields', `${CM}/a`, 'two', configMap('a', {x: '9'}, {labels: {l: 'w'}}));
	await apply(k, 'apply agrees', `${CM}/a`, 'two', configMap('a', {x: '1', z: '3'}));
	await apply(k, 'apply gives up what another owns', `${CM}/a`, 'two', configMap('a', {z: '3'}));
	await apply(k, 'apply by force', `${CM}/a?force=true`, 'two', configMap('a', {x: '9', z: '3'}));
	await apply(k, 'apply after force conflicts', `${CM}/a`, 'one', configMap('a', {x: '1'}, {labels: {l: 'v'}}));
	await apply(k, 'apply, dry run', `${CM}/a?dryRun=All&force=true`, 'one', configMap('a', {x: '7'}), {only: ['data']});
	await apply(k, 'apply, dry run of a conflict', `${CM}/a?dryRun=All`, 'one', configMap('a', {x: '7'}));
	await apply(k, 'apply, dry run of a new one', `${CM}/new?dryRun=All`, 'one', configMap('new', {x: '7'}), {only: ['data']});
	await k.case('apply, dry run left nothing', 'GET', `${CM}/new`);
	await k.case('update after apply', 'PUT', `${CM}/a?fieldManager=editor`, {body: configMap('a', {x: '10', z: '3'}, {labels: {l: 'v'}})});
	await apply(k, 'apply against an update', `${CM}/a`, 'two', configMap('a', {x: '9', z: '3'}));
	await apply(k, 'apply of nothing', `${CM}/a`, 'two', configMap('a'), {});
	await apply(k, 'apply with the version', `${CM}/a`, 'v', configMap('a', {v: '1'}, {resourceVersion: before.metadata.resourceVersion}));
	await apply(k, 'apply with a uid', `${CM}/a`, 'v', configMap('a', {v: '1'}, {uid: '11111111-1111-1111-1111-111111111111'}));
	await apply(k, 'apply of a new one with a uid', `${CM}/newuid`, 'v', configMap('newuid', {v: '1'}, {uid: '11111111-1111-1111-1111-111111111111'}));
	await apply(k, 'apply of a new one with a version', `${CM}/newrv`, 'v', configMap('newrv', {v: '1'}, {resourceVersion: '7'}));
	await k.case('apply without a manager', 'PATCH', `${CM}/a`, {...PATCH.apply, body: configMap('a')});
	await apply(k, 'apply with a long manager', `${CM}/a`, 'm'.repeat(129), configMap('a'));
	await apply(k, 'apply with managed fields', `${CM}/a`, 'one', configMap('a', {}, {managedFields: [{manager: 'x', operation: 'Apply',
		apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {}}]}));
	await apply(k, 'apply without a kind', `${CM}/a`, 'one', {metadata: {name: 'a'}});
	await apply(k, 'apply of another kind', `${CM}/a`, 'one', {...configMap('a'), kind: 'Secret'});
	await apply(k, 'apply of another name', `${CM}/a`, 'one', configMap('b'));
	await apply(k, 'apply without a name', `${CM}/noname`, 'one', {apiVersion: 'v1', kind: 'ConfigMap', data: {a: 'b'}}, {only: ['metadata.name', 'data']});
	await apply(k, 'apply of what is not YAML', `${CM}/a`, 'one', 'a: b: c:');
	await apply(k, 'apply as YAML', `${CM}/yaml`, 'one', 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: "1"\n', {only: ['data']});
	await apply(k, 'apply of what is invalid', `${CM}/a`, 'one', configMap('a', {'a b': 'c'}));
	await apply(k, 'apply of a wrong type', `${CM}/a`, 'one', {...configMap('a'), data: {x: 5}});
	await apply(k, 'apply to no namespace', '/api/v1/namespaces/nowhere/configmaps/a', 'one', configMap('a'));
	await apply(k, 'apply with force twice', `${CM}/a?force=maybe`, 'one', configMap('a'));
	await k.case('force without apply', 'PATCH', `${CM}/a?force=true`, {...PATCH.merge, body: {data: {q: 'r'}}});
}

export async function ownership(k)
{
	const spec = (more = {}) => workload('Deployment', 'd', {replicas: undefined, ...more}, {containers: [{name: 'main', image: 'a:1',
		env: [{name: 'A', value: '1'}, {name: 'B', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}}],
		ports: [{containerPort: 80, protocol: 'TCP'}], args: ['x'], resources: {limits: {cpu: '1', 'nvidia.com/gpu': 1}},
		volumeMounts: [{name: 'v', mountPath: '/v'}], securityContext: {capabilities: {add: ['X']}},
		readinessProbe: {httpGet: {path: '/', port: 80}}}],
	volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'c'}}, {name: 'm', emptyDir: {}}],
	tolerations: [{key: 'a', operator: 'Exists'}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
		{nodeSelectorTerms: [{matchExpressions: [{key: 'a', operator: 'Exists'}]}]}}}, imagePullSecrets: [{name: 's'}]});

	await apply(k, 'apply a deployment', `${DEPLOY}/d`, 'one', spec());
	await k.case('replicas by another', 'PATCH', `${DEPLOY}/d?fieldManager=scaler`, {...PATCH.merge, body: {spec: {replicas: 0}}, also: owners});
	await apply(k, 'apply without replicas', `${DEPLOY}/d`, 'one', spec(), {also: r => r.body.spec.replicas});
	await apply(k, 'apply with replicas conflicts', `${DEPLOY}/d`, 'one', spec({replicas: 2}));
	await k.case('scale by another', 'PATCH', `${DEPLOY}/d/scale?fieldManager=hpa`, {...PATCH.merge, body: {spec: {replicas: 0}}, only: ['spec']});
	await k.case('scale to one, then back', 'PATCH', `${DEPLOY}/d/scale?fieldManager=hpa`, {...PATCH.merge, body: {spec: {replicas: 1}}, only: ['spec']});
	await k.case('who owns replicas', 'GET', `${DEPLOY}/d`, {also: r => Object.keys(owners(r)).sort().map(o => [o,
		Boolean(owners(r)[o]['f:spec']?.['f:replicas'])])});
	await apply(k, 'apply conflicts with a scale', `${DEPLOY}/d`, 'one', spec({replicas: 2}));
	await apply(k, 'apply takes an item of a list', `${DEPLOY}/d`, 'two', {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd'},
		spec: {template: {spec: {containers: [{name: 'main', env: [{name: 'C', value: '3'}]}]}}}}, {also: r => [owners(r),
		r.body.spec.template.spec.containers[0].env]});
	await apply(k, 'apply gives an item back', `${DEPLOY}/d`, 'two', {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd'},
		spec: {template: {spec: {containers: [{name: 'main', env: [{name: 'D', value: '4'}]}]}}}}, {also: r =>
		r.body.spec.template.spec.containers[0].env});
	await apply(k, 'apply conflicts in a list', `${DEPLOY}/d`, 'two', {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd'},
		spec: {template: {spec: {containers: [{name: 'main', image: 'b:1', env: [{name: 'A', value: '2'}], args: ['y']}]}}}});
	await apply(k, 'apply drops a container', `${DEPLOY}/d`, 'two', {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd'},
		spec: {template: {spec: {containers: [{name: 'extra', image: 'e:1'}]}}}}, {also: r => r.body.spec.template.spec.containers.map(c => c.name)});
	await apply(k, 'apply drops its container', `${DEPLOY}/d`, 'two', {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd', labels: {l: 'v'}}},
		{also: r => [r.body.spec.template.spec.containers.map(c => c.name), owners(r)['two Apply']]});
	await apply(k, 'apply a status', `${DEPLOY}/d/status`, 'one', {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd'},
		status: {conditions: [{type: 'Mine', status: 'True', lastUpdateTime: '2020-01-01T00:00:00Z', lastTransitionTime: '2020-01-01T00:00:00Z'}]}},
	{also: r => owners(r)['one Apply status']});
	await apply(k, 'apply of unknown fields of a deployment', `${DEPLOY}/d`, 'one', spec({bogus: 1}));
	await apply(k, 'apply of a container twice', `${DEPLOY}/d2`, 'one', workload('Deployment', 'd2', {}, {containers: [
		{name: 'a', image: 'a'}, {name: 'a', image: 'b'}]}));
	await apply(k, 'apply of a container without a name', `${DEPLOY}/d2`, 'one', workload('Deployment', 'd2', {}, {containers: [{image: 'a'}]}));
	await apply(k, 'apply of a pod', `/api/v1/namespaces/${NS}/pods/p`, 'one', pod('p'), {also: owners});
	await apply(k, 'apply of a pod that cannot change', `/api/v1/namespaces/${NS}/pods/p`, 'one', pod('p', {nodeSelector: {a: 'b'}}), {only: []});
	await k.set('POST', `${CM}?fieldManager=kubectl-create`, configMap('mig', {x: '1'}));
	await apply(k, 'apply over a create', `${CM}/mig`, 'kubectl', configMap('mig', {x: '1'}), {also: owners});
	await apply(k, 'apply over a create conflicts', `${CM}/mig`, 'kubectl', configMap('mig', {x: '2'}));
	for (const [kind, path, more] of [['Service', 'services', {spec: {ports: [{port: 80}], selector: {a: 'b'}}}],
		['ServiceAccount', 'serviceaccounts', {automountServiceAccountToken: false}], ['Secret', 'secrets', {stringData: {a: 'b'}}],
		['PersistentVolumeClaim', 'persistentvolumeclaims', {spec: {accessModes: ['ReadWriteMany'], storageClassName: '', volumeName: 'none',
			resources: {requests: {storage: '1Gi'}}}}]])
		await apply(k, `apply owns of a ${kind}`, `/api/v1/namespaces/${NS}/${path}/own`, 'one', {apiVersion: 'v1', kind, metadata: {name: 'own'}, ...more}, {also: owners});
	for (const [kind, path, more] of [['PersistentVolume', 'api/v1/persistentvolumes', {spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteMany'],
		mountOptions: ['region us-west-2'], claimRef: {namespace: NS, name: 'none'}, csi: {driver: 's3.csi.aws.com', volumeHandle: 'h', volumeAttributes: {a: 'b'}}}}],
	['StorageClass', 'apis/storage.k8s.io/v1/storageclasses', {provisioner: 'p.example.com', parameters: {a: 'b'}}],
	['ClusterRole', 'apis/rbac.authorization.k8s.io/v1/clusterroles', {rules: [{apiGroups: [''], resources: ['pods'], verbs: ['get']}]}],
	['ClusterRoleBinding', 'apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole',
		name: 'diff-own'}, subjects: [{kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'g'}]}],
	['Namespace', 'api/v1/namespaces', {}], ['Node', 'api/v1/nodes', {spec: {taints: [{key: 'a', effect: 'NoSchedule'}], unschedulable: true}}]])
		await apply(k, `apply owns of a ${kind}`, `/${path}/diff-own`, 'one', {apiVersion: path.replace(/^apis?\/(.*)\/.*/, '$1'), kind,
			metadata: {name: 'diff-own', labels: {a: 'b'}, annotations: {c: 'd'}}, ...more}, {also: owners});
	const CRB = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/diff-own';

	await k.set('DELETE', CRB);
	await k.set('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterroles/diff-own');
	await k.set('DELETE', '/api/v1/nodes/diff-own');
	await k.set('DELETE', '/api/v1/persistentvolumes/diff-own');
}
