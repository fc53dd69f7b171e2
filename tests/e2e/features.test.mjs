// Managed features: planned, turned on by REST and MCP, once and not twice, held by what
// uses them, refused when others have made them, and gone without a trace.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {after, before, test} from 'node:test';
import {shellEnv, tools} from '../stack/stack.mjs';
import {call, end, tool} from './faces.mjs';
import {create, succeeded, world} from './pipeline.mjs';

const AT = '/api/v1/clusters/feat';
const TRAINING = 'amazon-sagemaker-hyperpod-training-operator';
const INFERENCE = 'amazon-sagemaker-hyperpod-inference';
const NAMES = ['tiered_checkpointing', 'training_operator', 'inference_operator', 'autoscaling'];
let s, before_all;

before(async () => {
	s = await world();
	await succeeded(s, (await create(s, 'feat')).id);
	command('aws', ['eks', 'update-kubeconfig', '--name', 'feat', '--kubeconfig', `${s.dir}/kubeconfig`]);
	before_all = await ours();
});
after(() => end(s));

/** What a person would type. */
function command(name, args, input = '')
{
	const done = spawnSync(`${tools}/${name}`, args, {encoding: 'utf8', input,
		env: {...shellEnv(s), AWS_REGION: 'us-west-2', KUBECONFIG: `${s.dir}/kubeconfig`}});

	assert.equal(done.status, 0, done.stderr);
	return done.stdout;
}

const apply = object => command('kubectl', ['apply', '-f', '-'], JSON.stringify(object));

/** Everything with our tag that a feature could have made, and where it is bound. */
async function ours()
{
	const state = await s.cloud.state();
	const keys = table => Object.keys(state[table] ?? {});

	return {roles: keys('iam.role').filter(name => /^is-feat|HyperPodInference/.test(name)).sort(),
		addons: keys('eks.addon').sort(), providers: keys('iam.oidc_provider'),
		buckets: keys('s3.bucket').filter(name => name.startsWith('hyperpod-tls')),
		bound: Object.values(state['eks.pod_identity'] ?? {}).map(a => `${a.namespace}/${a.serviceAccount}`).sort(),
		tiered: state['sagemaker.cluster'].feat.TieredStorageConfig?.Mode ?? 'Disable'};
}

async function features()
{
	const r = await call(s, 'GET', `${AT}/features`, {role: 'viewer'});

	assert.equal(r.status, 200, r.text);
	return Object.fromEntries(r.json.items.map(f => [f.name, f]));
}

async function patch(body)
{
	const r = await call(s, 'PATCH', `${AT}/features`, {role: 'operator', body});

	assert.equal(r.status, 202, r.text);
	return succeeded(s, r.json.id);
}

/** Asked before anything is accepted: what is at stake, and what is somebody else's. */
async function refused(body)
{
	const r = await call(s, 'PATCH', `${AT}/features`, {role: 'operator', body});

	assert.equal(r.status, 409, r.text);
	return r.json;
}

const mutations = async () => (await s.cloud.ledger()).filter(e =>
	!/^(Secret|get|Get)/.test(e.op ?? '') && e.effects?.length && e.via === 'aws').length;

test('all are off, with what each needs and what is missing', async () => {
	const all = await features();

	assert.deepEqual(Object.keys(all), NAMES);
	for (const f of Object.values(all)) {
		assert.equal(f.state, 'disabled', JSON.stringify(f));
		assert.equal(f.enabled, false);
		assert.deepEqual(f.users, []);
	}
	const needs = Object.fromEntries(all.inference_operator.needs.map(n => [n.name, n.state]));

	assert.equal(needs.metrics, 'brought');
	assert.equal(needs.s3_csi, 'ok');
	assert(all.training_operator.needs.every(n => n.state === 'ok'), JSON.stringify(all.training_operator.needs));
	assert(all.training_operator.parts.every(p => p.state === 'missing'), JSON.stringify(all.training_operator.parts));
});

test('nothing named is refused; the plan shows roles, binding and add-on, and changes nothing', async () => {
	const none = await call(s, 'PATCH', `${AT}/features`, {role: 'operator', body: {}});

	assert.equal(none.status, 400, none.text);
	const few = await call(s, 'PATCH', `${AT}/features`, {role: 'operator',
		body: {tiered_checkpointing: {enabled: true, memory_percent: 10}}});

	assert.equal(few.status, 400, few.text);
	const plan = await tool(s, 'update_features', {cluster: 'feat', training_operator: {enabled: true},
		inference_operator: {enabled: true}, dry_run: 'plan'}, {role: 'operator'});
	const calls = plan.structuredContent.steps.filter(step => step.action === 'call').map(step => step.call);

	for (const wanted of ['iam:CreateRole', 'eks:CreatePodIdentityAssociation', 'eks:CreateAddon',
		'iam:CreateOpenIDConnectProvider', 's3:CreateBucket'])
		assert(calls.includes(wanted), `${wanted} is not in ${calls}`);
	assert(!calls.some(name => /Delete/.test(name)), String(calls));
	assert.deepEqual(await ours(), before_all);
});

test('training operator and tiered checkpointing: on, every part there, and not twice', async () => {
	const body = {training_operator: {enabled: true}, tiered_checkpointing: {enabled: true, memory_percent: 40}};
	const op = await patch(body);

	assert.deepEqual(op.result.features, {tiered_checkpointing: 'enabled', training_operator: 'enabled'});
	const {training_operator: t, tiered_checkpointing: m, inference_operator: i} = await features();

	assert.equal(t.state, 'enabled', JSON.stringify(t));
	assert(t.enabled && t.version && t.status === 'ACTIVE');
	assert(t.parts.every(p => p.state === 'present'), JSON.stringify(t.parts));
	assert.deepEqual(t.parts.map(p => p.part), ['role', 'trust', 'policy', 'association', 'addon']);
	assert.equal(m.state, 'enabled');
	assert.equal(m.memory_percent, 40);
	assert.equal(i.state, 'disabled');
	command('kubectl', ['get', 'hyperpodpytorchjobs', '-A']);
	const count = await mutations();

	await patch(body);
	assert.equal(await mutations(), count);
});

test('the inference operator by MCP: what the cluster has is not brought twice', async () => {
	const r = await tool(s, 'update_features', {cluster: 'feat', inference_operator: {enabled: true}}, {role: 'operator'});

	await succeeded(s, r.structuredContent.id);
	const {inference_operator: i} = await features();

	assert.equal(i.state, 'enabled', JSON.stringify(i));
	assert(i.parts.every(p => p.state === 'present'), JSON.stringify(i.parts));
	assert(!i.parts.some(p => /alb/.test(p.name)), 'the load-balancer controller is there already');
	const values = JSON.parse((await s.cloud.state())['eks.addon'][`feat|${INFERENCE}`].configurationValues);

	assert.equal(values.alb.enabled, false);
	assert.match(values.executionRoleArn, /role\/SageMakerHyperPodInference/);
	const count = await mutations();

	await patch({inference_operator: {enabled: true}, training_operator: {enabled: true}});
	assert.equal(await mutations(), count);
});

test('what needs an operator is asked for, by name, and ends before it', async () => {
	apply({apiVersion: 'sagemaker.amazonaws.com/v1', kind: 'HyperPodPyTorchJob', metadata: {name: 'llama', namespace: 'default'},
		spec: {replicaSpecs: [{name: 'w', replicas: 1, template: {}}]}});
	apply({apiVersion: 'inference.sagemaker.aws.amazon.com/v1', kind: 'JumpStartModel', metadata: {name: 'phi', namespace: 'default'},
		spec: {model: {modelId: 'm', acceptEula: true}, server: {instanceType: 'ml.g5.12xlarge'}}});
	const {training_operator: t, inference_operator: i} = await features();

	assert.deepEqual(t.users, ['HyperPodPyTorchJob default/llama']);
	assert.deepEqual(i.users, ['JumpStartModel default/phi']);
	const {plan} = await refused({training_operator: {enabled: false}});

	assert.deepEqual(plan.at_stake, [{feature: 'training_operator', workloads: ['HyperPodPyTorchJob default/llama']}]);
	const count = await mutations();
	const wrong = await call(s, 'PATCH', `${AT}/features?confirm=0123456789abcdef`, {role: 'operator',
		body: {training_operator: {enabled: false}}});

	assert.equal(wrong.status, 409, wrong.text);
	assert.equal(await mutations(), count);
	const r = await call(s, 'PATCH', `${AT}/features?confirm=${plan.confirm}`, {role: 'operator',
		body: {training_operator: {enabled: false}}});

	assert.equal(r.status, 202, r.text);
	await succeeded(s, r.json.id);
	const {training_operator: off} = await features();

	assert.equal(off.state, 'disabled', JSON.stringify(off));
	await patch({training_operator: {enabled: true}});
	command('kubectl', ['delete', 'jumpstartmodel/phi', '--wait=false']);
});

test('a part that a hand has taken is seen, and made anew', async () => {
	const {training_operator: was} = await features();
	const role = was.parts.find(p => p.part === 'role').name;

	command('aws', ['iam', 'detach-role-policy', '--role-name', role, '--policy-arn',
		'arn:aws:iam::aws:policy/AmazonSageMakerHyperPodTrainingOperatorAccess']);
	const {training_operator: t} = await features();

	assert.equal(t.state, 'partial');
	assert.equal(t.parts.find(p => p.part === 'policy').state, 'missing');
	await patch({training_operator: {enabled: true}});
	assert.equal((await features()).training_operator.state, 'enabled');
});

test('off: nothing of them is left', async () => {
	await patch({training_operator: {enabled: false}, inference_operator: {enabled: false},
		tiered_checkpointing: {enabled: false}});
	assert.deepEqual(await ours(), before_all);
	const count = await mutations();

	await patch({training_operator: {enabled: false}, inference_operator: {enabled: false}});
	assert.equal(await mutations(), count);
	for (const f of Object.values(await features()))
		assert.equal(f.state, 'disabled', JSON.stringify(f));
});

test('an add-on of others is refused, and taken over only when that is asked for', async () => {
	command('aws', ['eks', 'create-addon', '--cluster-name', 'feat', '--addon-name', TRAINING]);
	command('aws', ['eks', 'wait', 'addon-active', '--cluster-name', 'feat', '--addon-name', TRAINING]);
	assert.equal((await features()).training_operator.state, 'foreign');
	const problem = await refused({training_operator: {enabled: true}});

	assert.match(JSON.stringify(problem), /not created by InstantStart/);
	await patch({training_operator: {enabled: true}, adopt: true});
	assert.equal((await features()).training_operator.state, 'enabled');
});

test('deleting the cluster takes what features have made', async () => {
	await patch({inference_operator: {enabled: true}});
	const r = await call(s, 'DELETE', `${AT}?confirm=feat`, {role: 'admin'});

	assert.equal(r.status, 202, r.text);
	/* What cannot come back is refused before anything stops, with the reason. */
	const undo = await call(s, 'POST', `/api/v1/operations/${r.json.id}:cancel?confirm=${r.json.id}`,
		{role: 'admin', body: {undo: true}});

	assert.equal(`${undo.status} ${undo.json.code}`, '409 state-conflict', undo.text);
	assert.match(undo.json.fix, /still_wanted/);
	await succeeded(s, r.json.id);
	const state = await s.cloud.state();

	assert.deepEqual(Object.keys(state['iam.role']).filter(name => /feat/.test(name)), []);
	assert.deepEqual(state['iam.oidc_provider'] ?? {}, {});
	assert.deepEqual(Object.keys(state['s3.bucket'] ?? {}).filter(name => /tls/.test(name)), []);
});
