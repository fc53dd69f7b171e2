// The published charts on the simulated API server.
import fs from 'node:fs';
import {awsOf, createEks, startClient, startCloud} from '../apiserver/world.mjs';
import {life} from './life.mjs';

export async function run(out, dir, t, charts)
{
	/* A cloud each: before the first node, and after it. */
	for (const nodes of [0, 1]) {
		const at = `${dir}/${nodes}`;

		fs.mkdirSync(at);
		const cloud = await startCloud(out, at);
		let client;

		try {
			const cluster = await createEks(awsOf(cloud.url, at), 'client');

			client = startClient(out, cluster, `${at}/cloud-ca.pem`);
			await life({ask: client.ask, dir: at, real: false}, t, charts, nodes);
		} finally {
			client?.stop();
			await cloud.stop();
		}
	}
}
