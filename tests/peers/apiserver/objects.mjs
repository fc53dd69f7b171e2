// Objects: apply and who owns what, strict validation, conflicts, preconditions, lists.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';
import {parse} from 'yaml';
import {ok, refused} from './expect.mjs';
import {waitFor} from '../../stack/stack.mjs';

const map = (ns, name, data, more = {}) => ({apiVersion: 'v1', kind: 'ConfigMap',
	metadata: {name, namespace: ns, ...more}, data});
const maps = ns => ({api: 'v1', plural: 'configmaps', ns});
const MANY = 23;
/* Published definitions are beside the repository, where somebody has put them. */
const PUBLISHED = new URL('../../../../shared/facts/crds/', import.meta.url);
const CHARTS = new URL('../../cloud/charts/kuberay-operator/crds/', import.meta.url);

/** Definitions of kinds in files that are named so: [{name, body}]. */
export function definitions(wanted, folder = PUBLISHED)
{
	const dir = fileURLToPath(folder);

	if (!fs.existsSync(dir))
		return [];
	return fs.readdirSync(dir).filter(f => f.endsWith('.yaml') && wanted.test(f)).map(file => {
		/* Notes of whoever wrote a definition down are no part of it. */
		const body = JSON.parse(JSON.stringify(parse(fs.readFileSync(`${dir}/${file}`, 'utf8')),
			(k, v) => (k.startsWith('x-') && !k.startsWith('x-kubernetes-') ? undefined : v)));

		/* What is a chart's template, and names a webhook by it. */
		delete body.status;
		delete body.spec.conversion;
		return {name: body.metadata.name, body};
	});
}

const ownersOf = o => Object.fromEntries(o.metadata.managedFields.map(f => [f.manager, Object.keys(
	f.fieldsV1['f:data'] ?? {}).filter(k => k !== '.').map(k => k.slice(2)).sort().join()]));

export const cases = {
	async 'server words'(w) {
		const version = await w.ask({do: 'read', name: '/version'});

		assert.equal(JSON.parse(version.text).gitVersion, w.plane.version);
		assert.equal((await w.ask({do: 'read', name: '/readyz'})).text, 'ok');
		assert((await w.ask({do: 'read', name: '/readyz'})).audit_id);
		const none = await w.ask({do: 'read', name: '/apis/none.example.com/v1'});

		assert.equal(`${none.status} ${none.errc}`, '404 cloud-not-found');
	},
	async 'apply makes, keeps, changes and prunes'(w) {
		const q = {do: 'apply', ...maps(w.ns), name: 'c'};
		const made = ok(await w.ask({...q, body: map(w.ns, 'c', {a: '1', b: '2'})}));

		assert.deepEqual(made.metadata.managedFields.map(f => [f.manager, f.operation]),
			[['instantstart', 'Apply']]);
		const again = ok(await w.ask({...q, body: map(w.ns, 'c', {a: '1', b: '2'})}));

		assert.equal(again.metadata.resourceVersion, made.metadata.resourceVersion, 'an equal apply is no write');
		const less = ok(await w.ask({...q, body: map(w.ns, 'c', {a: '3'})}));

		assert.deepEqual(less.data, {a: '3'});
		assert.deepEqual(ok(await w.ask({do: 'get', ...maps(w.ns), name: 'c'})).data, {a: '3'});
	},
	async 'another manager: conflict, forced take-over'(w) {
		const q = {do: 'apply', ...maps(w.ns), name: 'c'};
		const theirs = await w.plane.request('PATCH', `${w.root}/configmaps/c?fieldManager=theirs`,
			map(w.ns, 'c', {a: 'theirs', z: 'theirs'}), {type: 'application/apply-patch+yaml'});

		assert.equal(theirs.status, 201);
		const r = refused(await w.ask({...q, body: map(w.ns, 'c', {a: 'ours'})}), 409, 'Conflict', 'foreign-object');

		assert.match(r.message, /conflict with "theirs".*\.data\.a/s);
		assert.equal(r.out.details.causes[0].reason, 'FieldManagerConflict');
		const forced = ok(await w.ask({...q, force: true, body: map(w.ns, 'c', {a: 'ours'})}));

		assert.deepEqual(forced.data, {a: 'ours', z: 'theirs'});
		assert.deepEqual(ownersOf(forced), {instantstart: 'a', theirs: 'z'});
		/* Equal values need no force, and are owned by both. */
		const shared = ok(await w.ask({...q, body: map(w.ns, 'c', {a: 'ours', z: 'theirs'})}));

		assert.deepEqual(ownersOf(shared), {instantstart: 'a,z', theirs: 'z'});
	},
	async 'a manager that updates owns too'(w) {
		ok(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'c', {a: '1'})}));
		await w.plane.request('PATCH', `${w.root}/configmaps/c?fieldManager=kubectl-edit`, {data: {a: '2'}},
			{type: 'application/merge-patch+json'});
		refused(await w.ask({do: 'apply', ...maps(w.ns), name: 'c', body: map(w.ns, 'c', {a: '3'})}), 409,
			'Conflict', 'foreign-object');
	},
	async 'strict fields'(w) {
		const body = {...map(w.ns, 'c', {}), bogus: {deep: 1}};
		const create = refused(await w.ask({do: 'create', ...maps(w.ns), body}), 400, 'BadRequest', 'cloud-refused');

		assert.match(create.message, /unknown field "bogus"/);
		const apply = await w.ask({do: 'apply', ...maps(w.ns), name: 'c', body});

		assert.equal(apply.errc, 'cloud-refused', JSON.stringify(apply));
		assert.equal(apply.ambiguous, false);
		assert.match(apply.message, /field not declared in schema/);
		ok(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'c', {a: '1'})}));
		const patch = await w.ask({do: 'patch', ...maps(w.ns), name: 'c', body: {bogus: 1}});

		assert.equal(patch.errc, 'cloud-refused', JSON.stringify(patch));
		assert.match(patch.message, /unknown field "bogus"/);
		/* A value of another type. */
		const typed = await w.ask({do: 'apply', ...maps(w.ns), name: 'c', body: map(w.ns, 'c', {a: 1})});

		assert.equal(`${typed.errc} ${typed.ambiguous}`, 'cloud-refused false', JSON.stringify(typed));
	},
	async 'refusals have their kinds'(w) {
		ok(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'c', {a: '1'})}));
		refused(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'c', {})}), 409, 'AlreadyExists',
			'cloud-conflict');
		refused(await w.ask({do: 'get', ...maps(w.ns), name: 'none'}), 404, 'NotFound', 'cloud-not-found');
		refused(await w.ask({do: 'delete', ...maps(w.ns), name: 'none'}), 404, 'NotFound', 'cloud-not-found');
		refused(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'Not A Name', {})}), 422, 'Invalid',
			'cloud-refused');
		refused(await w.ask({do: 'patch', ...maps(w.ns), name: 'c', body: {metadata: {resourceVersion: '1'}, data: {a: '2'}}}),
			409, 'Conflict', 'cloud-conflict');
		refused(await w.ask({do: 'delete', ...maps(w.ns), name: 'c', body: {preconditions: {uid: 'other'}}}), 409,
			'Conflict', 'cloud-conflict');
		refused(await w.ask({do: 'get', api: 'none.example.com/v1', plural: 'things', name: 'x'}), 404, '',
			'cloud-not-found');
		refused(await w.ask({do: 'create', ...maps('none'), body: map('none', 'c', {})}), 404, 'NotFound',
			'cloud-not-found');
		refused(await w.ask({do: 'create', ...maps(w.ns), body: map('other', 'c', {})}), 400, 'BadRequest', 'cloud-refused');
		const large = await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'large', {a: 'x'.repeat(3.5e6)})});

		assert.equal(`${large.status} ${large.errc} ${large.ambiguous}`, '413 cloud-refused false', large.message);
		const fat = await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'fat', {a: 'x'.repeat(1.2e6)})});

		assert.equal(`${fat.status} ${fat.errc} ${fat.ambiguous}`, '422 cloud-refused false', fat.message);
	},
	async 'a dry run stores nothing'(w) {
		const dry = ok(await w.ask({do: 'apply', ...maps(w.ns), name: 'c', dry_run: true, body: map(w.ns, 'c', {a: '1'})}));

		assert(dry.metadata.uid);
		refused(await w.ask({do: 'get', ...maps(w.ns), name: 'c'}), 404, 'NotFound', 'cloud-not-found');
	},
	async 'secrets'(w) {
		const body = {apiVersion: 'v1', kind: 'Secret', metadata: {name: 's', namespace: w.ns, labels: {a: 'b'}},
			type: 'Opaque', stringData: {user: 'ä'}};
		const secrets = {api: 'v1', plural: 'secrets', ns: w.ns};

		const user = async () => (await w.plane.request('GET', `${w.root}/secrets/s`)).json.data.user;

		/* What comes in is masked at the door; what is stored is as it was sent. */
		assert.equal(ok(await w.ask({do: 'create', ...secrets, body})).data.user, '(secret)');
		assert.equal(await user(), Buffer.from('ä').toString('base64'));
		ok(await w.ask({do: 'apply', ...secrets, name: 's', force: true, body: {...body, stringData: undefined,
			data: {user: 'eA=='}}}));
		const list = ok(await w.ask({do: 'list_all', ...secrets, label_selector: 'a=b', field_selector: 'type=Opaque'}));

		assert.deepEqual(list.items.map(s => s.metadata.name), ['s']);
		assert.equal(await user(), 'eA==');
		assert.deepEqual(ok(await w.ask({do: 'list_all', ...secrets, label_selector: 'a notin (b)'})).items, []);
		refused(await w.ask({do: 'list', ...secrets, field_selector: 'data.user=x'}), 400, 'BadRequest', 'cloud-refused');
	},
	async 'a chunked list'(w) {
		for (let i = 0; i < MANY; i++)
			ok(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, `c${String(i).padStart(2, '0')}`, {i: String(i)})}));
		const first = ok(await w.ask({do: 'list', ...maps(w.ns), limit: 5}));

		assert.equal(first.items.length, 5);
		assert(first.metadata.continue);
		assert.equal(first.metadata.remainingItemCount, MANY + 1 - 5, 'kube-root-ca.crt is there too');
		/* What is made meanwhile is not in the list that goes on. */
		ok(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'c99', {})}));
		let page = first, names = first.items.map(o => o.metadata.name);

		while (page.metadata.continue) {
			page = ok(await w.ask({do: 'list', ...maps(w.ns), limit: 5, continue: page.metadata.continue}));
			names = names.concat(page.items.map(o => o.metadata.name));
		}
		assert.equal(names.length, MANY + 1);
		const all = ok(await w.ask({do: 'list_all', ...maps(w.ns), limit: 5}));

		assert.equal(all.items.length, MANY + 2);
		assert.equal(new Set(all.items.map(o => o.metadata.name)).size, MANY + 2);
		assert.equal(all.kind, 'ConfigMapList');
		refused(await w.ask({do: 'list', ...maps(w.ns), continue: 'rubbish'}), 400, 'BadRequest', 'cloud-refused');
	},
	async 'a namespace that goes takes nothing more'(w) {
		ok(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'held', {}, {finalizers: ['example.com/held']})}));
		ok(await w.ask({do: 'delete', api: 'v1', plural: 'namespaces', name: w.ns}));
		const r = refused(await w.ask({do: 'create', ...maps(w.ns), body: map(w.ns, 'late', {})}), 403, 'Forbidden',
			'cloud-conflict');

		assert(r.out.details.causes.some(c => c.reason === 'NamespaceTerminating'));
		ok(await w.ask({do: 'patch', ...maps(w.ns), name: 'held', body: {metadata: {finalizers: null}}}));
		await waitFor('the namespace goes', async () => (await w.ask({do: 'get', api: 'v1', plural: 'namespaces',
			name: w.ns})).status === 404);
	},
	async 'definitions of kinds, and objects of them'(w) {
		const q = {api: 'apiextensions.k8s.io/v1', plural: 'customresourcedefinitions'};
		const own = definitions(/./);

		for (const {body, name} of own.length ? own : definitions(/./, CHARTS)) {
			ok(await w.ask({do: 'apply', ...q, name, force: true, body}));
			await waitFor(`${name} is established`, async () => ok(await w.ask({do: 'get', ...q, name})).status
				?.conditions?.some(c => c.type === 'Established' && c.status === 'True'));
			const {group, names, versions, scope} = body.spec;
			const kind = {api: `${group}/${versions.find(v => v.storage).name}`, plural: names.plural};

			/* Served a moment after that. */
			const list = await waitFor(`${name} is served`, async () => {
				const r = await w.ask({do: 'list_all', ...kind});

				assert(r.ok, r.message);
				return r.out;
			});

			assert.equal(list.items.length, 0);
			const r = await w.ask({do: 'apply', ...kind, ns: scope === 'Namespaced' ? w.ns : undefined, name: 'x',
				body: {apiVersion: kind.api, kind: names.kind, metadata: {name: 'x'}, bogus: 1}});

			assert.equal(`${r.ok} ${r.errc} ${r.ambiguous}`, 'false cloud-refused false', `${name}: ${JSON.stringify(r)}`);
			/* Charts bring some of them. */
			ok(await w.ask({do: 'delete', ...q, name}));
			await waitFor(`${name} goes`, async () => (await w.ask({do: 'get', ...q, name})).status === 404);
		}
	},
};
