// Who can use the console: by keyboard alone, with a screen reader, in five
// languages, on a slow line.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {loginLink} from '../stack/stack.mjs';
import {accessible, Keys, launch, signedIn, visitor} from './browser.mjs';
import {call, end} from './faces.mjs';
import {create, ended, succeeded, world} from './pipeline.mjs';

let s, browser;

before(async () => {
	s = await world();
	browser = await launch();
});
after(async () => {
	await browser?.close();
	await end(s);
});

const h1 = (p, name) => p.getByRole('heading', {level: 1, name}).waitFor();
const dialog = p => p.getByRole('dialog').filter({visible: true});
const status = (p, word) => p.locator('main').getByText(word, {exact: true}).first().waitFor({timeout: 60000});
const started = async p => {
	await p.waitForURL(/operations\/op_/);
	await p.locator('main h1').first().waitFor();
	return /op_\w+/.exec(p.url())[0];
};

/** From anywhere to the cluster. */
const overview = async (p, k) => {
	await k.press('g', 'c');
	await k.enter(/A .*typed/);
	await h1(p, 'typed');
};

/* Each gets the page where the one before has left it. */
const TASKS = {
	'sign in': async ({p, k}) => {
		await p.goto(`${s.url}/sign-in`);
		await p.getByLabel('Link or token').waitFor();
		await k.type(s.tokens.admin);
		await k.press('Enter');
		await h1(p, /^Clusters/);
	},
	'find the shortcuts, and the API call of a page': async ({p, k}) => {
		await k.press('?');
		await dialog(p).getByText('Go to operations').waitFor();
		await k.press('Escape');
		await dialog(p).waitFor({state: 'detached'});
		await k.press('.');
		await p.getByText(/curl -sS/).first().waitFor();
		await k.press('.');
	},
	'create a cluster': async ({p, k, t}) => {
		await k.press('g', 'n');
		await h1(p, 'Create a cluster');
		await k.to(/INPUT.*Name/);
		await k.type('typed');
		await k.enter(/Availability zone/);
		await p.getByRole('option', {name: /us-west-2a/}).waitFor();
		await k.press('ArrowDown', 'Enter');
		await k.enter(/Instance type/);
		await k.type('g5.12xlarge');
		await p.getByRole('option', {name: /ml\.g5\.12xlarge/}).waitFor();
		await k.press('ArrowDown', 'Enter');
		await k.enter(/BUTTON.*Review plan/);
		await dialog(p).getByText(/changes in the cloud/).waitFor();
		await k.enter(/BUTTON.*Create cluster/);
		t.made = await started(p);
	},
	'look at the calls of an operation': async ({p, k}) => {
		await p.getByText(/Stage: Create an EKS control plane/).waitFor();
		await k.to(/BUTTON tab.*Events/);
		await k.press('ArrowRight');
		await p.getByRole('row', {name: /cloudformation:CreateStack/}).first().waitFor();
	},
	'change colors': async ({p, k}) => {
		await k.press('g', 's');
		await h1(p, 'Settings');
		await k.to(/BUTTON.*System default/);
		await k.press('ArrowRight', 'ArrowRight', 'Enter');
		await p.waitForFunction(() => document.body.classList.contains('awsui-dark-mode'));
	},
	'make a token and revoke it': async ({p, k}) => {
		await k.press('g', 't');
		await h1(p, /^Access tokens/);
		await k.enter(/BUTTON.*Create token/);
		await k.to(/INPUT.*Name/);
		await k.type('keys');
		await k.enter(/BUTTON.*Create token/);
		await dialog(p).getByText(/^ist_[0-9a-f]{64}$/).waitFor();
		await k.enter(/BUTTON(?!.*Copy).*Close/);
		await dialog(p).waitFor({state: 'detached'});
		await p.getByRole('radio', {name: 'keys'}).waitFor();
		await k.to(/INPUT radio/);
		await k.to(/INPUT radio.* keys/, 'ArrowDown');
		await k.press('Space');
		await k.to(/BUTTON.*Revoke/, 'Shift+Tab');
		await k.press('Enter');
		await dialog(p).getByRole('button', {name: 'Revoke'}).and(p.locator(':enabled')).waitFor();
		await k.enter(/BUTTON.*Revoke/);
		await p.getByText('The token is revoked.').waitFor();
	},
	'follow an operation to its end': async ({p, k, t}) => {
		await k.press('g', 'o');
		await h1(p, /^Operations/);
		await k.enter(/A .*Create a cluster/);
		await started(p);
		await status(p, 'succeeded');
		await succeeded(s, t.made);
	},
	'import a cluster': async ({p, k}) => {
		await k.press('g', 'c');
		await h1(p, /^Clusters/);
		await k.enter(/A .*Import cluster/);
		await k.to(/INPUT.*EKS cluster/);
		await k.type('typed');
		await k.to(/INPUT.*Name here/);
		await k.type('twin');
		await k.enter(/BUTTON.*Review import/);
		await dialog(p).getByText(/changes? in the cloud/).waitFor();
		await k.enter(/BUTTON.*Import cluster/);
		await succeeded(s, await started(p));
	},
	'select a cluster': async ({p, k}) => {
		await k.press('g', 'c');
		await p.getByRole('radio', {name: 'twin'}).waitFor();
		await k.to(/INPUT radio/);
		await k.to(/INPUT radio.*twin/, 'ArrowDown');
		await k.press('Space');
		await k.to(/BUTTON.*Actions/, 'Shift+Tab');
		await k.press('Enter');
		await p.getByRole('menuitem', {name: 'Select'}).waitFor();
		await k.to(/menuitem.*Select/, 'ArrowDown');
		await k.press('Enter');
		await p.getByText('twin is now selected.').waitFor();
	},
	'reconcile a dependency': async ({p, k}) => {
		await overview(p, k);
		await k.enter(/A .*Dependencies/);
		await h1(p, /^Dependencies/);
		await p.getByRole('checkbox', {name: /CoreDNS/}).waitFor();
		await k.to(/INPUT checkbox.*CoreDNS/);
		await k.press('Space');
		await k.to(/BUTTON.*Reconcile selected/, 'Shift+Tab');
		await k.press('Enter');
		await dialog(p).getByText(/changes? in the cloud/).waitFor();
		await k.enter(/BUTTON.*Reconcile all/);
		await succeeded(s, await started(p));
	},
	'mount storage': async ({p, k}) => {
		await overview(p, k);
		await k.enter(/A .*Storage/);
		await h1(p, /^Storage/);
		await k.enter(/BUTTON.*Mount storage/);
		await k.to(/INPUT.*Name/);
		await k.type('more');
		await k.enter(/BUTTON Review|BUTTON.* Review$/);
		await dialog(p).getByText(/changes in the cloud/).waitFor();
		await k.enter(/BUTTON.*Mount storage/);
		await succeeded(s, await started(p));
	},
	'read the log of a pod': async ({p, k}) => {
		await overview(p, k);
		await k.enter(/A .*Logs/);
		await h1(p, 'Logs');
		await k.enter(/BUTTON.*Choose a pod/);
		await p.getByRole('option').first().waitFor();
		await k.press('ArrowDown', 'Enter');
		await p.getByRole('log').locator('.log-line').first().waitFor();
		await k.to(/INPUT checkbox.*Timestamps/);
		await k.press('Space');
		await p.getByRole('log').locator('time').first().waitFor();
		await k.to(/DIV log/);
	},
	'cancel, and retry from here': async ({p, k}) => {
		await s.cloud.settings({capacity: {'ml.g5.12xlarge': 0}});
		const {id} = await create(s, 'stuck');

		await k.press('g', 'o');
		await p.getByRole('link', {name: 'Create a cluster'}).nth(1).waitFor();
		await k.enter(/A .*Create a cluster/);
		assert.equal(await started(p), id);
		/* So late that the cloud has been asked for its nodes. */
		await p.locator('main').getByText(/capacity/i).first().waitFor({timeout: 45000});
		await k.enter(/BUTTON.*Cancel operation/);
		await k.enter(/BUTTON.*Review plan/);
		await dialog(p).getByText(/Nothing would be changed|changes? in the cloud/).first().waitFor();
		await k.enter(/BUTTON.*Cancel operation/);
		await status(p, 'cancelled');
		/* Words, what it costs, and the call that stops it; not the document of it. */
		const goesOn = p.locator('main').getByText('Still in progress in the cloud');

		await goesOn.waitFor();
		await p.locator('main').getByText(/billed/).first().waitFor();
		await k.enter(/Stop it with scale_instance_group/);
		await p.locator('main').getByText(/curl -sS -X POST .*groups\/.*:scale/).first().waitFor();
		await s.cloud.settings({capacity: {'ml.g5.12xlarge': null}});
		await k.enter(/BUTTON.*Retry from here/);
		await dialog(p).getByText(/changes? in the cloud/).first().waitFor();
		await k.enter(/BUTTON.*Retry from here/);
		await status(p, 'succeeded');
	},
	'delete a cluster by its name': async ({p, k}) => {
		await k.press('g', 'c');
		await h1(p, /^Clusters/);
		await k.enter(/A .*stuck/);
		await h1(p, 'stuck');
		await k.enter(/BUTTON.*Delete/);
		await dialog(p).getByText('sagemaker:DeleteCluster', {exact: true}).waitFor();
		await k.to(/INPUT.*type stuck/);
		await k.type('stuck');
		await k.press('Enter');
		assert.equal((await succeeded(s, await started(p))).kind, 'delete_cluster');
	},
	'verify the audit trail': async ({p, k}) => {
		await k.press('g', 'a');
		await h1(p, /^Audit/);
		await k.enter(/BUTTON.*Verify the chain/);
		await p.getByText(/The chain is whole/).waitFor();
	},
};

test(`${Object.keys(TASKS).length} tasks by keyboard alone: ${Object.keys(TASKS).join(', ')}`, async t => {
	const p = await visitor(s, browser);
	const k = await Keys.of(p);
	const kept = {};

	for (const [name, run] of Object.entries(TASKS))
		await t.test(name, () => run({p, k, t: kept}));
	assert.equal(await k.pointer(), null, 'no pointer was used');
	assert.deepEqual(p.trouble, []);
	await p.context().close();
});

test('axe finds nothing on any page, in both modes, dense, and where something has failed', async () => {
	await s.cloud.settings({lifecycle_script: 'fail'});
	const {id: broken} = await create(s, 'broken');
	const {json: {items: [op]}} = await call(s, 'GET', '/api/v1/operations?cluster=typed&kind=create_cluster', {role: 'viewer'});
	const paths = ['/clusters', '/clusters/create', '/clusters/import', '/clusters/typed', '/clusters/typed/dependencies',
		'/clusters/typed/storage', '/clusters/typed/logs', '/operations', `/operations/${op.id}`, `/operations/${op.id}?tab=calls`,
		`/operations/${op.id}?tab=result`, '/audit', '/tokens', '/settings', '/nothing/here'];
	/* Two at a time: that is how many cores there are. */
	const walk = async () => {
		const p = await signedIn(s, browser, {reducedMotion: 'reduce'});

		for (let path; (path = paths.shift());) {
			await p.goto(s.url + path);
			await p.locator('main h1, main [class*=heading], main').first().waitFor();
			await p.waitForFunction(() => document.querySelector('main')?.textContent && !document.querySelector('main [class*=spinner]'));
			await accessible(p, path);
		}
		return p;
	};
	const [p, q] = await Promise.all([walk(), walk()]);

	assert.equal((await ended(s, broken, 120000)).state, 'failed');
	await s.cloud.settings({lifecycle_script: 'ok'});
	await p.goto(`${s.url}/operations/${broken}`);
	await p.getByText(/Failed at:/).waitFor();
	await accessible(p, 'a failed operation');
	await p.keyboard.press('?');
	await dialog(p).waitFor();
	await accessible(p, 'the help sheet');
	await p.evaluate(() => localStorage.setItem('instantstart.prefs', '{"density": "compact"}'));
	await p.goto(`${s.url}/clusters/typed`);
	await p.waitForFunction(() => document.body.className.includes('compact'));
	await p.getByText(/of 8 ready/).waitFor();
	await accessible(p, 'dense');
	const out = await visitor(s, browser);

	await out.goto(`${s.url}/sign-in?expired=1`);
	await out.getByLabel('Link or token').waitFor();
	await accessible(out, 'sign-in');
	assert.deepEqual([...p.trouble, ...q.trouble, ...out.trouble], []);
	await Promise.all([p, q, out].map(x => x.context().close()));
});

test('every language: words, the language of the page, problems with headlines, what the server says marked as English', async () => {
	const {json: {items: [op]}} = await call(s, 'GET', '/api/v1/operations?cluster=broken&kind=create_cluster', {role: 'viewer'});
	const p = await signedIn(s, browser);

	for (const [language, clusters, failed] of [['zh-CN', '集群', '一个阶段失败'], ['tr', 'Kümeler', 'Bir kademe başarısız oldu'],
		['ro', 'Clustere', 'O etapă a eșuat'], ['hi', 'क्लस्टर', 'एक भाग विफल हुआ']]) {
		await p.evaluate(x => localStorage.setItem('instantstart.prefs', JSON.stringify(x)), {language});
		await p.goto(`${s.url}/clusters`);
		await h1(p, clusters);
		assert.equal(await p.evaluate(() => document.documentElement.lang), language);
		await p.goto(`${s.url}/operations/${op.id}`);
		await p.getByText(failed).first().waitFor();
		assert(await p.locator('main [lang=en]').count() > 0, language);
	}
	assert.deepEqual(p.trouble, []);
	await p.context().close();
});

/* --- a slow line ------------------------------------------------------------------- */

const MBITS = 3;

/** What is loaded until it can be used, on that line, with nothing cached but `before`.
 * The time is a figure of this machine, the rest is ours. */
async function measured(go, usable, before = async () => {})
{
	const p = await visitor(s, browser);
	const client = await p.context().newCDPSession(p);
	let bytes = 0, requests = 0;

	await before(p);
	await client.send('Network.enable');
	await client.send('Network.emulateNetworkConditions', {offline: false, latency: 20,
		downloadThroughput: MBITS * 1e6 / 8, uploadThroughput: MBITS * 1e6 / 8});
	client.on('Network.loadingFinished', e => {
		bytes += e.encodedDataLength;
		requests++;
	});
	const began = performance.now();

	await go(p);
	await usable(p);
	const ms = performance.now() - began;

	await p.context().close();
	return {ms, bytes, requests};
}

test(`how much is loaded, and how long that takes, at ${MBITS} Mbit/s`, async t => {
	const list = p => p.getByRole('link', {name: 'typed'}).first().waitFor();
	const at = path => p => p.goto(s.url + path, {waitUntil: 'commit'});
	const signIn = p => p.getByLabel('Link or token').waitFor();
	const cases = [
		{what: 'page to sign in, nothing cached', most: {bytes: 300e3, requests: 30}, go: at('/sign-in'), usable: signIn},
		{what: 'list of clusters by a sign-in link, nothing cached', most: {bytes: 440e3, requests: 75},
			go: p => p.goto(loginLink(s).replace(/^https?:\/\/[^/]+/, s.url), {waitUntil: 'commit'}), usable: list},
		/* The console is loaded while somebody types. */
		{what: 'list of clusters after signing in', most: {bytes: 60e3, requests: 25}, usable: list, go: async p => {
			await p.getByLabel('Link or token').fill(s.tokens.viewer);
			await p.keyboard.press('Enter');
		}, before: async p => {
			await at('/sign-in')(p);
			await signIn(p);
			await p.waitForFunction(() => ['shell', 'clusters'].every(chunk => performance.getEntriesByType('resource')
				.some(e => new RegExp(`/assets/${chunk}-[^/]+\\.js$`).test(e.name))));
			await p.waitForLoadState('networkidle');
		}},
		/* What has a hash in its name is not loaded twice. */
		{what: 'list of clusters, cached', most: {bytes: 60e3, requests: 75}, go: at('/clusters'), usable: list, before: async p => {
			await p.goto(loginLink(s).replace(/^https?:\/\/[^/]+/, s.url));
			await list(p);
		}},
	];

	for (const {what, most, go, usable, before} of cases) {
		let ms, loaded, n = 0;

		/* What is fetched ahead begins once the page can be used: a busy machine that sees
		 * that late counts it too, so that it may look again. */
		do ({ms, ...loaded} = await measured(go, usable, before));
		while (++n < 3 && Object.entries(loaded).some(([of, k]) => k > most[of]));

		t.diagnostic(`${what}: ${(ms / 1000).toFixed(2)} s, ${(loaded.bytes / 1000).toFixed(0)} KB, ${loaded.requests} requests`);
		for (const [of, n] of Object.entries(loaded))
			assert(n <= most[of], `${what}: ${n} ${of}`);
	}
});
