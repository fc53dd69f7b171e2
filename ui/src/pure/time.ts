// Times and spans of operations.
import type {Operation, Phase} from '../api/types';

export function seconds(from: string | null | undefined, to: string | null | undefined, nowMs: number): number | null
{
	if (!from)
		return null;
	return Math.max(0, ((to ? Date.parse(to) : nowMs) - Date.parse(from)) / 1000);
}

export interface Span { unit: 'second' | 'minute' | 'hour' | 'day'; value: number }

/** 3725 s: 1 hour, 2 minutes. At most two units, none that is zero but the last. */
export function spansOf(s: number): Span[]
{
	const whole = Math.floor(s);
	const all: Span[] = [
		{unit: 'day', value: Math.floor(whole / 86400)},
		{unit: 'hour', value: Math.floor(whole / 3600) % 24},
		{unit: 'minute', value: Math.floor(whole / 60) % 60},
		{unit: 'second', value: whole % 60},
	];
	const first = all.findIndex(x => x.value > 0);

	if (first < 0)
		return [{unit: 'second', value: 0}];
	return all.slice(first, first + 2).filter((x, i) => i === 0 || x.value > 0);
}

export function median(values: number[]): number | null
{
	if (values.length === 0)
		return null;
	const sorted = [...values].sort((a, b) => a - b);
	const mid = Math.floor(sorted.length / 2);

	return sorted.length % 2 ? sorted[mid]! : (sorted[mid - 1]! + sorted[mid]!) / 2;
}

/** Usual seconds of each phase: the median of runs of this kind that went well. */
export function usualOf(past: Operation[], except: string): Map<string, number>
{
	const all = new Map<string, number[]>();

	for (const op of past) {
		if (op.id === except || op.state !== 'succeeded')
			continue;
		for (const p of op.phases) {
			const s = p.state === 'done' && p.ended_at ? seconds(p.started_at, p.ended_at, 0) : null;

			if (s !== null)
				all.set(p.name, [...all.get(p.name) ?? [], s]);
		}
	}
	return new Map([...all].map(([name, values]) => [name, median(values)!]));
}

export const isOpen = (p: Phase) => p.state === 'running' || p.state === 'held';

/* --- the server's clock -------------------------------------------------------- */

/* Times of the server's are compared with this machine's clock, which may be wrong. */
let aheadMs = 0;

/** date: of an answer that has just come, in whole seconds. */
export function learnTime(date: string | null, nowMs = Date.now())
{
	const ms = date ? Date.parse(date) - nowMs : NaN;

	if (!Number.isNaN(ms) && Math.abs(ms - aheadMs) > 2000)
		aheadMs = Math.abs(ms) > 2000 ? ms : 0;
}

/** When that was by this machine's clock. */
export const hereMs = (at: string) => Date.parse(at) - aheadMs;

/* --- ages ------------------------------------------------------------------------ */

/** Seconds: what pollers look at is renewed once a minute. */
export const OLD_S = 180;
/** What is looked at when an operation comes by. */
export const OLD_UNASKED_S = 3600;

export interface Seen {
	/** By this machine's clock; null: not yet. */
	atMs: number | null;
	/** Workers that could make it newer; 0: nothing does. */
	pollers?: number | null | undefined;
	/** Seconds after which it is old; OLD_S. */
	oldS?: number | undefined;
}

/** Of an answer that says how old it is, and of one that says of when it is. */
export const seenAgo = (ageS: number | null | undefined, readAtMs: number, pollers?: number | null): Seen =>
	({atMs: ageS === null || ageS === undefined ? null : readAtMs - ageS * 1000, pollers});
export const seenAt = (at: string | null | undefined, oldS?: number): Seen => ({atMs: at ? hereMs(at) : null, oldS});

export const ageOf = ({atMs}: Seen, nowMs: number) => atMs === null ? null : Math.max(0, nowMs - atMs) / 1000;

export function isOld(seen: Seen, nowMs: number): boolean
{
	const age = ageOf(seen, nowMs);

	return seen.pollers === 0 || (age !== null && age > (seen.oldS ?? OLD_S));
}
