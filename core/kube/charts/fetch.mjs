// Fetches the pinned charts: everything that INSTANTSTART_CHARTS wants in a folder.
//
//   node core/kube/charts/fetch.mjs FOLDER HELM [LOCK]          make charts
//
// LOCK (core/kube/charts/lock.json) pins each chart: repository or archive, version, and a digest
// of its content as `helm package` writes it. The digest of the chart that comes as the archive
// of a commit is recorded. What publishers have packed is known only where it can be fetched: a
// null is replaced in LOCK at the first fetch, and from then on other content under the same
// version is refused. Nothing is put into FOLDER unless every chart is as pinned.
//
// CHARTS_FROM takes all of them from one place instead: oci://HOST/PATH, http(s)://HOST/PATH
// (a chart repository) or a folder of NAME-VERSION.tgz. Proxies are those of the environment
// (HTTPS_PROXY, NO_PROXY), credentials of OCI registries those of `helm registry login`,
// of others CHARTS_USERNAME and CHARTS_PASSWORD.
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {withDefinitions} from './definitions.mjs';

class Refused extends Error {}

const refuse = text => {
	throw new Refused(text);
};

/* Names become paths and arguments. */
const plain = (what, text) => (/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(text ?? '') ? text : refuse(`${what} "${text}" is no name`));

function run(program, args, input)
{
	const r = spawnSync(program, args, {encoding: 'utf8', input, maxBuffer: 1 << 26});

	if (r.error)
		refuse(`${program} cannot be run: ${r.error.message}`);
	if (r.status !== 0)
		refuse(`${path.basename(program)} ${args[0]}: ${(r.stderr || r.stdout).trim().split('\n').at(-1)}`);
	return r.stdout;
}

function filesOf(folder, below = '')
{
	return fs.readdirSync(path.join(folder, below), {withFileTypes: true}).flatMap(e => {
		const name = path.posix.join(below, e.name);

		if (e.isDirectory())
			return filesOf(folder, name);
		return e.isFile() ? [name] : refuse(`${folder}/${name} is neither a file nor a folder`);
	}).sort((a, b) => (a < b ? -1 : 1));
}

/** Of names and contents: an archive of the same files has the same one. */
function digestOf(folder)
{
	const sum = createHash('sha256');

	for (const name of filesOf(folder))
		sum.update(`${createHash('sha256').update(fs.readFileSync(path.join(folder, name))).digest('hex')}  ${name}\n`);
	return `sha256:${sum.digest('hex')}`;
}

/* The archive's one folder, or the one that is asked for below it. */
function unpack(archive, into, folder)
{
	fs.mkdirSync(into, {recursive: true});
	run('tar', ['-xzf', archive, '-C', into, '--no-same-owner']);
	const [top, ...more] = fs.readdirSync(into);

	if (!top || more.length)
		refuse(`${path.basename(archive)} holds not one folder`);
	const at = path.join(into, top, folder ?? '');

	return fs.existsSync(path.join(at, 'Chart.yaml')) ? at : refuse(`${path.basename(archive)} has no chart in ${folder ?? top}`);
}

const login = () => (process.env.CHARTS_USERNAME ? {user: process.env.CHARTS_USERNAME, password: process.env.CHARTS_PASSWORD ?? ''} : null);

/* Credentials go by a file: arguments are for everybody to read. */
function download(url, to)
{
	const l = login();
	const quote = text => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');

	run('curl', ['--config', '-', '--fail', '--silent', '--show-error', '--location', '--retry', '3', '--max-time', '300',
		'--output', to, '--', url], l ? `user = "${quote(`${l.user}:${l.password}`)}"\n` : '');
}

/* Some write v1.2.3, some 1.2.3, for the same version. */
const bare = version => version?.replace(/^v(?=\d)/, '');

function pull(helm, tmp, base, row)
{
	const to = fs.mkdtempSync(path.join(tmp, 'pull-'));
	const names = ['', 'v'].map(v => `${row.chart}-${v}${bare(row.version)}.tgz`);

	if (base.startsWith('oci://')) {
		run(helm, ['pull', `${base}/${row.chart}`, '--version', row.version, '--destination', to,
			...(process.env.CHARTS_PLAIN_HTTP ? ['--plain-http'] : [])]);
	} else if (/^https?:/.test(base)) {
		/* The index says where the archive is, and how much of it is whose. */
		const index = path.join(to, 'index.yaml');

		download(`${base}/index.yaml`, index);
		const found = fs.readFileSync(index, 'utf8').split('\n').map(l => /^\s*-\s+["']?([^"'\s]+\.tgz)["']?\s*$/.exec(l)?.[1])
			.find(u => u && names.includes(path.posix.basename(u)));

		fs.rmSync(index);
		if (!found)
			refuse(`${base} has no ${row.chart} ${row.version}`);
		download(new URL(found, `${base}/`).href, path.join(to, names[0]));
	} else {
		return names.map(name => path.join(base, name)).find(f => fs.existsSync(f))
			?? refuse(`${base} has no ${names[0]}`);
	}
	return path.join(to, fs.readdirSync(to)[0] ?? refuse(`${base} gave nothing for ${row.chart}`));
}

/* Items of Chart.yaml's dependencies that are neither brought nor wanted; all without names. */
function dropDependencies(file, names)
{
	/* An item is a dash and what is indented more; Helm writes both at the first column,
	 * and the name is not the first of its members. */
	const text = fs.readFileSync(file, 'utf8');
	const block = /^dependencies:.*\n(?:(?:[\s#-].*)?\n)*/m.exec(`${text}\n`)?.[0];
	const items = block?.split(/^(?=\s*-\s)/m) ?? [];
	const nameOf = item => /^\s*(?:-\s+)?name:\s*["']?([^"'\s]+)/m.exec(item)?.[1];
	const kept = items.filter((item, i) => i === 0 || (names && !names.includes(nameOf(item))));

	if (block)
		fs.writeFileSync(file, `${text}\n`.replace(block, () => (kept.length > 1 ? kept.join('') : '')));
}

/* An archive beside the folder of the same chart would be rendered, too. */
function dropDoubles(folder)
{
	for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
		const chart = /^(.+)-v?\d[^/]*\.tgz$/.exec(name)?.[1];

		if (chart && fs.existsSync(path.join(folder, chart, 'Chart.yaml')))
			fs.rmSync(path.join(folder, name));
	}
}

/*
 * Of the chart as `helm package` writes it: a source tree, its publisher's package and one
 * that a mirror has packed again are the same chart. Packing leaves out what .helmignore
 * names and writes Chart.yaml anew; it asks for dependencies, which are not part of it.
 */
function packagedDigest(helm, at, work)
{
	const tree = path.join(work, 'tree'), out = path.join(work, 'packed');
	const shown = run(helm, ['show', 'chart', at]);

	fs.cpSync(at, tree, {recursive: true});
	fs.rmSync(path.join(tree, 'Chart.lock'), {force: true});
	dropDependencies(path.join(tree, 'Chart.yaml'));
	dropDoubles(path.join(tree, 'charts'));
	run(helm, ['package', tree, '--destination', out]);
	const packed = unpack(path.join(out, fs.readdirSync(out)[0]), path.join(work, 'again'));

	fs.writeFileSync(path.join(packed, 'Chart.yaml'), shown);
	return digestOf(packed);
}

function fetchOne(helm, tmp, row)
{
	const from = process.env.CHARTS_FROM?.replace(/\/+$/, '');
	const work = fs.mkdtempSync(path.join(tmp, 'chart-'));
	let archive;

	plain('chart', row.chart);
	plain('version', row.version);
	if (row.archive && !from) {
		archive = path.join(work, 'archive.tar.gz');
		download(row.archive, archive);
	} else {
		archive = pull(helm, tmp, from ?? row.repository, row);
	}
	const at = unpack(archive, path.join(work, 'whole'), row.archive && !from ? row.folder : undefined);
	const said = /^version:\s*["']?([^"'\s]+)/m.exec(fs.readFileSync(path.join(at, 'Chart.yaml'), 'utf8'))?.[1];

	if (bare(said) !== bare(row.version))
		refuse(`${row.chart} is of version ${said}, not ${row.version}`);
	const digest = packagedDigest(helm, at, work);

	if (row.digest && row.digest !== digest)
		refuse(`${row.chart} ${row.version} is not what was pinned: its content is ${digest}, pinned is ${row.digest}. `
			+ 'Look at what has changed; to take it, set its digest in the lock file to null.');
	return {at, digest};
}

/** Fetches by the lock into the folder; gives the rows of charts.json. */
export function fetchCharts(folder, helm, lock)
{
	const rows = JSON.parse(fs.readFileSync(lock, 'utf8'));
	const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'charts-'));
	const ready = `${folder}.new`;

	try {
		fs.rmSync(ready, {recursive: true, force: true});
		fs.mkdirSync(ready, {recursive: true});
		const list = rows.map(row => {
			const {at, digest} = fetchOne(helm, tmp, row);
			const to = path.join(ready, row.chart);

			row.digest = digest;
			fs.cpSync(at, to, {recursive: true});
			dropDependencies(path.join(to, 'Chart.yaml'), row.without ?? []);
			for (const part of row.with ?? []) {
				const one = fetchOne(helm, tmp, part);

				part.digest = one.digest;
				fs.cpSync(one.at, path.join(to, 'charts', part.chart), {recursive: true});
			}
			dropDoubles(path.join(to, 'charts'));
			run(helm, ['show', 'chart', to]);
			return withDefinitions(ready, {component: row.component, release: row.release, namespace: row.namespace,
				chart: row.chart, version: row.version, digest: digestOf(to)}, helm);
		});

		fs.writeFileSync(path.join(ready, 'charts.json'), `${JSON.stringify(list, null, '\t')}\n`);
		fs.rmSync(folder, {recursive: true, force: true});
		fs.renameSync(ready, folder);
		const text = `${JSON.stringify(rows, null, '\t')}\n`.replace(/\[\n\s+("[^"\n]*")\n\s+\]/g, '[$1]');

		if (text !== fs.readFileSync(lock, 'utf8'))
			fs.writeFileSync(lock, text);
		return list;
	} finally {
		fs.rmSync(tmp, {recursive: true, force: true});
		fs.rmSync(ready, {recursive: true, force: true});
	}
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [folder, helm, lock = fileURLToPath(new URL('lock.json', import.meta.url))] = process.argv.slice(2);

	try {
		for (const c of fetchCharts(path.resolve(folder), helm, lock))
			console.log(`  chart ${c.chart} ${c.version} ${c.digest.slice(0, 19)}`);
	} catch (e) {
		if (!(e instanceof Refused))
			throw e;
		console.error(`charts: ${e.message}`);
		process.exit(1);
	}
}
