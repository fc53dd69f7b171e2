// Watches: order of events, selectors, bookmarks, initial events, versions that are gone.
import {configMap, PATCH} from '../make.mjs';

const NS = 'diff-watches';
const CM = `/api/v1/namespaces/${NS}/configmaps`;
const changes = n => events => events.filter(e => e.type !== 'BOOKMARK').length >= n;
/* Bookmarks between are sent when a server likes. */
const mine = e => !/kube-root/.test(e.object?.metadata?.name ?? '') &&
	(e.type !== 'BOOKMARK' || e.object.metadata.annotations);

async function life(k, name, labels)
{
	await k.set('POST', CM, configMap(name, {n: '1'}, {labels}));
	await k.set('PATCH', `${CM}/${name}`, {data: {n: '2'}}, PATCH.merge);
	await k.set('PATCH', `${CM}/${name}`, {data: {n: '2'}}, PATCH.merge);
	await k.set('PATCH', `${CM}/${name}`, {metadata: {labels: {app: 'other'}}}, PATCH.merge);
	await k.set('PATCH', `${CM}/${name}`, {metadata: {labels}}, PATCH.merge);
	await k.set('DELETE', `${CM}/${name}`);
}

export async function watches(k)
{
	await k.namespace(NS);
	await k.set('POST', CM, configMap('old', {}, {labels: {app: 'w'}}));
	const now = async () => (await k.set('GET', CM)).metadata.resourceVersion;
	let rv = await now();
	const start = rv;

	const all = await k.watch('watch a life', `${CM}?watch=true&resourceVersion=${rv}`, {until: changes(5)}, () =>
		life(k, 'one', {app: 'w'}));

	k.note('watch: versions rise', all.every((e, i) => i === 0 ||
		BigInt(e.object.metadata.resourceVersion) > BigInt(all[i - 1].object.metadata.resourceVersion)));
	k.note('watch: an event is the whole object', {keys: Object.keys(all[0].object).sort(), data: all.map(e => e.object.data)});
	rv = await now();
	await k.watch('watch by label', `${CM}?watch=true&resourceVersion=${rv}&labelSelector=app=w`, {until: changes(5)},
		() => life(k, 'two', {app: 'w'}));
	rv = await now();
	await k.watch('watch by field', `${CM}?watch=true&resourceVersion=${rv}&fieldSelector=metadata.name=three`, {until: changes(5)},
		async () => {
			await life(k, 'four', {app: 'w'});
			await life(k, 'three', {app: 'w'});
		});
	await k.watch('watch from a version of the past', `${CM}?watch=true&resourceVersion=${start}`, {until: changes(20)});
	await k.watch('watch without a version', `${CM}?watch=true`, {until: changes(2), keep: mine});
	await k.watch('watch from 0', `${CM}?watch=true&resourceVersion=0`, {until: changes(2), keep: mine});
	await k.watch('watch by the old path', `/api/v1/watch/namespaces/${NS}/configmaps?resourceVersion=0`, {until: changes(2), keep: mine});
	await k.watch('watch=1', `${CM}?watch=1&resourceVersion=0`, {until: changes(2), keep: mine});
	await k.watch('watch one by name', `${CM}?watch=true&fieldSelector=metadata.name=old`, {until: changes(1)});
	rv = await now();
	await k.watch('watch ends in time', `${CM}?watch=true&resourceVersion=${rv}&timeoutSeconds=1`,
		{until: () => false, ms: 9000, ends: true});
	await k.watch('watch ends with a bookmark', `${CM}?watch=true&resourceVersion=${rv}&timeoutSeconds=4&allowWatchBookmarks=true`,
		{until: () => false, ms: 12000, ends: true});
	await k.watch('watch with initial events', `${CM}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true`
		+ '&resourceVersionMatch=NotOlderThan', {until: e => e.some(x => x.type === 'BOOKMARK'), keep: mine});
	await k.watch('watch with initial events and changes', `${CM}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true`
		+ '&resourceVersionMatch=NotOlderThan&resourceVersion=0', {until: changes(7), keep: mine},
	async s => {
		await s.until(e => e.some(x => x.type === 'BOOKMARK'));
		await life(k, 'five', {app: 'w'});
	});
	await k.case('watch, initial events without a match', 'GET', `${CM}?watch=true&sendInitialEvents=true&timeoutSeconds=1`, {only: []});
	await k.case('watch, initial events without bookmarks', 'GET',
		`${CM}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`, {only: []});
	await k.case('watch, a match without initial events', 'GET', `${CM}?watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1&timeoutSeconds=1`, {only: []});
	await k.case('watch, an odd version', 'GET', `${CM}?watch=true&resourceVersion=x&timeoutSeconds=1`, {only: []});
	await k.case('watch, an odd selector', 'GET', `${CM}?watch=true&labelSelector=a%20b&timeoutSeconds=1`, {only: []});
	await k.case('watch, an odd field', 'GET', `${CM}?watch=true&fieldSelector=data.n=1&timeoutSeconds=1`, {only: []});
	await k.case('watch, limit', 'GET', `${CM}?watch=true&resourceVersion=${rv}&timeoutSeconds=1&limit=1`, {also: () => true});
	await k.watch('watch one that is gone', `${CM}/nothing?watch=true&timeoutSeconds=1`, {until: () => false, ms: 9000, ends: true});

	await k.watch('watch as metadata', `${CM}?watch=true&resourceVersion=0&labelSelector=app=w`, {until: changes(1),
		headers: {accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'},
		event: e => [e.type, e.object.kind, e.object.apiVersion, Object.keys(e.object).sort()]});
	await k.watch('watch as tables', `${CM}?watch=true&resourceVersion=0&labelSelector=app=w`, {until: changes(1),
		headers: {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io'},
		event: e => [e.type, e.object.kind, (e.object.columnDefinitions ?? []).map(c => c.name), e.object.rows[0].cells.slice(0, 2)]});
	await k.watch('watch a finalizer', `${CM}?watch=true&resourceVersion=${await now()}`, {until: changes(3)}, async () => {
		await k.set('POST', CM, configMap('held', {}, {finalizers: ['diff.example.com/hold']}));
		await k.set('DELETE', `${CM}/held`);
		await k.set('PATCH', `${CM}/held`, {metadata: {finalizers: null}}, PATCH.merge);
	});
	await k.watch('watch of the future', `${CM}?watch=true&resourceVersion=99999999&timeoutSeconds=2`, {until: () => false, ms: 5000});
}

export async function expiry(k)
{
	const AT = '/api/v1/namespaces/diff-expiry/configmaps';

	await k.namespace('diff-expiry');
	for (const name of ['a', 'b', 'c'])
		await k.set('POST', AT, configMap(name));
	const first = await k.set('GET', `${AT}?limit=1`);
	const rv = first.metadata.resourceVersion;

	await k.set('PATCH', `${AT}/a`, {data: {n: '1'}}, PATCH.merge);
	await k.forget();
	await k.until(`${AT}/a`, r => r.status === 200);
	await k.set('PATCH', `${AT}/a`, {data: {n: '2'}}, PATCH.merge);
	await k.case('list, a token that is too old', 'GET', `${AT}?limit=1&continue=${encodeURIComponent(first.metadata.continue)}`);
	await k.case('list at a version that is gone', 'GET', `${AT}?resourceVersion=${rv}&resourceVersionMatch=Exact`);
	await k.case('list not older than a version that is gone', 'GET',
		`${AT}?resourceVersion=${rv}&resourceVersionMatch=NotOlderThan`, {also: r => r.body.items.length});
	await k.watch('watch from a version that is gone', `${AT}?watch=true&resourceVersion=${rv}&timeoutSeconds=5`,
		{until: e => e.length > 0, ms: 8000});
	await k.watch('watch from version 1', `${AT}?watch=true&resourceVersion=1&timeoutSeconds=5`,
		{until: e => e.length > 0, ms: 8000});
}
