// The definitions (CustomResourceDefinitions) that charts bring in crds/, as JSON.
//
//   node core/kube/charts/definitions.mjs FOLDER HELM
//
// Helm installs them once and never changes them again, so the program does it when it
// upgrades a release: each row of FOLDER/charts.json gets "definitions": [{name, digest}],
// and FOLDER/definitions/COMPONENT/NAME.json holds each. Those of a part of the chart
// (charts/) have "when": the values that switch it on, as the dependency has them.
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

function run(helm, ...args)
{
	const r = spawnSync(helm, args, {encoding: 'utf8', maxBuffer: 1 << 28});

	if (r.status !== 0)
		throw new Error(`helm ${args.slice(0, 2).join(' ')}: ${r.stderr ?? r.error}`);
	return r.stdout;
}

/* Unpacked parts, and what switches each on: [{at, when}]. */
function partsOf(chart, helm)
{
	const from = path.join(chart, 'charts');
	/* As Helm writes it: items and their members in the first columns. */
	const text = /^dependencies:\n((?:[- ].*\n)*)/m.exec(run(helm, 'show', 'chart', chart))?.[1] ?? '';
	const items = text.split(/^- /m).slice(1).map(item => Object.fromEntries(item.split('\n')
		.map(l => /^\s*(\w+): (.*)$/.exec(l)?.slice(1)).filter(Boolean)));

	return fs.existsSync(from) ? fs.readdirSync(from).filter(name => fs.existsSync(path.join(from, name, 'Chart.yaml')))
		.map(name => ({at: path.join(from, name), when: items.find(i => i.name === name)?.condition})) : [];
}

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
		return run(helm, 'template', 'definitions', tmp).split('\n').filter(l => l.startsWith('{')).map(l => JSON.parse(l)).map(d => {
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
	const chart = path.join(folder, row.chart);
	const all = [{at: chart}, ...partsOf(chart, helm)].flatMap(({at, when}) =>
		definitionsOf(at, helm).map(d => ({d, when})));
	const definitions = all.map(({d, when}) => {
		const text = JSON.stringify(d);
		const {name} = d.metadata;

		if (!/^[a-z0-9][a-z0-9.-]*$/.test(name))
			throw new Error(`${row.chart}: "${name}" is no name of a definition`);
		fs.mkdirSync(path.join(folder, 'definitions', row.component), {recursive: true});
		fs.writeFileSync(path.join(folder, 'definitions', row.component, `${name}.json`), `${text}\n`);
		return {name, digest: createHash('sha256').update(text).digest('hex').slice(0, 32), when};
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
