// The lines: following until somebody scrolls up.
import {memo, useEffect, useLayoutEffect, useRef, useState} from 'react';
import {useWords, type Key} from '../i18n';
import {isLine, type Entry, type Log} from '../pure/log';
import './log-view.css';

function Found({text, find}: {text: string; find: string})
{
	if (!find)
		return <>{text}</>;
	const parts = text.split(new RegExp(`(${find.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')})`, 'gi'));

	return <>{parts.map((p, i) => i % 2 ? <mark key={i}>{p}</mark> : p)}</>;
}

interface Shown { times: boolean; wrap: boolean; find: string }

/* Lines are there while they are near what is seen; else their place is, as high as they
 * were. Blocks are born at the end, where they are seen or below it: nothing above moves. */
function useNear({times, wrap, find}: Shown)
{
	const box = useRef<HTMLDivElement>(null);
	const height = useRef(0);
	const [near, setNear] = useState(true);

	useEffect(() => {
		const el = box.current!;
		const observer = new IntersectionObserver(all => {
			const seen = all[all.length - 1]!.isIntersecting;

			if (!seen && el.firstChild)
				height.current = el.offsetHeight;
			setNear(seen);
		}, {root: el.closest('.log'), rootMargin: '1500px 0px'});

		/* Shown otherwise, it is of another height: measured anew. */
		setNear(true);
		observer.observe(el);
		return () => observer.disconnect();
	}, [times, wrap, find]);
	return {box, near, height};
}

const Block = memo(function Block({entries, times, wrap, find}: {entries: readonly Entry[]} & Shown)
{
	const {box, near, height} = useNear({times, wrap, find});
	const {t, word, time} = useWords();
	const wanted = find.toLowerCase();

	if (!near)
		return <div ref={box} className='log-block' style={{height: height.current}}/>;
	return <div ref={box} className='log-block'>
		{entries.filter(e => !isLine(e) || !wanted || e.text.toLowerCase().includes(wanted)).map((e, i) => {
			if (isLine(e))
				return <div className='log-line' key={e.seq}>{times && <time className='log-time' dateTime={e.time}>{time(e.time)}</time>}<Found text={e.text} find={find}/></div>;
			const text = e.mark === 'gap'
				? e.missed === null ? t('logs.gapUnknown', {why: word('logs.why', e.why)}) : t('logs.gap', {n: e.missed, why: word('logs.why', e.why)})
				: e.mark === 'ended' && e.code !== undefined ? t('logs.endedCode', {code: e.code}) : t(`logs.${e.mark}` as Key, {n: e.n ?? '?'});

			return <div className='log-mark' key={`${e.mark}${i}`}>{text}</div>;
		})}
	</div>;
});

export function LogView({log, following, onFollow, wrap, times, find}:
	{log: Log; following: boolean; onFollow: (on: boolean) => void; wrap: boolean; times: boolean; find: string})
{
	const {t} = useWords();
	const box = useRef<HTMLDivElement>(null);
	const programmatic = useRef(false);

	useLayoutEffect(() => {
		if (following && box.current) {
			programmatic.current = true;
			box.current.scrollTop = box.current.scrollHeight;
		}
	}, [following, log]);
	useEffect(() => {
		const el = box.current!;
		const onScroll = () => {
			if (programmatic.current) {
				programmatic.current = false;
				return;
			}
			onFollow(el.scrollHeight - el.scrollTop - el.clientHeight < 24);
		};

		el.addEventListener('scroll', onScroll, {passive: true});
		return () => el.removeEventListener('scroll', onScroll);
	}, [onFollow]);
	return <div ref={box} className={`log${wrap ? ' log-wrap' : ''}`} role='log' aria-live='off' aria-label={t('logs.view')} tabIndex={0}>
		{log.blocks.length === 0 ? t('logs.empty')
			: log.blocks.map((b, i) => <Block key={log.firstBlock + i} entries={b} times={times} wrap={wrap} find={find}/>)}
	</div>;
}
