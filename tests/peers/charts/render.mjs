// Each chart rendered with exactly our values, for every region of every partition.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {parseAllDocuments} from 'yaml';
import {tools} from '../../stack/stack.mjs';
import {startClient} from '../apiserver/world.mjs';
import {order} from './order.mjs';

export const PARTS = ['hyperpod', 'load_balancers', 'kuberay'];

/* region: where EKS's own images are, where the agent's are (null: left out). */
const SUFFIX = {cn: 'amazonaws.com.cn', 'us-iso': 'c2s.ic.gov', eusc: 'amazonaws.eu'};
const REGIONS = {
	agent: `us-east-1 us-west-2 us-east-2 us-west-1 eu-central-1 eu-north-1 eu-west-1 eu-west-2 eu-south-2 ap-northeast-1
		ap-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ca-central-1 sa-east-1`.split(/\s+/),
	/* The chart's own way out: the image of us-east-1. */
	elsewhere: `af-south-1 ap-east-1 ap-east-2 ap-northeast-2 ap-northeast-3 ap-south-2 ap-southeast-5 ap-southeast-7 ca-west-1
		eu-central-2 eu-south-1 eu-west-3 il-central-1 me-central-1 me-south-1 mx-central-1`.split(/\s+/),
	none: 'cn-north-1 cn-northwest-1 us-gov-east-1 us-gov-west-1 us-iso-east-1 eusc-de-east-1'.split(/\s+/),
};

/* Kinds that our add-ons bring, whoever else could. */
const OF_ADDONS = /^(cert-manager|metrics-server|aws-mountpoint|s3-csi|fsx-csi|coredns|eks-pod-identity|keda|kueue)/;

export const imagesOf = objects => objects.flatMap(o => {
	const spec = o.spec?.template?.spec ?? o.spec?.jobTemplate?.spec.template.spec;

	return [...spec?.initContainers ?? [], ...spec?.containers ?? []].map(c => ({of: o.metadata.name, image: c.image}));
});

/** What `helm template` makes of it: [objects]. */
export function render(chart, release, ns, values, dir)
{
	fs.writeFileSync(`${dir}/values.json`, JSON.stringify(values ?? {}));
	const r = spawnSync(`${tools}/helm`, ['template', release, chart, '-n', ns, '--include-crds', '--values', `${dir}/values.json`,
		'--kube-version', '1.35.0'], {encoding: 'utf8', maxBuffer: 1 << 27, env: {PATH: process.env.PATH, HOME: dir}});

	assert.equal(r.status, 0, r.stderr);
	return parseAllDocuments(r.stdout).map(d => d.toJS()).filter(Boolean);
}

const idOf = (o, ns) => `${o.kind} ${/^(Cluster|Namespace$|CustomResource|Ingress(Class)|.*WebhookConfiguration)/.test(o.kind) ? ''
	: `${o.metadata.namespace ?? ns}/`}${o.metadata.name}`;

function checkImages(objects, region, kind)
{
	const suffix = Object.entries(SUFFIX).find(([p]) => region.startsWith(p))?.[1] ?? 'amazonaws.com';
	const images = imagesOf(objects);
	const efa = images.filter(i => /efa-k8s/.test(i.image));
	const agents = images.filter(i => /health-monitoring-agent/.test(i.image));

	if (region.startsWith('us-iso') || region.startsWith('eusc'))
		assert.deepEqual(efa, [], 'its registry is read from the cluster');
	else
		assert.match(efa[0].image, new RegExp(`^\\d{12}\\.dkr\\.ecr\\.${region}\\.${suffix}/eks/aws-efa-k8s-device-plugin:v`));
	assert.equal(agents.length, kind === 'none' ? 0 : 2, JSON.stringify(agents));
	for (const a of agents)
		assert.match(a.image, new RegExp(`^\\d{12}\\.dkr\\.ecr\\.${kind === 'agent' ? region : 'us-east-1'}\\.amazonaws\\.com/`));
	assert(images.every(i => !/(kubeflow|mpi-operator)/.test(i.image)), 'nobody asked for these operators');
}

export async function run(out, dir, t, charts)
{
	fs.writeFileSync(`${dir}/ca.pem`, '-----BEGIN CERTIFICATE-----\n');
	const client = startClient(out, {endpoint: 'https://127.0.0.1:1', name: 'client'}, `${dir}/ca.pem`);
	const list = JSON.parse(fs.readFileSync(`${charts}/charts.json`, 'utf8'));
	const component = (name, more) => client.ask({do: 'component', name, ...more});
	const at = name => `${charts}/${list.find(r => r.component === name).chart}`;

	try {
		for (const [kind, regions] of Object.entries(REGIONS))
			await t.case(`images, ${kind}`, async () => {
				for (const region of regions) {
					const k = await component('hyperpod', {region});

					checkImages(render(at('hyperpod'), k.release, k.ns, k.values, dir), region, kind);
					assert.equal(Boolean(k.lacks), kind === 'none' , `${region}: ${k.lacks}`);
				}
			});
		await t.case('without values it would not be so', async () => {
			const objects = render(at('hyperpod'), 'x', 'kube-system', {}, dir);

			assert(imagesOf(objects).some(i => /kubeflow/.test(i.image)));
			assert.throws(() => checkImages(objects, 'eu-west-1', 'agent'));
		});
		await t.case('each object once, of one owner', async () => {
			const seen = new Map();

			for (const name of PARTS) {
				const k = await component(name);

				for (const o of render(at(name), k.release, k.ns, k.values, dir)) {
					const id = idOf(o, k.ns);

					assert(!seen.has(id), `${id} is of ${seen.get(id)} and of ${name}`);
					assert(!OF_ADDONS.test(o.metadata.name) || o.kind === 'CustomResourceDefinition', `${name} brings ${id}`);
					seen.set(id, name);
				}
			}
		});
		await t.case('what readiness looks for is there', async () => {
			for (const name of PARTS) {
				const k = await component(name);
				const objects = render(at(name), k.release, k.ns, k.values, dir);
				const deployments = objects.filter(o => o.kind === 'Deployment');

				for (const d of deployments) {
					assert.equal(d.metadata.labels['app.kubernetes.io/instance'], k.release, `${name}: ${d.metadata.name}`);
					assert.equal(d.metadata.namespace ?? k.ns, k.ns);
				}
				assert.equal(deployments.length > 0, name !== 'hyperpod', name);
			}
			const agents = render(at('hyperpod'), 'x', 'kube-system', (await component('hyperpod')).values, dir)
				.filter(o => o.kind === 'DaemonSet' && o.metadata.namespace === 'aws-hyperpod');

			assert(agents.length && agents.every(o => o.metadata.name.startsWith('health-monitoring-agent')));
		});
		await order(t, client, render, charts, dir);
	} finally {
		client.stop();
	}
}
