// Every command with which make demo shows a cluster, or tells to look at one: run as
// it is printed, by bash, against a cluster that one request has made.
//
//   node tests/peers/demo.mjs OUTPUT-FOLDER
import {spawnSync} from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {envText, printed, shown} from '../demo/commands.mjs';
import {create, succeeded, world} from '../e2e/pipeline.mjs';
import {down, shellEnv, tools, top} from '../stack/stack.mjs';
import {tally} from './tally.mjs';

/* What each must show, by its first words; a command that is not here fails. */
const expected = {
	'aws eks update-kubeconfig': /Added new context arn:aws:eks:us-west-2:\d{12}:cluster\/demo to /,
	'aws sagemaker list-cluster-nodes': /workers\s*\|\s+i-[0-9a-f]{17}\s+\|\s+Running\s+\|\s+ml\.g5\.12xlarge/,
	'kubectl get nodes,pv,pvc': /node\/hyperpod-i-[0-9a-f]+\s+Ready(.|\n)*persistentvolume\/\S+(.|\n)*persistentvolumeclaim\/data\s+Bound/,
	'aws cloudformation describe-stack-resources': /AWS::EKS::Cluster\s+\|\s+\S+\s+\|\s+instantstart-demo/,
	'aws eks describe-cluster': /"status": "ACTIVE"/,
	'aws sagemaker describe-cluster': /"ClusterStatus": "InService"/,
	'kubectl get pods': /^kube-system\s+\S+\s+1\/1\s+Running/m,
	'helm list': /^hyperpod-dependencies\s+kube-system\s+\d+\s+.*deployed/m,
	'curl -s': /"status"\s*:\s*"in_service"/,
};

const t = tally('demo');
const s = await world({build: process.argv[2]});

try {
	fs.writeFileSync(`${s.dir}/env`, envText(s.env, s.dir, tools));
	fs.writeFileSync(`${s.dir}/token`, `${s.tokens.admin}\n`);
	await succeeded(s, (await create(s, 'demo')).id);
	const [source, ...rest] = printed(s.dir, s.url);

	for (const command of [...shown(s.dir), ...rest])
		await t.case(command.slice(0, 60), () => {
			const done = spawnSync('bash', ['-c', `${source} && ${command}`],
				{encoding: 'utf8', cwd: top, env: shellEnv(s)});
			const want = Object.entries(expected).find(([words]) => command.startsWith(words));

			assert(want, 'nothing is expected of it');
			assert.equal(done.status, 0, done.stderr);
			assert.match(done.stdout, want[1]);
		});
} finally {
	await down(s);
	fs.rmSync(s.dir, {recursive: true, force: true});
}
process.exit(t.sum() ? 0 : 1);
