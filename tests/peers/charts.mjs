// The published Helm charts with exactly what we tell them, on the simulated and on the
// real API server: rendered for every region, installed twice, upgraded, rolled back,
// recovered, removed, before and after the first node; and the main job with them.
//
//   node tests/peers/charts.mjs OUTPUT-FOLDER [fetch|render|simulated|job|real]
//
// REAL_CHARTS: a folder of the charts as NAME-VERSION.tgz. Without one it is skipped.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {archives} from './charts/source.mjs';
import * as fetching from './charts/fetch.mjs';
import {tally} from './tally.mjs';

const [out, only] = [path.resolve(process.argv[2]), process.argv[3]];

if (!archives()) {
	console.log('there are no published charts here: REAL_CHARTS names a folder of them');
	process.exit(77);
}
const t = tally('charts', 'charts-differences.json');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'peer-charts-'));

if (!only || only === 'fetch')
	for (const [name, scene] of Object.entries(fetching.cases))
		await t.case(`fetch ${name}`, () => scene(dir));
const charts = await fetching.realCharts(dir);

for (const part of ['render', 'simulated', 'job', 'real']) {
	if (only && only !== part)
		continue;
	const {run} = await import(`./charts/${part}.mjs`);

	fs.mkdirSync(`${dir}/of-${part}`);
	await t.case(`part ${part}`, () => run(out, `${dir}/of-${part}`, t, charts));
}
const good = t.sum();

if (good || !process.env.KEEP)
	fs.rmSync(dir, {recursive: true, force: true});
else
	console.error(`kept: ${dir}`);
process.exit(good ? 0 : 1);
