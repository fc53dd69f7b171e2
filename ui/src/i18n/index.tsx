// The language of the console: ours and Cloudscape's texts, dates, numbers, spans.
import {I18nProvider, type I18nProviderProps} from '@cloudscape-design/components/i18n';
import english from '@cloudscape-design/components/i18n/messages/all.en';
import {createContext, useContext, useEffect, useMemo, useState, type ReactNode} from 'react';
import {spansOf} from '../pure/time';
import {en} from './en';
import {textOf, type Catalog, type Key, type Values} from './text';

export type {Key} from './text';
type Messages = I18nProviderProps['messages'][number];

/* BCP 47 tags; names are what speakers call the language. */
export const LANGUAGES = {
	en: 'English',
	'zh-CN': '中文',
	tr: 'Türkçe',
	ro: 'Română',
	hi: 'हिन्दी',
} as const;
export type Language = keyof typeof LANGUAGES;

interface Loaded { catalog: Catalog; messages: Messages[] }
type Module = {default: Messages};

/* One chunk a language; English is there at once. */
const loaders: Record<Language, () => Promise<Loaded>> = {
	en: async () => ({catalog: en, messages: [english as unknown as Messages]}),
	'zh-CN': async () => ({catalog: (await import('./zh')).zh,
		messages: [(await import('@cloudscape-design/components/i18n/messages/all.zh-CN') as Module).default]}),
	tr: async () => ({catalog: (await import('./tr')).tr,
		messages: [(await import('@cloudscape-design/components/i18n/messages/all.tr') as Module).default]}),
	ro: async () => ({catalog: (await import('./ro')).ro, messages: [(await import('./cloudscape-ro')).default]}),
	hi: async () => ({catalog: (await import('./hi')).hi, messages: [(await import('./cloudscape-hi')).default]}),
};

const loading = new Map<Language, Promise<Loaded>>();

/** Once each; main.tsx asks before anything is drawn. */
export function loadLanguage(language: Language): Promise<Loaded>
{
	let one = loading.get(language);

	if (!one) {
		one = loaders[language]();
		/* A chunk that did not come is asked for again. */
		one.catch(() => loading.delete(language));
		loading.set(language, one);
	}
	return one;
}

export function browserLanguage(): Language
{
	for (const tag of navigator.languages ?? []) {
		const found = (Object.keys(LANGUAGES) as Language[])
			.find(l => l === tag || l.split('-')[0] === tag.split('-')[0]);

		if (found)
			return found;
	}
	return 'en';
}

export interface Words {
	locale: Language;
	t: (key: Key, values?: Values) => string;
	/** A word of the server's that may be in the catalog: "state.live"; else as it is. */
	word: (group: string, name: string, otherwise?: string | null) => string;
	time: (iso: string) => string;
	utc: (iso: string) => string;
	span: (seconds: number) => string;
	number: (n: number) => string;
}

const Context = createContext<Words | null>(null);

export function useWords(): Words
{
	const words = useContext(Context);

	if (!words)
		throw new Error('no language');
	return words;
}

export function makeWords(locale: Language, catalog: Catalog, timeZone: string | undefined): Words
{
	const date = new Intl.DateTimeFormat(locale, {dateStyle: 'medium', timeStyle: 'medium', timeZone});
	const number = new Intl.NumberFormat(locale);
	const units = new Map(['day', 'hour', 'minute', 'second'].map(unit => [unit,
		new Intl.NumberFormat(locale, {style: 'unit', unit, unitDisplay: 'short'})]));

	return {
		locale,
		t: (key, values = {}) => textOf(catalog[key], values, locale),
		word: (group, name, otherwise) => {
			const text = catalog[`${group}.${name}` as Key];

			/* English is what the server speaks: it may say it better. */
			return text === undefined || (otherwise && locale === 'en') ? otherwise ?? name : textOf(text, {}, locale);
		},
		time: iso => date.format(new Date(iso)),
		utc: iso => iso.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
		span: s => spansOf(s).map(x => units.get(x.unit)!.format(x.value)).join(' '),
		number: n => number.format(n),
	};
}

export function Words({language, timeZone, children}: {language: Language; timeZone: string | undefined; children: ReactNode})
{
	const [loaded, setLoaded] = useState<Loaded & {locale: Language}>();

	useEffect(() => {
		let wanted = true;

		void loadLanguage(language).then(l => wanted && setLoaded({...l, locale: language}));
		return () => {
			wanted = false;
		};
	}, [language]);
	useEffect(() => {
		if (loaded)
			document.documentElement.lang = loaded.locale;
	}, [loaded]);
	const words = useMemo(() => loaded && makeWords(loaded.locale, loaded.catalog, timeZone), [loaded, timeZone]);

	if (!loaded || !words)
		return null;
	return <I18nProvider locale={loaded.locale} messages={loaded.messages}>
		<Context.Provider value={words}>{children}</Context.Provider>
	</I18nProvider>;
}
