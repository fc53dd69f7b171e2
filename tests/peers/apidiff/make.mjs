// Objects of the table, as small as a server takes them.

export const meta = (name, more = {}) => ({name, ...more});

export const configMap = (name, data, more = {}) => ({apiVersion: 'v1', kind: 'ConfigMap',
	metadata: meta(name, more), ...(data ? {data} : {})});

export const podSpec = (more = {}) => ({containers: [{name: 'main', image: 'busybox:1'}],
	nodeSelector: {'diff.example.com/nowhere': 'true'}, ...more});

export const pod = (name, spec = {}, more = {}) => ({apiVersion: 'v1', kind: 'Pod',
	metadata: meta(name, more), spec: podSpec(spec)});

const template = (app, spec = {}) => ({metadata: {labels: {app}}, spec: podSpec(spec)});

export const workload = (kind, name, spec = {}, pods = {}) => ({apiVersion: 'apps/v1', kind,
	metadata: meta(name), spec: {
		...(kind === 'DaemonSet' ? {} : {replicas: 0}),
		selector: {matchLabels: {app: name}}, template: template(name, pods), ...spec}});

export const job = (name, spec = {}, pods = {}) => ({apiVersion: 'batch/v1', kind: 'Job',
	metadata: meta(name), spec: {suspend: true,
		template: {spec: podSpec({restartPolicy: 'Never', ...pods})}, ...spec}});

export const volume = (name, spec = {}) => ({apiVersion: 'v1', kind: 'PersistentVolume',
	metadata: meta(name), spec: {capacity: {storage: '1200Gi'}, accessModes: ['ReadWriteMany'],
		csi: {driver: 's3.csi.aws.com', volumeHandle: name,
			volumeAttributes: {bucketName: 'bucket'}}, ...spec}});

export const claim = (name, spec = {}) => ({apiVersion: 'v1', kind: 'PersistentVolumeClaim',
	metadata: meta(name), spec: {accessModes: ['ReadWriteMany'], storageClassName: '',
		resources: {requests: {storage: '1Gi'}}, ...spec}});

export const crd = (plural, kind, o = {}) => ({apiVersion: 'apiextensions.k8s.io/v1',
	kind: 'CustomResourceDefinition', metadata: meta(`${plural}.diff.example.com`),
	spec: {group: 'diff.example.com', scope: o.scope ?? 'Namespaced', names: {plural, kind, ...o.names},
		versions: [{name: 'v1', served: true, storage: true,
			schema: {openAPIV3Schema: o.schema ?? {type: 'object',
				'x-kubernetes-preserve-unknown-fields': true}},
			...(o.subresources ? {subresources: o.subresources} : {}),
			...(o.columns ? {additionalPrinterColumns: o.columns} : {})}]}});

export const PATCH = {
	json: {headers: {'content-type': 'application/json-patch+json'}},
	merge: {headers: {'content-type': 'application/merge-patch+json'}},
	strategic: {headers: {'content-type': 'application/strategic-merge-patch+json'}},
	apply: {headers: {'content-type': 'application/apply-patch+yaml'}},
};

export const names = r => r.body.items.map(i => i.metadata.name);
