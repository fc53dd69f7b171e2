// The published MCP conformance suite, with the list of what it may miss.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(here, '../../node_modules');

/** The suite cannot send a header of its own, so this adds the token. */
export async function proxyOf(port, authorization)
{
	const agent = new http.Agent({keepAlive: true});
	const server = http.createServer((req, res) => {
		const on = http.request({host: '127.0.0.1', port, agent, method: req.method,
			path: req.url, headers: {...req.headers, authorization}}, answer => {
			res.writeHead(answer.statusCode, answer.rawHeaders);
			answer.pipe(res);
		});

		on.on('error', () => res.destroy());
		req.pipe(on);
	});

	await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
	return {url: `http://127.0.0.1:${server.address().port}/mcp`, close() {
		server.close();
		server.closeAllConnections();
		agent.destroy();
	}};
}

function run(args, cwd)
{
	return new Promise((resolve, reject) => {
		const child = spawn(`${modules}/.tools/bin/node`,
			[`${modules}/@modelcontextprotocol/conformance/dist/index.js`, ...args], {cwd});
		let text = '';

		child.stdout.on('data', d => text += d);
		child.stderr.on('data', d => text += d);
		child.on('error', reject);
		child.on('close', status => resolve({status, text}));
	});
}

/** The suite's file of expected failures: an entry that does not fail is a fault. */
function baseline(file, revision, known)
{
	const entries = Object.keys(known).filter(k => k.startsWith(`${revision} `))
		.map(k => `  - ${k.slice(revision.length + 1)}\n`);

	fs.writeFileSync(file, `server:\n${entries.join('')}`);
	return entries.length;
}

/**
 * Every scenario that a revision requires; known: {"REVISION SCENARIO[:CHECK]": reason}.
 * Gives {ok, passed, failed}: checks; with the list met, those that failed are on it.
 */
export async function conformance(url, revision, known)
{
	const out = fs.mkdtempSync(path.join(os.tmpdir(), 'is-mcp-'));

	baseline(`${out}/expected.yml`, revision, known);
	const {status, text} = await run(['server', '--url', url, '-o', out, '--requirements', revision,
		'--expected-failures', `${out}/expected.yml`], out);
	const lines = text.trimEnd().split('\n');
	const sum = {ok: status === 0, passed: 0, failed: 0};

	console.log(`conformance ${revision}: exit ${status}`);
	console.log(lines.slice(status ? -60 : -3).map(l => `  ${l}`).join('\n'));
	fs.rmSync(out, {recursive: true, force: true});
	for (const [, passed, failed] of text.matchAll(/Total: (\d+) passed, (\d+) failed/g)) {
		sum.passed += Number(passed);
		sum.failed += Number(failed);
	}
	return sum;
}

/** One scenario, with all that it says. */
export const scenario = (url, revision, name) =>
	run(['server', '--url', url, '--scenario', name, '--spec-version', revision, '--verbose'], os.tmpdir());
