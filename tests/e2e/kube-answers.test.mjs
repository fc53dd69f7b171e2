// The simulated Kubernetes API server answers as a real one has: the table that
// tests/peers/apidiff plays on both, held against the answers that are kept.
import assert from 'node:assert/strict';
import test from 'node:test';
import {agree, readAnswers} from '../peers/apidiff/answers.mjs';
import {simulated} from '../peers/apidiff/cloud.mjs';
import {play} from '../peers/apidiff/play.mjs';
import {scenes} from '../peers/apidiff/table.mjs';
import fs from 'node:fs';

const listed = JSON.parse(fs.readFileSync(new URL('../peers/apidiff-differences.json', import.meta.url), 'utf8'));

test('the simulated API server answers as a real one', {timeout: 240000}, async () => {
	const server = await simulated(process.env.INSTANTSTART_BUILD);
	let got;

	try {
		got = await play(server.target, scenes);
	} finally {
		await server.stop();
	}
	const kept = readAnswers();
	const wrong = Object.entries(kept).map(([name, answer]) => [name, agree(answer, got.get(name))])
		.filter(([name, problem]) => problem !== null && !listed[name]);

	assert.deepEqual(wrong.map(([name, problem]) => `${name}: ${problem}`), []);
	assert.deepEqual([...got.keys()].filter(name => !(name in kept)), [], 'cases without a kept answer');
	assert.ok(got.size > 800, `${got.size} cases`);
});
