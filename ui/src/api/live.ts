// Keeps what is shown true without a refresh. While the event stream is connected,
// events say what is old; when it cannot be had, operations that run are followed by
// long polls, and lists are read again from time to time while somebody looks.
import {useEffect, useSyncExternalStore} from 'react';
import {useQuery} from '@tanstack/react-query';
import {backoffMs, frameOf, missed} from '../pure/stream';
import {operation, operations, queryClient, readOperation} from './queries';
import type {Operation} from './types';

export type LiveState = 'connecting' | 'connected' | 'polling';

const FAILURES_UNTIL_POLLING = 3;
const RETRY_WHILE_POLLING_MS = 60000;
const LIST_POLL_MS = 10000;

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();

function setState(next: LiveState)
{
	if (next === state)
		return;
	state = next;
	for (const f of listeners)
		f();
}

const subscribe = (f: () => void) => {
	listeners.add(f);
	return () => void listeners.delete(f);
};

export const useLiveState = () => useSyncExternalStore(subscribe, () => state);

/* --- events ------------------------------------------------------------------ */

let pending = new Map<string, readonly unknown[]>();
let timer: ReturnType<typeof setTimeout> | undefined;

/* A burst of events is one reading. */
function makeOld(key: readonly unknown[])
{
	pending.set(JSON.stringify(key), key);
	timer ??= setTimeout(() => {
		const keys = pending;

		pending = new Map();
		timer = undefined;
		for (const queryKey of keys.values())
			void queryClient.invalidateQueries({queryKey});
	}, 100);
}

/** An operation has changed: it, its lists, and what it works on. */
function operationChanged(id: string, cluster: string | null | undefined)
{
	makeOld(['operation', id]);
	makeOld(['operations']);
	makeOld(['clusters']);
	if (cluster)
		makeOld(['cluster', cluster]);
}

function take(text: string, at: {epoch: string; seq: number})
{
	const frame = frameOf(text);

	if (!frame)
		return;
	if (frame.t === 'hello') {
		at.epoch = String(frame.epoch ?? '');
		at.seq ||= Number(frame.seq ?? 0);
		setState('connected');
		return;
	}
	if (frame.t === 'gap' || missed(at.seq, Number(frame.seq)))
		makeOld([]);
	if (typeof frame.seq === 'number')
		at.seq = frame.seq;
	if (frame.t === 'operation') {
		const known = queryClient.getQueryData<Operation>(['operation', String(frame.id)]);

		if (!known || known.version < Number(frame.version))
			operationChanged(String(frame.id), frame.cluster as string | undefined);
	} else if (frame.t === 'catalog') {
		makeOld(['cluster', frame.cluster]);
		makeOld(['clusters']);
	}
}

/** Until the returned function is called. */
export function startLive(): () => void
{
	const at = {epoch: '', seq: 0};
	let socket: WebSocket | undefined, retry: ReturnType<typeof setTimeout>, failures = 0, over = false;

	const connect = () => {
		const query = at.epoch ? `?epoch=${encodeURIComponent(at.epoch)}&after=${at.seq}` : '';

		socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws/events${query}`);
		socket.onmessage = e => {
			failures = 0;
			take(String(e.data), at);
		};
		socket.onclose = e => {
			if (over)
				return;
			if (e.code === 4401) {
				void queryClient.invalidateQueries({queryKey: ['me']});
				return;
			}
			failures++;
			setState(failures >= FAILURES_UNTIL_POLLING ? 'polling' : 'connecting');
			retry = setTimeout(connect, state === 'polling' ? RETRY_WHILE_POLLING_MS
				: e.code === 1001 ? 200 : backoffMs(failures));
		};
	};

	connect();
	return () => {
		over = true;
		clearTimeout(retry);
		socket?.close();
		setState('connecting');
	};
}

/* --- without events ------------------------------------------------------------ */

/** Long polls one operation while it may change and no events come. */
export function useFollow(id: string | undefined, active: boolean)
{
	const live = useLiveState();
	const polls = active && Boolean(id) && live !== 'connected';

	useEffect(() => {
		if (!polls || !id)
			return;
		const stop = new AbortController();

		void (async () => {
			for (let failures = 0; !stop.signal.aborted;) {
				const key = ['operation', id];
				const known = queryClient.getQueryData<Operation>(key);

				if (known?.done)
					return;
				try {
					const next = await readOperation(id, {wait: 25, seen_version: known?.version}, stop.signal);

					failures = 0;
					if (next.version !== known?.version) {
						queryClient.setQueryData(key, next);
						operationChanged(id, next.cluster);
					}
				} catch {
					if (!stop.signal.aborted)
						await new Promise(r => setTimeout(r, backoffMs(++failures)));
				}
			}
		})();
		return () => stop.abort();
	}, [id, polls]);
}

export function useOperation(id: string)
{
	const query = useQuery(operation(id));

	useFollow(id, !query.data?.done);
	return query;
}

/* Events tell of changes. That nothing has changed, and that somebody still looks, is
 * asked for: it keeps the server looking, too. */
const LOOK_MS = 30000;

/** Interval for what is looked at. */
export const useListPoll = () => useLiveState() === 'connected' ? LOOK_MS : LIST_POLL_MS;

/** Lists follow the newest operation that runs. */
export function useFollowAny(cluster?: string)
{
	const poll = useListPoll();
	const query = useQuery({...operations({state: 'live', limit: 10, ...(cluster ? {cluster} : {})}), refetchInterval: poll});
	const root = query.data?.items.find(o => !o.parent) ?? query.data?.items[0];

	useFollow(root?.id, Boolean(root));
	return query.data?.items ?? [];
}
