// The console's pages of compute: groups, nodes, events, features, autoscaling and
// training plans, on one cluster, in a real browser.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {after, before, test} from 'node:test';
import {psql, shellEnv, startService, stop, tools} from '../stack/stack.mjs';
import {accessible, launch, signedIn} from './browser.mjs';
import {call, end} from './faces.mjs';
import {create, succeeded, world} from './pipeline.mjs';

let s, browser, page;

before(async () => {
	s = await world({env: {INSTANTSTART_REFRESH_MS: '1000', INSTANTSTART_REFRESH_CALLS: '50'}, settings: {
		training_plans: {spring: {Status: 'Active', AvailableInstanceCount: 2, TotalInstanceCount: 2,
			StartTime: 1798761600, EndTime: 1799366400, TargetResources: ['hyperpod-cluster'],
			ReservedCapacitySummaries: [{ReservedCapacityArn: 'arn:aws:sagemaker:us-west-2:111122223333:reserved-capacity/r1',
				Status: 'Active', TotalInstanceCount: 2, InstanceType: 'ml.p5.48xlarge',
				AvailabilityZone: 'us-west-2a', AvailabilityZoneId: 'usw2-az2'}]}},
		training_plan_offerings: [{TrainingPlanOfferingId: 'tpo-1', TargetResources: ['hyperpod-cluster'], DurationHours: 168,
			UpfrontFee: '1000.00', CurrencyCode: 'USD', ReservedCapacityOfferings: [{InstanceType: 'ml.p5.48xlarge',
				InstanceCount: 4, AvailabilityZone: 'us-west-2b'}]}],
	}});
	await succeeded(s, (await create(s, 'lab', {count: 2})).id);
	browser = await launch();
	page = await signedIn(s, browser);
	/* A plan asks the cloud for a lot, and the machine may be busy. */
	page.setDefaultTimeout(60000);
});
after(async () => {
	await browser?.close();
	await end(s);
});

const AT = '/clusters/lab';
const h1 = name => page.getByRole('heading', {level: 1, name}).waitFor();
const main = () => page.locator('main');
const dialog = () => page.getByRole('dialog').filter({visible: true});
const press = name => main().getByRole('button', {name, exact: true}).click();

async function visit(path, heading)
{
	await page.goto(s.url + AT + path);
	await h1(heading);
}

/** Somebody's pod on that node, as they would start it. */
function works(name, node)
{
	const env = {...shellEnv(s), AWS_REGION: 'us-west-2', KUBECONFIG: `${s.dir}/kubeconfig`};
	const typed = (tool, args, input = '') => {
		const done = spawnSync(`${tools}/${tool}`, args, {encoding: 'utf8', input, env});

		assert.equal(done.status, 0, done.stderr);
	};

	typed('aws', ['eks', 'update-kubeconfig', '--name', 'lab', '--kubeconfig', env.KUBECONFIG]);
	typed('kubectl', ['apply', '-f', '-'], JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata: {name, namespace: 'default'},
		spec: {nodeName: node, containers: [{name: 'main', image: 'registry.example/train:1'}]}}));
}

/** In the dialog of the plan; gives the operation when it has ended. */
async function submit(name)
{
	await dialog().getByRole('button', {name, exact: true}).click();
	await page.waitForURL(/operations\/op_/);
	return succeeded(s, /op_\w+/.exec(page.url())[0]);
}

test('an instance group: refused where it is filled in wrongly, planned, added, looked at, scaled, changed, deleted', async () => {
	await visit('/groups', /^Instance groups/);
	await main().getByText('workers', {exact: true}).waitFor();
	await main().getByRole('button', {name: 'Add instance group'}).click();
	await h1('Add instance group');
	await press('Review plan');
	await main().getByText(/field needs your attention/).first().waitFor();
	await page.getByLabel('Name', {exact: true}).fill('gpu');
	await page.getByRole('button', {name: /Availability zone/}).click();
	await page.getByRole('option', {name: /us-west-2a/}).click();
	await page.getByRole('button', {name: /Instance type/}).click();
	await page.getByRole('option', {name: /ml\.g5\.12xlarge/}).click();
	await page.getByText('EFA only: fewer addresses').click();
	await main().getByRole('button', {name: 'Add', exact: true}).first().click();
	await page.getByRole('textbox', {name: 'Key', exact: true}).first().fill('team');
	await page.getByRole('textbox', {name: 'Value', exact: true}).first().fill('red');
	await press('Review plan');
	await dialog().getByText('sagemaker:UpdateCluster', {exact: true}).waitFor();
	const added = await submit('Add instance group');

	assert.equal(added.kind, 'add_instance_group');
	await visit('/groups', /^Instance groups/);
	const row = main().getByRole('row', {name: /gpu/});

	await row.getByText('efa-only').waitFor();
	await row.getByText('1 of 1').waitFor();
	await row.locator('input').check();
	await main().getByText('team=red').waitFor();
	await press('Scale');
	await dialog().getByLabel('Number of nodes').fill('2');
	await dialog().getByRole('button', {name: 'Review plan'}).click();
	await dialog().getByText('sagemaker:BatchAddClusterNodes', {exact: true}).waitFor();
	await submit('Scale');
	await visit('/groups', /^Instance groups/);
	await main().getByRole('row', {name: /gpu/}).getByText('2 of 2').waitFor();
	await main().getByRole('row', {name: /gpu/}).locator('input').check();
	await main().getByText('team=red').waitFor();
	await press('Change');
	await dialog().getByRole('textbox', {name: 'Value', exact: true}).first().fill('blue');
	await dialog().getByRole('button', {name: 'Review plan'}).click();
	await dialog().getByText('sagemaker:UpdateCluster', {exact: true}).waitFor();
	await submit('Change');
	const now = await call(s, 'GET', '/api/v1/clusters/lab/groups/gpu', {role: 'viewer'});

	assert.deepEqual(now.json.labels, {team: 'blue'});
	assert.equal(now.json.interface_mode, 'efa-only');
	await visit('/groups', /^Instance groups/);
	await main().getByRole('row', {name: /gpu/}).locator('input').check();
	await press('Delete group');
	await dialog().getByLabel(/type gpu/).fill('gpu');
	await dialog().getByText('sagemaker:UpdateCluster', {exact: true}).waitFor();
	await submit('Delete group');
	await visit('/groups', /^Instance groups/);
	await main().getByText('workers', {exact: true}).waitFor();
	assert.equal(await main().getByText('gpu', {exact: true}).count(), 0);
});

test('nodes: listed with health and GPUs, one with its timeline, rebooted after its plan says what ends', async () => {
	await visit('/nodes', /^Nodes/);
	await main().getByText(/^2 nodes, checked/).waitFor({timeout: 30000});
	await main().getByText('Schedulable').first().waitFor({timeout: 30000});
	/* Both sides of the group: as many nodes as instances, and none alone. */
	const {json: {items: [group]}} = await call(s, 'GET', '/api/v1/clusters/lab/groups', {role: 'viewer'});

	assert.deepEqual([group.joined, group.no_node, group.no_instance], [2, 0, 0], JSON.stringify(group));
	await visit('/groups', /^Instance groups/);
	await main().getByRole('cell', {name: '2 nodes', exact: true}).waitFor();
	await visit('/nodes', /^Nodes/);
	await main().getByRole('link', {name: /^i-/}).first().click();
	await page.waitForURL(/nodes\/i-/);
	const id = page.url().split('/').pop();

	await h1(id);
	await main().getByRole('heading', {name: /^Timeline/}).waitFor();
	/* Where the add-ons' pods land is the scheduler's to say: this node may have none. */
	works('trainer-0', (await call(s, 'GET', `/api/v1/clusters/lab/nodes/${id}`, {role: 'viewer'})).json.name);
	await press('Reboot');
	await dialog().getByText('sagemaker:BatchRebootClusterNodes', {exact: true}).waitFor();
	await dialog().getByText('What is lost or interrupted').waitFor();
	await dialog().getByRole('cell', {name: /default\/trainer-0/}).waitFor();
	assert(await dialog().getByRole('button', {name: 'Reboot', exact: true}).isDisabled(), 'before the node is typed');
	await dialog().getByLabel(`To confirm, type ${id}`).fill(id);
	const op = await submit('Reboot');

	assert.equal(op.kind, 'reboot_nodes');
	await visit(`/nodes/${id}`, id);
	await main().getByRole('link', {name: 'admin'}).or(main().locator(`a[href="/operations/${op.id}"]`)).first().waitFor();
});

test('events of the cluster, by level', async () => {
	await visit('/events', /^Cluster events/);
	await main().getByRole('row').nth(1).waitFor();
	await page.getByRole('button', {name: /Filter by level/}).click();
	await page.getByRole('option', {name: 'Error'}).click();
	await page.waitForURL(/level=Error/);
	await main().getByText('No events').waitFor();
});

test('a managed feature is switched on and off; only what was changed is sent', async () => {
	await visit('/features', /^Managed features/);
	const toggle = () => main().getByRole('switch', {name: /Training operator/}).or(main().getByLabel('Training operator', {exact: true})).first();

	assert(await main().getByRole('button', {name: 'Review plan'}).isDisabled(), 'nothing was changed');
	await toggle().click();
	const asked = page.waitForRequest(r => r.method() === 'PATCH' && !r.url().includes('dry_run'));

	await press('Review plan');
	await dialog().getByText(/changes in the cloud/).waitFor();
	await submit('Apply');
	assert.deepEqual((await asked).postDataJSON(), {training_operator: {enabled: true}});
	await visit('/features', /^Managed features/);
	await main().getByText('on', {exact: true}).first().waitFor();
	await toggle().click();
	await press('Review plan');
	await dialog().getByText(/changes in the cloud/).waitFor();
	await submit('Apply');
});

test('autoscaling: off says where it is switched on; then a class and a pool by the forms', async () => {
	await visit('/autoscaling', 'Autoscaling');
	await main().getByText('Autoscaling is off.', {exact: false}).waitFor();
	const on = await call(s, 'PATCH', '/api/v1/clusters/lab/features', {role: 'operator', body: {autoscaling: {enabled: true}}});

	await succeeded(s, on.json.id);
	const group = await call(s, 'POST', '/api/v1/clusters/lab/groups', {role: 'operator',
		body: {name: 'zero', instance_type: 'ml.g5.12xlarge', count: 0, zone: 'us-west-2a'}});

	await succeeded(s, group.json.id);
	await visit('/autoscaling', 'Autoscaling');
	await press('Create node class');
	await dialog().getByLabel('Name', {exact: true}).fill('gpus');
	await dialog().getByRole('button', {name: /Instance groups/}).click();
	await page.getByRole('option', {name: /zero/}).click();
	await page.keyboard.press('Escape');
	await dialog().getByRole('button', {name: 'Review plan'}).click();
	await dialog().getByText(/changes? in the cloud/).waitFor();
	await submit('Create node class');
	await visit('/autoscaling', 'Autoscaling');
	await press('Create node pool');
	await dialog().getByLabel('Name', {exact: true}).fill('batch');
	await dialog().getByRole('button', {name: /Node class/}).click();
	await page.getByRole('option', {name: /gpus/}).click();
	await dialog().getByRole('button', {name: 'Review plan'}).click();
	await dialog().getByText(/changes? in the cloud/).waitFor();
	await submit('Create node pool');
	await visit('/autoscaling', 'Autoscaling');
	await main().getByRole('table', {name: 'Node pools'}).getByRole('row', {name: /batch/}).getByText('gpus').waitFor();
	await main().getByText('No pods are waiting for a node').waitFor();
});

test('training plans: what there is, and what could be had', async () => {
	await page.goto(`${s.url}/training-plans`);
	await h1(/^Training plans/);
	await main().getByRole('row', {name: /spring/}).getByText('2 of 2').waitFor();
	await main().getByLabel('Hours').fill('168');
	await press('Search');
	await main().getByText('tpo-1').waitFor();
});

test('import offers the HyperPod clusters of the account, and says of each whether it can be had', async () => {
	await s.cloud.settings({hyperpod_others: {slurm: {}}});
	await page.goto(`${s.url}/clusters/import`);
	await h1('Import a cluster');
	const others = page.getByRole('table', {name: 'HyperPod clusters of this account'});

	await others.getByRole('row', {name: /slurm/}).getByText('not supported', {exact: true}).waitFor();
	assert(await others.getByRole('row', {name: /slurm/}).getByRole('radio').isDisabled());
	await others.getByRole('row', {name: /lab/}).getByRole('radio').check();
	assert.equal(await page.getByRole('textbox', {name: 'EKS cluster'}).inputValue(), 'lab');
	assert.equal(await page.getByRole('textbox', {name: 'HyperPod cluster'}).inputValue(), 'lab');
});

test('nobody looks any longer: what was looked at goes grey, says since when, and gets older by itself', async () => {
	const grey = () => main().locator('[class*=status-stopped]');
	/* Twice the same place: what it says grows. */
	const grows = async place => {
		const before = await place.textContent();

		await page.waitForFunction(([text, was]) => !text.textContent || text.textContent !== was, [await place.elementHandle(), before]);
	};

	await visit('/nodes', /^Nodes/);
	await main().getByText(/checked .* ago/).first().waitFor();
	assert.equal(await grey().count(), 0, 'it is fresh');
	await stop(s, 'poller');
	/* It finds out when it looks again, or when somebody comes back to it. */
	await page.waitForTimeout(5100);
	await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
	await grey().filter({hasText: /checked .* ago \(/}).waitFor();
	await grows(grey().filter({hasText: /checked/}));
	assert(await grey().filter({hasText: 'Running'}).count() > 0, 'a status that nobody has seen for long is not green');

	await visit('/dependencies', /^Dependencies/);
	await grows(main().getByText(/sec ago/).first());
	psql(s, "update catalog set observed_at = observed_at - interval '2 hours'");
	await visit('/dependencies', /^Dependencies/);
	await grey().filter({hasText: /2 hr.* ago \(/}).first().waitFor();
	assert(await grey().filter({hasText: /ready/i}).count() > 0, 'grey');

	/* Storage is looked at by whoever asks: no poller has to. */
	await visit('/storage', /^Storage/);
	await main().getByText(/mounted/i).first().waitFor();
	assert.equal(await grey().count(), 0, 'it is seen now');
	startService(s, 'poller');
});

test('axe finds nothing on these pages, in both modes', async () => {
	const {json: {items}} = await call(s, 'GET', '/api/v1/clusters/lab/nodes', {role: 'viewer'});

	await page.emulateMedia({reducedMotion: 'reduce'});
	for (const path of ['/clusters/lab/groups', '/clusters/lab/groups/add', '/clusters/lab/nodes', `/clusters/lab/nodes/${items[0].instance_id}`,
		'/clusters/lab/events', '/clusters/lab/features', '/clusters/lab/autoscaling', '/training-plans', '/clusters/import']) {
		await page.goto(s.url + path);
		await main().locator('h1, [class*=heading]').first().waitFor();
		await page.waitForFunction(() => document.querySelector('main')?.textContent && !document.querySelector('main [class*=spinner]'));
		await accessible(page, path);
	}
	assert.deepEqual(page.trouble, []);
});
