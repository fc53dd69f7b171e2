// The published MCP conformance suite and the official clients, all eras, against
// the running program on the simulated cloud.
//
//   node tests/peers/mcp.mjs BUILD [REVISION SCENARIO]
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';
import {modern} from '../e2e/faces.mjs';
import {world} from '../e2e/pipeline.mjs';
import {down} from '../stack/stack.mjs';
import {inspector, python, sdkV1, sdkV2} from './mcp/clients.mjs';
import {job} from './mcp/job.mjs';
import {conformance, proxyOf, scenario} from './mcp/suite.mjs';
import {tally} from './tally.mjs';

const [out, ...one] = process.argv.slice(2);
const REVISIONS = ['2026-07-28', '2025-11-25'];
const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const here = fileURLToPath(new URL('.', import.meta.url));
const known = JSON.parse(fs.readFileSync(`${here}/mcp-differences.json`));

for (const what of ['npm', 'python']) {
	const {status, stdout, stderr} = spawnSync(`${here}/deps`, [out, what], {encoding: 'utf8'});

	if (status !== 0) {
		console.log(`${stderr}${stdout}`);
		process.exit(status);
	}
}

/* [how to make it, the version that it must come to] */
const clients = (url, token) => [
	[() => sdkV1(url, token), LEGACY],
	[() => sdkV2(url, token, 'auto'), MODERN],
	[() => sdkV2(url, token, 'legacy'), LEGACY],
	[() => sdkV2(url, token, {pin: MODERN}), MODERN],
	[() => python(url, token, 'auto', `${out}/peers/venv`), MODERN],
	[() => python(url, token, 'legacy', `${out}/peers/venv`), LEGACY],
	[() => python(url, token, MODERN, `${out}/peers/venv`), MODERN],
	[() => inspector(url, token, 'legacy'), LEGACY],
	[() => inspector(url, token, 'modern'), MODERN],
];

async function runClients(t, s)
{
	const wanted = (await modern(s, 'tools/list')).json.result.tools.map(x => x.name).sort();
	const all = clients(`${s.url}/mcp`, s.tokens.admin);

	/* Three at a time: most of it is waiting for the cloud. */
	const lane = async first => {
		for (let i = first; i < all.length; i += 3) {
			const [make, version] = all[i];
			const c = await make();

			t.count(`${c.name} comes to ${version}`, c.version === version ? null : c.version);
			await job(t, c, `mcp-${i}`, wanted);
			if (c.strict)
				t.count(`${c.name} --strict`, (await c.strict()).split('\n').filter(l => l.trim())
					.slice(0, 12).join('\n') || null);
			await c.close();
		}
	};

	await Promise.all([lane(0), lane(1), lane(2)]);
}

async function runSuite(t, url)
{
	for (const revision of REVISIONS) {
		const {ok, passed, failed} = await conformance(url, revision, known);

		t.add(passed);
		t.count(`conformance ${revision}`, ok ? null : 'see above');
		/* Met: the suite itself fails on an entry that does not. */
		for (const key of Object.keys(known).filter(k => k.startsWith(`${revision} `)))
			t.count(key, 'as expected');
		console.log(`${revision}: ${failed} failed checks behind the listed ones`);
	}
}

const s = await world({build: out});
const t = tally('mcp', 'mcp-differences.json');
let ok = false;

try {
	const proxy = await proxyOf(s.port, `Bearer ${s.tokens.viewer}`);

	if (one.length === 2) {
		console.log((await scenario(proxy.url, ...one)).text);
	} else {
		await runClients(t, s);
		await runSuite(t, proxy.url);
		ok = t.sum();
	}
	proxy.close();
} finally {
	await down(s);
	fs.rmSync(s.dir, {recursive: true, force: true});
}
process.exit(ok ? 0 : 1);
