// What a read could not see is never taken for "no", 0 or "none": every read of the cloud
// by every capability is answered wrongly, one call at a time. The answer comes all the
// same, and whatever differs from what it says otherwise is absent and named in it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {psql} from '../stack/stack.mjs';
import {call, capabilities, end} from './faces.mjs';
import {create, succeeded, world} from './pipeline.mjs';

/* Every read that the product knows, by the tables that it is built of. */
const AWS = [...fs.readFileSync('core/aws/ops.def', 'utf8').matchAll(/^AWS_OP\((\w+), (\w+), READ/gm)]
	.filter(m => m[1] !== 'STS').map(m => ({op: m[2]}));
const KUBE = ['pods', 'nodes', 'events', 'deployments', 'daemonsets', 'secrets', 'persistentvolumes',
	'persistentvolumeclaims', 'nodepools', 'hyperpodnodeclasses', 'nodeclaims', 'serviceaccounts',
	'customresourcedefinitions', 'services'].flatMap(x => [{kube: `list ${x}`}, {kube: `get ${x}`}]);
const FAULTS = ['denied', 'garbage'];
/* Without which there is nothing to say: what the answer is about. */
const ABOUT = {
	list_availability_zones: ['DescribeAvailabilityZones'],
	list_instance_types: ['DescribeInstanceTypes'],
	check_quotas: ['ListServiceQuotas'],
	list_training_plans: ['ListTrainingPlans'],
	get_hyperpod_cluster: ['DescribeCluster'],
	list_hyperpod_clusters: ['ListClusters'],
	list_instance_groups: ['DescribeCluster'],
	get_instance_group: ['DescribeCluster'],
	list_cluster_events: ['ListClusterEvents'],
	get_node: ['DescribeClusterNode'],
	list_node_classes: ['DescribeCluster', 'list hyperpodnodeclasses'],
	list_node_pools: ['DescribeCluster', 'list nodepools'],
	list_pending_pods: ['DescribeCluster', 'list pods'],
	list_pods: ['DescribeCluster', 'list pods'],
	get_pod_logs: ['DescribeCluster', 'get pods'],
};
/* Grows by itself, or tells of the moment. */
const MOVES = /(^|_)(at|ms|since|age|token|cursor|etag|heard|look|looks|uptime)(_|$)|^observed|not_known|unknown|unreadable|uncounted/;
const MARK = /not_known|"state":"(no_permission|unreadable)"|"unknown":\[\S|"unreadable":\["|"uncounted":[1-9]|"fits":null|"why":"/;
let s, values;

before(async () => {
	s = await world({env: {INSTANTSTART_READ_DEADLINE_MS: '1500'}});
	await succeeded(s, (await create(s, 'reads')).id);
	const nodes = (await call(s, 'GET', '/api/v1/clusters/reads/nodes', {role: 'viewer'})).json.items;

	values = {cluster: 'reads', group: nodes[0].group, node: nodes[0].instance_id};
});
after(() => end(s));

const forget = () => psql(s, 'delete from read_cache');
const QUERY = {check_quotas: '?instance_type=ml.g5.12xlarge&count=1'};
const targetOf = c => `/api/v1${c.path.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? 'none')}${QUERY[c.name] ?? ''}`;

async function ask(c, rule)
{
	forget();
	await s.cloud.clearFaults();
	if (rule)
		await s.cloud.addFaults([{...rule, times: 1e6}]);
	const r = await call(s, c.method, targetOf(c), {role: 'admin'});
	const [told] = rule ? await s.cloud.faults() : [];

	await s.cloud.clearFaults();
	return {...r, met: told && told._hits > 0};
}

const ALL = [...AWS, ...KUBE];
const UNMET = 1e9;

/** Which of all reads the capability makes: each rule waits for more than ever come. */
async function readsOf(c)
{
	forget();
	await s.cloud.clearFaults();
	await s.cloud.addFaults(ALL.map(rule => ({...rule, fault: 'denied', skip: UNMET, times: 1})));
	await call(s, c.method, targetOf(c), {role: 'admin'});
	const counted = await s.cloud.faults();

	await s.cloud.clearFaults();
	return ALL.filter((_, i) => counted[i]._skip < UNMET);
}

/** Paths at which `now` says something else than `then`: a missing member is no word. */
function differs(then, now, path = '')
{
	if (now === undefined || now === null || MOVES.test(path.split('.').at(-1)))
		return [];
	if (Array.isArray(then) && Array.isArray(now))
		return then.length !== now.length ? [`${path}[${now.length}]`]
			: then.flatMap((x, i) => differs(x, now[i], `${path}.${i}`));
	if (then && typeof then === 'object' && typeof now === 'object')
		return Object.keys({...then, ...now}).flatMap(k => differs(then[k], now[k], path ? `${path}.${k}` : k));
	return then === now ? [] : [path];
}

test('no read that fails is taken for an answer', async () => {
	const faults = [];
	let met = 0;

	for (const c of capabilities(s).filter(x => x.effect === 'read' && x.method === 'GET')) {
		const clean = await ask(c, null);

		if (clean.status !== 200 || !clean.json)
			continue;
		for (const rule of await readsOf(c)) {
			const name = rule.op ?? rule.kube;

			for (const fault of FAULTS) {
				const r = await ask(c, {...rule, fault});
				const what = `${c.name}, ${name} ${fault}`;

				/* HEAD has no body: its 200 is all there is. */
				if (!r.met || (name === 'HeadBucket' && fault === 'garbage'))
					break;
				met++;
				if (r.status !== 200) {
					if (!ABOUT[c.name]?.includes(name))
						faults.push(`${what}: no answer at all: ${r.status} ${r.json?.detail}`);
					continue;
				}
				const said = MARK.test(r.text);
				const lies = differs(clean.json, r.json).filter(p => !/\.state$|\.code$|\.reason$|^title/.test(p) || !said);

				if (lies.length && !said)
					faults.push(`${what}: ${lies.slice(0, 4)}`);
			}
		}
	}
	assert.deepEqual(faults, []);
	assert(met > 40, `${met}`);
	console.log(`# ${met} reads were answered wrongly`);
});
