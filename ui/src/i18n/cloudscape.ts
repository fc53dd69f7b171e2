// Texts of Cloudscape's own components for languages that it ships none for.
import type {I18nProviderProps} from '@cloudscape-design/components/i18n';

type Messages = I18nProviderProps['messages'][number];
export type Strings = Record<string, Record<string, string>>;

const TEXT = 0, ARGUMENT = 1;

/** What Cloudscape formats: "Page {n}" as a list of texts and arguments. */
const parts = (text: string) => text.split(/(\{\w+\})/).filter(Boolean)
	.map(p => p.startsWith('{') ? {type: ARGUMENT, value: p.slice(1, -1)} : {type: TEXT, value: p});

export function messagesOf(locale: string, strings: Strings): Messages
{
	const all = Object.fromEntries(Object.entries(strings).map(([component, texts]) =>
		[component, Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, parts(text)]))]));

	return {'cloudscape-design-components': {[locale]: all}} as unknown as Messages;
}
