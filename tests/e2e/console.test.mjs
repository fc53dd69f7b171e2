// The web console in headless Chromium, against the whole stack on the simulated cloud.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {psql} from '../stack/stack.mjs';
import {accessible, choose, launch, signedIn, visitor} from './browser.mjs';
import {call, end} from './faces.mjs';
import {ended, succeeded, world} from './pipeline.mjs';

let s, browser, page;

before(async () => {
	s = await world();
	browser = await launch();
});
after(async () => {
	await browser?.close();
	await end(s);
});

const h1 = (p, name) => p.getByRole('heading', {level: 1, name}).waitFor();
const button = (p, name) => p.getByRole('button', {name, exact: true});
const dialog = p => p.getByRole('dialog').filter({visible: true});
const status = (p, word) => p.locator('main').getByText(word, {exact: true}).first().waitFor({timeout: 45000});
const idOf = p => /op_\w+/.exec(p.url())[0];

async function fill(p, name)
{
	await p.goto(`${s.url}/clusters/create`);
	await p.getByRole('textbox', {name: 'Name', exact: true}).fill(name);
	await choose(p, /^Availability zone/, /us-west-2a/);
	await choose(p, /^Instance type/, /ml\.g5\.12xlarge/);
}

/** Reviews the form, and says yes to the plan. */
async function submit(p)
{
	await button(p, 'Review plan').click();
	await dialog(p).getByText(/changes in the cloud/).waitFor();
	await dialog(p).getByRole('button', {name: 'Create cluster'}).click();
	await p.waitForURL(/operations\/op_/);
	return idOf(p);
}

test('signing in: a wrong secret says so, a used link leads here, a token and a link work', async () => {
	const p = await visitor(s, browser);

	await p.goto(`${s.url}/operations`);
	await p.waitForURL(/sign-in/);
	await button(p, 'Sign in').click();
	await p.getByText('Paste a link or a token.').waitFor();
	await p.getByLabel('Link or token').fill(`ist_${'0'.repeat(64)}`);
	await p.keyboard.press('Enter');
	await p.getByText('A valid token is required').waitFor();
	await p.getByLabel('Link or token').fill(s.tokens.viewer);
	await p.keyboard.press('Enter');
	await h1(p, /^Operations/);
	await p.getByRole('button', {name: /Account of/}).click();
	await p.getByText('Viewer: reads').filter({visible: true}).first().waitFor();
	await p.goto(`${s.url}/clusters`);
	await h1(p, /^Clusters/);
	assert(await button(p, 'Actions').isDisabled());
	assert.equal(await p.getByRole('link', {name: 'Audit trail'}).count(), 0, 'not for a viewer');
	const [cookie] = await p.context().cookies();

	assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite], ['instantstart_session', true, 'Strict']);
	assert.doesNotMatch((await fetch(s.url)).headers.get('content-security-policy'), /unsafe|https?:|\*/);
	await p.context().clearCookies();
	await p.goto(`${s.url}/login?code=isl_${'0'.repeat(64)}`);
	await p.getByText('This sign-in link is already used or expired.').waitFor();
	assert.deepEqual(p.trouble, []);
	await p.context().close();
	page = await signedIn(s, browser);
});

test('create: faults in place, choices from the cloud, reload and back, the plan, the panel to the end', async () => {
	await page.getByRole('link', {name: 'Create cluster'}).first().click();
	await button(page, 'Review plan').click();
	await page.getByText('This field is required.').first().waitFor();
	assert.equal(await page.getByText('This field is required.').count(), 3);
	await page.getByRole('textbox', {name: 'Name', exact: true}).fill('Not OK');
	await page.getByText('The format is not valid. Example: demo').waitFor();
	await fill(page, 'first');
	await page.getByText('The account quotas are sufficient.').waitFor();
	await page.getByText('ml.g5.12xlarge for cluster usage: 100 of 100 left.').waitFor();
	await page.reload();
	await h1(page, 'Create a cluster');
	assert.equal(await page.getByRole('textbox', {name: 'Name', exact: true}).inputValue(), 'first', 'kept through a reload');
	await page.getByRole('link', {name: 'Operations', exact: true}).click();
	await h1(page, /^Operations/);
	await page.goBack();
	await h1(page, 'Create a cluster');
	assert.equal(await page.getByRole('textbox', {name: 'Name', exact: true}).inputValue(), 'first', 'kept on the way back');
	await button(page, 'Review plan').click();
	await dialog(page).getByText(/changes in the cloud/).waitFor();
	await dialog(page).getByText('cloudformation:CreateStack', {exact: true}).waitFor();
	await dialog(page).getByText(/L-4C3F99F6/).waitFor();
	assert.match(await dialog(page).getByText(/^[0-9a-f]{64}$/).textContent(), /./);
	await accessible(page, 'plan');
	const other = await signedIn(s, browser);
	/* The answer is slow and the user impatient: still one operation. */
	let sent = 0;

	await page.route('**/api/v1/clusters?plan_digest*', async route => {
		sent++;
		await new Promise(r => setTimeout(r, 400));
		await route.continue();
	});
	await dialog(page).getByRole('button', {name: 'Create cluster'}).dblclick();
	await page.waitForURL(/operations\/op_/);
	assert.equal(sent, 1, 'one click is enough');
	const id = idOf(page);

	await h1(page, 'Create a cluster: first');
	await other.goto(`${s.url}/operations`);
	await other.getByRole('link', {name: 'Create a cluster'}).waitFor();
	await page.getByText(/Stage: Create an EKS control plane/).waitFor();
	await page.reload();
	await h1(page, 'Create a cluster: first');
	await status(page, 'succeeded');
	assert.equal((await succeeded(s, id)).face, 'console');
	await page.getByRole('tab', {name: 'Result'}).click();
	await page.getByText(/"hyperpod_name": "first"/).waitFor();
	await other.locator('main').getByText('succeeded').first().waitFor();
	await other.context().close();
	assert.equal(await page.evaluate(() => sessionStorage.getItem('instantstart.draft.create_cluster')), null);
	assert.deepEqual(page.trouble, []);
});

test('the overview, and events and calls of stages, with deep links', async () => {
	await page.goto(`${s.url}/clusters/first`);
	await page.getByText('in service').first().waitFor();
	await page.getByText('1 of 1').first().waitFor();
	await page.getByText('8 of 8 ready').waitFor();
	const {json: {items: [op]}} = await call(s, 'GET', '/api/v1/operations?cluster=first&kind=create_eks_control_plane', {role: 'viewer'});

	await page.goto(`${s.url}/operations/${op.parent}?tab=calls`);
	await page.getByRole('row', {name: /sagemaker:CreateCluster.*Create a HyperPod cluster.*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/}).waitFor();
	await page.goto(`${s.url}/operations/${op.id}?tab=calls`);
	await page.getByRole('row', {name: /cloudformation:CreateStack/}).first().waitFor();
	await page.goto(`${s.url}/operations/${op.id}?tab=events&event=2`);
	await page.getByRole('row', {name: /^2 /}).waitFor();
	await page.goto(`${s.url}/operations/${op.id}?tab=events&phase=stack`);
	await page.getByRole('button', {name: /Filter by phase/}).getByText('Stack').waitFor();
	await page.getByRole('row', {name: /cloudformation:CreateStack/}).first().waitFor();
	assert.equal(await page.getByRole('row', {name: /submitted/}).count(), 0, 'only that phase');
	await page.getByRole('button', {name: 'Help and API calls'}).first().click();
	await page.getByText(new RegExp(`curl -sS '${s.url}/api/v1/operations/${op.id}`)).first().waitFor();
	await page.getByRole('tab', {name: 'MCP tool'}).click();
	await page.getByText(/"name": "get_operation"/).waitFor();
});

test('quota: refused in the plan with what to do; a failing script: cause, fix, retry from here', async () => {
	const settings = {quota: {'L-4C3F99F6': 0}};

	await s.cloud.settings(settings);
	psql(s, 'delete from read_cache');
	await fill(page, 'second');
	await button(page, 'Review plan').click();
	await dialog(page).getByText('An account quota is too low').waitFor();
	await dialog(page).getByText(/Request an increase of L-4C3F99F6/).waitFor();
	await dialog(page).getByRole('button', {name: 'Cancel'}).click();
	await s.cloud.settings({quota: {'L-4C3F99F6': 100}, lifecycle_script: 'fail'});
	psql(s, 'delete from read_cache');
	const id = await submit(page);

	await page.getByText(/Failed at:/).waitFor({timeout: 45000});
	await page.getByText(/^What to do:/).first().waitFor();
	await page.getByText('Messages from the source').first().waitFor();
	assert.equal((await ended(s, id)).state, 'failed');
	await s.cloud.settings({lifecycle_script: 'ok'});
	await button(page, 'Retry from here').first().click();
	await dialog(page).getByRole('button', {name: 'Retry from here'}).click();
	await status(page, 'succeeded');
	await succeeded(s, id);
	assert.deepEqual(page.trouble, []);
});

test('cancel says what stays, and stops; the session ends: back to the same place after signing in', async () => {
	await s.cloud.settings({capacity: {'ml.g5.12xlarge': 0}});
	psql(s, 'delete from read_cache');
	await fill(page, 'third');
	/* What the two clusters have is no longer there to be had. */
	await page.getByText('ml.g5.12xlarge for cluster usage: 98 of 100 left.').waitFor();
	await button(page, 'Review plan').click();
	await dialog(page).getByText(/changes in the cloud/).waitFor();
	/* The answer gets lost: what was accepted is found again by its key. */
	let lost;

	await page.route('**/api/v1/clusters?plan_digest*', async route => {
		if (lost)
			return route.continue();
		lost = (await (await route.fetch()).json()).id;
		await route.abort('connectionreset');
	});
	await dialog(page).getByRole('button', {name: 'Create cluster'}).click();
	await dialog(page).getByText('The server could not be reached').waitFor();
	await dialog(page).getByText('It may be repeated safely.').waitFor();
	await dialog(page).getByRole('button', {name: 'Create cluster'}).click();
	await page.waitForURL(/operations\/op_/);
	await page.unroute('**/api/v1/clusters?plan_digest*');
	const id = idOf(page);

	assert.equal(id, lost);
	await page.getByText(/capacity/i).first().waitFor({timeout: 45000});
	await button(page, 'Cancel operation').click();
	await dialog(page).getByLabel('Remove what it has made').check();
	await dialog(page).getByRole('button', {name: 'Review plan'}).click();
	await dialog(page).getByRole('button', {name: 'Cancel operation'}).click();
	await status(page, 'cancelled');
	assert.equal((await ended(s, id)).state, 'cancelled');
	await s.cloud.settings({capacity: {'ml.g5.12xlarge': null}});
	psql(s, 'delete from session');
	await call(s, 'POST', '/api/v1/tokens', {role: 'admin', body: {name: 'x', role: 'viewer'}});
	await page.reload();
	await page.waitForURL(/sign-in\?expired=1/);
	await page.getByText('Your session has ended.', {exact: false}).waitFor();
	await page.getByLabel('Link or token').fill(s.tokens.admin);
	await page.keyboard.press('Enter');
	await page.waitForURL(new RegExp(`operations/${id}`));
	await h1(page, /third/);
	s.cookie = undefined;
	const other = await signedIn(s, browser);

	await other.goto(`${s.url}/settings`);
	await button(other, 'Sign out everywhere').click();
	await other.waitForURL(/sign-in/);
	await other.context().close();
	assert.equal(psql(s, `select count(*) from session where principal = 'admin'`), '0');
	await page.goto(`${s.url}/sign-in`);
	await page.getByLabel('Link or token').fill(s.tokens.admin);
	await page.keyboard.press('Enter');
	await h1(page, /^Clusters/);
});

test('import, select and forget; delete wants the name typed and lists what is lost', async () => {
	await page.goto(`${s.url}/clusters/import`);
	await page.getByRole('textbox', {name: 'EKS cluster'}).fill('first');
	await page.getByRole('textbox', {name: /^Name here/}).fill('twin');
	await button(page, 'Review import').click();
	await dialog(page).getByRole('button', {name: 'Import cluster'}).click();
	await page.waitForURL(/operations\/op_/);
	await status(page, 'succeeded');
	await page.goto(`${s.url}/clusters`);
	await page.getByRole('radio', {name: 'twin'}).check();
	await button(page, 'Actions').click();
	await page.getByRole('menuitem', {name: 'Select'}).click();
	await page.getByText('twin is now selected.').waitFor();
	await button(page, 'Actions').click();
	await page.getByRole('menuitem', {name: 'Forget'}).click();
	await dialog(page).getByRole('button', {name: 'Forget'}).click();
	await page.getByText(/twin was removed from the catalog/).waitFor();
	await page.goto(`${s.url}/clusters/first`);
	await button(page, 'Delete').click();
	const sure = dialog(page).getByRole('button', {name: 'Delete', exact: true});

	await dialog(page).getByText('1 node', {exact: true}).waitFor();
	await dialog(page).getByText('1 storage', {exact: true}).waitFor();
	await dialog(page).getByText('sagemaker:DeleteCluster', {exact: true}).waitFor();
	await dialog(page).getByLabel(/type first/).fill('firs');
	assert(await sure.isDisabled());
	await dialog(page).getByLabel(/type first/).fill('first');
	await sure.click();
	await page.waitForURL(/operations\/op_/);
	await status(page, 'succeeded');
	await page.goto(`${s.url}/clusters`);
	await page.getByRole('link', {name: 'second'}).waitFor();
	assert.equal(await page.getByRole('link', {name: 'first', exact: true}).count(), 0);
	assert.deepEqual(page.trouble, []);
});

test('dependencies, storage, tokens and audit change and show', async () => {
	await page.goto(`${s.url}/clusters/second/dependencies`);
	await page.getByRole('checkbox', {name: /CoreDNS/}).check();
	await button(page, 'Reconcile selected').click();
	await dialog(page).getByRole('button', {name: 'Reconcile all'}).click();
	await page.waitForURL(/operations\/op_/);
	await status(page, 'succeeded');
	await page.goto(`${s.url}/clusters/second/storage`);
	await button(page, 'Mount storage').first().click();
	await dialog(page).getByRole('textbox', {name: /^Name –/}).fill('more');
	await dialog(page).getByRole('button', {name: 'Review'}).click();
	await dialog(page).getByRole('button', {name: 'Mount storage'}).click();
	await page.waitForURL(/operations\/op_/);
	await status(page, 'succeeded');
	await page.goto(`${s.url}/tokens`);
	await button(page, 'Create token').click();
	await dialog(page).getByRole('textbox', {name: /^Name/}).fill('pipeline');
	await dialog(page).getByRole('button', {name: 'Create token'}).click();
	const secret = await dialog(page).getByText(/^ist_[0-9a-f]{64}$/).textContent();

	assert.equal((await call(s, 'GET', '/api/v1/me', {role: secret})).status, 200);
	await dialog(page).getByRole('button', {name: 'Close'}).last().click();
	await page.getByRole('radio', {name: 'pipeline'}).check();
	await button(page, 'Revoke').click();
	await dialog(page).getByRole('button', {name: 'Revoke', exact: true}).click();
	await page.getByText('The token is revoked.').waitFor();
	assert.equal((await call(s, 'GET', '/api/v1/me', {role: secret})).status, 401);
	await page.goto(`${s.url}/audit`);
	await page.getByRole('row', {name: /revoke_token/}).first().waitFor();
	await button(page, 'Verify the chain').click();
	await page.getByText(/The chain is whole/).waitFor();
	assert.deepEqual(page.trouble, []);
});

test('permissions that seem to be missing: refused, and gone on with when the person insists', async () => {
	const p = await signedIn(s, browser);
	const insist = () => dialog(p).getByLabel('Continue even if permissions are missing');

	await s.cloud.settings({denied_actions: ['eks:CreateCluster']});
	await fill(p, 'insisted');
	await button(p, 'Review plan').click();
	await dialog(p).getByText(/is not allowed actions that this operation needs: eks:CreateCluster/).waitFor();
	await insist().check();
	await dialog(p).getByText(/is not allowed eks:CreateCluster on/).first().waitFor();
	assert(await dialog(p).getByRole('button', {name: 'Create cluster'}).isEnabled());
	await insist().uncheck();
	await dialog(p).getByText(/is not allowed actions that this operation needs/).waitFor();
	await insist().check();
	await dialog(p).getByText(/is not allowed eks:CreateCluster on/).first().waitFor();
	await dialog(p).getByRole('button', {name: 'Create cluster'}).click();
	await p.waitForURL(/\/operations\/op_/);
	await s.cloud.settings({denied_actions: null});
	await succeeded(s, idOf(p));
	assert.deepEqual(p.trouble, []);
});
