// Types and form schemas of the API, from the document that the program prints.
//
//   node scripts/types.mjs openapi.json
//
// src/api/generated/schema.ts  every path and schema as types
// src/api/generated/bodies.ts  what each change takes: the schemas that the server
//                              itself validates by, for the forms
// src/api/generated/calls.ts   method and path of each change
// src/api/generated/words.ts   words of the server that are shown: codes, states
import fs from 'node:fs';
import openapiTS, {astToString} from 'openapi-typescript';

const [file] = process.argv.slice(2);
const doc = JSON.parse(fs.readFileSync(file, 'utf8'));
const out = new URL('../src/api/generated/', import.meta.url);
const head = '// Generated from the OpenAPI document; see scripts/types.mjs.\n';

fs.mkdirSync(out, {recursive: true});

function write(name, text)
{
	const path = new URL(name, out);

	if (!fs.existsSync(path) || fs.readFileSync(path, 'utf8') !== text)
		fs.writeFileSync(path, text);
}

write('schema.ts', head + astToString(await openapiTS(doc, {alphabetize: true})));

const bodies = {};

for (const methods of Object.values(doc.paths))
	for (const o of Object.values(methods)) {
		const body = o.requestBody?.content['application/json'].schema;

		if (body)
			bodies[o.operationId] = body;
	}
write('bodies.ts', `${head}export const bodies = ${JSON.stringify(bodies, null, '\t')} as const;\n`);

/* Of each change: where it goes. */
const changes = {};

for (const [path, methods] of Object.entries(doc.paths))
	for (const [method, o] of Object.entries(methods))
		if (method !== 'get')
			changes[o.operationId] = {method: method.toUpperCase(), path: path.replace(/^\/api\/v1/, '')};
write('calls.ts', `${head}export const changes = ${JSON.stringify(changes, null, '\t')} as const;\n`);

const {Operation, Problem} = doc.components.schemas;
const words = {
	codes: Problem.properties.code.enum,
	states: [...new Set([...Operation.properties.state.enum, ...Operation.properties.status.enum,
		...Operation.properties.phases.items.properties.state.enum])],
	faces: Operation.properties.face.enum,
	retries: Problem.properties.retry.enum,
};

write('words.ts', `${head}${Object.entries(words).map(([name, all]) => `export const ${name} = ${JSON.stringify(all)} as const;\n`).join('')}` +
	'export type Code = typeof codes[number];\n');
