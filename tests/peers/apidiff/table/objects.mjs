// The life of one object: names, versions, dry runs, updates, field validation.
import {configMap, PATCH, workload} from '../make.mjs';

const NS = 'diff-objects';
const CM = `/api/v1/namespaces/${NS}/configmaps`;
const DEPLOY = `/apis/apps/v1/namespaces/${NS}/deployments`;

export async function creates(k)
{
	await k.namespace(NS);
	await k.case('create', 'POST', CM, {body: configMap('a', {x: '1'}, {labels: {l: 'v'}, annotations: {n: 'v'}})});
	await k.case('create again', 'POST', CM, {body: configMap('a')});
	await k.case('create a deployment again', 'POST', DEPLOY, {body: workload('Deployment', 'again'), only: []});
	await k.case('create a deployment again, refused', 'POST', DEPLOY, {body: workload('Deployment', 'again')});
	await k.case('create with a manager', 'POST', `${CM}?fieldManager=kubectl-create`, {body: configMap('managed', {x: '1'})});
	await k.case('create with a long manager', 'POST', `${CM}?fieldManager=${'m'.repeat(129)}`, {body: configMap('m')});
	await k.case('create with an odd manager', 'POST', `${CM}?fieldManager=a%07b`, {body: configMap('m')});
	await k.case('generateName', 'POST', CM, {body: {apiVersion: 'v1', kind: 'ConfigMap',
		metadata: {generateName: 'made-'}}});
	await k.case('generateName and name', 'POST', CM, {body: {apiVersion: 'v1', kind: 'ConfigMap',
		metadata: {generateName: 'made-', name: 'named'}}, only: ['metadata.name', 'metadata.generateName']});
	await k.case('neither name', 'POST', CM, {body: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {}}});
	await k.case('no metadata', 'POST', CM, {body: {apiVersion: 'v1', kind: 'ConfigMap'}});
	for (const name of ['Upper', 'under_score', '-dash', 'dot.', 'a/b', 'x'.repeat(254)])
		await k.case(`name ${name.length > 20 ? 'too long' : name}`, 'POST', CM, {body: configMap(name)});
	await k.case('a name with a dot', 'POST', CM, {body: configMap('a.b'), only: ['metadata.name']});
	await k.case('a namespace named so', 'POST', '/api/v1/namespaces', {body: {metadata: {name: 'a.b'}}});
	await k.case('a service named so', 'POST', `/api/v1/namespaces/${NS}/services`,
		{body: {metadata: {name: '1a'}, spec: {ports: [{port: 80}]}}});
	await k.case('another namespace in the object', 'POST', CM, {body: configMap('n', {}, {namespace: 'other'})});
	await k.case('the namespace in the object', 'POST', CM, {body: configMap('n', undefined, {namespace: NS}),
		only: ['metadata.namespace', 'data']});
	await k.case('a version in a new object', 'POST', CM, {body: configMap('v', {}, {resourceVersion: '7'})});
	await k.case('a uid in a new object', 'POST', CM, {body: configMap('u', {}, {
		uid: '11111111-1111-1111-1111-111111111111'}),
	also: r => r.body.metadata.uid === '11111111-1111-1111-1111-111111111111'});
	await k.case('a time in a new object', 'POST', CM, {body: configMap('t', {}, {
		creationTimestamp: '2001-01-01T00:00:00Z', deletionTimestamp: '2001-01-01T00:00:00Z',
		selfLink: '/x', generation: 7}), also: r => [r.body.metadata.creationTimestamp.slice(0, 4) === '2001',
		r.body.metadata.deletionTimestamp ?? null, r.body.metadata.generation ?? null,
		r.body.metadata.selfLink ?? null]});
	await k.case('a label that is none', 'POST', CM, {body: configMap('l', {}, {labels: {'a b': 'c d'}})});
	await k.case('a label that is too long', 'POST', CM, {body: configMap('l', {}, {labels: {a: 'v'.repeat(64)}})});
	await k.case('a label without a name', 'POST', CM, {body: configMap('l', {}, {labels: {'example.com/': 'v'}})});
	await k.case('an annotation that is none', 'POST', CM, {body: configMap('l', {}, {annotations: {'a b': 'c'}})});
	await k.case('annotations that are too long', 'POST', CM,
		{body: configMap('l', {}, {annotations: {a: 'v'.repeat(262200)}})});
	await k.case('a finalizer that is none', 'POST', CM, {body: configMap('f', {}, {finalizers: ['plain']})});
	await k.case('an owner without a uid', 'POST', CM, {body: configMap('o', {}, {ownerReferences: [
		{apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: ''}]})});
	await k.case('a key that is none', 'POST', CM, {body: configMap('k', {'a b': 'c'})});
	await k.case('a key in both', 'POST', CM, {body: {...configMap('k', {a: 'c'}), binaryData: {a: 'Yg=='}}});
	await k.case('null members', 'POST', CM, {body: {...configMap('nulls', {a: null}), binaryData: null},
		drop: ['metadata.managedFields']});
}

export async function validation(k)
{
	const odd = {...configMap('odd', {a: 'b'}), bogus: 1, metadata: {name: 'odd', bogus: true}};
	const deploy = workload('Deployment', 'odd', {bogus: 1}, {bogus: 2});

	await k.case('unknown fields, by default', 'POST', `${CM}?dryRun=All`, {body: odd});
	for (const mode of ['Strict', 'Warn', 'Ignore'])
		await k.case(`unknown fields, ${mode}`, 'POST', `${CM}?dryRun=All&fieldValidation=${mode}`, {body: odd});
	await k.case('unknown fields, no such mode', 'POST', `${CM}?dryRun=All&fieldValidation=Some`, {body: odd});
	await k.case('unknown fields of a deployment, Strict', 'POST', `${DEPLOY}?dryRun=All&fieldValidation=Strict`,
		{body: deploy});
	await k.case('unknown fields of a deployment, Warn', 'POST', `${DEPLOY}?dryRun=All`, {body: deploy, only: ['metadata.name']});
	await k.case('a member twice, Strict', 'POST', `${CM}?dryRun=All&fieldValidation=Strict`,
		{body: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}'});
	await k.case('a member twice, Warn', 'POST', `${CM}?dryRun=All`,
		{body: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}',
			only: ['data.a']});
	await k.case('another case, Strict', 'POST', `${CM}?dryRun=All&fieldValidation=Strict`,
		{body: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"case"},"Data":{"a":"1"}}'});
	await k.set('POST', CM, configMap('strict', {a: 'b'}));
	await k.case('unknown fields of an update, Strict', 'PUT', `${CM}/strict?fieldValidation=Strict`,
		{body: {...configMap('strict'), bogus: 1}});
	await k.case('unknown fields of a merge, Strict', 'PATCH', `${CM}/strict?fieldValidation=Strict`,
		{...PATCH.merge, body: {bogus: 1}});
	await k.case('unknown fields of a merge, Warn', 'PATCH', `${CM}/strict`, {...PATCH.merge, body: {bogus: 1}, only: ['data']});
	await k.case('unknown fields of a strategic merge, Strict', 'PATCH', `${CM}/strict?fieldValidation=Strict`,
		{...PATCH.strategic, body: {bogus: 1}});
	await k.case('unknown fields of a JSON patch, Strict', 'PATCH', `${CM}/strict?fieldValidation=Strict`,
		{...PATCH.json, body: [{op: 'add', path: '/bogus', value: 1}]});
	await k.case('unknown fields of an apply', 'PATCH', `${CM}/strict?fieldManager=diff`,
		{...PATCH.apply, body: {...configMap('strict'), bogus: 1}});
}

export async function dryRuns(k)
{
	await k.case('dry run, create', 'POST', `${CM}?dryRun=All`, {body: configMap('dry', {a: 'b'}),
		only: ['metadata.name', 'data'], also: r => [typeof r.body.metadata.uid, typeof r.body.metadata.resourceVersion]});
	await k.case('dry run left nothing', 'GET', `${CM}/dry`);
	await k.case('dry run, unknown', 'POST', `${CM}?dryRun=Some`, {body: configMap('dry')});
	await k.case('dry run of one that exists', 'POST', `${CM}?dryRun=All`, {body: configMap('a')});
	await k.case('dry run, generateName', 'POST', `${CM}?dryRun=All`, {body: {metadata: {generateName: 'dry-'}},
		only: ['metadata.generateName']});
	const before = await k.set('GET', `${CM}/a`);

	await k.case('dry run, update', 'PUT', `${CM}/a?dryRun=All`, {body: configMap('a', {dry: 'yes'}), only: ['data'],
		also: r => r.body.metadata.resourceVersion === before.metadata.resourceVersion});
	await k.case('dry run, patch', 'PATCH', `${CM}/a?dryRun=All`, {...PATCH.merge, body: {data: {dry: 'yes'}}, only: ['data']});
	await k.case('dry run, delete', 'DELETE', `${CM}/a?dryRun=All`);
	await k.case('dry run in the body', 'DELETE', `${CM}/a`, {body: {kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All']}});
	await k.case('dry run, deletecollection', 'DELETE', `${CM}?dryRun=All&labelSelector=l=v`, {only: ['kind'],
		also: r => r.body.items.map(i => i.metadata.name)});
	await k.case('after dry runs', 'GET', `${CM}/a`, {also: r => [r.body.data,
		r.body.metadata.resourceVersion === before.metadata.resourceVersion]});
}

export async function updates(k)
{
	const made = await k.set('POST', CM, configMap('u1', {x: '1'}, {labels: {l: 'v'}}));
	const rv = made.metadata.resourceVersion;

	await k.case('update with the version', 'PUT', `${CM}/u1`, {body: configMap('u1', {x: '2'}, {resourceVersion: rv})});
	await k.case('update with an old version', 'PUT', `${CM}/u1`, {body: configMap('u1', {x: '3'}, {resourceVersion: rv})});
	await k.case('update with no version', 'PUT', `${CM}/u1`, {body: configMap('u1', {x: '3'})});
	await k.case('update with an odd version', 'PUT', `${CM}/u1`, {body: configMap('u1', {x: '3'}, {resourceVersion: 'x'})});
	await k.case('update with another uid', 'PUT', `${CM}/u1`, {body: configMap('u1', {x: '3'}, {
		uid: '11111111-1111-1111-1111-111111111111'})});
	await k.case('update with another name', 'PUT', `${CM}/u1`, {body: configMap('u2', {x: '3'})});
	await k.case('update with another namespace', 'PUT', `${CM}/u1`, {body: configMap('u1', {x: '3'}, {namespace: 'other'})});
	await k.case('update with no name', 'PUT', `${CM}/u1`, {body: {metadata: {}, data: {x: '4'}}});
	const now = await k.set('GET', `${CM}/u1`);

	await k.case('update that changes nothing', 'PUT', `${CM}/u1`, {body: now, also: r => [
		r.body.metadata.resourceVersion === now.metadata.resourceVersion,
		JSON.stringify(r.body.metadata.managedFields) === JSON.stringify(now.metadata.managedFields)]});
	await k.case('update by another manager', 'PUT', `${CM}/u1?fieldManager=other`, {body: configMap('u1', {x: '4', y: '5'})});
	await k.case('update that takes away', 'PUT', `${CM}/u1?fieldManager=third`, {body: configMap('u1', {y: '5'})});
	await k.case('update with own managedFields', 'PUT', `${CM}/u1?fieldManager=third`, {body:
		configMap('u1', {y: '6'}, {managedFields: []})});
	await k.case('update with managedFields reset', 'PUT', `${CM}/u1?fieldManager=third`, {body:
		configMap('u1', {y: '7'}, {managedFields: [{}]})});
	await k.case('update of what is frozen', 'POST', CM, {body: {...configMap('frozen', {a: 'b'}), immutable: true}});
	await k.case('update of what is frozen, refused', 'PUT', `${CM}/frozen`, {body: {...configMap('frozen', {a: 'c'}), immutable: true}});
	await k.case('a frozen one thaws, refused', 'PUT', `${CM}/frozen`, {body: configMap('frozen', {a: 'b'})});
	await k.case('labels of a frozen one', 'PATCH', `${CM}/frozen`, {...PATCH.merge, body: {metadata: {labels: {l: 'v'}}}, only: ['metadata.labels']});

	const d = await k.set('POST', DEPLOY, workload('Deployment', 'gen'));

	await k.case('generation after labels', 'PATCH', `${DEPLOY}/gen`, {...PATCH.merge, body: {metadata: {labels: {l: 'v'}}},
		also: r => [d.metadata.generation, r.body.metadata.generation]});
	await k.case('generation after spec', 'PATCH', `${DEPLOY}/gen`, {...PATCH.merge, body: {spec: {minReadySeconds: 3}},
		also: r => r.body.metadata.generation});
	await k.case('status by the main resource', 'PATCH', `${DEPLOY}/gen`, {...PATCH.merge, body: {status: {readyReplicas: 7}},
		also: r => [r.body.metadata.generation, r.body.status?.readyReplicas ?? null]});
}
