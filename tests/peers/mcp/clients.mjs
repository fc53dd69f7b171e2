// Clients of MCP that others wrote, each as {name, version, tools(), call(), close()}:
// call() gives {structuredContent, content, isError}, or throws {code} of a refusal.
import {spawn} from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';
import {fileURLToPath} from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const node = path.resolve(here, '../../node_modules/.tools/bin/node');

/* Both TypeScript clients hold an answer against the tool's output schema. */
async function typescript(name, client, transport)
{
	await client.connect(transport);
	return {
		name,
		version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
		async tools() {
			const all = [];
			let cursor;

			do {
				const page = await client.listTools(cursor ? {cursor} : undefined);

				all.push(...page.tools);
				cursor = page.nextCursor;
			} while (cursor);
			return all;
		},
		call: (tool, args) => client.callTool({name: tool, arguments: args}),
		close: () => client.close(),
	};
}

const bearer = token => ({requestInit: {headers: {authorization: `Bearer ${token}`}}});

export async function sdkV1(url, token)
{
	const {Client} = await import('@modelcontextprotocol/sdk/client/index.js');
	const {StreamableHTTPClientTransport} =
		await import('@modelcontextprotocol/sdk/client/streamableHttp.js');

	return typescript('TypeScript v1', new Client({name: 'peer', version: '1'}),
		new StreamableHTTPClientTransport(new URL(url), bearer(token)));
}

/** mode: auto, legacy, or {pin: a version}. */
export async function sdkV2(url, token, mode)
{
	const {Client, StreamableHTTPClientTransport} = await import('@modelcontextprotocol/client');

	return typescript(`TypeScript v2, ${mode.pin ?? mode}`,
		new Client({name: 'peer', version: '1'}, {versionNegotiation: {mode}}),
		new StreamableHTTPClientTransport(new URL(url), bearer(token)));
}

/** A process that answers each line with a line; see client.py. */
export async function python(url, token, mode, venv)
{
	const child = spawn(`${venv}/bin/python`, [`${here}/client.py`, url, token, mode],
		{stdio: ['pipe', 'pipe', 'inherit']});
	const lines = readline.createInterface({input: child.stdout})[Symbol.asyncIterator]();
	const next = async () => {
		const {value, done} = await lines.next();

		if (done)
			throw new Error(`client.py ${mode} ended`);
		return JSON.parse(value);
	};
	const ask = question => {
		child.stdin.write(`${JSON.stringify(question)}\n`);
		return next();
	};
	const {version} = await next();

	return {
		name: `Python, ${mode}`,
		version,
		tools: async () => (await ask({list: true})).tools,
		async call(tool, args) {
			const {result, error} = await ask({call: tool, arguments: args});

			if (error)
				throw Object.assign(new Error(error.message), {code: error.code});
			return result;
		},
		close: () => new Promise(resolve => {
			child.once('exit', resolve);
			child.stdin.end();
		}),
	};
}

/* Its exit statuses: 5 is a result that is an error, 6 a schema that it refuses. */
function inspect(url, token, era, args)
{
	return new Promise((resolve, reject) => {
		const child = spawn(node, [`${here}/../node_modules/.bin/mcp-inspector`, '--cli', url,
			'--transport', 'http', '--protocol-era', era, '--header', `Authorization: Bearer ${token}`,
			'--format', 'json', '-q', ...args], {env: {...process.env, MCP_INSPECTOR_SECRET_STORE: 'memory'}});
		let out = '';
		let err = '';

		child.stdout.on('data', d => out += d);
		child.stderr.on('data', d => err += d);
		child.on('error', reject);
		child.on('close', status => resolve({status, out, err}));
	});
}

/** The Inspector's command line: a process for each request. */
export async function inspector(url, token, era)
{
	const run = async (args, fine = []) => {
		const {status, out, err} = await inspect(url, token, era, args);

		if (status !== 0 && !fine.includes(status))
			throw Object.assign(new Error(`inspector ${args.join(' ')}: ${status} ${err.slice(0, 2000)}`),
				{code: Number(/-32\d\d\d/.exec(err)?.[0])});
		return {...JSON.parse(out).result, warnings: err};
	};

	return {
		name: `Inspector, ${era}`,
		version: (await run(['--method', 'initialize'])).protocolVersion,
		tools: async () => (await run(['--method', 'tools/list'])).tools,
		/** What its strict mode says of every schema. */
		strict: async () => (await run(['--strict', '--method', 'tools/list'])).warnings,
		call: (tool, args) => run(['--method', 'tools/call', '--tool-name', tool,
			'--tool-args-json', JSON.stringify(args)], [5]),
		close: () => {},
	};
}
