// Custom resources: definitions, schemas, defaults, pruning, subresources.
import {crd, meta, names, PATCH} from '../make.mjs';

const NS = 'diff-custom';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const AT = `/apis/diff.example.com/v1/namespaces/${NS}/widgets`;
const TABLE = {headers: {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'}};
const schema = {type: 'object', required: ['spec'], properties: {
	spec: {type: 'object', required: ['size'], properties: {
		size: {type: 'integer', minimum: 1, maximum: 9}, colour: {type: 'string', enum: ['red', 'green'], default: 'red'},
		code: {type: 'string', pattern: '^[a-z]+$', maxLength: 5, minLength: 2}, flag: {type: 'boolean'},
		ratio: {type: 'number'}, port: {'x-kubernetes-int-or-string': true},
		tags: {type: 'array', items: {type: 'string'}, maxItems: 2, 'x-kubernetes-list-type': 'set'},
		parts: {type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items: {type: 'object',
			required: ['name'], properties: {name: {type: 'string'}, n: {type: 'integer', default: 1}}}},
		plain: {type: 'array', items: {type: 'object', properties: {a: {type: 'string'}}}},
		any: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true},
		map: {type: 'object', additionalProperties: {type: 'integer'}},
		atomic: {type: 'object', 'x-kubernetes-map-type': 'atomic', properties: {a: {type: 'string'}, b: {type: 'string'}}},
		opt: {type: 'string', nullable: true}, replicas: {type: 'integer'}}},
	status: {type: 'object', properties: {phase: {type: 'string'}, replicas: {type: 'integer'}}}}};
const widget = (name, spec, more = {}) => ({apiVersion: 'diff.example.com/v1', kind: 'Widget', metadata: meta(name), ...(spec ? {spec} : {}), ...more});

export async function definitions(k)
{
	await k.namespace(NS);
	await k.case('define', 'POST', CRDS, {body: crd('widgets', 'Widget', {schema, subresources: {status: {}, scale: {
		specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas'}}, names: {shortNames: ['wd']},
	columns: [{name: 'Size', type: 'integer', jsonPath: '.spec.size'}, {name: 'Phase', type: 'string', jsonPath: '.status.phase', priority: 1}]})});
	await k.until(`${CRDS}/widgets.diff.example.com`, r => (r.body.status?.conditions ?? []).some(c => c.type === 'Established' && c.status === 'True'));
	await k.until(AT, r => r.status === 200);
	await k.case('defined', 'GET', `${CRDS}/widgets.diff.example.com`, {also: r => [r.body.status.acceptedNames, r.body.status.storedVersions,
		r.body.status.conditions.map(c => [c.type, c.status, c.reason, c.message]), r.body.metadata.generation]});
	await k.case('define again', 'POST', CRDS, {body: crd('widgets', 'Widget')});
	await k.case('define by another name', 'POST', CRDS, {body: {...crd('widgets', 'Widget'), metadata: meta('other.diff.example.com')}});
	await k.case('define without a schema', 'POST', CRDS, {body: {...crd('nones', 'None'), spec: {...crd('nones', 'None').spec,
		versions: [{name: 'v1', served: true, storage: true}]}}});
	await k.case('define without storage', 'POST', CRDS, {body: {...crd('nones', 'None'), spec: {...crd('nones', 'None').spec,
		versions: [{...crd('nones', 'None').spec.versions[0], storage: false}]}}});
	await k.case('define with an odd scope', 'POST', CRDS, {body: crd('nones', 'None', {scope: 'Some'})});
	await k.case('define without names', 'POST', CRDS, {body: {...crd('nones', 'None'), spec: {group: 'diff.example.com', scope: 'Cluster', versions: []}}});
	await k.case('define with a schema that is not structural', 'POST', CRDS, {body: crd('nones', 'None', {schema: {type: 'object', properties: {a: {}}}})});
	await k.case('another scope', 'PATCH', `${CRDS}/widgets.diff.example.com`, {...PATCH.merge, body: {spec: {scope: 'Cluster'}}});
	await k.case('another kind of a definition', 'PATCH', `${CRDS}/widgets.diff.example.com`, {...PATCH.merge, body: {spec: {names: {plural: 'others'}}}});
	await k.until('/apis/diff.example.com/v1', r => r.status === 200 && r.body.resources.length === 3);
	await k.case('discovery of a definition', 'GET', '/apis/diff.example.com/v1', {also: r => r.body.resources.map(x => ({...x, storageVersionHash: Boolean(x.storageVersionHash)}))});
}

export async function resources(k)
{
	const made = await k.case('make a custom resource', 'POST', AT, {body: widget('a', {size: 3})});

	await k.case('get a custom resource', 'GET', `${AT}/a`);
	await k.case('get no custom resource', 'GET', `${AT}/nothing`);
	await k.case('make it again', 'POST', AT, {body: widget('a', {size: 3})});
	const odd = (name, spec, o = {}) => k.case(`custom: ${name}`, 'POST', AT, {body: widget('odd', spec), ...o});

	await odd('no spec', undefined);
	await odd('no size', {});
	await odd('a string for a number', {size: 'x'});
	await odd('a fraction', {size: 1.5});
	await odd('too small', {size: 0});
	await odd('too large', {size: 10});
	await odd('no such colour', {size: 1, colour: 'blue'});
	await odd('not the pattern', {size: 1, code: 'ABC'});
	await odd('too long', {size: 1, code: 'abcdef'});
	await odd('too short', {size: 1, code: 'a'});
	await odd('too many', {size: 1, tags: ['a', 'b', 'c']});
	await odd('twice in a set', {size: 1, tags: ['a', 'a']});
	await odd('twice in a map', {size: 1, parts: [{name: 'a'}, {name: 'a'}]});
	await odd('no key', {size: 1, parts: [{n: 1}]});
	await odd('a number for a string', {size: 1, code: 5});
	await odd('a string for a flag', {size: 1, flag: 'true'});
	await odd('an object for a list', {size: 1, tags: {}});
	await odd('int or string', {size: 1, port: true});
	await odd('an odd map', {size: 1, map: {a: 'x'}});
	await odd('null', {size: 1, code: null}, {also: r => 'code' in r.body.spec});
	await clear(k, 'odd');
	await odd('null where it may be', {size: 1, opt: null}, {also: r => r.body.spec.opt});
	await clear(k, 'odd');
	await odd('two faults', {size: 0, colour: 'blue'});
	await odd('unknown fields', {size: 1, bogus: 1, any: {x: 1}, plain: [{b: 1}]}, {only: ['spec']});
	await clear(k, 'odd');
	await k.case('custom: unknown fields, Strict', 'POST', `${AT}?fieldValidation=Strict`, {body: widget('odd', {size: 1, bogus: 1})});
	await k.case('custom: unknown fields, Ignore', 'POST', `${AT}?fieldValidation=Ignore&dryRun=All`, {body: widget('odd', {size: 1, bogus: 1}), only: ['spec']});
	await k.case('custom: an unknown kind', 'POST', AT, {body: {...widget('odd', {size: 1}), kind: 'Gadget'}});
	await k.case('custom: without a kind', 'POST', AT, {body: {metadata: meta('odd'), spec: {size: 1}}});
	await k.case('custom: an odd name', 'POST', AT, {body: widget('A_b', {size: 1})});
	await k.case('custom: protobuf', 'GET', `${AT}/a`, {headers: {accept: 'application/vnd.kubernetes.protobuf'}, bare: true});
	await k.case('custom: update without a version', 'PUT', `${AT}/a`, {body: widget('a', {size: 4})});
	await k.case('custom: update with an old version', 'PUT', `${AT}/a`, {body: widget('a', {size: 4}, {metadata: meta('a', {resourceVersion: '1'})})});
	await k.case('custom: update', 'PUT', `${AT}/a`, {body: widget('a', {size: 4}, {metadata: meta('a', {resourceVersion: made.body.metadata.resourceVersion}),
		status: {phase: 'x'}})});
	await k.case('custom: merge', 'PATCH', `${AT}/a`, {...PATCH.merge, body: {spec: {size: 5, parts: [{name: 'p'}]}}, only: ['spec', 'metadata.generation']});
	await k.case('custom: strategic', 'PATCH', `${AT}/a`, {...PATCH.strategic, body: {spec: {size: 5}}});
	await k.case('custom: JSON patch', 'PATCH', `${AT}/a`, {...PATCH.json, body: [{op: 'replace', path: '/spec/size', value: 6}], only: ['spec.size']});
	await k.case('custom: merge to what is invalid', 'PATCH', `${AT}/a`, {...PATCH.merge, body: {spec: {size: 50}}});
	await k.case('custom: status by the main resource', 'PATCH', `${AT}/a`, {...PATCH.merge, body: {status: {phase: 'main'}}, only: ['status', 'metadata.generation']});
	await k.case('custom: status', 'PATCH', `${AT}/a/status`, {...PATCH.merge, body: {spec: {size: 9}, status: {phase: 'sub', bogus: 1}},
		also: r => [r.body.spec.size, r.body.status, r.body.metadata.generation, r.body.metadata.managedFields.map(m => [m.operation, m.subresource ?? null])]});
	await k.case('custom: a wrong status', 'PATCH', `${AT}/a/status`, {...PATCH.merge, body: {status: {phase: 5}}});
	await k.case('custom: scale', 'PATCH', `${AT}/a/scale`, {...PATCH.merge, body: {spec: {replicas: 3}}, drop: ['metadata']});
	await k.case('custom: table', 'GET', AT, {...TABLE, also: r => [r.body.columnDefinitions.map(c => [c.name, c.type, c.priority]),
		r.body.rows.map(row => row.cells.slice(0, 3))]});
	await k.case('custom: list', 'GET', `${AT}?limit=1`, {also: r => [r.body.kind, r.body.apiVersion, names(r), r.body.items[0].kind]});
	await k.case('custom: by field', 'GET', `${AT}?fieldSelector=spec.size=6`);
	await k.case('custom: no such subresource', 'GET', `${AT}/a/log`, {text: false});
}

async function clear(k, name)
{
	await k.ask('DELETE', `${AT}/${name}`);
}

export async function applies(k)
{
	const apply = (name, manager, spec, more = {}) => k.case(`custom: apply ${name}`, 'PATCH', `${AT}/s?fieldManager=${manager}${more.force ? '&force=true' : ''}`,
		{...PATCH.apply, body: widget('s', spec), ...more});

	await apply('makes', 'one', {size: 1, parts: [{name: 'a', n: 2}], tags: ['x'], plain: [{a: '1'}], map: {k: 1}, atomic: {a: '1'}, any: {deep: {x: 1}}});
	await apply('adds a part', 'two', {size: 1, parts: [{name: 'b'}], tags: ['y']});
	await apply('conflicts in a part', 'two', {size: 1, parts: [{name: 'a', n: 3}]});
	await apply('conflicts in a plain list', 'two', {size: 1, plain: [{a: '2'}]});
	await apply('conflicts in an atomic map', 'two', {size: 1, atomic: {b: '2'}});
	await apply('conflicts in an open object', 'two', {size: 1, any: {deep: {x: 2}}});
	await apply('agrees in an open object', 'two', {size: 1, any: {deep: {y: 2}}}, {only: ['spec.any']});
	await apply('by force', 'two', {size: 2, parts: [{name: 'b'}]}, {force: true});
	await apply('gives up', 'one', {size: 2, parts: [{name: 'a', n: 2}]}, {only: ['spec']});
	await apply('of unknown fields', 'one', {size: 2, bogus: 1});
	await apply('of what is invalid', 'one', {size: 20}, {force: true});
	await apply('of a wrong type', 'one', {size: 'x'}, {force: true});
	await apply('of a part twice', 'one', {size: 2, parts: [{name: 'a'}, {name: 'a'}]}, {force: true});
}

export async function ends(k)
{
	await k.set('POST', AT, widget('held', {size: 1}, {metadata: meta('held', {finalizers: ['diff.example.com/hold']})}));
	await k.case('custom: delete', 'DELETE', `${AT}/s`);
	await k.case('custom: delete what is held', 'DELETE', `${AT}/held`, {also: r => [r.body.kind, r.body.metadata.deletionGracePeriodSeconds, r.body.metadata.generation]});
	await k.case('delete the definition', 'DELETE', `${CRDS}/widgets.diff.example.com`, {only: ['kind', 'metadata.finalizers']});
	await k.until(`${CRDS}/widgets.diff.example.com`, r => (r.body.status?.conditions ?? []).some(c => c.type === 'Terminating'));
	await k.case('a definition that goes', 'GET', `${CRDS}/widgets.diff.example.com`, {also: r => [r.body.metadata.finalizers,
		r.body.status.conditions.filter(c => c.type === 'Terminating').map(c => [c.status])]});
	await k.case('nothing new of it', 'POST', AT, {body: widget('late', {size: 1})});
	await k.set('PATCH', `${AT}/held`, {metadata: {finalizers: null}}, PATCH.merge);
	await k.until(`${CRDS}/widgets.diff.example.com`, r => r.status === 404);
	await k.until(AT, r => r.status === 404);
	await k.case('what was of it', 'GET', `${AT}/held`, {text: false});
}
