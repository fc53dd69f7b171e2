// Types and form schemas of the API, from the document that the program prints.
//
//   node scripts/types.mjs openapi.json
//
// src/api/generated/schema.ts  every path and schema as types
// src/api/generated/bodies.ts  what each change takes: the schemas that the server
//                              itself validates by, for the forms
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
