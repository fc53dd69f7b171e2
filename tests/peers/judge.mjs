// The published models as judge of every request that was made and of every answer
// that the simulated cloud gave, read from what CLOUD_RECORD has kept.
//
//   node tests/peers/judge.mjs OUTPUT-FOLDER [FILE…]
//
// Without files it makes the recording itself: see judge/runs.mjs.
import fs from 'node:fs';
import readline from 'node:readline';
import {readAnswer, readRequest} from './judge/exchange.mjs';
import {fromJson} from './judge/decode.mjs';
import {unreadable, violations} from './models.mjs';
import {tally} from './tally.mjs';

const [out, ...given] = process.argv.slice(2);
const files = given.length ? given : await (await import('./judge/runs.mjs')).record(out);
const known = JSON.parse(fs.readFileSync(new URL('judge-differences.json', import.meta.url)));
const codes = JSON.parse(fs.readFileSync(new URL('judge-codes.json', import.meta.url)));
const t = tally('judge', 'judge-differences.json');
const found = new Map(); /* key -> {what, n} */
const seen = {requests: new Map(), answers: new Map(), errors: 0, unknown: new Map()};

function note(key, what)
{
	const one = found.get(key) ?? {what, n: 0};

	one.n++;
	found.set(key, one);
}

/** The idempotency token that a client of ours never leaves out. */
function tokenFaults({m, op, input, ours, service})
{
	const shape = m.shapes[m.operations[op].input?.shape];

	return !ours ? [] : Object.entries(shape?.members ?? {})
		.filter(([name, ref]) => ref.idempotencyToken && input[name] === undefined)
		.map(([name]) => ({key: `${service} ${op}: no ${name}`, path: name, what: 'no token'}));
}

export function judgeRequest(one)
{
	const r = readRequest(one.request);

	if (!r)
		return {r, faults: [{key: 'no service', path: one.request.target, what: 'for no service'}]};
	if (!r.input)
		return {r, faults: [{key: `${r.service}: no operation ${r.op}`, path: '', what: 'no operation'}]};
	const ref = r.m.operations[r.op].input;
	const faults = [...r.faults, ...tokenFaults(r)];

	if (ref)
		violations(r.m, ref.shape, r.input, '', faults);
	return {r, faults};
}

function judgeError(r, error)
{
	const o = r.m.operations[r.op];
	const ref = (o.errors ?? []).find(({shape}) =>
		shape === error.code || r.m.shapes[shape].error?.code === error.code);

	if (error.code === null)
		return [];
	if (!ref && (codes[r.service].codes.includes(error.code) ||
		codes.all.codes.includes(error.code))) {
		bump(seen.answers, `${r.service} error ${error.code}`);
		return [];
	}
	if (!ref)
		return [{key: `${r.service} error ${error.code}`, path: '', what: `unmodelled, ${r.op}`}];
	if (!error.json)
		return [];
	const members = r.m.shapes[ref.shape].members;
	/* Every service writes the text as message; some models spell it Message. */
	const {message, ...rest} = error.members;
	const all = members.message ? {...rest, message} : members.Message && message !== undefined
		? {...rest, Message: message} : rest;

	return violations(r.m, ref.shape, fromJson(r.m, ref, all));
}

function judgeAnswer(r, one)
{
	const answer = readAnswer(r, one.answer, one.request.method);
	const o = r.m.operations[r.op];

	if (answer.error) {
		seen.errors++;
		return judgeError(r, answer.error);
	}
	return o.output ? violations(r.m, o.output.shape, answer.output) : [];
}

const bump = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);

function judge(one, bare)
{
	const {r, faults} = judgeRequest(one);

	/* Unit tests of the cloud itself ask it wrongly on purpose, and name no agent. */
	if (r && bare)
		r.ours = false;
	/* No status: the answer was withheld. */
	const refused = !(one.answer.status >= 200 && one.answer.status < 300);
	const who = r?.ours ? 'ours' : 'theirs';

	/* What a test asks wrongly on purpose, and is refused for, is not judged. */
	if (!bare && (!refused || r?.ours))
		for (const f of faults)
			note(`request ${f.key}`, `${who} ${r?.op}${f.path} ${f.what}`);
	if (!r?.input)
		return;
	bump(seen.requests, `${who} ${r.service}.${r.op}`);
	if (one.fault)
		return;
	bump(seen.answers, `${r.service}.${r.op}`);
	try {
		for (const f of judgeAnswer(r, one))
			note(`answer ${f.key}`, `${r.op}${f.path} ${f.what}`);
	} catch (e) {
		note(`answer ${r.service} ${r.op}: unreadable`, e.message);
	}
}

/* --- a judge that lets everything pass would pass too -------------------------------- */

const corrupt = [
	['an unknown member', one => ({...one, request: {...one.request,
		body: one.request.body.replace(/^\{/, '{"Bogus":1,')}})],
	['a missing member', one => ({...one, request: {...one.request, body: '{}'}})],
	['a wrong type', one => ({...one, request: {...one.request,
		body: one.request.body.replace(/"ClusterName":"[^"]*"/, '"ClusterName":7')}})],
	['a wrong pattern', one => ({...one, request: {...one.request,
		body: one.request.body.replace(/"ClusterName":"[^"]*"/, '"ClusterName":"a b"')}})],
	['a wrong target', one => ({...one, request: {...one.request, headers: one.request.headers
		.map(([k, v]) => [k, v.replace(/^SageMaker\./, 'Sage.')])}})],
];

function selfTest(sample)
{
	for (const [what, change] of corrupt)
		t.count(`judge sees ${what}`, sample && judgeRequest(change(sample)).faults.length
			? null : 'it does not');
	if (sample)
		t.count('judge passes the sample', judgeRequest(sample).faults.length ? 'it does not' : null);
}

let sample;

for (const file of files)
	for await (const line of readline.createInterface({input: fs.createReadStream(file)})) {
		const one = JSON.parse(line);

		if (!sample && one.request.headers.some(([, v]) => v === 'SageMaker.DescribeCluster') &&
			one.answer.status === 200)
			sample = one;
		judge(one, /exchanges-unit/.test(file));
	}
selfTest(sample);
for (const [what, map] of [['request', seen.requests], ['answers of', seen.answers]])
	for (const key of map.keys())
		t.count(`${what} ${key}`, null);
for (const [key, {what, n}] of [...found].sort())
	t.count(key, `${what} (${n})`);
for (const p of unreadable)
	t.count(`pattern ${p}`, 'cannot be read');
const total = map => [...map.values()].reduce((a, b) => a + b, 0);

console.log(`${total(seen.requests)} requests of ${seen.requests.size} kinds, ${
	total(seen.answers)} answers judged, ${seen.errors} of them refusals`);
if (Object.keys(known).some(k => !k.startsWith('request ') && !k.startsWith('answer ')))
	t.count('keys of judge-differences.json', 'one is neither of a request nor of an answer');
process.exit(t.sum() ? 0 : 1);
