// The whole main job with the published charts; the simulated cloud's own API server.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {call, end} from '../../e2e/faces.mjs';
import {create, remove, succeeded, world} from '../../e2e/pipeline.mjs';

const JOB_MS = 300000;

export async function run(out, dir, t, charts)
{
	const s = await world({build: out, env: {INSTANTSTART_CHARTS: charts}});

	try {
		await t.case('job, simulated: a cluster with the published charts', async () => {
			await succeeded(s, (await create(s, 'published', {count: 1})).id, JOB_MS);
			const cluster = (await call(s, 'GET', '/api/v1/clusters/published', {role: 'viewer'})).json;

			assert.equal(cluster.status, 'in_service');
			assert(cluster.dependencies.every(d => d.observed.state === 'ready'), JSON.stringify(cluster.dependencies));
			const r = await call(s, 'POST', '/api/v1/clusters/published/dependencies:reconcile', {role: 'admin', body: {}});
			const op = await succeeded(s, r.json.id, JOB_MS);

			assert.doesNotMatch(JSON.stringify(op), /helm:upgrade/, 'what is as wanted is left alone');
			await succeeded(s, (await remove(s, 'published')).id, JOB_MS);
		});
	} finally {
		for (const log of ['poller', 'fcgi'])
			fs.copyFileSync(`${s.dir}/${log}.log`, `${dir}/${log}.log`);
		await end(s);
	}
}
