// What a read could not see is never taken for "no", 0 or "none": every read of the cloud
// by every capability is answered wrongly or not at all, one read of each capability at a
// time. The answer comes all the same, and whatever differs from what it says otherwise is
// absent and named in it.
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
/* Silence comes last: whoever has met it may leave that service alone for a while. */
const FAULTS = ['denied', 'garbage', 'hang'];
/* What is asked at once has a worker each: nothing of a call's time is spent in line. */
const AT_ONCE = 8;
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
	s = await world({env: {INSTANTSTART_READ_DEADLINE_MS: '1500', INSTANTSTART_SLOW_WORKERS: String(AT_ONCE)}});
	await succeeded(s, (await create(s, 'reads')).id);
	const nodes = (await call(s, 'GET', '/api/v1/clusters/reads/nodes', {role: 'viewer'})).json.items;

	values = {cluster: 'reads', group: nodes[0].group, node: nodes[0].instance_id};
});
after(() => end(s));

const forget = () => psql(s, 'delete from read_cache');
const QUERY = {check_quotas: '?instance_type=ml.g5.12xlarge&count=1'};
const targetOf = c => `/api/v1${c.path.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? 'none')}${QUERY[c.name] ?? ''}`;

const ask = c => call(s, c.method, targetOf(c), {role: 'admin'});

const ALL = [...AWS, ...KUBE];
const UNMET = 1e9;

/** Which of all reads the capability makes: each rule waits for more than ever come. */
async function readsOf(c)
{
	forget();
	await s.cloud.clearFaults();
	await s.cloud.addFaults(ALL.map(rule => ({...rule, fault: 'denied', skip: UNMET, times: 1})));
	await ask(c);
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

/**
 * Jobs that can be done at once: each capability meets one fault, since it makes none of the
 * other reads that fail meanwhile.
 */
function batches(jobs)
{
	const all = [];

	for (const job of jobs) {
		const fits = b => b.length < AT_ONCE && b.every(x => x.c !== job.c
			&& (x.rule === job.rule || !(x.reads.includes(job.rule) || job.reads.includes(x.rule))));
		const b = all.find(fits);

		if (b)
			b.push(job);
		else
			all.push([job]);
	}
	return all;
}

/** The answers to all jobs of a batch while their reads fail; absent: the read was not met. */
async function answers(batch, fault)
{
	const rules = [...new Set(batch.map(x => x.rule))];

	forget();
	await s.cloud.addFaults(rules.map(rule => ({...rule, fault, times: 1e6, ...(fault === 'hang' ? {for_ms: 60000} : {})})));
	const got = await Promise.all(batch.map(x => ask(x.c)));
	const told = await s.cloud.faults();

	await s.cloud.clearFaults();
	return got.map((r, i) => told[rules.indexOf(batch[i].rule)]._hits > 0 ? r : undefined);
}

test('no read that fails is taken for an answer', async () => {
	const faults = [], jobs = [];
	const met = Object.fromEntries(FAULTS.map(f => [f, 0]));

	for (const c of capabilities(s).filter(x => x.effect === 'read' && x.method === 'GET')) {
		forget();
		const clean = await ask(c);

		if (clean.status !== 200 || !clean.json)
			continue;
		const reads = await readsOf(c);

		jobs.push(...reads.map(rule => ({c, rule, reads, clean})));
	}
	const plan = batches(jobs);

	for (const fault of FAULTS) {
		for (const batch of plan) {
			const got = await answers(batch, fault);

			batch.forEach(({c, rule, clean}, i) => {
				const name = rule.op ?? rule.kube, what = `${c.name}, ${name} ${fault}`, r = got[i];

				/* HEAD has no body: its 200 is all there is. */
				if (!r || (name === 'HeadBucket' && fault === 'garbage'))
					return;
				met[fault]++;
				if (r.status !== 200) {
					if (!ABOUT[c.name]?.includes(name))
						faults.push(`${what}: no answer at all: ${r.status} ${r.json?.detail}`);
					return;
				}
				const said = MARK.test(r.text);
				const lies = differs(clean.json, r.json).filter(p => !/\.state$|\.code$|\.reason$|^title/.test(p) || !said);

				if (lies.length && !said)
					faults.push(`${what}: ${lies.slice(0, 4)}`);
			});
		}
	}
	assert.deepEqual(faults, []);
	for (const fault of FAULTS)
		assert(met[fault] > 40, `${fault}: ${met[fault]}`);
	console.log(`# ${jobs.length} reads in ${plan.length} goes failed: ${JSON.stringify(met)}`);
});
