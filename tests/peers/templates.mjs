// Our templates and rights, by what others wrote: cfn-lint reads the templates; the
// policy that the program prints allows all that it asks for, and little else.
//
//   node tests/peers/templates.mjs OUTPUT-FOLDER
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';
import {readAnswer, readRequest} from './judge/exchange.mjs';
import {pipeline} from './judge/runs.mjs';
import {model} from './models.mjs';
import {tally} from './tally.mjs';
import {allows, needs} from './templates/policy.mjs';

const out = process.argv[2];
const top = fileURLToPath(new URL('../..', import.meta.url));
const deps = spawnSync(`${top}/tests/peers/deps`, [out, 'python'], {stdio: 'inherit'});

if (deps.status !== 0)
	process.exit(deps.status);
const t = tally('templates', 'templates-differences.json');

/* --- cfn-lint --------------------------------------------------------------------------- */

const linted = spawnSync(`${out}/peers/venv/bin/cfn-lint`, ['--format', 'json', '--include-checks',
	'I', '--', `${top}/cloudformation/eks-control-plane.yaml`], {encoding: 'utf8'});
const rules = new Map();

t.count('cfn-lint reads the template', [0, 2, 4, 6, 8, 10, 12, 14].includes(linted.status) ? null
	: linted.error?.message ?? linted.stderr);
for (const m of JSON.parse(linted.stdout || '[]'))
	rules.set(m.Rule.Id, [...(rules.get(m.Rule.Id) ?? []), `${m.Message} at ${
		m.Location.Path?.join('/')}`]);
for (const [rule, list] of rules)
	t.count(`cfn-lint ${rule}`, `${list.length}: ${list[0]}`);

/* --- the policy --------------------------------------------------------------------------- */

const printed = execFileSync(`${out}/instantstart-poller`, ['--iam-policy'], {encoding: 'utf8'});
const policy = JSON.parse(printed);
const file = `${top}/cloudformation/manager-policy.json`;

t.count('manager-policy.json is what the program prints', fs.existsSync(file) &&
	fs.readFileSync(file, 'utf8') === printed ? null : `write it anew: instantstart-poller --iam-policy`);
t.count('a managed policy holds it', JSON.stringify(policy).length <= 6144 ? null
	: `${JSON.stringify(policy).length} characters; IAM takes 6144`);

/* Each call in the sources has a row, and each row is called. */
const sources = execFileSync('grep', ['-rhoE', '\\bAWS_[A-Z0-9]+_[A-Z][A-Za-z0-9]+\\b', '--include=*.[ch]',
	'core/domain', 'core/op', 'core/kube', 'core/poller', 'core/live', 'fcgi'],
{cwd: top, encoding: 'utf8'}).split('\n').filter(Boolean);
const rows = [...fs.readFileSync(`${top}/core/aws/policy.def`, 'utf8')
	.matchAll(/^POLICY_CALL\(\w+, (\w+), (\w+)\)/gm)].map(([, s, o]) => `AWS_${s}_${o}`);
const ops = new Set([...fs.readFileSync(`${top}/core/aws/ops.def`, 'utf8')
	.matchAll(/^AWS_OP\((\w+), (\w+),/gm)].map(([, s, o]) => `AWS_${s}_${o}`));
const called = new Set(sources.filter(s => ops.has(s)));

for (const op of new Set([...called, ...rows]))
	t.count(`policy ${op}`, called.has(op) && rows.includes(op) ? null
		: called.has(op) ? 'called, but without a row' : 'a row, but never called');

/* All that a recorded run of the whole pipeline asked for is allowed. */
const recorded = `${out}/log/peers/exchanges-pipeline.jsonl`;
const lines = fs.readFileSync(fs.existsSync(recorded) ? recorded : pipeline(out), 'utf8')
	.trim().split('\n').map(JSON.parse);
const tags = new Map();

/* Tags of what was made or seen: {SubnetId, …, Tags}. */
function learn(tree)
{
	if (tree === null || typeof tree !== 'object')
		return;
	const id = ['SubnetId', 'RouteTableId', 'GroupId', 'VpcEndpointId', 'NatGatewayId', 'InternetGatewayId', 'VpcId']
		.map(name => tree[name]).find(v => typeof v === 'string');

	if (id && Array.isArray(tree.Tags))
		tags.set(id, tree.Tags);
	for (const v of Object.values(tree))
		learn(v);
}

const kinds = new Map();

for (const one of lines) {
	const r = readRequest(one.request);

	if (!r?.ours || !r.input)
		continue;
	for (const n of needs(r, tags)) {
		const ok = allows(policy, n.action, n.resource, n.context);
		const key = `${r.service}.${r.op} needs ${n.action}`;

		if (!ok || !kinds.has(key))
			kinds.set(key, ok ? null : `not on ${n.resource} with ${JSON.stringify(n.context)}`);
	}
	if (r.service === 'ec2' && one.answer.status === 200)
		learn(readAnswer(r, one.answer).output);
}
for (const [key, problem] of kinds)
	t.count(key, problem);
t.count('the recording is of a whole pipeline', kinds.size > 50 ? null : `${kinds.size} kinds of calls`);

/* --- and little else ----------------------------------------------------------------------- */

const never = [
	['iam:CreateRole', 'arn:aws:iam::123456789012:role/admin'],
	['iam:PassRole', 'arn:aws:iam::123456789012:role/is-a', {'iam:PassedToService': 'ec2.amazonaws.com'}],
	['iam:PassRole', 'arn:aws:iam::123456789012:role/admin', {'iam:PassedToService': 'eks.amazonaws.com'}],
	['iam:PassRole', 'arn:aws:iam::123456789012:role/admin', {'iam:PassedToService': 'lambda.amazonaws.com'}],
	['iam:PassRole', 'arn:aws:iam::123456789012:role/admin'],
	['iam:PutRolePolicy', 'arn:aws:iam::123456789012:role/theirs'],
	['iam:CreateUser', '*'], ['iam:CreatePolicyVersion', '*'],
	['cloudformation:DeleteStack', 'arn:aws:cloudformation:us-west-2:123456789012:stack/other/1'],
	['ec2:DeleteVpc', '*'], ['ec2:DeleteSubnet', '*'], ['ec2:DeleteSecurityGroup', '*'],
	['ec2:RunInstances', '*'], ['ec2:TerminateInstances', '*'],
	['s3:PutObject', 'arn:aws:s3:::customer-data/x'], ['s3:DeleteBucket', 'arn:aws:s3:::customer-data'],
	['s3:GetObject', 'arn:aws:s3:::customer-data/x'],
	['logs:DeleteLogGroup', 'arn:aws:logs:us-west-2:123456789012:log-group:/app'],
	['sagemaker:CreateTrainingJob', '*'], ['sts:AssumeRole', '*'], ['kms:Decrypt', '*'],
];

for (const [action, resource, context] of never)
	await t.case(`not allowed: ${action} on ${resource} ${Object.values(context ?? {})}`, () =>
		assert(!allows(policy, action, resource, context), 'it is'));
/* Groups of an imported cluster have roles of others. */
for (const to of ['sagemaker.amazonaws.com', 'hyperpod.sagemaker.amazonaws.com'])
	await t.case(`allowed: a role of others to ${to}`, () => assert(allows(policy, 'iam:PassRole',
		'arn:aws:iam::123456789012:role/theirs', {'iam:PassedToService': to}), 'it is not'));
/* Actions that no service has would allow nothing. */
for (const action of new Set(policy.Statement.flatMap(s => s.Action))) {
	const [prefix, name] = action.split(':');
	const service = {elasticloadbalancing: 'elbv2', servicequotas: 'service-quotas'}[prefix] ?? prefix;
	const own = {'s3:ListBucket': 1, 's3:PutBucketPublicAccessBlock': 1,
		's3:GetBucketPublicAccessBlock': 1, 'iam:PassRole': 1,
		/* Of S3's own list of actions, where the operations have other names. */
		's3:ListBucketVersions': 1, 's3:ListBucketMultipartUploads': 1, 's3:GetBucketObjectLockConfiguration': 1,
		's3:DeleteObjectVersion': 1, 's3:GetObjectVersion': 1};

	t.count(`action ${action}`, own[action] || model(service).operations[name] ? null
		: 'no operation of that name');
}
process.exit(t.sum() ? 0 : 1);
