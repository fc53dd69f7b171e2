// Accepting a change: once and only once, whoever asks how often by which face.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {cloudOf, psql, token, waitFor} from '../stack/stack.mjs';
import {call, end, start, tool} from './faces.mjs';
import {Viewer} from './viewer.mjs';

let s;

before(async () => {
	/* No poller: what is accepted stays as it was accepted. */
	s = await start({poller: false, cloud: true, env: {INSTANTSTART_SLOW_PER_USER: '6', INSTANTSTART_CALL_TIMEOUT_MS: '5000'}});
	await cloudOf(s.cloud_url).settings({quota: {'L-4C3F99F6': 16}});
	s.tokens.ann = await token(s, 'operator', 'ann');
	s.tokens.ben = await token(s, 'operator', 'ben');
});
after(() => end(s));

const body = (name, more = {}) => ({name, zone: 'us-west-2a', instance_type: 'ml.g5.12xlarge', ...more});
const create = (who, b, {key, query = ''} = {}) => call(s, 'POST', `/api/v1/clusters${query}`,
	{role: who, body: b, headers: key ? {'idempotency-key': key} : {}});
const count = name => Number(psql(s, `select count(*) from operation where target = '${name}' and parent_id is null`));

test('a double click is one cluster', async () => {
	const all = await Promise.all(Array.from({length: 8}, () => create('ann', body('double'))));

	for (const r of all) {
		assert.equal(r.status, 202, r.text);
		assert.equal(r.headers.get('location'), `/api/v1/operations/${r.json.id}`);
		assert.equal(r.headers.get('operation-location'), r.headers.get('location'));
		assert(Number(r.headers.get('retry-after')) > 0);
	}
	assert.equal(new Set(all.map(r => r.json.id)).size, 1);
	assert.equal(count('double'), 1);
});

test('an agent that repeats after a lost answer gets the same operation', async () => {
	const args = {...body('agent'), idempotency_key: 'agent-1'};
	const first = await tool(s, 'create_cluster', args, {role: 'ann'});
	const again = await tool(s, 'create_cluster', args, {role: 'ann'});
	const byRest = await create('ann', body('agent'), {key: 'agent-1'});

	assert.equal(first.isError, false, JSON.stringify(first));
	assert.equal(again.structuredContent.id, first.structuredContent.id);
	assert.equal(byRest.json.id, first.structuredContent.id);
	assert.deepEqual(first.structuredContent.next.tool, 'get_operation');
	assert.equal(count('agent'), 1);
});

test('the same key with another body is refused, and names the first', async () => {
	const first = await create('ann', body('keyed'), {key: 'k'});
	const other = await create('ann', body('keyed', {count: 2}), {key: 'k'});

	assert.equal(first.status, 202);
	assert.equal(`${other.status} ${other.json.code}`, '422 idempotency-key-reused');
	assert.match(JSON.stringify(other.json.cause), new RegExp(first.json.id));
	/* Keys are the caller's own: another caller's k is another key. */
	assert.equal((await create('ben', body('keyed2'), {key: 'k'})).status, 202);
});

test('two users on one cluster: one works, the other is told by whom, or waits', async () => {
	const ann = await create('ann', body('shared'));
	const ben = await create('ben', body('shared'));

	assert.equal(ann.status, 202);
	assert.equal(`${ben.status} ${ben.json.code}`, '409 conflict');
	assert.match(ben.text, new RegExp(ann.json.id));
	const queued = await create('ben', body('shared'), {query: '?queue=true'});

	assert.equal(queued.status, 202, queued.text);
	assert.equal(queued.json.status, 'queued');
	assert.match(queued.json.waiting_for, new RegExp(ann.json.id));
});

test('unknown members and wrong types: every violation, nothing accepted', async () => {
	const r = await create('ann', {...body('wrong'), count: 'two', cout: 1, zone: 'nowhere', name: 'No'});
	const mcp = await tool(s, 'create_cluster', {...body('wrong'), count: 'two', cout: 1}, {role: 'ann'});

	assert.equal(r.status, 400);
	assert.deepEqual(r.json.errors.map(e => e.field).sort(), ['/count', '/cout', '/name', '/zone']);
	assert.deepEqual(JSON.parse(mcp.content[0].text).errors.map(e => e.field).sort(), ['/count', '/cout']);
	assert.equal(count('wrong') + count('No'), 0);
	assert.equal(psql(s, "select outcome from audit where capability = 'create_cluster' order by id desc limit 1"), 'refused');
});

test('a plan changes nothing, and binds what is run by its digest', async () => {
	const plan = await create('ann', body('planned'), {query: '?dry_run=plan'});

	assert.equal(plan.status, 200, plan.text);
	assert(plan.json.steps.length > 3);
	assert.equal(count('planned'), 0);
	const byMcp = await tool(s, 'create_cluster', {...body('planned'), dry_run: 'plan'}, {role: 'ann'});

	assert.equal(byMcp.structuredContent?.plan_digest, plan.json.plan_digest, JSON.stringify(byMcp).slice(0, 400));
	const changed = await create('ann', body('planned', {count: 2}), {query: `?plan_digest=${plan.json.plan_digest}`});

	assert.equal(`${changed.status} ${changed.json.code}`, '409 plan-changed');
	assert(changed.json.plan.steps.length > 3, 'the plan as it would be now');
	assert.equal(count('planned'), 0);
	const run = await create('ann', body('planned'), {query: `?plan_digest=${plan.json.plan_digest}`});

	assert.equal(run.status, 202, run.text);
});

test('what destroys wants its name, on both faces', async () => {
	for (const query of ['', '?confirm=other'])
		assert.equal((await call(s, 'DELETE', `/api/v1/clusters/double${query}`, {role: 'ann'})).json.code, 'confirmation-needed');
	const mcp = await tool(s, 'delete_cluster', {cluster: 'double'}, {role: 'ann'});

	assert.equal(JSON.parse(mcp.content[0].text).code, 'confirmation-needed');
	assert.equal(JSON.parse(mcp.content[0].text).expected, 'double');
});

const metric = async name =>
	Number(new RegExp(`^instantstart_${name} (\\d+)`, 'm').exec(await (await fetch(`${s.url}/metrics`)).text())[1]);

test('reads that ask the cloud come from the slow pool; a dead cloud hurts no other', async () => {
	const zones = await call(s, 'GET', '/api/v1/zones', {role: 'viewer'});

	assert.equal(zones.status, 200, zones.text);
	const slow = await metric('slow_total');

	assert(slow >= 3, `${slow} calls were handed on`);
	const each = async () => {
		const began = performance.now();

		for (let i = 0; i < 50; i++)
			assert.equal((await call(s, 'GET', '/api/v1/me', {role: 'viewer'})).status, 200);
		return (performance.now() - began) / 50;
	};
	const alone = await each();

	process.kill(s.services.cloud.pid, 'SIGSTOP');
	try {
		const asked = [];
		const plan = who => {
			const answer = create(who, body(`stuck-${who}${asked.length}`), {query: '?dry_run=plan'});

			asked.push(answer);
			return answer;
		};
		let refused;

		for (let i = 0; i < 6; i++)
			plan('ann');
		await waitFor('six places', async () => await metric('slow_line') >= 6);
		/* More than her six are hers while they would be served soon; nobody serves them
		 * now, and that shows before the first has ended. */
		await waitFor('a refusal', async () => {
			plan('ann').then(r => refused ??= r.status === 429 && r);
			return Boolean(refused);
		}, 30000);
		assert.equal(refused.json.code, 'rate-limited');
		/* A log that is followed asks where the cluster is: it waits in the same line. */
		const log = await new Viewer(s, '/ws/logs', {token: s.tokens.ann, query: {cluster: 'double', pod: 'x'}}).end();

		assert.equal(log.code, 1013, log.reason);
		assert.match(log.reason, /already running or waiting/);
		assert(await metric('slow_line') < 128, 'ann has not all places');
		const ms = await each();

		assert(ms < Math.max(100, 4 * alone), `${ms} ms a request while the cloud is silent, ${alone} ms before`);
		const ben = plan('ben');

		/* Silence ends by our own word, not by that of the proxy, which knows nothing. */
		const first = await asked[0];

		assert(first.status !== 200 || first.json.incomplete, first.text);
		assert.doesNotMatch(first.text, /The program did not answer in time/);
		process.kill(s.services.cloud.pid, 'SIGCONT');
		assert.notEqual((await ben).status, 429, 'it is not ben who asks too much');
		for (const r of await Promise.all(asked)) {
			assert([200, 429, 502, 503, 504].includes(r.status), r.text);
			assert.doesNotMatch(r.text, /The program did not answer in time/);
		}
		assert.equal(await metric('slow_line'), 0, 'every place is given back');
	} finally {
		process.kill(s.services.cloud.pid, 'SIGCONT');
	}
});
