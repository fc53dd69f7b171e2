// An EKS cluster of the simulated cloud with a real API server behind it, which asks
// EKS who presents a token and what access policies allow; and our client, that
// authenticates as the program does.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import {cloudOf} from '../../stack/cloud.mjs';
import {KEYS, tools, waitFor} from '../../stack/stack.mjs';
import {lineReader, startPlane} from './plane.mjs';

const REVIEW_TTL = '1s';

/** Flags of kube-apiserver that make it the one of an EKS cluster. */
export function eksFlags(dir, cloudUrl, name)
{
	const file = `${dir}/eks-webhook.json`;

	fs.mkdirSync(dir, {recursive: true});
	fs.writeFileSync(file, JSON.stringify({apiVersion: 'v1', kind: 'Config', 'current-context': 'eks',
		clusters: [{name: 'eks', cluster: {server: `${cloudUrl}/_cloud/review/${name}`}}],
		users: [{name: 'apiserver', user: {}}],
		contexts: [{name: 'eks', context: {cluster: 'eks', user: 'apiserver'}}]}));
	return [`--authentication-token-webhook-config-file=${file}`, '--authentication-token-webhook-version=v1',
		`--authentication-token-webhook-cache-ttl=${REVIEW_TTL}`,
		'--authorization-mode=Webhook', `--authorization-webhook-config-file=${file}`,
		'--authorization-webhook-version=v1', `--authorization-webhook-cache-authorized-ttl=${REVIEW_TTL}`,
		`--authorization-webhook-cache-unauthorized-ttl=${REVIEW_TTL}`];
}

/** Starts the API server of the EKS cluster `name`, which is not made yet; flags: more
 * of kube-apiserver's. */
export async function planeOf(dir, cloudUrl, name, flags = [])
{
	const plane = await startPlane(dir, [...eksFlags(dir, cloudUrl, name), ...flags]);

	await cloudOf(cloudUrl).settings({kube_external: {[name]: {endpoint: plane.url,
		ca: fs.readFileSync(plane.ca, 'utf8')}}});
	return plane;
}

export async function startCloud(out, dir)
{
	const ready = `${dir}/cloud.json`;
	const child = spawn(`${out}/instantstart-cloud`, ['--models', `${out}/cloud-models.json`, '--port', '0',
		'--tls-port', '0', '--speed', '1000', '--ca-file', `${dir}/cloud-ca.pem`, '--ready-file', ready],
	{stdio: ['ignore', 'inherit', 'inherit']});
	const ended = new Promise(resolve => child.once('exit', resolve));

	await waitFor('the simulated cloud', () => fs.existsSync(ready));
	return {url: `http://127.0.0.1:${JSON.parse(fs.readFileSync(ready, 'utf8')).http}`, async stop() {
		child.kill('SIGTERM');
		await ended;
	}};
}

/** The AWS CLI against the simulated cloud; keys: another caller's environment. */
export function awsOf(url, home)
{
	return (args, keys = KEYS) => new Promise((resolve, reject) => {
		const child = spawn(`${tools}/aws`, [...args, '--output', 'json'], {env: {PATH: process.env.PATH, HOME: home,
			AWS_REGION: 'us-west-2', AWS_ENDPOINT_URL: url, AWS_EC2_METADATA_DISABLED: 'true', AWS_PAGER: '',
			...keys}});
		let text = '', trouble = '';

		child.stdout.on('data', d => text += d);
		child.stderr.on('data', d => trouble += d);
		child.on('close', code => (code ? reject(new Error(`aws ${args.slice(0, 2).join(' ')}: ${trouble}`))
			: resolve(text.trim() ? JSON.parse(text) : null)));
	});
}

export async function createEks(aws, name)
{
	const trust = JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Allow',
		Principal: {Service: 'eks.amazonaws.com'}, Action: 'sts:AssumeRole'}]});
	const {Role} = await aws(['iam', 'create-role', '--role-name', 'eks', '--assume-role-policy-document', trust]);

	await aws(['iam', 'attach-role-policy', '--role-name', 'eks', '--policy-arn',
		'arn:aws:iam::aws:policy/AmazonEKSClusterPolicy']);
	const {Vpc} = await aws(['ec2', 'create-vpc', '--cidr-block', '10.0.0.0/16']);
	const subnets = [];

	for (const zone of ['a', 'b'])
		subnets.push((await aws(['ec2', 'create-subnet', '--vpc-id', Vpc.VpcId, '--cidr-block',
			`10.0.${subnets.length}.0/24`, '--availability-zone', `us-west-2${zone}`])).Subnet.SubnetId);
	/* A new role cannot be assumed at once. */
	await waitFor('CreateCluster', () => aws(['eks', 'create-cluster', '--name', name, '--role-arn', Role.Arn,
		'--resources-vpc-config', `subnetIds=${subnets.join(',')}`, '--access-config', 'authenticationMode=API']),
	30000, 500);
	return waitFor('the cluster', async () => {
		const {cluster} = await aws(['eks', 'describe-cluster', '--name', name]);

		return cluster.status === 'ACTIVE' && cluster;
	}, 60000, 300);
}

/** Our client as a process: ask({do: 'apply', …}) as tests/peers/kube_real.c has it. */
export function startClient(out, cluster, caFile, keys = KEYS)
{
	const child = spawn(`${out}/tests/peers/kube_real`, [cluster.endpoint, caFile, cluster.name, `${tools}/helm`],
		{stdio: ['pipe', 'pipe', 'inherit'], env: {PATH: process.env.PATH, AWS_REGION: 'us-west-2',
			AWS_EC2_METADATA_DISABLED: 'true', ...keys}});
	const next = lineReader(child);
	let last = Promise.resolve();

	return {
		ask(question)
		{
			const answer = last.then(async () => {
				child.stdin.write(`${JSON.stringify(question)}\n`);
				const line = await next();

				assert(line !== null, `the client died at ${JSON.stringify(question).slice(0, 200)}`);
				return JSON.parse(line);
			});

			last = answer.catch(() => {});
			return answer;
		},
		stop: () => child.stdin.end(),
	};
}

/** Everything for the cases of the client; stop() ends it all. */
export async function startWorld(out, dir, flags = [])
{
	const cloud = await startCloud(out, dir);
	const stops = [cloud.stop];

	try {
		const aws = awsOf(cloud.url, dir);
		const plane = await planeOf(`${dir}/plane`, cloud.url, 'client', flags);

		stops.unshift(plane.stop);
		const cluster = await createEks(aws, 'client');
		const client = startClient(out, cluster, plane.ca);

		stops.unshift(client.stop);
		return {aws, plane, cluster, client, ask: client.ask, another: keys => {
			const c = startClient(out, cluster, plane.ca, keys);

			stops.unshift(c.stop);
			return c;
		}, stop: () => stopAll(stops)};
	} catch (e) {
		await stopAll(stops);
		throw e;
	}
}

async function stopAll(stops)
{
	for (const stop of stops)
		await stop();
}
