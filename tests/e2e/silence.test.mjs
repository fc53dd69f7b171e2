// A service that does not answer holds nobody but those who need it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {restart} from '../stack/stack.mjs';
import {call, end} from './faces.mjs';
import {create, ended, operation, order, waitFor, world} from './pipeline.mjs';

const CREATES = 12;
const CALL_MS = 3000;
let s;

before(async () => {
	s = await world({env: {INSTANTSTART_POLLERS: '2', INSTANTSTART_CALL_TIMEOUT_MS: String(CALL_MS),
		INSTANTSTART_POLL_SCALE_PERCENT: '100', INSTANTSTART_READ_DEADLINE_MS: '1000'}});
});
after(() => end(s));

const operations = async () => (await call(s, 'GET', '/api/v1/operations?state=live&kind=create_cluster', {role: 'viewer'})).json.items;

test('EKS hangs under many creates: they say so, and a cancel does not wait for it', async () => {
	await s.cloud.addFaults([{service: 'eks', fault: 'hang', for_ms: 120000, times: 1e6}]);
	const ops = [];

	for (let i = 0; i < CREATES; i++)
		ops.push(await create(s, `silent-${i}`));
	/* Each poller has met it once; from then on it is left alone. */
	await waitFor('silence is said', async () => {
		const texts = await Promise.all(ops.map(async o => (await operation(s, o.id)).waiting_for ?? ''));

		return texts.filter(t => /no answer recently/.test(t)).length >= CREATES / 2;
	}, 45000);
	const began = Date.now();

	await order(s, ops.at(-1).id, 'cancel');
	assert.equal((await ended(s, ops.at(-1).id)).state, 'cancelled');
	const ms = Date.now() - began;

	/* One after the other they would hold two pollers for half a minute. */
	assert(ms < CREATES * CALL_MS / 4, `${ms} ms`);
	console.log(`# a cancel beside ${CREATES} creates that hang: ${ms} ms`);
});

test('a poller that starts while STS is silent works with what the journal knows: cancels end', async () => {
	await s.cloud.addFaults([{service: 'sts', fault: 'hang', for_ms: 120000, times: 1e6}]);
	await restart(s, 'poller');
	const {id} = (await operations()).at(0);

	await order(s, id, 'cancel');
	assert.equal((await ended(s, id)).state, 'cancelled');
	assert.match(fs.readFileSync(`${s.dir}/poller.log`, 'utf8'), /ev=assumed/);
	await s.cloud.clearFaults();
});
