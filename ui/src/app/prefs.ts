// What this browser remembers: colors, density, language, zone of times, shortcuts.
import {applyDensity, applyMode, Density, Mode} from '@cloudscape-design/global-styles';
import {useSyncExternalStore} from 'react';
import {browserLanguage, LANGUAGES, type Language} from '../i18n';

export interface Prefs {
	mode: 'auto' | 'light' | 'dark';
	density: 'comfortable' | 'compact';
	language: Language;
	times: 'local' | 'utc';
	keys: boolean;
}

const STORED = 'instantstart.prefs';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function load(): Prefs
{
	const initial: Prefs = {mode: 'auto', density: 'comfortable', language: browserLanguage(), times: 'local', keys: true};

	try {
		const kept = {...initial, ...JSON.parse(localStorage.getItem(STORED) ?? '{}') as Partial<Prefs>};

		return kept.language in LANGUAGES ? kept : {...kept, language: initial.language};
	} catch {
		return initial;
	}
}

let prefs = load();

function apply()
{
	applyMode(prefs.mode === 'dark' || (prefs.mode === 'auto' && dark.matches) ? Mode.Dark : Mode.Light);
	applyDensity(prefs.density === 'compact' ? Density.Compact : Density.Comfortable);
}

apply();
dark.addEventListener('change', apply);

export function setPrefs(change: Partial<Prefs>)
{
	prefs = {...prefs, ...change};
	localStorage.setItem(STORED, JSON.stringify(prefs));
	apply();
	for (const f of listeners)
		f();
}

export const currentPrefs = () => prefs;

export const usePrefs = () => useSyncExternalStore(f => {
	listeners.add(f);
	return () => void listeners.delete(f);
}, () => prefs);

export const timeZoneOf = (p: Prefs) => p.times === 'utc' ? 'UTC' : undefined;
