// What a person may type to look at the demo's cluster: the demo shows or prints
// them, and a peer test runs each of them as it stands.

/** Run by the demo itself. dir: the stack's folder, as it is typed. */
export const shown = dir => [
	`aws eks update-kubeconfig --name demo --kubeconfig ${dir}/kubeconfig`,
	`aws sagemaker list-cluster-nodes --cluster-name demo --output table --query \
'ClusterNodeSummaries[].{group:InstanceGroupName,id:InstanceId,type:InstanceType,status:InstanceStatus.Status}'`,
	'kubectl get nodes,pv,pvc',
];

/** Printed at its end; the first of them is for the others. */
export const printed = (dir, url) => [
	`. ${dir}/env`,
	'aws cloudformation describe-stack-resources --stack-name instantstart-demo --output table',
	'aws eks describe-cluster --name demo',
	'aws sagemaker describe-cluster --cluster-name demo',
	'kubectl get pods -A',
	'helm list -A',
	`curl -s ${url}/api/v1/clusters/demo -H "Authorization: Bearer $(cat ${dir}/token)"`,
];

/** The file that the first of them reads: the same cloud and keys, and the tools. */
export function envText(env, dir, tools)
{
	const lines = {
		...Object.fromEntries(Object.entries(env).filter(([k]) => k.startsWith('AWS_'))),
		AWS_REGION: env.INSTANTSTART_REGION,
		KUBECONFIG: `${dir}/kubeconfig`,
	};
	const text = Object.entries(lines).map(([k, v]) => `export ${k}='${v}'\n`).join('');

	return `${text}export PATH='${tools}':"$PATH"\n`;
}
