// The published charts on a real API server: life.mjs there, then the whole main job.
import fs from 'node:fs';
import {planeProgram} from '../apiserver/plane.mjs';
import {startWorld} from '../apiserver/world.mjs';
import {life} from './life.mjs';

export async function run(out, dir, t, charts)
{
	planeProgram();
	for (const nodes of [0, 1]) {
		const at = `${dir}/${nodes}`;

		fs.mkdirSync(at);
		const w = await startWorld(out, at);

		try {
			await life({ask: w.ask, dir: at, real: true, plane: w.plane}, t, charts, nodes);
		} finally {
			await w.stop();
		}
	}
	const {run: job} = await import('../apiserver/job.mjs');

	fs.mkdirSync(`${dir}/job`);
	await job(out, `${dir}/job`, t, {charts, only: ['create_cluster', 'delete_cluster']});
}
