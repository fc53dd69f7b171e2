// What decides the order of installation, read from the published charts one by one: whose
// webhooks refuse what others make, who brings what cert-manager's webhook judges, who
// answers for a part of the API (which is gone while none of its pods runs).
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {archives} from './source.mjs';

/* Only what, or where, somebody has labelled for it. */
const isOptIn = selector => Object.keys(selector?.matchLabels ?? {}).length > 0
	|| (selector?.matchExpressions ?? []).some(e => e.operator === 'In' || e.operator === 'Exists');

/* Resources of groups that the chart does not define, at failurePolicy Fail. */
export function intercepted(objects)
{
	const own = new Set(objects.filter(o => o.kind === 'CustomResourceDefinition').map(o => o.spec.group));
	const found = objects.filter(o => /WebhookConfiguration$/.test(o.kind)).flatMap(o => o.webhooks)
		.filter(h => (h.failurePolicy ?? 'Fail') === 'Fail' && !isOptIn(h.namespaceSelector) && !isOptIn(h.objectSelector)).flatMap(h => h.rules)
		.filter(r => r.apiGroups.some(g => !own.has(g))).flatMap(r => r.resources);

	return [...new Set(found)].sort();
}

const guarded = objects => objects.filter(o => /^cert-manager\.io\//.test(o.apiVersion)).map(o => o.kind).sort();
const answers = objects => objects.filter(o => o.kind === 'APIService').map(o => o.metadata.name);

/*
 * component: ours, whose row in the program's table must say the same; of: the archive,
 * with the part of it. An add-on of EKS is held to the chart that it was made from.
 */
const ROWS = [
	{component: 'hyperpod', of: 'hyperpod-helm-chart', values: {}, intercepts: [], guarded: [], answers: []},
	{what: 'Kubeflow', of: 'hyperpod-helm-chart', part: 'training-operators', intercepts: [], guarded: [], answers: []},
	{what: 'MPI', of: 'hyperpod-helm-chart', part: 'mpi-operator', intercepts: [], guarded: [], answers: []},
	{component: 'inference_operator', of: 'hyperpod-helm-chart', part: 'inference-operator', bundles: true,
		values: {region: 'us-west-2', eksClusterName: 'c', hyperpodClusterArn: 'arn:aws:sagemaker:us-west-2:111122223333:cluster/c',
			executionRoleArn: 'arn:aws:iam::111122223333:role/SageMakerHyperPodInference-c', tlsCertificateS3Bucket: 's3://b',
			jumpstartGatedModelDownloadRoleArn: 'arn:aws:iam::111122223333:role/g', s3: {enabled: false}, fsx: {enabled: false}, alb: {enabled: false}, keda: {enabled: false}},
		intercepts: [], guarded: ['Certificate', 'Issuer'], answers: []},
	{component: 'load_balancers', of: 'aws-load-balancer-controller', values: {clusterName: 'c'},
		intercepts: ['ingresses', 'services'], guarded: [], answers: []},
	{component: 'kuberay', of: 'kuberay-operator', intercepts: [], guarded: [], answers: []},
	/* Its webhooks are ignored while nobody serves them; external metrics are not. */
	{what: 'KEDA', of: 'keda', intercepts: [], guarded: [], answers: ['v1beta1.external.metrics.k8s.io']},
];

/* The chart, or a part of it, by itself: what it depends on is told by values here. */
function unpack(row, dir)
{
	const archive = fs.readdirSync(archives()).find(f => f.startsWith(`${row.of}-`) && /^\d/.test(f.slice(row.of.length + 1)));
	const to = `${dir}/order-${row.component ?? row.what}`;

	assert(archive, `${row.of} is not among the published charts`);
	fs.mkdirSync(to);
	assert.equal(spawnSync('tar', ['-xzf', `${archives()}/${archive}`, '-C', to]).status, 0);
	const at = `${to}/${fs.readdirSync(to)[0]}${row.part ? `/charts/${row.part}` : ''}`;

	if (row.part)
		fs.writeFileSync(`${at}/Chart.yaml`, fs.readFileSync(`${at}/Chart.yaml`, 'utf8').replace(/^dependencies:\n(?:(?![A-Za-z]).*\n?)*/m, ''));
	return at;
}

export async function order(t, client, render, charts, dir)
{
	for (const row of ROWS)
		await t.case(`order: ${row.component ?? row.what}`, async () => {
			const k = row.component && await client.ask({do: 'component', name: row.component});
			const chart = row.part || row.what ? unpack(row, dir)
				: `${charts}/${JSON.parse(fs.readFileSync(`${charts}/charts.json`, 'utf8')).find(r => r.component === row.component).chart}`;
			const objects = render(chart, 'x', k?.ns ?? 'x', row.part || !k ? row.values : k.values, dir);

			assert.deepEqual(intercepted(objects), row.intercepts);
			assert.deepEqual(guarded(objects), row.guarded);
			assert.deepEqual(answers(objects), row.answers);
			if (!k)
				return;
			/* The inference operator brings the load-balancer controller along. */
			assert.equal(Boolean(k.intercepts), row.intercepts.length > 0 || Boolean(row.bundles));
			assert.equal(k.guarded_by ?? null, row.guarded.length ? 'cert_manager' : null);
		});
}
