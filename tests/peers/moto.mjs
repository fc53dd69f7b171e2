// Our AWS client against moto, an AWS that we did not write: every operation of ours
// that moto has. What comes back must be what the published models say.
//
//   node tests/peers/moto.mjs OUTPUT-FOLDER
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {listOps, startClient, startMoto} from './moto/client.mjs';
import {scenes} from './moto/scenes.mjs';
import {model, violations} from './models.mjs';
import {tally} from './tally.mjs';

const out = process.argv[2];

for (const what of ['python', 'npm']) {
	const deps = spawnSync(fileURLToPath(new URL('deps', import.meta.url)), [out, what],
		{stdio: 'inherit'});

	if (deps.status !== 0)
		process.exit(deps.status);
}

const t = tally('moto', 'moto-differences.json');
const ops = listOps(out);
const moto = await startMoto(out, ops.map(o => o.op));
const client = startClient(out, moto.url);
const tried = new Set();

const MASKED = '(secret)';

/* Our trees have times as RFC 3339 text or as numbers, and blobs as text. */
function typed(m, ref, value)
{
	const shape = m.shapes[ref.shape];

	if (value === null || value === undefined)
		return value;
	/* What is secret is masked where it comes in: nothing to hold to a pattern. */
	if (value === MASKED)
		return 'M'.repeat(20);
	if (shape.type === 'structure' && typeof value === 'object')
		return Object.fromEntries(Object.entries(value).map(([k, v]) =>
			[k, shape.members[k] ? typed(m, shape.members[k], v) : v]));
	if (shape.type === 'list' && Array.isArray(value))
		return value.map(v => typed(m, shape.member, v));
	if (shape.type === 'map' && typeof value === 'object')
		return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, typed(m, shape.value, v)]));
	if (shape.type === 'timestamp')
		return typeof value === 'number' ? new Date(value * 1000)
			: /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : value;
	return value;
}

const lab = {
	/** The answer is a success and what the model says; differences are listed one by one. */
	async ok(op, input = {}, expect = undefined, more = undefined) {
		let r;

		await t.case(more?.pages ? `${op} pages` : op, async () => {
			r = await client.call(op, input, more);
			tried.add(op);
			assert(r.ok, `${r.status} ${r.code}: ${r.message}`);
			const [service, name] = op.split('.');
			const m = model(service);
			const ref = m.operations[name].output;
			const found = ref ? violations(m, ref.shape, typed(m, ref, r.out)) : [];

			for (const key of new Set(found.map(f => f.key)))
				t.count(key, found.find(f => f.key === key).path);
			if (expect)
				await expect(r.out);
		});
		return r?.out ?? {};
	},
	async refused(op, input, code, errc) {
		await t.case(`${op} refused ${code}`, async () => {
			const r = await client.call(op, input);

			assert(!r.ok, 'not refused');
			assert.equal(r.code, code);
			assert(r.message, 'no message');
			if (errc)
				assert.equal(r.errc, errc);
		});
	},
	pages: (op, input, expect) => lab.ok(op, input, expect, {pages: true}),
	call: (op, input) => client.call(op, input),
	url: moto.url,
};

try {
	for (const scene of scenes)
		await t.case(`scene ${scene.name}`, () => scene(lab));
	for (const op of moto.implemented)
		t.count(`${op} tried`, tried.has(op) ? null : 'no case tries it');
} finally {
	client.stop();
	await moto.stop();
}
const missing = ops.map(o => o.op).filter(op => !moto.implemented.includes(op));

console.log(`moto ${moto.version} has ${moto.implemented.length} of our ${ops.length} operations`);
console.log(`it does not have: ${missing.join(' ')}`);
process.exit(t.sum() ? 0 : 1);
