// How old what is shown is: it grows by itself, whoever stops answering, and what is old
// is grey and says since when.
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import {useEffect, useState, type ReactNode} from 'react';
import {useWords} from '../i18n';
import {Time, useNow} from './status';

/** Seconds; pages that are looked at are renewed once a minute. */
export const OLD_S = 180;

export interface Seen {
	/** When the answer said so: it is older by what has passed since. */
	age_s: number | null | undefined;
	readAtMs: number;
	/** Workers that could make it newer. */
	pollers?: number | null;
}

export const ageOf = (seen: Seen, nowMs: number) =>
	seen.age_s === null || seen.age_s === undefined ? null : seen.age_s + Math.max(0, nowMs - seen.readAtMs) / 1000;

export const isOld = (seen: Seen, nowMs: number) => {
	const age = ageOf(seen, nowMs);

	return seen.pollers === 0 || (age !== null && age > OLD_S);
};

/** Whether it is old by now; changes by itself, once. */
export function useOld(seen: Seen): boolean
{
	const [now, setNow] = useState(Date.now);
	const age = ageOf(seen, Date.now());
	const left = age === null ? null : OLD_S - age;

	useEffect(() => {
		setNow(Date.now());
		if (left === null || left <= 0)
			return;
		const timer = setTimeout(() => setNow(Date.now()), left * 1000 + 500);

		return () => clearTimeout(timer);
	}, [seen.readAtMs, seen.age_s, left === null || left <= 0]);
	return isOld(seen, now);
}

export function Age({seen, at, children}: {seen: Seen; at: string | null | undefined; children: (age: string) => ReactNode})
{
	const {t, span} = useWords();
	const now = useNow(true);
	const age = ageOf(seen, now);

	if (age === null)
		return <>{t('nodes.notSeen')}</>;
	if (!isOld(seen, now))
		return <>{children(span(age))}</>;
	return <StatusIndicator type='stopped'>{children(span(age))} (<Time at={at}/>)</StatusIndicator>;
}
