// Our Kubernetes client, Helm and the main job against a real API server: the
// published kube-apiserver, controllers and scheduler, with kwok's nodes and pods.
//
//   node tests/peers/apiserver.mjs OUTPUT-FOLDER [client|job]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {planeProgram} from './apiserver/plane.mjs';
import {tally} from './tally.mjs';

const [out, only] = [path.resolve(process.argv[2]), process.argv[3]];

planeProgram();
const t = tally('apiserver', 'apiserver-differences.json');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'peer-apiserver-'));

for (const part of ['client', 'job']) {
	if (only && only !== part)
		continue;
	const {run} = await import(`./apiserver/${part}.mjs`);

	fs.mkdirSync(`${dir}/${part}`);
	await t.case(`part ${part}`, () => run(out, `${dir}/${part}`, t));
}
const good = t.sum();

if (good || !process.env.KEEP)
	fs.rmSync(dir, {recursive: true, force: true});
else
	console.error(`kept: ${dir}`);
process.exit(good ? 0 : 1);
