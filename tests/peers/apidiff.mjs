// The simulated Kubernetes API server against a real one: a table of requests is played
// on both, and what a client can tell must agree: status codes, reasons and causes,
// whole objects with their defaults and their managers, the order of events.
//
//   node tests/peers/apidiff.mjs OUTPUT-FOLDER [part…]
//
// The real answers are kept in apidiff-answers.json, which tests/e2e holds the simulated
// one to where there is no Go. RECORD=1 writes it anew.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {startPlane} from './apiserver/plane.mjs';
import {simulated} from './apidiff/cloud.mjs';
import {agree, readAnswers, writeAnswers} from './apidiff/answers.mjs';
import {play} from './apidiff/play.mjs';
import {published} from './apidiff/table/published.mjs';
import {scenes} from './apidiff/table.mjs';
import {tally} from './tally.mjs';

const out = path.resolve(process.argv[2]);
const parts = process.argv.length > 3 ? process.argv.slice(3) : undefined;
const t = tally('apidiff', 'apidiff-differences.json');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'peer-apidiff-'));
const all = [...scenes, ...published];
const real = await startPlane(`${dir}/plane`);
const ours = await simulated(out);
let want;
let got;

try {
	const target = {
		url: real.url, token: real.token, ca: fs.readFileSync(real.ca),
		/* Watches are served from a cache that a new process does not have. */
		async forget() {
			await real.command('compact');
			await real.command('restart kube-apiserver');
		},
	};

	[want, got] = await Promise.all([play(target, all, parts), play(ours.target, all, parts)]);
} finally {
	await ours.stop();
	await real.stop();
	fs.rmSync(dir, {recursive: true, force: true});
}
for (const [name, answer] of want)
	t.count(name, agree(answer, got.get(name)));
for (const name of got.keys()) {
	if (!want.has(name))
		t.count(name, 'only the simulated server came to it');
}
if (process.env.RECORD && !parts)
	writeAnswers(want);
const kept = readAnswers();

for (const [name, answer] of want) {
	const problem = name.includes('published ') ? null : agree(kept[name], answer);

	if (problem)
		t.count(`kept: ${name}`, problem);
}
console.log(`kube-apiserver ${real.version}`);
process.exit(t.sum() ? 0 : 1);
