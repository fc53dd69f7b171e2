// A text with its variables and plural forms.
import type {en} from './en';

export type Plural = {other: string} & Partial<Record<Intl.LDMLPluralRule, string>>;
export type Text = string | Plural;
export type Key = keyof typeof en;
export type Catalog = Record<Key, Text>;
export type Values = Record<string, string | number>;

/** {n} decides the plural form; numbers are written as the language does. */
export function textOf(text: Text, values: Values, locale: string): string
{
	const form = typeof text === 'string' ? text
		: text[new Intl.PluralRules(locale).select(Number(values.n ?? 0))] ?? text.other;

	return form.replace(/\{(\w+)\}/g, (whole, name: string) => {
		const v = values[name];

		return typeof v === 'number' ? new Intl.NumberFormat(locale).format(v) : v ?? whole;
	});
}

export const variablesOf = (text: Text) => new Set(
	(typeof text === 'string' ? [text] : Object.values(text))
		.flatMap(form => [...form.matchAll(/\{(\w+)\}/g)].map(m => m[1]!)));
