// How old what is shown is: it grows by itself, whoever stops answering, and what is old
// is grey and says since when. No page reckons an age of its own (pure.test.ts).
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import {useEffect, useState, type ReactNode} from 'react';
import {useWords} from '../i18n';
import {ageOf, isOld, OLD_S, seenAt, type Seen} from '../pure/time';
import {State, Time, useNow} from './status';

/** Whether it is old by now; changes by itself, once. */
export function useOld(seen: Seen): boolean
{
	const [now, setNow] = useState(Date.now);
	const age = ageOf(seen, Date.now());
	const left = age === null ? null : (seen.oldS ?? OLD_S) - age;

	useEffect(() => {
		setNow(Date.now());
		if (left === null || left <= 0)
			return;
		const timer = setTimeout(() => setNow(Date.now()), left * 1000 + 500);

		return () => clearTimeout(timer);
	}, [seen.atMs, left === null || left <= 0]);
	return isOld(seen, now);
}

/** In a sentence of the page's. */
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

/** When something was seen last, in a cell or after a label. */
export function SeenAt({at, oldS}: {at: string | null | undefined; oldS?: number})
{
	const {t} = useWords();

	return at ? <Age seen={seenAt(at, oldS)} at={at}>{age => t('common.ago', {age})}</Age> : <>–</>;
}

/** A state that was seen then: grey when that is long ago. */
export function StateAt({at, oldS, ...props}: {at: string | null | undefined; oldS?: number; state: string; label?: string})
{
	return <State {...props} old={useOld(seenAt(at, oldS))}/>;
}
