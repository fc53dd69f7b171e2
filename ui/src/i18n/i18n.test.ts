// No language lacks a text, a variable or a plural form, and none has one too many.
import english from '@cloudscape-design/components/i18n/messages/all.en';
import fs from 'node:fs';
import path from 'node:path';
import {expect, test} from 'vitest';
import {bodies} from '../api/generated/bodies';
import {codes, faces, retries, states} from '../api/generated/words';
import type {FieldSchema} from '../pure/schema';
import {strings as hiStrings} from './cloudscape-hi';
import {strings as roStrings} from './cloudscape-ro';
import {en} from './en';
import {helpOf, type HelpKey} from './help';
import {hi} from './hi';
import {ro} from './ro';
import {titleOf} from './titles';
import {textOf, variablesOf, type Catalog, type Key} from './text';
import type {Language} from '.';
import {tr} from './tr';
import {zh} from './zh';

const sources = () => fs.readdirSync('src', {recursive: true}).map(f => path.join('src', String(f)))
	.filter(f => /\.tsx?$/.test(f) && !/i18n\/((en|zh|tr|ro|hi)(-compute)?|cloudscape-\w+)\.ts$|generated|\.test\.ts$/.test(f));

const languages: [string, Catalog][] = [['zh-CN', zh], ['tr', tr], ['ro', ro], ['hi', hi]];
const keys = Object.keys(en) as Key[];

/* The same in every language: names, or words taken over. */
const SAME = /^(call\.rest|plan\.quota|op\.phaseSpan|op\.nowState|face\.rest|cluster\.(network|kubernetes|gpus)|logs\.pod|settings\.zone\.utc|create\.(spot|typeTextNoGpu)|plan\.title)$/;

test.each(languages)('%s has every text, translated, with the same variables and all plural forms', (locale, catalog) => {
	const wanted = new Intl.PluralRules(locale).resolvedOptions().pluralCategories;

	expect(Object.keys(catalog)).toEqual(keys);
	for (const key of keys) {
		const text = catalog[key];

		expect(variablesOf(text), key).toEqual(variablesOf(en[key]));
		expect(typeof text, key).toBe(typeof en[key]);
		if (typeof text !== 'string')
			expect(Object.keys(text).sort(), key).toEqual([...wanted].sort());
	}
	const same = keys.filter(k => JSON.stringify(catalog[k]) === JSON.stringify(en[k]) && !SAME.test(k));

	expect(same.length / keys.length, same.join(' ')).toBeLessThan(0.04);
});

test.each([['ro', roStrings], ['hi', hiStrings]] as const)('%s has the texts of every Cloudscape component that is used', (_, strings) => {
	const all = (english as unknown as Record<string, {en: Record<string, object>}>)['cloudscape-design-components']!.en;
	const source = sources().map(f => fs.readFileSync(f, 'utf8')).join('\n');
	const used = new Set([...source.matchAll(/@cloudscape-design\/components\/([a-z-]+)'/g)].map(m => m[1]!));

	for (const component of Object.keys(all).filter(c => used.has(c)))
		expect(Object.keys(strings[component] ?? {}).sort(), component).toEqual(Object.keys(all[component]!).sort());
});

test('plural forms are chosen by the language', () => {
	expect([1, 2, 20].map(n => textOf(ro['plan.lostNodes'], {n}, 'ro'))).toEqual(['1 nod', '2 noduri', '20 de noduri']);
	expect(textOf(en['common.matches'], {n: 1234}, 'en')).toBe('1,234 matches');
	expect(textOf('{a} {b}', {a: 'x'}, 'en')).toBe('x {b}');
});

test('every text of the catalog is used, and no text is written beside it', () => {
	const files = sources();
	const source = files.map(f => fs.readFileSync(f, 'utf8')).join('\n');
	const open = ['state.', 'face.', 'role.', 'fault.', 'problem.retry.', 'logs.why.', 'phase.', 'kind.', 'live.', 'logs.',
		'level.', 'resource.', 'feature.', 'part.', 'pending.', 'importable.'];
	const dead = keys.filter(k => !source.includes(`'${k}'`) && !open.some(o => k.startsWith(o)) &&
		!/^(create\.(on_demand|spot|training_plan|Instance\w+)(Help)?|settings\.(mode|density)\.\w+|nodes\.(reboot|replace|delete)(Lost)?)$/.test(k));

	expect(dead).toEqual([]);
	const beside = files.filter(f => f.endsWith('.tsx')).flatMap(f => [...fs.readFileSync(f, 'utf8')
		.matchAll(/(?:label|header|headerText|placeholder|description|ariaLabel|title|errorText)=['"]([A-Z][a-z]+ ?[^'"]*)['"]|>([A-Z][a-z]{3,}[^<{]*)</g)]
		.map(m => `${f}: ${m[1] ?? m[2]}`)).filter(x => !/InstantStart/.test(x));

	expect(beside).toEqual([]);
});

test('the help of a field belongs to a field of the schemas', () => {
	for (const [language] of languages)
		for (const key of Object.keys(helps(language as 'tr'))) {
			const [name, ...pointer] = key.split('/');
			const schema = pointer.reduce<FieldSchema | undefined>((s, p) => s?.properties?.[p], bodies[name as keyof typeof bodies] as FieldSchema);

			expect(schema?.description, key).toBeTruthy();
		}
});

const HELP: HelpKey[] = ['create_cluster/name', 'create_cluster/zone', 'create_cluster/storage/bucket', 'import_cluster/eks_name', 'create_token/role'];

function helps(language: 'tr'): Record<string, string>
{
	return Object.fromEntries(HELP.map(k => {
		const text = helpOf(language, k);

		expect(text, `${language} ${k}`).toBeTruthy();
		return [k, text!];
	}));
}

test('every word that the server may say has words here: codes, kinds, phases, states', () => {
	const kinds = fs.readFileSync('../core/domain/kinds.md', 'utf8');
	const found = (pattern: RegExp) => [...new Set([...kinds.matchAll(pattern)].map(m => m[1]!))];
	const wanted = [...found(/^## (\w+)$/gm).map(k => `kind.${k}`), ...found(/state "(\w+)" as phase/g).map(p => `phase.${p}`),
		...states.map(x => `state.${x}`), ...faces.map(x => `face.${x}`), ...retries.map(x => `problem.retry.${x}`)];

	expect(wanted.length).toBeGreaterThan(40);
	expect(wanted.filter(k => !(k in en))).toEqual([]);
	for (const [language] of languages) {
		expect(codes.filter(c => !titleOf(language as Language, c, undefined)), language).toEqual([]);
		/* What this page does not know yet is said in the server's words. */
		expect(titleOf(language as Language, 'of-a-newer-server', 'Said by it')).toBe('Said by it');
	}
	expect(titleOf('en', codes[0], 'The server says it')).toBe('The server says it');
});
