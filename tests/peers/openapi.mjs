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
import {cloudOf, down, token, up} from '../stack/stack.mjs';
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

/* Its one fault is members that are null, or without a text: they were not given. */
function isEmpty(rest, from)
{
	const [, queries, body] =
		/Invalid component: (?:parameters? ((?:`[^`]+`(?:, )?)+) in query|in body - ([\w.-]+):)/.exec(rest) ?? [];
	const curl = /^ *curl [^\n]*/m.exec(from)?.[0] ?? '';

	if (queries) {
		const url = /'(http[^']*)'/.exec(curl)?.[1];

		return Boolean(url) && [...queries.matchAll(/`([^`]+)`/g)]
			.every(([, name]) => new URL(url).searchParams.get(name) === '');
	}
	const sent = / -d '(\{.*\})' 'http/.exec(curl)?.[1];

	try {
		return Boolean(body && sent) && [null, ''].includes(JSON.parse(sent)[body]);
	} catch {
		return false;
	}
}

/*
 * Each failure by its own key: what schemathesis says, where; of a request that was
 * refused though its schema allows it, by which of our rules.
 */
function failures(text)
{
	const found = new Map();

	for (const part of text.split(/^_{3,} (?=[A-Z]+ \/|Stateful tests)/m).slice(1)) {
		const where = /^(Stateful tests|[A-Z]+ \S+)/.exec(part)[0];

		for (const {1: code, 2: title, 3: rest, index} of part.matchAll(
			/^- (ST\d+) ([^\n]*)\n([\s\S]*?)(?=^- ST|^Reproduce with|$(?![\s\S]))/gm)) {
			const problem = /"code":"([a-z-]+)"(?:,"field":"([^"]*)")?/.exec(part);
			const field = problem?.[2]?.replace(/\/\d+(?=\/|$)/g, '/N').replace(/^\/tags\/.+/, '/tags/KEY') ?? '';
			const key = title === 'Schema-valid request rejected' && problem
				? `${code} ${problem[1]} ${field}`.trim()
				: title === 'Schema-violating request accepted' && isEmpty(rest, part.slice(index))
					? `${code} an empty member is not given` : `${code} ${where}`;

			found.set(key, `${where}: ${title}: ${rest.trim().split('\n')[0]}`);
		}
	}
	return found;
}

/* Two runs: what ends the caller's own access comes last, with a token of its own. */
function drive(s, bearer, seconds, ...which)
{
	const done = run(`${out}/peers/venv/bin/schemathesis`, ['run', 'openapi.json',
		'--url', `${s.url}/api/v1`, '-H', `Authorization: Bearer ${bearer}`, '--checks', 'all',
		'--max-time', seconds, ...which, '--request-timeout', '40', '--seed', process.env.SEED ?? '1', '--workers', '1',
		'--continue-on-failure', '--no-color', '--output-truncate', 'false',
		'--report', 'json', '--report-json-path', 'report.json'], {timeout: 900000});
	const report = JSON.parse(fs.readFileSync(`${work}/report.json`));
	const found = failures(done.text);

	fs.writeFileSync(`${out}/log/peers/schemathesis.log`, done.text, {flag: 'a'});
	t.count(`schemathesis tests every operation ${which.join(' ')}`,
		report.complete && report.operations.tested === report.operations.selected &&
		report.errors.length === 0 ? null
			: JSON.stringify([report.complete, report.operations, report.errors]).slice(0, 2000));
	t.count(`schemathesis tells each failure ${which.join(' ')}`, (report.failures.length > 0) === (found.size > 0)
		? null : `${report.failures.length} kinds, ${found.size} read`);
	for (const [key, what] of found)
		t.count(`schemathesis ${key}`, what);
	t.add(report.test_cases.generated - report.test_cases.unique_failures);
	console.log(`schemathesis ${report.schemathesis_version}: ${report.test_cases.generated} requests to ${
		report.operations.tested} operations in ${seconds} s, seed ${report.seed}`);
}

/* The examples of the document speak of a cluster "demo": here it is. */
async function makeDemo(s, bearer)
{
	const headers = {authorization: `Bearer ${bearer}`, 'content-type': 'application/json'};
	const ask = async (where, options = {}) => {
		const res = await fetch(`${s.url}/api/v1${where}`, {...options, headers});
		const body = await res.json();

		if (!res.ok)
			throw new Error(`${where}: ${JSON.stringify(body)}`);
		return body;
	};

	await cloudOf(s.cloud_url).settings({quota: {'L-4C3F99F6': 16}});
	const {id} = await ask('/clusters', {method: 'POST', body: JSON.stringify({name: 'demo',
		instance_type: 'ml.g5.12xlarge', zone: 'us-west-2a', count: 1})});

	const end = Date.now() + 180000;
	let seen = {version: 0};

	while (Date.now() < end) {
		seen = await ask(`/operations/${id}?wait=20&seen_version=${seen.version}`);
		if (seen.state === 'succeeded')
			return;
		if (seen.state === 'failed')
			break;
	}
	throw new Error(`the cluster demo does not come: ${JSON.stringify(seen)}`);
}

/* Thousands of requests without a token from one address: how strangers are limited is
 * another test's question. */
const OPEN = {rate: 5000, burst: 10000};
const s = await up(`${work}/stack`, {build: out, cloud: true, ...OPEN});

try {
	const bearer = await token(s, 'admin');
	const res = await fetch(`${s.url}/api/v1/openapi.json`,
		{headers: {authorization: `Bearer ${bearer}`}});

	fs.mkdirSync(`${out}/log/peers`, {recursive: true});
	fs.rmSync(`${out}/log/peers/schemathesis.log`, {force: true});
	fs.writeFileSync(`${work}/openapi.json`, await res.text());
	fs.copyFileSync(`${work}/openapi.json`, `${out}/log/peers/openapi.json`);
	lint();
	compile();
	if (process.env.PART !== 'document') {
		await makeDemo(s, bearer);
		for (const [seconds, how, who] of [[SECONDS, '--exclude-operation-id-regex', bearer],
			['15', '--include-operation-id-regex', await token(s, 'admin', 'leaver')]])
			drive(s, who, seconds, how, '^(sign_out_everywhere|revoke_token)$');
	}
} finally {
	await down(s);
	fs.rmSync(work, {recursive: true, force: true});
}
process.exit(t.sum() ? 0 : 1);
