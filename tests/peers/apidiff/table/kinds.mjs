// Every kind that a cluster of ours has: what a server fills in, and what it refuses.
import {claim, job, meta, PATCH, pod, podSpec, volume, workload} from '../make.mjs';

const NS = 'diff-kinds';
const CORE = '/api/v1';
const IN = `${CORE}/namespaces/${NS}`;
const APPS = `/apis/apps/v1/namespaces/${NS}`;
const BATCH = `/apis/batch/v1/namespaces/${NS}`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const owned = {drop: ['metadata.managedFields']};
const clear = (k, path) => k.ask('DELETE', path, {body: {gracePeriodSeconds: 0}});

export async function core(k)
{
	await k.case('default: Namespace', 'POST', `${CORE}/namespaces`, {body: {apiVersion: 'v1', kind: 'Namespace', metadata: meta(NS)}, status: true});
	await k.until(`${IN}/serviceaccounts/default`, r => r.status === 200);
	await k.case('default: ServiceAccount', 'GET', `${IN}/serviceaccounts/default`);
	await k.case('default: kube-root-ca.crt', 'GET', `${IN}/configmaps/kube-root-ca.crt`, {also: r => [Object.keys(r.body.data),
		Object.keys(r.body.metadata.annotations ?? {})]});
	await k.case('default: Secret', 'POST', `${IN}/secrets`, {body: {metadata: meta('s'), stringData: {a: 'b'}, data: {c: 'ZA=='}}});
	await k.case('Secret: stringData over data', 'POST', `${IN}/secrets`, {body: {metadata: meta('s2'), stringData: {a: 'b'}, data: {a: 'ZA=='}}, only: ['data']});
	await k.case('Secret: no base64', 'POST', `${IN}/secrets`, {body: {metadata: meta('s3'), data: {a: '***'}}});
	await k.case('Secret: another type', 'PATCH', `${IN}/secrets/s`, {...PATCH.merge, body: {type: 'example.com/other'}});
	await k.case('Secret: TLS without a key', 'POST', `${IN}/secrets`, {body: {metadata: meta('tls'), type: 'kubernetes.io/tls', data: {}}});
	await k.case('Secret: docker without a config', 'POST', `${IN}/secrets`, {body: {metadata: meta('docker'), type: 'kubernetes.io/dockerconfigjson', data: {}}});
	await k.case('Secret: too large', 'POST', `${IN}/secrets`, {body: {metadata: meta('big'), data: {a: 'QUFB'.repeat(360000)}}, only: []});
	await k.case('Secret: frozen', 'PATCH', `${IN}/secrets/s`, {...PATCH.merge, body: {immutable: true}, only: ['immutable']});
	await k.case('Secret: frozen, refused', 'PATCH', `${IN}/secrets/s`, {...PATCH.merge, body: {data: {a: 'Yw=='}}});
	await k.case('Secret: a helm release', 'POST', `${IN}/secrets`, {body: {metadata: meta('sh.helm.release.v1.x.v1', {labels: {owner: 'helm', name: 'x'}}),
		type: 'helm.sh/release.v1', data: {release: 'eA=='}}, only: ['type', 'data']});
	await k.case('default: made ServiceAccount', 'POST', `${IN}/serviceaccounts`, {body: {apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta('sa')}});
	await k.case('default: Service', 'POST', `${IN}/services`, {body: {metadata: meta('svc'), spec: {selector: {a: 'b'}, ports: [{port: 80}]}}, status: true});
	await k.case('default: headless Service', 'POST', `${IN}/services`, {body: {metadata: meta('headless'), spec: {clusterIP: 'None', ports: [{name: 'x', port: 80, targetPort: 'http'}]}}, ...owned});
	await k.case('Service: ExternalName', 'POST', `${IN}/services`, {body: {metadata: meta('ext'), spec: {type: 'ExternalName', externalName: 'example.com'}}, ...owned});
	await k.case('Service: no port', 'POST', `${IN}/services`, {body: {metadata: meta('np'), spec: {selector: {a: 'b'}}}});
	await k.case('Service: an odd port', 'POST', `${IN}/services`, {body: {metadata: meta('np'), spec: {ports: [{port: 99999}]}}});
	await k.case('Service: two ports without names', 'POST', `${IN}/services`, {body: {metadata: meta('np'), spec: {ports: [{port: 80}, {port: 81}]}}});
	await k.case('Service: an odd type', 'POST', `${IN}/services`, {body: {metadata: meta('np'), spec: {type: 'Some', ports: [{port: 80}]}}});
	await k.case('Service: another address', 'PATCH', `${IN}/services/svc`, {...PATCH.merge, body: {spec: {clusterIP: '10.96.0.77', clusterIPs: ['10.96.0.77']}}});
	await k.case('default: Node', 'POST', `${CORE}/nodes`, {body: {apiVersion: 'v1', kind: 'Node', metadata: meta('diff-kinds'),
		spec: {taints: [{key: 'a', effect: 'NoSchedule'}]}}, drop: ['metadata.annotations', 'spec.taints']});
	await k.case('Node: an odd taint', 'PATCH', `${CORE}/nodes/diff-kinds`, {...PATCH.merge, body: {spec: {taints: [{key: 'a', effect: 'Never'}]}}});
	await k.case('Node: a taint twice', 'PATCH', `${CORE}/nodes/diff-kinds`, {...PATCH.merge, body: {spec: {taints: [{key: 'a', effect: 'NoSchedule'},
		{key: 'a', effect: 'NoSchedule'}]}}});
	await k.case('Node: cordoned', 'PATCH', `${CORE}/nodes/diff-kinds`, {...PATCH.strategic, body: {spec: {unschedulable: true}}, only: ['spec.unschedulable']});
	await k.set('DELETE', `${CORE}/nodes/diff-kinds`);
	await k.case('default: PersistentVolume', 'POST', `${CORE}/persistentvolumes`, {body: volume('diff-kinds')});
	await k.case('PersistentVolume: nothing in it', 'POST', `${CORE}/persistentvolumes`, {body: {metadata: meta('none'), spec: {}}});
	await k.case('PersistentVolume: no spec', 'POST', `${CORE}/persistentvolumes`, {body: {metadata: meta('none')}});
	await k.case('PersistentVolume: two sources', 'POST', `${CORE}/persistentvolumes`, {body: volume('none', {hostPath: {path: '/x'}})});
	await k.case('PersistentVolume: no handle', 'POST', `${CORE}/persistentvolumes`, {body: volume('none', {csi: {driver: 'a.example.com'}})});
	await k.case('PersistentVolume: an odd mode', 'POST', `${CORE}/persistentvolumes`, {body: volume('none', {accessModes: ['Some']})});
	await k.case('PersistentVolume: an odd policy', 'POST', `${CORE}/persistentvolumes`, {body: volume('none', {persistentVolumeReclaimPolicy: 'Some'})});
	await k.case('PersistentVolume: an odd size', 'POST', `${CORE}/persistentvolumes`, {body: volume('none', {capacity: {storage: 'big'}})});
	await k.case('PersistentVolume: a negative size', 'POST', `${CORE}/persistentvolumes`, {body: volume('none', {capacity: {storage: '-1Gi'}})});
	await k.case('PersistentVolume: another source', 'PATCH', `${CORE}/persistentvolumes/diff-kinds`, {...PATCH.merge, body: {spec: {csi: {volumeHandle: 'other'}}}});
	await k.case('PersistentVolume: mount options', 'PATCH', `${CORE}/persistentvolumes/diff-kinds`, {...PATCH.merge, body: {spec: {mountOptions: ['allow-delete']}}, only: ['spec.mountOptions']});
	await clear(k, `${CORE}/persistentvolumes/diff-kinds`);
	await k.case('default: PersistentVolumeClaim', 'POST', `${IN}/persistentvolumeclaims`, {body: claim('c', {volumeName: 'none'})});
	await k.case('PersistentVolumeClaim: nothing in it', 'POST', `${IN}/persistentvolumeclaims`, {body: {metadata: meta('none'), spec: {}}});
	await k.case('PersistentVolumeClaim: no spec', 'POST', `${IN}/persistentvolumeclaims`, {body: {metadata: meta('none')}});
	await k.case('PersistentVolumeClaim: an odd mode', 'POST', `${IN}/persistentvolumeclaims`, {body: claim('none', {accessModes: ['Some']})});
	await k.case('PersistentVolumeClaim: nothing asked', 'POST', `${IN}/persistentvolumeclaims`, {body: claim('none', {resources: {requests: {storage: '0'}}})});
	await k.case('PersistentVolumeClaim: other modes', 'PATCH', `${IN}/persistentvolumeclaims/c`, {...PATCH.merge, body: {spec: {accessModes: ['ReadWriteOnce']}}});
	await k.case('PersistentVolumeClaim: another class', 'PATCH', `${IN}/persistentvolumeclaims/c`, {...PATCH.merge, body: {spec: {storageClassName: 'x'}}});
	await k.case('PersistentVolumeClaim: more, unbound', 'PATCH', `${IN}/persistentvolumeclaims/c`, {...PATCH.merge, body: {spec: {resources: {requests: {storage: '2Gi'}}}}});
	await k.case('default: StorageClass', 'POST', '/apis/storage.k8s.io/v1/storageclasses', {body: {metadata: meta('diff-kinds'), provisioner: 'p.example.com', parameters: {a: 'b'}}});
	await k.case('StorageClass: no provisioner', 'POST', '/apis/storage.k8s.io/v1/storageclasses', {body: {metadata: meta('none')}});
	await k.case('StorageClass: an odd binding', 'POST', '/apis/storage.k8s.io/v1/storageclasses', {body: {metadata: meta('none'), provisioner: 'p.example.com', volumeBindingMode: 'Some'}});
	await k.case('StorageClass: other parameters', 'PATCH', '/apis/storage.k8s.io/v1/storageclasses/diff-kinds', {...PATCH.merge, body: {parameters: {a: 'c'}}});
	await k.case('StorageClass: another provisioner', 'PATCH', '/apis/storage.k8s.io/v1/storageclasses/diff-kinds', {...PATCH.merge, body: {provisioner: 'other.example.com'}});
	await k.case('StorageClass: another policy', 'PATCH', '/apis/storage.k8s.io/v1/storageclasses/diff-kinds', {...PATCH.merge, body: {reclaimPolicy: 'Retain'}});
	await clear(k, '/apis/storage.k8s.io/v1/storageclasses/diff-kinds');
	await k.case('default: CSIDriver', 'POST', '/apis/storage.k8s.io/v1/csidrivers', {body: {metadata: meta('diff.example.com'), spec: {}}});
	await clear(k, '/apis/storage.k8s.io/v1/csidrivers/diff.example.com');
	await k.case('default: Event', 'POST', `${IN}/events`, {body: {metadata: {generateName: 'e-'}, involvedObject: {kind: 'Pod', name: 'p', namespace: NS},
		reason: 'R', message: 'M', type: 'Normal', source: {component: 'diff'}}});
	await k.case('Event: another namespace', 'POST', `${IN}/events`, {body: {metadata: meta('e2'), involvedObject: {kind: 'Pod', name: 'p', namespace: 'other'}}});
	await k.case('default: Lease', 'POST', `/apis/coordination.k8s.io/v1/namespaces/${NS}/leases`, {body: {metadata: meta('l'), spec: {holderIdentity: 'h', leaseDurationSeconds: 15}}});
	await k.case('Lease: no time', 'POST', `/apis/coordination.k8s.io/v1/namespaces/${NS}/leases`, {body: {metadata: meta('l2'), spec: {leaseDurationSeconds: 0}}});
	await k.case('default: PodDisruptionBudget', 'POST', `/apis/policy/v1/namespaces/${NS}/poddisruptionbudgets`, {body: {metadata: meta('pdb'), spec: {minAvailable: 1, selector: {matchLabels: {a: 'b'}}}}});
	await k.case('PodDisruptionBudget: both', 'POST', `/apis/policy/v1/namespaces/${NS}/poddisruptionbudgets`, {body: {metadata: meta('p2'), spec: {minAvailable: 1, maxUnavailable: '50%'}}});
	await k.case('PodDisruptionBudget: an odd share', 'POST', `/apis/policy/v1/namespaces/${NS}/poddisruptionbudgets`, {body: {metadata: meta('p2'), spec: {minAvailable: 'half'}}});
}

export async function pods(k)
{
	const PODS = `${IN}/pods`;
	const p = (name, spec, more = {}, o = {}) => k.case(`Pod: ${name}`, 'POST', PODS, {body: pod('none', spec, more), ...o});
	const c = more => ({containers: [{name: 'main', image: 'busybox:1', ...more}]});

	await k.case('default: Pod', 'POST', PODS, {body: pod('p', {containers: [{name: 'main', image: 'busybox', ports: [{containerPort: 80}],
		resources: {limits: {cpu: '1', 'nvidia.com/gpu': '1'}}, env: [{name: 'A', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}}],
		livenessProbe: {httpGet: {port: 80}}}], volumes: [{name: 'c', configMap: {name: 'c'}}, {name: 's', secret: {secretName: 's'}},
		{name: 'e', emptyDir: {}}, {name: 'h', hostPath: {path: '/x'}}], initContainers: [{name: 'i', image: 'a.b/c:latest'}]})});
	await k.case('default: Pod, quality', 'GET', `${PODS}/p`, {only: ['status.qosClass', 'status.phase']});
	await p('no containers', {containers: []});
	await p('no spec', undefined, {}, {body: {metadata: meta('none')}});
	await p('no image', c({image: undefined}));
	await p('an odd name', c({name: 'A_b'}));
	await p('no name', c({name: undefined}));
	await p('two of a name', {containers: [{name: 'a', image: 'x'}, {name: 'a', image: 'y'}]});
	await p('a mount of nothing', c({volumeMounts: [{name: 'v', mountPath: '/v'}]}));
	await p('a mount without a path', {...c({volumeMounts: [{name: 'v', mountPath: ''}]}), volumes: [{name: 'v', emptyDir: {}}]});
	await p('a path twice', {...c({volumeMounts: [{name: 'v', mountPath: '/v'}, {name: 'v', mountPath: '/v'}]}), volumes: [{name: 'v', emptyDir: {}}]});
	await p('a volume without a source', {volumes: [{name: 'v'}]}, {}, owned);
	await p('two volumes of a name', {volumes: [{name: 'v', emptyDir: {}}, {name: 'v', emptyDir: {}}]});
	await p('two sources', {volumes: [{name: 'v', emptyDir: {}, hostPath: {path: '/x'}}]});
	await p('a claim without a name', {volumes: [{name: 'v', persistentVolumeClaim: {claimName: ''}}]});
	await p('an odd restart policy', {restartPolicy: 'Some'});
	await p('an odd pull policy', c({imagePullPolicy: 'Some'}));
	await p('an odd DNS policy', {dnsPolicy: 'Some'});
	await p('an odd variable', c({env: [{name: 'a=b', value: 'x'}]}));
	await p('a variable with both', c({env: [{name: 'A', value: 'x', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}}]}));
	await p('an odd port', c({ports: [{containerPort: 0}]}));
	await p('an odd protocol', c({ports: [{containerPort: 80, protocol: 'X'}]}));
	await p('an odd quantity', c({resources: {limits: {cpu: 'much'}}}));
	await p('more asked than allowed', c({resources: {limits: {cpu: '1'}, requests: {cpu: '2'}}}));
	await p('GPUs asked, not limited', c({resources: {requests: {'nvidia.com/gpu': '1'}}}));
	await p('half a GPU', c({resources: {limits: {'nvidia.com/gpu': '500m'}}}));
	await p('an odd resource', c({resources: {limits: {gpu: '1'}}}));
	await p('an odd toleration', {tolerations: [{key: 'a', operator: 'Some'}]});
	await p('a toleration with Exists and a value', {tolerations: [{key: 'a', operator: 'Exists', value: 'b'}]});
	await p('an odd selector', {nodeSelector: {'a b': 'c'}});
	await p('no service account', {serviceAccountName: 'nobody'});
	await p('no priority class', {priorityClassName: 'nothing'});
	await p('a negative grace', {terminationGracePeriodSeconds: -1}, {}, {only: ['spec.terminationGracePeriodSeconds']});
	await p('an odd deadline', {activeDeadlineSeconds: 0});
	await p('a probe of nothing', c({livenessProbe: {periodSeconds: 1}}));
	await k.set('POST', PODS, pod('up'));
	await k.case('Pod: another image', 'PATCH', `${PODS}/up`, {...PATCH.strategic, body: {spec: {containers: [{name: 'main', image: 'busybox:2'}]}},
		also: r => r.body.spec.containers[0].image});
	await k.case('Pod: another command', 'PATCH', `${PODS}/up`, {...PATCH.strategic, body: {spec: {containers: [{name: 'main', command: ['x']}]}}});
	await k.case('Pod: another node selector', 'PATCH', `${PODS}/up`, {...PATCH.merge, body: {spec: {nodeSelector: {a: 'b'}}}});
	await k.case('Pod: a longer grace', 'PATCH', `${PODS}/up`, {...PATCH.merge, body: {spec: {terminationGracePeriodSeconds: 60}}});
	await k.case('Pod: more tolerations', 'PATCH', `${PODS}/up`, {...PATCH.json, body: [{op: 'add', path: '/spec/tolerations/-',
		value: {key: 'x', operator: 'Exists'}}], also: r => r.body.spec.tolerations.at(-1)});
	await k.case('Pod: a deadline', 'PATCH', `${PODS}/up`, {...PATCH.merge, body: {spec: {activeDeadlineSeconds: 100}}, only: ['spec.activeDeadlineSeconds']});
}

export async function workloads(k)
{
	for (const [kind, path] of [['Deployment', 'deployments'], ['DaemonSet', 'daemonsets'], ['StatefulSet', 'statefulsets'], ['ReplicaSet', 'replicasets']]) {
		const at = `${APPS}/${path}`;
		const w = (name, spec, pods, o = {}) => k.case(`${kind}: ${name}`, 'POST', at, {body: workload(kind, 'none', spec, pods), ...o});

		await k.case(`default: ${kind}`, 'POST', at, {body: workload(kind, 'w', {replicas: undefined, ...(kind === 'DaemonSet' ? {} : {replicas: 0})})});
		await k.case(`default: ${kind}, replicas`, 'POST', `${at}?dryRun=All`, {body: workload(kind, 'w1', {replicas: undefined}), only: ['spec.replicas']});
		await w('no selector', {selector: undefined});
		await w('an empty selector', {selector: {}});
		await w('a selector of others', {selector: {matchLabels: {app: 'other'}}});
		await w('no template', {template: undefined});
		await w('no containers', {}, {containers: []});
		await w('a restart policy', {}, {restartPolicy: 'Never'});
		await w('negative replicas', {replicas: -1}, {}, kind === 'DaemonSet' ? {only: []} : {});
		await w('an odd selector', {selector: {matchExpressions: [{key: 'app', operator: 'Some'}]}});
		await w('an odd strategy', kind === 'Deployment' ? {strategy: {type: 'Some'}} : {updateStrategy: {type: 'Some'}}, {}, kind === 'ReplicaSet' ? {only: []} : {});
		await k.case(`${kind}: another selector`, 'PATCH', `${at}/w`, {...PATCH.merge, body: {spec: {selector: {matchLabels: {app: 'x'}},
			template: {metadata: {labels: {app: 'x'}}}}}});
		await k.case(`${kind}: another image`, 'PATCH', `${at}/w`, {...PATCH.strategic, body: {spec: {template: {spec: {containers: [{name: 'main', image: 'b:2'}]}}}},
			also: r => [r.body.metadata.generation, r.body.spec.template.spec.containers[0].image]});
		await clear(k, `${at}/none`);
	}
	await k.case('Deployment: an odd surge', 'POST', `${APPS}/deployments`, {body: workload('Deployment', 'none', {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}})});
	await k.case('Deployment: recreate and rolling', 'POST', `${APPS}/deployments`, {body: workload('Deployment', 'none', {strategy: {type: 'Recreate', rollingUpdate: {maxSurge: 1}}})});
	await k.case('StatefulSet: another service', 'PATCH', `${APPS}/statefulsets/w`, {...PATCH.merge, body: {spec: {serviceName: 'x'}}});
	await k.case('StatefulSet: claims', 'POST', `${APPS}/statefulsets`, {body: workload('StatefulSet', 'claims', {volumeClaimTemplates: [
		{metadata: {name: 'v'}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}}}]}), also: r => r.body.spec.volumeClaimTemplates});

	const j = (name, spec, pods, o = {}) => k.case(`Job: ${name}`, 'POST', `${BATCH}/jobs`, {body: job('none', spec, pods), ...o});

	await k.case('default: Job', 'POST', `${BATCH}/jobs`, {body: job('j'), drop: ['metadata.managedFields']});
	await k.case('default: Job, many', 'POST', `${BATCH}/jobs?dryRun=All`, {body: job('j2', {parallelism: 2}), only: ['spec.completions', 'spec.parallelism']});
	await j('no restart policy', {}, {restartPolicy: undefined});
	await j('an odd restart policy', {}, {restartPolicy: 'Always'});
	await j('an own selector', {selector: {matchLabels: {a: 'b'}}});
	await j('a negative limit', {backoffLimit: -1});
	await j('an odd mode', {completionMode: 'Some'});
	await j('indexed without a number', {completionMode: 'Indexed'});
	await j('no template', {template: undefined});
	await j('no containers', {}, {containers: []});
	await k.case('Job: a long name', 'POST', `${BATCH}/jobs`, {body: job('j'.repeat(64)), only: []});
	await k.case('Job: another template', 'PATCH', `${BATCH}/jobs/j`, {...PATCH.strategic, body: {spec: {template: {spec: {containers: [{name: 'main', image: 'x:2'}]}}}}});
	await k.case('Job: other completions', 'PATCH', `${BATCH}/jobs/j`, {...PATCH.merge, body: {spec: {completions: 3}}});
	await k.case('Job: more at once', 'PATCH', `${BATCH}/jobs/j`, {...PATCH.merge, body: {spec: {parallelism: 2}}, only: ['spec.parallelism']});
	await k.case('Job: a time to live', 'PATCH', `${BATCH}/jobs/j`, {...PATCH.merge, body: {spec: {ttlSecondsAfterFinished: 60}}, only: ['spec.ttlSecondsAfterFinished']});
	await k.case('default: CronJob', 'POST', `${BATCH}/cronjobs`, {body: {metadata: meta('cj'), spec: {schedule: '0 0 1 1 *', suspend: true,
		jobTemplate: {spec: {template: {spec: podSpec({restartPolicy: 'Never'})}}}}}, ...owned});
	await k.case('CronJob: an odd schedule', 'POST', `${BATCH}/cronjobs`, {body: {metadata: meta('none'), spec: {schedule: 'often',
		jobTemplate: {spec: {template: {spec: podSpec({restartPolicy: 'Never'})}}}}}});
}

export async function roles(k)
{
	const rule = {apiGroups: [''], resources: ['pods'], verbs: ['get']};
	const ref = {apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r'};

	await k.case('default: Role', 'POST', `${RBAC}/namespaces/${NS}/roles`, {body: {apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: meta('r'), rules: [rule]}});
	await k.case('Role: no verbs', 'POST', `${RBAC}/namespaces/${NS}/roles`, {body: {metadata: meta('none'), rules: [{...rule, verbs: []}]}});
	await k.case('Role: no resources', 'POST', `${RBAC}/namespaces/${NS}/roles`, {body: {metadata: meta('none'), rules: [{...rule, resources: []}]}});
	await k.case('Role: a path', 'POST', `${RBAC}/namespaces/${NS}/roles`, {body: {metadata: meta('none'), rules: [{verbs: ['get'], nonResourceURLs: ['/x']}]}});
	await k.case('default: RoleBinding', 'POST', `${RBAC}/namespaces/${NS}/rolebindings`, {body: {metadata: meta('b'), roleRef: {kind: 'Role', name: 'r'},
		subjects: [{kind: 'ServiceAccount', name: 'sa', namespace: NS}, {kind: 'User', name: 'u'}, {kind: 'Group', name: 'g'}]}});
	await k.case('RoleBinding: another role', 'PATCH', `${RBAC}/namespaces/${NS}/rolebindings/b`, {...PATCH.merge, body: {roleRef: {name: 'other'}}});
	await k.case('RoleBinding: no role', 'POST', `${RBAC}/namespaces/${NS}/rolebindings`, {body: {metadata: meta('none'), subjects: []}});
	await k.case('RoleBinding: an odd subject', 'POST', `${RBAC}/namespaces/${NS}/rolebindings`, {body: {metadata: meta('none'), roleRef: ref, subjects: [{kind: 'Some', name: 'x'}]}});
	await k.case('RoleBinding: an account without a namespace', 'POST', `${RBAC}/namespaces/${NS}/rolebindings`, {body: {metadata: meta('none'), roleRef: ref,
		subjects: [{kind: 'ServiceAccount', name: 'x'}]}});
	await k.case('ClusterRoleBinding: of a Role', 'POST', `${RBAC}/clusterrolebindings`, {body: {metadata: meta('none'), roleRef: ref}});
	await k.case('Role: a name with colons', 'POST', `${RBAC}/namespaces/${NS}/roles`, {body: {metadata: meta('a:B:c'), rules: []}});
	await k.case('Role: a name with a percent', 'POST', `${RBAC}/namespaces/${NS}/roles`, {body: {metadata: meta('a%c'), rules: []}});
}
