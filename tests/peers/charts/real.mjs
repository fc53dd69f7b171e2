// The published charts on a real API server: life.mjs there, then the whole main job.
import fs from 'node:fs';
import assert from 'node:assert/strict';
import {answerFlags, answerFor} from '../apiserver/answer.mjs';
import {planeProgram} from '../apiserver/plane.mjs';
import {startWorld} from '../apiserver/world.mjs';
import {life} from './life.mjs';

export async function run(out, dir, t, charts)
{
	planeProgram();
	for (const nodes of [0, 1]) {
		const at = `${dir}/${nodes}`;

		fs.mkdirSync(at);
		/* With a node webhooks answer; before it nobody serves them. */
		const w = await startWorld(out, at, nodes ? answerFlags : []);
		const answers = nodes ? await answerFor(w.plane) : null;

		try {
			await life({ask: w.ask, dir: at, real: true, plane: w.plane}, t, charts, nodes);
			if (answers)
				await t.case('real, a node: the webhooks were asked', () => assert(answers.asked.some(h =>
					h === 'aws-load-balancer-webhook-service.kube-system.svc'), answers.asked.join()));
		} finally {
			await answers?.stop();
			await w.stop();
		}
	}
	const {run: job} = await import('../apiserver/job.mjs');

	fs.mkdirSync(`${dir}/job`);
	await job(out, `${dir}/job`, t, {charts, only: ['create_cluster', 'delete_cluster']});
}
