// A simulated Kubernetes API server of its own, for as long as the table is played.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {sleep} from './play.mjs';

/** {target, stop()}: out is the folder of the programs. */
export async function simulated(out)
{
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apidiff-'));
	const ready = path.join(dir, 'ready');
	const models = [out, path.dirname(out)].map(d => `${d}/cloud-models.json`)
		.find(f => fs.existsSync(f));
	const server = spawn(`${out}/instantstart-cloud`, ['--models', models, '--port', '0',
		'--tls-port', '0', '--ready-file', ready], {stdio: ['ignore', 'inherit', 'inherit']});
	const end = Date.now() + 20000;

	while (!fs.existsSync(ready) || !fs.readFileSync(ready, 'utf8').trim()) {
		if (server.exitCode !== null || Date.now() > end)
			throw new Error('the simulated cloud does not start');
		await sleep(20);
	}
	const url = `http://127.0.0.1:${JSON.parse(fs.readFileSync(ready, 'utf8')).http}`;
	const post = async (what, body) => {
		const r = await fetch(`${url}/_cloud/${what}`, {method: 'POST', body: JSON.stringify(body)});

		if (!r.ok)
			throw new Error(`${what}: ${r.status} ${await r.text()}`);
	};

	await post('settings', {kube_tokens: {admin: 'system:admin'}});
	await post('kube', {name: 'table', id: 'table'});
	return {
		target: {
			url: `${url}/k8s/table`, token: 'admin',
			/* Its history goes with the next change. */
			async forget() {
				await post('settings', {kube_history: 0});
				await fetch(`${url}/k8s/table/api/v1/namespaces/default`, {method: 'PATCH',
					headers: {authorization: 'Bearer admin', 'content-type': 'application/merge-patch+json'},
					body: '{"metadata":{"annotations":{"example.com/a":"b"}}}'});
				await post('settings', {kube_history: null});
			},
		},
		async stop() {
			server.kill();
			await new Promise(done => (server.exitCode === null && server.signalCode === null
				? server.once('exit', done) : done()));
			fs.rmSync(dir, {recursive: true, force: true});
		},
	};
}
