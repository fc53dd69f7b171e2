// Lines of a followed log as the page keeps them: in blocks that never change once
// full, so that a new line costs one block and not the whole view.
import type {Frame} from './stream';

export interface Line { seq: number; time: string; text: string; cut?: boolean }
export interface Mark { seq: number; mark: 'gap'; missed: number | null; why: string }
export interface StateMark { seq: number; mark: 'restarted' | 'replaced' | 'ended'; code?: number; n?: number; why?: string }
export type Entry = Line | Mark | StateMark;

export const BLOCK = 200;
export const MAX_BLOCKS = 100;
/** While somebody reads, nothing above goes; what comes beyond this is counted only. */
export const HELD_BLOCKS = 1000;

export interface Log {
	/** Grows with every block, so that a block keeps its name when old ones go. */
	firstBlock: number;
	blocks: readonly (readonly Entry[])[];
	epoch: string;
	next: number;
	state: string;
	lines: number;
	/** Time of the last line. */
	last: string;
	/** The server has numbered anew: lines up to `last` have been seen already. */
	anew: boolean;
	/** Somebody has scrolled up and reads. */
	held: boolean;
	/** Lines that came while it was held and full. */
	skipped: number;
}

export const emptyLog: Log = {firstBlock: 0, blocks: [], epoch: '', next: 0, state: 'reconnecting', lines: 0, last: '', anew: false, held: false, skipped: 0};

export const isLine = (e: Entry): e is Line => !('mark' in e);

function append(log: Log, entries: Entry[]): Log
{
	const blocks = log.blocks.slice();
	let last = blocks.pop() ?? [];

	for (let rest = entries; rest.length;) {
		const room = BLOCK - last.length;

		last = [...last, ...rest.slice(0, room)];
		rest = rest.slice(room);
		if (last.length === BLOCK) {
			blocks.push(last);
			last = [];
		}
	}
	if (last.length)
		blocks.push(last);
	const added = entries.filter(isLine);

	/* What is read must not slide: the end is left out then, not the beginning. */
	if (log.held && blocks.length > HELD_BLOCKS)
		return {...log, lines: log.lines + added.length, skipped: log.skipped + added.length, last: added[added.length - 1]?.time ?? log.last};
	const gone = log.held ? 0 : Math.max(0, blocks.length - MAX_BLOCKS);

	return {...log, firstBlock: log.firstBlock + gone, blocks: blocks.slice(gone), lines: log.lines + added.length,
		last: added[added.length - 1]?.time ?? log.last};
}

/** Somebody begins to read, or follows again: then what was left out is marked. */
export function hold(log: Log, held: boolean): Log
{
	if (log.held === held)
		return log;
	if (held)
		return {...log, held};
	return append({...log, held, skipped: 0}, log.skipped ? [{seq: log.next, mark: 'gap', missed: log.skipped, why: 'buffer'}] : []);
}

/** After another numbering: by time. When the replay begins later than what was seen
 * last, nobody knows what was in between. */
function takeAnew(log: Log, lines: Line[]): Log
{
	const fresh = lines.filter(l => l.time > log.last);
	const lost: Entry[] = lines[0] && lines[0].time > log.last ? [{seq: lines[0].seq, mark: 'gap', missed: null, why: 'buffer'}] : [];

	return {...fresh.length ? append(log, [...lost, ...fresh]) : log, anew: fresh.length === 0 && lines.length === 0};
}

type Lines = [time: string, text: string, cut?: number][];

/** A frame of /ws/logs. Lines that have come before (a reconnect) are left out. */
export function take(log: Log, frame: Frame): Log
{
	const seq = Number(frame.seq ?? log.next);

	switch (frame.t) {
	case 'hello': {
		const same = log.epoch === '' || log.epoch === frame.epoch;

		return {...log, epoch: String(frame.epoch ?? ''), next: same && log.next ? log.next : seq, state: 'following',
			anew: log.anew || (!same && log.last !== '')};
	}
	case 'lines': {
		const all = (frame.lines as Lines).map(([time, text, cut], i) => ({seq: seq + i, time, text, ...cut ? {cut: true} : {}}));

		if (log.anew)
			return {...takeAnew(log, all), next: seq + all.length};
		const fresh = all.filter(l => l.seq >= log.next);
		/* The server marks what it has dropped; this is what got lost on the way. */
		const lost = log.next > 0 && seq > log.next ? [{seq: log.next, mark: 'gap' as const, missed: seq - log.next, why: 'buffer'}] : [];

		return fresh.length ? {...append(log, [...lost, ...fresh]), next: seq + all.length} : log;
	}
	case 'gap':
		/* Of the other numbering; what is really missing the times tell. */
		if (log.anew)
			return {...log, next: seq};
		return {...append(log, [{seq, mark: 'gap', missed: typeof frame.missed === 'number' ? frame.missed : null, why: String(frame.why ?? '')}]),
			next: seq};
	case 'state': {
		const state = String(frame.state);
		const next = {...log, state};

		if (state !== 'restarted' && state !== 'replaced' && state !== 'ended')
			return next;
		return append(next, [{seq: log.next, mark: state,
			...typeof frame.exit_code === 'number' ? {code: frame.exit_code} : {},
			...typeof frame.restarts === 'number' ? {n: frame.restarts} : {}}]);
	}
	default:
		return log;
	}
}
