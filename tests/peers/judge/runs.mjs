// Runs what makes exchanges, and keeps them: one file for each run.
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';

const top = fileURLToPath(new URL('../../..', import.meta.url));
/* Those whose programs talk to the cloud; the others of the tier have none. */
const E2E = ['worlds', 'accept', 'trouble', 'leaks', 'live-cloud'];
/* Of the tiers in C, what is built: the rest of them makes no exchange. */
const PROGRAMS = [
	['integration', 'integration/kube_helm_test'],
	['unit', 'unit/cloud_front_test'],
];

/* That a run fails is told by its own tier; here its exchanges count. */
function run(out, name, command, args, env = {})
{
	const file = `${out}/log/peers/exchanges-${name}.jsonl`;

	fs.rmSync(file, {force: true});
	const done = spawnSync(command, args, {cwd: top, stdio: ['ignore', 'inherit', 'inherit'],
		env: {...process.env, ...env, CLOUD_RECORD: file}});

	if (done.status !== 0)
		console.log(`${name} did not pass: exit status ${done.status}`);
	if (!fs.existsSync(file))
		throw new Error(`${name} made no exchange`);
	return file;
}

/** The end to end tests of the whole pipeline. */
export const pipeline = out => run(out, 'pipeline', 'tests/e2e/run', [out, 'tests/e2e/pipeline.test.mjs']);

/** Files of every tier that talks to the simulated cloud; what is not built is said. */
export async function record(out)
{
	fs.mkdirSync(`${out}/log/peers`, {recursive: true});
	const files = [run(out, 'sdk', process.execPath, ['tests/peers/sdk.mjs', out]), pipeline(out)];
	const faults = `${out}/tests/faults/crash_test`;

	for (const name of E2E)
		files.push(run(out, name, 'tests/e2e/run', [out, `tests/e2e/${name}.test.mjs`]));
	for (const [tier, program] of PROGRAMS) {
		const built = `${out}/tests/${program}`;
		const [command, ...args] = tier === 'unit' ? ['tests/lib/run-criterion', tier] : [`tests/${tier}/run`];

		if (fs.existsSync(built))
			files.push(run(out, tier, command, [...args, out, built]));
		else
			console.log(`skipped: ${program} is not built (make test-${tier})`);
	}
	if (fs.existsSync(faults))
		files.push(run(out, 'faults', 'tests/faults/run', [out, faults],
			{SAMPLE: '1', SAMPLE_SIZE: '3', SEED: '7'}));
	else
		console.log('skipped: the fault tests are not built (make test-faults)');
	return files;
}
