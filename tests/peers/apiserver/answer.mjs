// Webhooks that answer: pods of the real API server run nothing (kwok), so this process
// listens on the cluster's service addresses in their stead, with the certificates that
// the charts have made, and allows whatever it is asked.
import {X509Certificate} from 'node:crypto';
import https from 'node:https';
import tls from 'node:tls';

/* On the loopback interface, where every address is this machine's; 62 services. */
const PREFIX = '127.77.0';
const LAST = 62;

/** Flags of kube-apiserver: webhooks are called at these addresses, pods or not. */
export const answerFlags = [`--service-cluster-ip-range=${PREFIX}.0/26`, '--enable-aggregator-routing=false'];

/* What a pod of the service would mount: the certificate for its name. */
async function certificateFor(plane, host)
{
	const {items} = (await plane.request('GET', '/api/v1/secrets')).json;

	for (const {data = {}} of items) {
		const [cert, key] = [data['tls.crt'], data['tls.key']].map(v => v && Buffer.from(v, 'base64').toString());

		if (cert && key && new X509Certificate(cert).checkHost(host))
			return tls.createSecureContext({cert, key});
	}
	throw new Error(`no Secret has a certificate for ${host}`);
}

async function review(req, res)
{
	let text = '';

	for await (const piece of req)
		text += piece;
	const {apiVersion, kind, request} = JSON.parse(text);

	res.writeHead(200, {'content-type': 'application/json'})
		.end(JSON.stringify({apiVersion, kind, response: {uid: request.uid, allowed: true}}));
}

/** Answers for all services of the plane; asked: the names that were called. */
export async function answerFor(plane)
{
	const asked = [];
	const servers = [];

	for (let n = 1; n <= LAST; n++) {
		const s = https.createServer({
			SNICallback: (host, done) => {
				asked.push(host);
				certificateFor(plane, host).then(c => done(null, c), done);
			}}, (req, res) => review(req, res).catch(() => res.destroy()));

		await new Promise((resolve, reject) => {
			s.once('error', e => reject(new Error(`${PREFIX}.${n}:443: ${e.code}: webhooks can be answered only by `
				+ 'one who may listen there (root, or net.ipv4.ip_unprivileged_port_start=443)')));
			s.listen(443, `${PREFIX}.${n}`, resolve);
		});
		servers.push(s);
	}
	return {asked, async stop() {
		for (const s of servers) {
			s.closeAllConnections();
			await new Promise(resolve => s.close(resolve));
		}
	}};
}
