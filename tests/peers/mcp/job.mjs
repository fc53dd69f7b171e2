// The main job as an agent does it, by whichever client: looks around, plans, makes
// a cluster by that plan, waits as the answers say, is refused, and removes it.
import assert from 'node:assert/strict';

const TYPE = 'ml.g5.12xlarge';

/** Text and structure say the same, in every answer of every client. */
async function call(c, name, args)
{
	const r = await c.call(name, args);
	const text = r.content.map(x => x.text).join('');

	assert.equal(Boolean(r.isError), false, `${name}: ${text}`);
	if (!text.includes('"truncated"') && !text.includes('… (cut'))
		assert.deepEqual(JSON.parse(text), r.structuredContent, `${name}: text and structure`);
	return r.structuredContent;
}

async function refused(c, name, args)
{
	const r = await c.call(name, args);

	assert.equal(r.isError, true, `${name} was not refused`);
	return JSON.parse(r.content[0].text);
}

/** As `next` says, to the end. */
async function toTheEnd(c, op)
{
	const {id} = op;
	const limit = Date.now() + 120000;

	while (op.next) {
		assert(Date.now() < limit, `${id} does not end: ${op.waiting_for}`);
		assert.equal(op.next.tool, 'get_operation');
		op = await call(c, op.next.tool, op.next.arguments);
	}
	assert.equal(`${op.id} ${op.state}`, `${id} succeeded`, JSON.stringify(op.error));
	return op;
}

/* What else is made meanwhile may change a plan; the refusal holds the new one. */
async function byPlan(c, m, key)
{
	for (let i = 0; i < 20; i++) {
		const args = {...m.request, plan_digest: m.digest, idempotency_key: `${key}-${i}`};
		const r = await c.call('create_cluster', args);

		if (!r.isError)
			return {args, op: r.structuredContent};
		const problem = JSON.parse(r.content[0].text);

		assert.equal(problem.code, 'plan-changed', problem.detail);
		m.digest = problem.plan.plan_digest;
	}
	throw new Error('the plan changes for ever');
}

/** Steps of the job: [what, fn(client, cluster, memory)]. */
const steps = [
	['lists every tool', async (c, cluster, m) => {
		m.tools = await c.tools();
		assert.deepEqual(m.tools.map(t => t.name).sort(), m.wanted);
		for (const t of m.tools)
			assert(t.inputSchema.type === 'object' && t.outputSchema.type === 'object' && t.description);
	}],
	['reads with every tool that needs nothing', async (c, cluster, m) => {
		for (const t of m.tools.filter(x => x.annotations.readOnlyHint && !x.inputSchema.required))
			if (!('cluster' in (t.inputSchema.properties ?? {})))
				await call(c, t.name, {});
	}],
	['is told what it misspells', async c => {
		const problem = await refused(c, 'get_operation', {id: 'op_none', huh: 1});

		assert.deepEqual(problem.errors.map(e => e.field), ['/huh']);
	}],
	['plans a cluster', async (c, cluster, m) => {
		const plan = await call(c, 'create_cluster', {...m.request, dry_run: 'plan'});

		assert.match(plan.plan_digest, /^[0-9a-f]{64}$/);
		assert(plan.steps.length && plan.resources.length);
		m.digest = plan.plan_digest;
	}],
	['makes it by that plan; a repeat is the same operation', async (c, cluster, m) => {
		const {args, op} = await byPlan(c, m, `${cluster}-1`);

		assert.equal((await call(c, 'create_cluster', args)).id, op.id);
		const {items} = await call(c, 'list_operations', {cluster});

		assert(items.some(o => o.id === op.id));
		await toTheEnd(c, op);
	}],
	['finds it', async (c, cluster) => {
		assert.equal((await call(c, 'get_cluster', {cluster})).status, 'in_service');
		assert((await call(c, 'list_clusters', {})).items.some(x => x.name === cluster));
		await call(c, 'get_dependencies', {cluster});
		await call(c, 'get_hyperpod_cluster', {cluster});
		assert.equal((await call(c, 'list_storages', {cluster})).items[0].name, 'data');
		assert((await call(c, 'list_pods', {cluster, namespace: 'kube-system'})).items.length);
	}],
	['does not remove it by accident, and removes it', async (c, cluster) => {
		assert.equal((await refused(c, 'delete_cluster', {cluster})).code, 'confirmation-needed');
		const {steps: planned} = await call(c, 'delete_cluster', {cluster, dry_run: 'plan'});

		assert(planned.length);
		await toTheEnd(c, await call(c, 'delete_cluster', {cluster, confirm: cluster}));
	}],
];

/** wanted: names of all tools. Counts a case for each step. */
export async function job(t, c, cluster, wanted)
{
	const m = {wanted, request: {name: cluster, zone: 'us-west-2a', instance_type: TYPE}};

	for (const [what, step] of steps)
		if (!await t.case(`${c.name} ${what}`, () => step(c, cluster, m)))
			return;
}
