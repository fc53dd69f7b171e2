// make screenshots: the main pages of the console, while the simulated cloud makes
// a cluster.
import fs from 'node:fs';
import {top} from '../stack/stack.mjs';
import {choose, launch, signedIn} from '../e2e/browser.mjs';
import {end} from '../e2e/faces.mjs';
import {create, ended, request, succeeded, world} from '../e2e/pipeline.mjs';

const out = `${top}/ui/screenshots`;
const s = await world({speed: 150, env: {INSTANTSTART_POLL_SCALE_PERCENT: '4', INSTANTSTART_POLLERS: '4', INSTANTSTART_TICK_MS: '200', INSTANTSTART_REFRESH_MS: '2000'}});
let browser;

try {
	fs.mkdirSync(out, {recursive: true});
	browser = await launch();
	const page = await signedIn(s, browser, {viewport: {width: 1280, height: 860}});
	const shot = async name => {
		await page.evaluate(() => document.fonts.ready);
		await page.mouse.move(0, 0);
		await page.screenshot({path: `${out}/${name}.png`});
		console.log(`ui/screenshots/${name}.png`);
	};
	const prefer = prefs => page.evaluate(x => localStorage.setItem('instantstart.prefs', JSON.stringify(x)), prefs);

	/* Earlier runs, so that there is a usual time to compare with. */
	await succeeded(s, (await create(s, 'research', {count: 4})).id, 120000);
	await page.goto(`${s.url}/clusters/create`);
	await page.getByRole('textbox', {name: 'Name', exact: true}).fill('training');
	await choose(page, /^Availability zone/, /us-west-2a/);
	await choose(page, /^Instance type/, /ml\.g5\.12xlarge/);
	await page.getByText('The account quotas are sufficient.').waitFor();
	await shot('create');
	await page.getByRole('button', {name: 'Review plan'}).click();
	await page.getByText(/changes in the cloud/).waitFor();
	await shot('plan');
	await page.getByRole('button', {name: 'Create cluster'}).last().click();
	await page.waitForURL(/operations\/op_/);
	await page.getByText(/Stage: Create a HyperPod cluster/).waitFor({timeout: 60000});
	await page.getByText(/^Waiting for/).first().waitFor();
	await shot('operation');
	await succeeded(s, /op_\w+/.exec(page.url())[0], 120000);
	await s.cloud.settings({lifecycle_script: 'fail'});
	const failing = await create(s, 'night', request('night'));

	await ended(s, failing.id, 120000);
	await page.goto(`${s.url}/operations/${failing.id}`);
	await page.getByText(/Failed at/).waitFor();
	await shot('failure');
	await page.goto(`${s.url}/clusters/research/nodes`);
	await page.getByText('Schedulable').first().waitFor({timeout: 60000});
	await page.getByRole('row', {name: /^i-|i-/}).nth(1).locator('input').check();
	await page.getByRole('button', {name: 'Actions'}).click();
	await shot('nodes');
	await page.goto(`${s.url}/clusters/research/features`);
	await page.getByText('Training operator', {exact: true}).first().waitFor();
	await shot('features');
	await page.goto(`${s.url}/clusters/research/groups/add`);
	await page.getByRole('textbox', {name: 'Name', exact: true}).fill('more');
	await choose(page, /^Availability zone/, /us-west-2a/);
	await choose(page, /^Instance type/, /ml\.g5\.12xlarge/);
	await page.getByText('The account quotas are sufficient.').waitFor();
	await shot('add-group');
	await prefer({mode: 'dark', density: 'compact'});
	await page.goto(`${s.url}/clusters/training`);
	await page.getByText(/of 8 ready/).waitFor();
	await page.getByText('ml.g5.12xlarge').first().waitFor();
	await shot('cluster-dark');
} finally {
	await browser?.close();
	await end(s);
}
