// The published charts: where they are, and servers that hand them out as the world does.
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const top = fileURLToPath(new URL('../../..', import.meta.url));

/** A folder of NAME-VERSION.tgz; undefined: there is none here. */
export function archives()
{
	return [process.env.REAL_CHARTS, path.join(top, '../shared/data/charts')]
		.find(d => d && fs.existsSync(d) && fs.readdirSync(d).some(f => f.endsWith('.tgz')));
}

const nameOf = file => /^(.+?)-v?(\d.*)\.tgz$/.exec(file).slice(1);

/** Serves the archives as chart repositories and as an OCI registry; asked: what came. */
export async function serve(folder, options = {})
{
	const files = new Map(fs.readdirSync(folder).filter(f => f.endsWith('.tgz')).map(f => [f, fs.readFileSync(`${folder}/${f}`)]));
	const asked = [];
	const digest = bytes => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
	const blobs = new Map();
	const manifests = new Map();

	for (const [file, bytes] of files) {
		const [name, version] = nameOf(file);
		const config = Buffer.from(JSON.stringify({name, version, apiVersion: 'v2'}));
		const manifest = Buffer.from(JSON.stringify({schemaVersion: 2,
			mediaType: 'application/vnd.oci.image.manifest.v1+json',
			config: {mediaType: 'application/vnd.cncf.helm.config.v1+json', digest: digest(config), size: config.length},
			layers: [{mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', digest: digest(bytes), size: bytes.length}]}));

		for (const b of [config, bytes])
			blobs.set(digest(b), b);
		manifests.set(`${name}:${version}`, manifest).set(`${name}:${digest(manifest)}`, manifest);
	}
	function answer(req, res, url)
	{
		const oci = /^\/v2\/(?:.*\/)?([^/]+)\/(manifests|blobs|tags)\/(.+)$/.exec(url.pathname);
		const send = (body, type = 'application/octet-stream', more = {}) => res.writeHead(200, {'content-type': type,
			'content-length': body.length, ...more}).end(req.method === 'HEAD' ? undefined : body);

		if (options.user && req.headers.authorization !== `Basic ${Buffer.from(options.user).toString('base64')}`)
			return res.writeHead(401, {'www-authenticate': 'Basic realm="charts"'}).end();
		if (url.pathname.endsWith('/index.yaml'))
			return send(Buffer.from(`apiVersion: v1\nentries:\n${[...files.keys()].map(f => {
				const [name, version] = nameOf(f);

				return `  ${name}:\n  - name: ${name}\n    version: ${version}\n    urls:\n    - files/${f}\n`;
			}).join('')}`));
		if (files.has(path.posix.basename(url.pathname)))
			return send(files.get(path.posix.basename(url.pathname)));
		if (url.pathname === '/v2/')
			return send(Buffer.from('{}'), 'application/json');
		if (oci?.[2] === 'tags')
			return send(Buffer.from(JSON.stringify({name: oci[1], tags: [...manifests.keys()]
				.filter(k => k.startsWith(`${oci[1]}:`) && !k.includes('sha256')).map(k => k.split(':')[1])})), 'application/json');
		if (oci?.[2] === 'manifests' && manifests.has(`${oci[1]}:${oci[3]}`)) {
			const m = manifests.get(`${oci[1]}:${oci[3]}`);

			return send(m, 'application/vnd.oci.image.manifest.v1+json', {'docker-content-digest': digest(m)});
		}
		if (oci?.[2] === 'blobs' && blobs.has(oci[3]))
			return send(blobs.get(oci[3]));
		return res.writeHead(404).end();
	}
	const server = http.createServer((req, res) => {
		/* A proxy is asked for whole addresses. */
		const url = new URL(req.url, `http://${req.headers.host}`);

		asked.push(req.url);
		answer(req, res, url);
	});

	await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
	return {url: `http://127.0.0.1:${server.address().port}`, asked, stop: () => new Promise(resolve => {
		server.closeAllConnections();
		server.close(resolve);
	})};
}
