// A headless browser that watches: what the page logs, where its requests go.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {chromium} from 'playwright-core';
import {loginLink, top} from '../stack/stack.mjs';

const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync'];
const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export const launch = () => chromium.launch({headless: true, args: ARGS, executablePath: PATHS.find(p => fs.existsSync(p))});

/** A fresh browser profile with one page; page.trouble gathers what must not be. */
export async function visitor(s, browser, options = {})
{
	const context = await browser.newContext({viewport: {width: 1280, height: 900}, locale: 'en-US', timezoneId: 'UTC', ...options});

	context.setDefaultTimeout(15000);
	const page = await context.newPage();
	const trouble = [];

	page.on('console', m => {
		/* A refusal that the page handles, and a WebSocket that is not there, log themselves. */
		if (m.type() === 'error' && !/Failed to load resource|WebSocket connection to/.test(m.text()))
			trouble.push(`console: ${m.text()}`);
	});
	page.on('pageerror', e => trouble.push(`error: ${e.stack}`));
	page.on('request', r => {
		const url = new URL(r.url());

		if (url.host !== new URL(s.url).host && !['data:', 'blob:'].includes(url.protocol))
			trouble.push(`request to ${r.url()}`);
	});
	page.trouble = trouble;
	return page;
}

export async function signedIn(s, browser, options)
{
	const page = await visitor(s, browser, options);

	await page.goto(loginLink(s).replace(/^https?:\/\/[^/]+/, s.url));
	await page.getByRole('heading', {level: 1, name: /^Clusters/}).waitFor();
	return page;
}

const axe = fs.readFileSync(`${top}/ui/node_modules/axe-core/axe.min.js`, 'utf8');

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** WCAG 2.2 AA and best practice, by axe: nothing may be found. */
export async function accessible(page, what, rules = RULES)
{
	if (!await page.evaluate(() => Boolean(window.axe)))
		await page.evaluate(axe);
	const found = await page.evaluate(async runOnly => {
		const {violations} = await window.axe.run(document, {resultTypes: ['violations'], runOnly});

		return violations.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 2).map(n => `${n.target} ${n.html.slice(0, 160)}`).join(' | ')}`);
	}, rules);

	assert.deepEqual(found, [], what);
}

/** Chooses in a Select of Cloudscape, by its label, as a person does. */
export async function choose(page, label, option)
{
	await page.getByRole('button', {name: label}).first().click();
	await page.getByRole('option', {name: option}).first().click();
}
