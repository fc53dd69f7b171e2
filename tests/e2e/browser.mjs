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

async function judged(page, what)
{
	const found = await page.evaluate(async runOnly => {
		const {violations} = await window.axe.run(document, {resultTypes: ['violations'], runOnly});

		return violations.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 2).map(n => `${n.target} ${n.html.slice(0, 160)}`).join(' | ')}`);
	}, RULES);

	assert.deepEqual(found, [], what);
}

/** WCAG 2.2 AA and best practice, by axe, in both modes: nothing may be found. */
export async function accessible(page, what)
{
	if (!await page.evaluate(() => Boolean(window.axe)))
		await page.evaluate(axe);
	for (const colorScheme of ['dark', 'light']) {
		await page.emulateMedia({colorScheme, reducedMotion: 'reduce'});
		await page.waitForFunction(dark => document.body.classList.contains('awsui-dark-mode') === dark, colorScheme === 'dark');
		await judged(page, `${what}, ${colorScheme}`);
	}
}

/** A person without a mouse. Every press is a key's; a pointer that is used all the
 * same is counted in the page. */
export class Keys {
	constructor(page)
	{
		this.page = page;
	}

	static async of(page)
	{
		await page.context().addInitScript(() => {
			for (const type of ['pointerdown', 'mousedown', 'touchstart'])
				addEventListener(type, () => sessionStorage.setItem('pointer', type), true);
		});
		return new Keys(page);
	}

	async press(...keys)
	{
		for (const key of keys)
			await this.page.keyboard.press(key);
	}

	type(text)
	{
		return this.page.keyboard.type(text);
	}

	/** Tag, role and every name of what has the focus. */
	focused()
	{
		return this.page.evaluate(() => {
			const e = document.activeElement;
			const by = (e?.getAttribute('aria-labelledby') ?? '').split(' ').map(id => document.getElementById(id)?.textContent ?? '').join(' ');

			return `${e?.tagName} ${e?.getAttribute('role') ?? e?.getAttribute('type') ?? ''} ${e?.getAttribute('aria-label') ?? ''} ${by} ${
				[...e?.labels ?? []].map(l => l.textContent).join(' ')} ${e?.textContent?.slice(0, 80)}`;
		});
	}

	async to(wanted, key = 'Tab')
	{
		const seen = [];

		for (let i = 0; i < 90; i++) {
			const at = await this.focused();

			if (wanted.test(at))
				return;
			seen.push(at.slice(0, 40));
			await this.page.keyboard.press(key);
		}
		throw new Error(`the keyboard does not reach ${wanted}: ${seen.slice(-30).join(' | ')}`);
	}

	/** To something, and Enter. */
	async enter(wanted)
	{
		await this.to(wanted);
		await this.press('Enter');
	}

	/** null, or what kind of pointer was used. */
	pointer()
	{
		return this.page.evaluate(() => sessionStorage.getItem('pointer'));
	}
}

/** Chooses in a Select of Cloudscape, by its label, as a person does. */
export async function choose(page, label, option)
{
	await page.getByRole('button', {name: label}).first().click();
	await page.getByRole('option', {name: option}).first().click();
}
