// Our OpenAPI document and the API behind it, by what others wrote: Redocly lints the
// document, a typed client is made of it and compiled, schemathesis drives the API
// from it with every check.
//
//   node tests/peers/openapi.mjs OUTPUT-FOLDER
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {down, token, up} from '../stack/stack.mjs';
import {tally} from './tally.mjs';

const out = process.argv[2];
const here = path.dirname(fileURLToPath(import.meta.url));
const SECONDS = process.env.SCHEMATHESIS_SECONDS ?? '120';

for (const what of ['python', 'npm']) {
	const deps = spawnSync(`${here}/deps`, [out, what], {stdio: 'inherit'});

	if (deps.status !== 0)
		process.exit(deps.status);
}

const t = tally('openapi', 'openapi-differences.json');
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'peer-openapi-'));

/* PostgreSQL runs as another user. */
fs.chmodSync(work, 0o755);

function run(command, args, options = {})
{
	const done = spawnSync(command, args, {encoding: 'utf8', cwd: work, maxBuffer: 1 << 28, ...options});

	return {status: done.status, text: `${done.stdout}${done.stderr}`, stdout: done.stdout};
}

const npm = (name, args) => run(process.execPath, [`${here}/node_modules/.bin/${name}`, ...args],
	{env: {...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true'}});

function lint()
{
	const done = npm('redocly', ['lint', 'openapi.json', '--config', `${here}/openapi/redocly.yaml`,
		'--format', 'json']);
	const {problems, totals} = JSON.parse(done.stdout.slice(done.stdout.indexOf('{')));
	const rules = new Map();

	for (const p of problems)
		rules.set(p.ruleId, [...(rules.get(p.ruleId) ?? []),
			`${p.message} at ${p.location?.[0]?.pointer}`]);
	t.count('redocly reads it', totals ? null : done.text);
	for (const [rule, list] of rules)
		t.count(`redocly ${rule}`, `${list.length}: ${list.slice(0, 5).join('; ')}`);
}

function compile()
{
	const made = npm('openapi-typescript', ['openapi.json', '-o', 'api.ts', '--root-types']);

	t.count('openapi-typescript', made.status === 0 ? null : made.text);
	fs.copyFileSync(`${here}/openapi/client.ts`, `${work}/client.ts`);
	fs.symlinkSync(`${here}/node_modules`, `${work}/node_modules`);
	fs.writeFileSync(`${work}/package.json`, '{"type": "module"}');
	const done = npm('tsc', ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext',
		'--exactOptionalPropertyTypes', 'client.ts']);

	t.count('tsc', done.status === 0 ? null : done.text);
}

/* Failures are told in NDJSON: one event for each scenario with its checks. */
function drive(s, bearer)
{
	const done = run(`${out}/peers/venv/bin/schemathesis`, ['run', 'openapi.json',
		'--url', `${s.url}/api/v1`, '-H', `Authorization: Bearer ${bearer}`, '--checks', 'all',
		'--max-time', SECONDS, '--seed', process.env.SEED ?? '1', '--workers', '1',
		'--continue-on-failure', '--no-color', '--output-truncate', 'false',
		'--report', 'ndjson', '--report-ndjson-path', 'events.ndjson',
		'--report', 'json', '--report-json-path', 'report.json'], {timeout: 900000});

	fs.copyFileSync(`${work}/report.json`, `${out}/log/peers/schemathesis.json`);
	fs.writeFileSync(`${out}/log/peers/schemathesis.log`, done.text);
	console.log(done.text.slice(-6000));
	return done;
}

const s = await up(`${work}/stack`, {build: out, cloud: true, poller: false});

try {
	const bearer = await token(s, 'admin');
	const res = await fetch(`${s.url}/api/v1/openapi.json`,
		{headers: {authorization: `Bearer ${bearer}`}});

	fs.mkdirSync(`${out}/log/peers`, {recursive: true});
	fs.writeFileSync(`${work}/openapi.json`, await res.text());
	fs.copyFileSync(`${work}/openapi.json`, `${out}/log/peers/openapi.json`);
	lint();
	compile();
	if (process.env.PART !== 'document')
		drive(s, bearer);
} finally {
	await down(s);
	fs.rmSync(work, {recursive: true, force: true});
}
process.exit(t.sum() ? 0 : 1);
