// make charts: what is pinned is fetched, recorded once and checked ever after.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';
import {tools} from '../../stack/stack.mjs';
import {archives, serve} from './source.mjs';

const program = fileURLToPath(new URL('../../../core/kube/charts/fetch.mjs', import.meta.url));
const pinned = fileURLToPath(new URL('../../../core/kube/charts/lock.json', import.meta.url));

/* Not spawnSync: the server is in this process. */
function fetchInto(dir, lock, env = {})
{
	return new Promise(resolve => {
		const child = spawn(`${tools}/node`, [program, `${dir}/charts`, `${tools}/helm`, lock],
			{env: {PATH: process.env.PATH, HOME: dir, TMPDIR: dir, ...env}});
		let text = '';

		child.stdout.on('data', d => text += d);
		child.stderr.on('data', d => text += d);
		child.on('close', status => resolve({status, text}));
	});
}

const rowsOf = lock => JSON.parse(fs.readFileSync(lock, 'utf8'));
const digests = rows => rows.flatMap(r => [r.digest, ...(r.with ?? []).map(w => w.digest)]);

function space(dir, name, change = rows => rows)
{
	const at = `${dir}/${name}`;

	fs.mkdirSync(at, {recursive: true});
	fs.writeFileSync(`${at}/lock.json`, JSON.stringify(change(rowsOf(pinned))));
	return {at, lock: `${at}/lock.json`};
}

/* A chart is named by its own archive where the lock has one of a source tree. */
const from = url => rows => rows.map(r => ({...r, archive: undefined, folder: undefined, repository: url,
	with: r.with?.map(w => ({...w, repository: url}))}));

const unrecorded = row => ({...row, digest: null, with: row.with?.map(unrecorded)});

async function fine(at, lock, env)
{
	const r = await fetchInto(at, lock, env);

	assert.equal(r.status, 0, r.text);
	return JSON.parse(fs.readFileSync(`${at}/charts/charts.json`, 'utf8'));
}

export const cases = {
	async 'repositories, and what was recorded is checked'(dir) {
		const s = await serve(archives());
		const {at, lock} = space(dir, 'repositories', from(s.url));

		try {
			assert(digests(rowsOf(lock)).some(d => !d) || digests(rowsOf(lock)).every(d => /^sha256:[0-9a-f]{64}$/.test(d)));
			const list = await fine(at, lock);
			const recorded = digests(rowsOf(lock));

			assert.deepEqual(list.map(r => r.component), ['hyperpod', 'load_balancers', 'kuberay']);
			assert(recorded.every(d => /^sha256:[0-9a-f]{64}$/.test(d)), recorded.join());
			assert.deepEqual(await fine(at, lock), list, 'the same again');
			assert.deepEqual(digests(rowsOf(lock)), recorded);
			/* Each recorded digest is checked: of a chart, and of a part of one. */
			for (const wrong of [r => r[0], r => r[0].with[1], r => r[2]]) {
				const rows = rowsOf(lock);

				wrong(rows).digest = `sha256:${'0'.repeat(64)}`;
				fs.writeFileSync(`${at}/wrong.json`, JSON.stringify(rows));
				const r = await fetchInto(at, `${at}/wrong.json`);

				assert.equal(r.status, 1);
				assert.match(r.text, new RegExp(`${wrong(rows).chart} .* is not what was pinned`));
				assert.deepEqual(JSON.parse(fs.readFileSync(`${at}/charts/charts.json`, 'utf8')), list, 'what was there stays');
			}
		} finally {
			await s.stop();
		}
	},
	async 'the archive of a source tree'(dir) {
		const tree = `${dir}/tree/hyperpod-cli-011ca927123e/helm_chart`;

		fs.mkdirSync(tree, {recursive: true});
		fs.mkdirSync(`${dir}/served`, {recursive: true});
		for (const f of fs.readdirSync(archives()).filter(n => n.endsWith('.tgz')))
			fs.copyFileSync(`${archives()}/${f}`, `${dir}/served/${f}`);
		spawnSync('tar', ['-xzf', `${dir}/served/hyperpod-helm-chart-0.1.0.tgz`, '-C', tree]);
		fs.renameSync(`${tree}/hyperpod-helm-chart`, `${tree}/HyperPodHelmChart`);
		spawnSync('tar', ['-czf', `${dir}/served/source-1.0.tgz`, '-C', `${dir}/tree`, 'hyperpod-cli-011ca927123e']);
		const s = await serve(`${dir}/served`);
		const {at, lock} = space(dir, 'archive', rows => from(s.url)(rows).map((r, i) => (i ? r : {...r,
			archive: `${s.url}/source-1.0.tgz`, folder: rows[0].folder})));

		try {
			const list = await fine(at, lock);
			const plain = space(dir, 'plain', from(s.url));

			assert.equal(list[0].digest, (await fine(plain.at, plain.lock))[0].digest, 'the same chart another way');
			assert.deepEqual(digests(rowsOf(lock)), digests(rowsOf(plain.lock)));
		} finally {
			await s.stop();
		}
	},
	async 'packages that a publisher or a mirror has made of it'(dir) {
		const trees = space(dir, 'trees', rows => rows.map(unrecorded)), packed = `${dir}/packages`;
		const known = space(dir, 'known');

		await fine(trees.at, trees.lock, {CHARTS_FROM: archives()});
		await fine(known.at, known.lock, {CHARTS_FROM: archives()});
		assert.deepEqual(digests(rowsOf(known.lock)), digests(rowsOf(trees.lock)), 'what stands in the lock file is right');
		fs.mkdirSync(packed);
		for (const row of rowsOf(trees.lock).flatMap(r => [r, ...(r.with ?? [])])) {
			const at = `${dir}/unpacked/${row.chart}`;

			fs.mkdirSync(at, {recursive: true});
			spawnSync('tar', ['-xzf', `${archives()}/${row.chart}-${row.version}.tgz`, '-C', at, '--strip-components=1']);
			/* Packing merges the folder of a part and the package beside it; ours takes the folder. */
			fs.rmSync(`${at}/charts/health-monitoring-agent-0.1.0.tgz`, {force: true});
			const shown = spawnSync(`${tools}/helm`, ['show', 'chart', at], {encoding: 'utf8'}).stdout;

			fs.writeFileSync(`${at}/Chart.yaml`, shown.replace(/^dependencies:\n(?:[- ].*\n)*/m, ''));
			const r = spawnSync(`${tools}/helm`, ['package', at, '--destination', packed], {encoding: 'utf8'});

			assert.equal(r.status, 0, r.stderr);
			/* As Helm writes it, with the dependencies again. */
			const file = `${packed}/${fs.readdirSync(packed).find(f => f.startsWith(`${row.chart}-`))}`;

			spawnSync('tar', ['-xzf', file, '-C', packed]);
			fs.writeFileSync(`${packed}/${row.chart}/Chart.yaml`, shown);
			spawnSync('tar', ['-czf', file, '-C', packed, row.chart]);
		}
		await fine(trees.at, trees.lock, {CHARTS_FROM: packed});
		assert.doesNotMatch(fs.readFileSync(`${trees.at}/charts/hyperpod-helm-chart/Chart.yaml`, 'utf8'), /cert-manager/);
	},
	async 'a private OCI registry, a folder, a proxy, a password'(dir) {
		const s = await serve(archives());
		const closed = await serve(archives(), {user: 'ci:pa"ss\\w0rd'});
		let expected;

		try {
			for (const [name, env] of [
				['folder', {CHARTS_FROM: archives()}],
				['oci', {CHARTS_FROM: `oci://${s.url.slice(7)}/mirror/charts`, CHARTS_PLAIN_HTTP: '1'}],
				['proxy', {CHARTS_FROM: 'http://charts.invalid/x', http_proxy: s.url}],
				['password', {CHARTS_FROM: closed.url, CHARTS_USERNAME: 'ci', CHARTS_PASSWORD: 'pa"ss\\w0rd'}],
			]) {
				const {at, lock} = space(dir, name);
				const list = (await fine(at, lock, env)).map(r => r.digest);

				expected ??= list;
				assert.deepEqual(list, expected, name);
			}
			assert(s.asked.some(u => u.startsWith('http://charts.invalid/x/')), 'by the proxy');
			const {at, lock} = space(dir, 'refused');
			const r = await fetchInto(at, lock, {CHARTS_FROM: closed.url});

			assert.equal(r.status, 1);
			assert.match(r.text, /401/);
			assert(!fs.existsSync(`${at}/charts`));
		} finally {
			await s.stop();
			await closed.stop();
		}
	},
	async 'what is no pin'(dir) {
		for (const change of [{version: '9.9.9'}, {chart: '../../etc'}, {version: '--debug'}]) {
			const {at, lock} = space(dir, `no-${Object.values(change)[0].length}`, rows => rows.map((r, i) => (i === 2 ? {...r, ...change} : r)));
			const r = await fetchInto(at, lock, {CHARTS_FROM: archives()});

			assert.equal(r.status, 1, r.text);
			assert.match(r.text, /^charts: /m);
		}
	},
};

/** The folder of the real charts, made by the program itself. */
export async function realCharts(dir)
{
	const {at, lock} = space(dir, 'real');

	await fine(at, lock, {CHARTS_FROM: archives()});
	return `${at}/charts`;
}
