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
