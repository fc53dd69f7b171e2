// The live channel on the simulated cloud: a cluster made by one request, its API over
// TLS with its own authority and tokens that are verified, pods that live by the clock.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {waitFor} from '../stack/stack.mjs';
import {Viewer} from './viewer.mjs';
import {call, end, tool} from './faces.mjs';
import {create, succeeded, world} from './pipeline.mjs';

let s, events;

before(async () => {
	/* Pods write a line a second, whatever the speed. */
	s = await world({speed: 300});
	events = new Viewer(s, '/ws/events', {token: s.tokens.viewer});
});
after(async () => {
	events.stop();
	await end(s);
});

test('a cluster is made, and every change of it is an event', async () => {
	const op = await create(s, 'watched');

	await succeeded(s, op.id, 180000);
	const seen = events.frames.filter(f => f.t === 'operation' && f.id === op.id);

	await waitFor('the last event', () => events.frames.some(f => f.t === 'operation' && f.id === op.id && f.state === 'succeeded'));
	assert(seen.length > 5, String(seen.length));
	assert(events.frames.some(f => f.t === 'operation' && f.parent === op.id), 'stages as well');
	for (const what of ['cluster', 'resource', 'dependency'])
		assert(events.frames.some(f => f.t === 'catalog' && f.what === what && f.cluster === 'watched'), what);
	events.check();
	assert.deepEqual(events.gaps, []);
});

test('a pod of it is followed through a restart; the previous log is there for reading', async () => {
	const pods = (await call(s, 'GET', '/api/v1/clusters/watched/pods', {role: 'viewer'})).json.items;
	const pod = pods.find(p => p.phase === 'Running' && p.containers.length === 1);

	assert(pod, JSON.stringify(pods.map(p => [p.name, p.phase])));
	const container = pod.containers[0].name;
	const v = new Viewer(s, '/ws/logs', {token: s.tokens.viewer, query: {cluster: 'watched', namespace: pod.namespace, pod: pod.name, tail: 20}});

	await waitFor('lines', () => v.lines.length >= 2);
	assert.match(v.texts()[0], /(started|step=\d+)$/);
	const count = v.lines.length;

	await waitFor('more lines', () => v.lines.length > count + 2);
	v.ws.close();
	await v.end();
	v.open();
	const again = v.lines.length;

	await waitFor('more lines', () => v.lines.length > again + 2);
	await s.cloud.settings({kube_restarts: {[`${pod.namespace}/${pod.name}`]: 1}});
	const restarted = await v.state('restarted');

	assert.equal(restarted.restarts, 1);
	await waitFor('the new run', () => v.lines.some(([n, text]) => n >= restarted.seq && text === `${container} started`));
	v.check();
	assert.deepEqual(v.gaps, []);
	/* Steps count up by one within a run: nothing is missing, whatever was marked. */
	const steps = v.lines.filter(([n]) => n < restarted.seq).map(([, text]) => Number(/step=(\d+)/.exec(text)?.[1] ?? 0));

	assert(steps.every((step, i) => i === 0 || step === steps[i - 1] + 1), String(steps));
	const run = first => v.lines.filter(([n]) => n < restarted.seq === first).map(([, text]) => text);
	const old = await call(s, 'GET', `/api/v1/clusters/watched/pods/${pod.name}/logs?namespace=${pod.namespace}&previous=true&tail=3`, {role: 'viewer'});

	assert(run(true).length >= 3, String(run(true)));
	assert.deepEqual(old.json.text.trimEnd().split('\n'), run(true).slice(-3), 'the end that was followed');
	assert.equal(old.json.exit_code, 137);
	await waitFor('three lines of the new run', () => run(false).length >= 3);
	const {structuredContent: now} = await tool(s, 'get_pod_logs', {cluster: 'watched', namespace: pod.namespace, pod: pod.name, tail: 2}, {role: 'viewer'});
	const [before, last] = now.text.trimEnd().split('\n');

	assert.deepEqual([now.restarts, now.lines, now.state, now.previous], [1, 2, 'running', false]);
	/* The same two lines, next to each other, reach whoever follows. */
	await waitFor('what was read', () => run(false).includes(last));
	assert.equal(run(false)[run(false).indexOf(last) - 1], before);
	v.stop();
	await v.end();
});
