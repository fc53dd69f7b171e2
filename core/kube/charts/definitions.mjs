// The definitions (CustomResourceDefinitions) that charts bring in crds/, as JSON.
//
//   node core/kube/charts/definitions.mjs FOLDER HELM
//
// Helm installs them once and never changes them again, so the program does it when it
// upgrades a release: each row of FOLDER/charts.json gets "definitions": [{name, digest}],
// and FOLDER/definitions/COMPONENT/NAME.json holds each. Parts of a chart (charts/) are
// left out: whether they are switched on is told by values.
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

/* Helm reads YAML, so that nobody else has to. */
const TEMPLATE = `{{- range $path, $_ := .Files.Glob "files/*" }}
{{- range $text := splitList "\\n---" (printf "\\n%s" ($.Files.Get $path)) }}
---
{{ fromYaml (trimPrefix "---" (trim $text)) | toJson }}
{{- end }}
{{- end }}
`;

function definitionsOf(chart, helm)
{
	const from = path.join(chart, 'crds');

	if (!fs.existsSync(from))
		return [];
	const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'definitions-'));

	try {
		fs.mkdirSync(`${tmp}/templates`);
		fs.writeFileSync(`${tmp}/Chart.yaml`, 'apiVersion: v2\nname: definitions\nversion: 1.0.0\n');
		fs.writeFileSync(`${tmp}/templates/all.yaml`, TEMPLATE);
		fs.cpSync(from, `${tmp}/files`, {recursive: true});
		const r = spawnSync(helm, ['template', 'definitions', tmp], {encoding: 'utf8', maxBuffer: 1 << 28});

		if (r.status !== 0)
			throw new Error(`the definitions of ${chart}: ${r.stderr ?? r.error}`);
		return r.stdout.split('\n').filter(l => l.startsWith('{')).map(l => JSON.parse(l)).map(d => {
			if (d.Error)
				throw new Error(`the definitions of ${chart}: ${d.Error}`);
			return d;
		}).filter(d => d.kind === 'CustomResourceDefinition');
	} finally {
		fs.rmSync(tmp, {recursive: true, force: true});
	}
}

/** Writes the files, gives the row with their names. */
export function withDefinitions(folder, row, helm)
{
	const definitions = definitionsOf(path.join(folder, row.chart), helm).map(d => {
		const text = JSON.stringify(d);
		const {name} = d.metadata;

		if (!/^[a-z0-9][a-z0-9.-]*$/.test(name))
			throw new Error(`${row.chart}: "${name}" is no name of a definition`);
		fs.mkdirSync(path.join(folder, 'definitions', row.component), {recursive: true});
		fs.writeFileSync(path.join(folder, 'definitions', row.component, `${name}.json`), `${text}\n`);
		return {name, digest: createHash('sha256').update(text).digest('hex').slice(0, 32)};
	});

	return definitions.length ? {...row, definitions} : row;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [folder, helm] = process.argv.slice(2);
	const list = `${folder}/charts.json`;

	fs.rmSync(`${folder}/definitions`, {recursive: true, force: true});
	const rows = JSON.parse(fs.readFileSync(list, 'utf8')).map(row => withDefinitions(folder, row, helm));

	fs.writeFileSync(list, `[\n${rows.map(r => `\t${JSON.stringify(r)}`).join(',\n')}\n]\n`);
}
