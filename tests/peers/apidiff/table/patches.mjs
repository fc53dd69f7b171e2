// JSON patches, merge patches, strategic merges.
import {configMap, PATCH, workload} from '../make.mjs';

const NS = 'diff-patches';
const CM = `/api/v1/namespaces/${NS}/configmaps`;
const DEPLOY = `/apis/apps/v1/namespaces/${NS}/deployments`;
const data = {only: ['data', 'metadata.labels']};

export async function jsonPatches(k)
{
	await k.namespace(NS);
	const made = await k.set('POST', CM, configMap('j', {a: '1'}, {labels: {x: 'y', 'example.com/c': '2'}, finalizers: ['a.example.com/f']}));
	const p = (name, body, more = data) => k.case(`JSON patch ${name}`, 'PATCH', `${CM}/j`, {...PATCH.json, body, ...more});

	await p('add', [{op: 'add', path: '/data/n', value: 'new'}]);
	await p('add over', [{op: 'add', path: '/data/n', value: 'newer'}]);
	await p('replace', [{op: 'replace', path: '/data/a', value: '9'}]);
	await p('replace nothing', [{op: 'replace', path: '/data/nothing', value: '9'}]);
	await p('remove', [{op: 'remove', path: '/data/n'}]);
	await p('remove nothing', [{op: 'remove', path: '/data/n'}]);
	await p('escapes', [{op: 'replace', path: '/metadata/labels/example.com~1c', value: '22'}, {op: 'add', path: '/metadata/labels/d~0e', value: '3'}]);
	await p('escape', [{op: 'replace', path: '/metadata/labels/example.com~1c', value: '22'}]);
	await p('index', [{op: 'add', path: '/metadata/finalizers/0', value: 'z.example.com/f'}], {only: ['metadata.finalizers']});
	await p('index of nothing', [{op: 'remove', path: '/metadata/finalizers/7'}]);
	await p('last', [{op: 'remove', path: '/metadata/finalizers/-'}]);
	await p('all of a list', [{op: 'remove', path: '/metadata/finalizers'}], {only: ['metadata.finalizers']});
	await p('test holds', [{op: 'test', path: '/data/a', value: '9'}, {op: 'replace', path: '/data/a', value: '10'}]);
	await p('test fails', [{op: 'test', path: '/data/a', value: '9'}, {op: 'replace', path: '/data/a', value: '11'}]);
	await p('test of the version', [{op: 'test', path: '/metadata/resourceVersion', value: made.metadata.resourceVersion}]);
	await p('copy and move', [{op: 'copy', from: '/data/a', path: '/data/c1'}, {op: 'move', from: '/data/c1', path: '/data/c2'}]);
	await p('add below nothing', [{op: 'add', path: '/metadata/annotations/a', value: 'b'}]);
	await p('an unknown op', [{op: 'turn', path: '/data/a'}]);
	await p('no list', {op: 'add'});
	await p('not JSON', '[{');
	await p('empty', []);
	await p('of the name', [{op: 'replace', path: '/metadata/name', value: 'other'}]);
	await p('to what is invalid', [{op: 'add', path: '/metadata/labels/l', value: 'a b'}]);
	await p('by a version, old', [{op: 'add', path: '/metadata/resourceVersion', value: made.metadata.resourceVersion},
		{op: 'add', path: '/data/z', value: '1'}]);
	await p('of managed fields', [{op: 'replace', path: '/metadata/managedFields', value: [{}]}], {});
}

export async function mergePatches(k)
{
	const made = await k.set('POST', CM, configMap('m', {a: '1', b: '2'}, {labels: {x: 'y'}}));
	const p = (name, body, more = data) => k.case(`merge patch ${name}`, 'PATCH', `${CM}/m?fieldManager=patcher`,
		{...PATCH.merge, body, ...more});

	await p('of one member', {data: {a: '5'}}, {});
	await p('that takes away', {data: {b: null}}, {});
	await p('with the old version', {metadata: {resourceVersion: made.metadata.resourceVersion}, data: {a: '6'}});
	await p('with another uid', {metadata: {uid: '11111111-1111-1111-1111-111111111111'}, data: {a: '6'}});
	await p('with another name', {metadata: {name: 'other'}});
	await p('with another namespace', {metadata: {namespace: 'other'}});
	await p('with another kind', {kind: 'Secret'});
	await p('of a wrong type', {data: 'text'});
	await p('of a number', {data: {a: 5}});
	await p('that is a list', '[]');
	await p('that is not JSON', '{');
	await p('that changes nothing', {data: {a: '5'}}, {also: r => r.body.data});
	await p('to what is invalid', {metadata: {labels: {l: 'a b'}}});
	await p('of annotations', {metadata: {annotations: {a: 'b'}}}, {only: ['metadata.annotations']});
	await p('of a time', {metadata: {creationTimestamp: '2001-01-01T00:00:00Z'}},
		{also: r => r.body.metadata.creationTimestamp.startsWith('2001')});
	await p('of finalizers', {metadata: {finalizers: ['a.example.com/f']}}, {only: ['metadata.finalizers']});
	await p('takes finalizers', {metadata: {finalizers: null}}, {only: ['metadata.finalizers']});

	await k.set('POST', DEPLOY, workload('Deployment', 'm', {}, {containers: [{name: 'main', image: 'a:1', env: [{name: 'A', value: '1'}]}]}));
	await k.case('merge patch replaces lists', 'PATCH', `${DEPLOY}/m`, {...PATCH.merge, body: {spec: {template: {spec: {containers: [
		{name: 'other', image: 'b:1'}]}}}}, also: r => r.body.spec.template.spec.containers.map(c => [c.name, c.image])});
	await k.case('merge patch of the selector', 'PATCH', `${DEPLOY}/m`, {...PATCH.merge,
		body: {spec: {selector: {matchLabels: {app: 'other'}}, template: {metadata: {labels: {app: 'other'}}}}}});
}

export async function strategicMerges(k)
{
	await k.set('POST', DEPLOY, workload('Deployment', 's', {}, {
		containers: [{name: 'main', image: 'a:1', env: [{name: 'A', value: '1'}, {name: 'B', value: '2'}],
			ports: [{containerPort: 80, name: 'http'}], args: ['x', 'y'], volumeMounts: [{name: 'v', mountPath: '/v'}]},
		{name: 'side', image: 's:1'}],
		volumes: [{name: 'v', emptyDir: {}}],
		tolerations: [{key: 'a', operator: 'Exists'}]}));
	const spec = r => {
		const s = r.body.spec.template.spec;

		return {containers: s.containers.map(c => ({name: c.name, image: c.image, env: c.env, args: c.args,
			ports: c.ports, mounts: (c.volumeMounts ?? []).map(m => m.mountPath)})),
		volumes: s.volumes, tolerations: s.tolerations, strategy: r.body.spec.strategy, nodeSelector: s.nodeSelector};
	};
	const p = (name, body, more = {also: spec}) => k.case(`strategic merge ${name}`, 'PATCH', `${DEPLOY}/s`,
		{...PATCH.strategic, body, ...more});
	const pods = body => ({spec: {template: {spec: body}}});
	const main = body => pods({containers: [{name: 'main', ...body}]});

	await p('by key', main({image: 'a:2', env: [{name: 'B', value: '3'}, {name: 'C', value: '4'}]}));
	await p('of an atomic list', main({args: ['z']}));
	await p('adds an item', pods({containers: [{name: 'third', image: 't:1'}]}));
	await p('deletes an item', pods({containers: [{name: 'side', $patch: 'delete'}]}));
	await p('replaces a list', main({env: [{$patch: 'replace'}, {name: 'Z', value: '1'}]}));
	await p('replaces a map', {spec: {strategy: {$patch: 'replace', type: 'Recreate'}}});
	await p('keeps keys', {spec: {strategy: {$retainKeys: ['type'], type: 'Recreate'}}});
	await p('orders a list', pods({$setElementOrder_unknown: []}));
	await p('with an order', pods({'$setElementOrder/containers': [{name: 'third'}, {name: 'main'}], containers: [{name: 'third', image: 't:2'}]}));
	await p('of ports', main({ports: [{containerPort: 81}]}));
	await p('of volumes', pods({volumes: [{name: 'v', emptyDir: null, hostPath: {path: '/x'}}, {name: 'w', emptyDir: {}}]}));
	await p('of tolerations', pods({tolerations: [{key: 'b', operator: 'Exists'}]}));
	await p('takes a member', pods({nodeSelector: null}));
	await p('of no list', main({env: {A: '1'}}));
	await p('without the key', pods({containers: [{image: 'x'}]}));
	await p('that is not JSON', '{');
	await p('with an unknown directive', pods({containers: [{name: 'main', $patch: 'turn'}]}));
	await k.set('POST', CM, configMap('s', {a: '1'}, {finalizers: ['a.example.com/f', 'b.example.com/g']}));
	await k.case('strategic merge deletes from a set', 'PATCH', `${CM}/s`, {...PATCH.strategic,
		body: {metadata: {'$deleteFromPrimitiveList/finalizers': ['a.example.com/f']}}, only: ['metadata.finalizers']});
	await k.case('strategic merge adds to a set', 'PATCH', `${CM}/s`, {...PATCH.strategic,
		body: {metadata: {finalizers: ['c.example.com/h']}}, only: ['metadata.finalizers']});
	await k.case('strategic merge of a config map', 'PATCH', `${CM}/s`, {...PATCH.strategic,
		body: {data: {a: null, b: '2'}, metadata: {finalizers: null}}});
}
