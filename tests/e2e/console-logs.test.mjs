// The log page of the console and its live events, against pods that the test holds.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {psql, restart} from '../stack/stack.mjs';
import {accessible, choose, launch, signedIn} from './browser.mjs';
import {change, end, operation, start} from './faces.mjs';
import {Cluster} from './podlogs.mjs';

let s, k, browser;

before(async () => {
	k = await new Cluster().listen();
	s = await start({poller: false, env: {AWS_ENDPOINT_URL: k.url}});
	psql(s, `select cluster_put('lab', '{"eks_name": "lab"}')`);
	psql(s, `select installation_put('111122223333', 'us-west-2', 'aws', 'arn:aws:iam::111122223333:role/x')`);
	browser = await launch();
});
after(async () => {
	await browser?.close();
	await k.close();
	await end(s);
});

const numbers = (from, n) => Array.from({length: n}, (_, i) => `line ${from + i}`);
const view = page => page.getByRole('log');
const line = (page, text) => view(page).getByText(text, {exact: true}).waitFor();
const texts = page => view(page).locator('.log-line').allTextContents();

async function follow(page, pod)
{
	await page.goto(`${s.url}/clusters/lab/logs`);
	await page.getByRole('heading', {level: 1, name: 'Logs'}).waitFor();
	await choose(page, /Pod|Choose a pod/, new RegExp(pod));
}

test('a pod is followed through a restart, a reload and a restart of the server; nothing twice, nothing lost', async () => {
	const p = k.pod('train-0', {policy: 'OnFailure'});

	k.write(p, ...numbers(1, 40));
	const page = await signedIn(s, browser);

	await follow(page, 'train-0');
	await line(page, 'line 40');
	await page.getByText('following').waitFor();
	await accessible(page, 'logs');
	k.write(p, 'live');
	await line(page, 'live');
	await restart(s, 'live');
	k.write(p, 'after the restart of the server');
	await line(page, 'after the restart of the server');
	assert.deepEqual(await texts(page), [...numbers(1, 40), 'live', 'after the restart of the server']);
	k.restart(p, 137);
	k.write(p, 'again');
	await line(page, 'again');
	await view(page).getByText(/The container has restarted/).waitFor();
	await page.reload();
	await line(page, 'again');
	await page.getByRole('checkbox', {name: 'Previous container'}).check();
	await line(page, 'line 40');
	await page.getByRole('checkbox', {name: 'Previous container'}).uncheck();
	await line(page, 'again');
	const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', {name: 'Download all'}).click()]);

	assert.match(fs.readFileSync(await download.path(), 'utf8'), /^\d{4}-.*Z again$/m);
	k.finish(p, 3);
	await view(page).getByText('The container has ended, exit code 3').waitFor();
	assert.deepEqual(page.trouble, []);
	await page.context().close();
});

test('scrolling pauses, resuming follows; search, wrap and timestamps', async () => {
	const p = k.pod('train-1');

	k.write(p, ...numbers(1, 300));
	const page = await signedIn(s, browser);

	await follow(page, 'train-1');
	await line(page, 'line 300');
	await view(page).hover();
	await page.mouse.wheel(0, -2000);
	await page.getByRole('button', {name: 'Resume'}).waitFor();
	k.write(p, 'new', 'needle 1', 'newest');
	await page.getByText('Paused while you scroll; 3 new lines').waitFor();
	const at = await view(page).evaluate(e => e.scrollTop);

	await page.getByRole('button', {name: 'Resume'}).click();
	await page.getByRole('button', {name: 'Pause'}).waitFor();
	await page.waitForFunction(was => document.querySelector('[role=log]').scrollTop > was, at);
	await page.getByRole('searchbox', {name: 'Find in the lines'}).fill('NEEDLE');
	await view(page).locator('mark').waitFor();
	assert.deepEqual(await texts(page), ['needle 1']);
	await page.getByRole('checkbox', {name: 'Timestamps'}).check();
	await view(page).locator('time').waitFor();
	await page.getByRole('checkbox', {name: 'Wrap lines'}).uncheck();
	await page.waitForFunction(() => !document.querySelector('[role=log]').classList.contains('log-wrap'));
	assert.deepEqual(page.trouble, []);
	await page.context().close();
});

test('two browsers see the same change when it happens, without polling', async t => {
	const [one, two] = await Promise.all([signedIn(s, browser), signedIn(s, browser)]);
	const id = operation(s);

	await Promise.all([one, two].map(async p => {
		await p.goto(`${s.url}/operations/${id}`);
		await p.getByText('Live', {exact: true}).waitFor();
		await p.getByRole('heading', {level: 1}).waitFor();
	}));
	let polls = 0;

	one.on('request', r => polls += /[?&]wait=/.test(r.url()));
	const began = performance.now();

	change(s, id, 'the second browser');
	await Promise.all([one, two].map(p => p.getByText('Waiting for the second browser').waitFor({timeout: 5000})));
	const ms = performance.now() - began;

	t.diagnostic(`seen by both after ${ms.toFixed(0)} ms`);
	assert.equal(polls, 0);
	await one.goto(`${s.url}/operations`);
	await one.getByText('Live', {exact: true}).waitFor();
	const other = operation(s, {title: 'Something new'});

	await one.getByRole('link', {name: 'Something new'}).waitFor({timeout: 5000});
	assert(other);
	/* Blocked WebSockets: long polls, and the page says so. */
	await two.routeWebSocket('**/ws/events*', ws => ws.close({code: 1011}));
	await two.reload();
	await two.getByText('Polling').waitFor();
	change(s, id, 'a long poll');
	await two.getByText('Waiting for a long poll').waitFor({timeout: 5000});
	assert.deepEqual([...one.trouble, ...two.trouble], []);
	await one.context().close();
	await two.context().close();
});

test('a decision: question, evidence and consequences; the answer is shown as a plan and recorded', async () => {
	const page = await signedIn(s, browser);
	const id = operation(s, {title: 'Delicate'});

	await page.goto(`${s.url}/operations/${id}`);
	await page.getByRole('heading', {level: 1, name: /Delicate/}).waitFor();
	psql(s, `update operation set state = 'held', held_at = j_now(), question = '${JSON.stringify({question: 'Is the old bucket yours?', evidence: {bucket: 'b-1'},
		choices: [{id: 'keep', title: 'Keep it', consequence: 'It goes on being billed.'}, {id: 'drop', title: 'Drop it', consequence: 'Its data is lost.'}]})}'
		where id = '${id}'`);
	await page.getByText('A decision is needed').waitFor();
	await page.getByText('Is the old bucket yours?').waitFor();
	await page.getByText('Its data is lost.').waitFor();
	await accessible(page, 'a decision');
	await page.getByText('needs a decision', {exact: true}).first().waitFor();
	const answer = page.getByRole('button', {name: 'Answer', exact: true});

	assert(await answer.isDisabled());
	await page.getByRole('radio', {name: /Keep it/}).check();
	await page.getByLabel('Note for the record').fill('asked the owner');
	await answer.click();
	await page.getByRole('dialog').filter({visible: true}).getByRole('button', {name: 'Answer', exact: true}).click();
	await page.getByText('A decision is needed').waitFor({state: 'detached'});
	assert.match(psql(s, `select data::text from event where op_id = '${id}' and data::text like '%keep%'`), /asked the owner/);
	/* A call of which nobody knows whether it has arrived has words of its own. */
	const lost = operation(s, {title: 'Lost'});

	psql(s, `update operation set state = 'held', held_at = j_now(), question = '${JSON.stringify({question: 'Did it happen?',
		evidence: {call: 'sagemaker:CreateCluster'}, choices: [{id: 'effect_happened', title: 'It happened', consequence: 'Nothing is sent again'}]})}'
		where id = '${lost}'`);
	await page.goto(`${s.url}/operations/${lost}`);
	await page.getByText('The outcome of a call is unknown').waitFor();
	await page.getByText('outcome unknown', {exact: true}).first().waitFor();
	assert.deepEqual(page.trouble, []);
	await page.context().close();
});
