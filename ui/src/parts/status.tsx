// States in words and shape, and times.
import StatusIndicator, {type StatusIndicatorProps} from '@cloudscape-design/components/status-indicator';
import {useEffect, useState} from 'react';
import {useWords} from '../i18n';

const TYPES: Record<string, StatusIndicatorProps.Type> = {
	live: 'in-progress', running: 'in-progress', creating: 'in-progress', deleting: 'in-progress', retrying: 'in-progress',
	cancelling: 'in-progress', Creating: 'in-progress', Updating: 'in-progress', Deleting: 'in-progress', following: 'in-progress',
	queued: 'pending', pending: 'pending', waiting: 'pending', waiting_for_nodes: 'pending', control_plane_ready: 'pending',
	held: 'warning', 'needs-decision': 'warning', 'outcome-unknown': 'warning', reconnecting: 'warning', SystemUpdating: 'warning',
	succeeded: 'success', done: 'success', in_service: 'success', ready: 'success', mounted: 'success', accepted: 'success',
	InService: 'success', Running: 'success', Succeeded: 'success', Active: 'success', Schedulable: 'success', Passed: 'success',
	enabled: 'success', present: 'success', ok: 'success', brought: 'pending', Pending: 'pending', Scheduled: 'pending',
	InProgress: 'in-progress', DeepHealthCheckInProgress: 'in-progress', ShuttingDown: 'in-progress',
	partial: 'warning', foreign: 'warning', differs: 'warning', missing: 'warning', cordoned: 'warning', not_ready: 'warning',
	disabled: 'stopped', Expired: 'stopped', blocked: 'error', Failure: 'error', RollbackComplete: 'error', RollbackInProgress: 'warning',
	Unschedulable: 'warning', UnschedulablePendingReplacement: 'error', UnschedulablePendingReboot: 'warning', NotFound: 'warning',
	failed: 'error', broken: 'error', Failed: 'error', refused: 'error', RollingBack: 'error',
	cancelled: 'stopped', skipped: 'stopped', same: 'info', unknown: 'info',
};

/** What is old may be otherwise by now: it is grey. */
export function State({state, label, old = false}: {state: string; label?: string; old?: boolean})
{
	const {word} = useWords();

	return <StatusIndicator type={old ? 'stopped' : TYPES[state] ?? 'info'}>{label ?? word('state', state)}</StatusIndicator>;
}

export function Time({at}: {at: string | null | undefined})
{
	const {time, utc} = useWords();

	return at ? <time dateTime={at} title={utc(at)}>{time(at)}</time> : <>–</>;
}

/* One second for everything that grows on a page. */
const growing = new Set<(now: number) => void>();
let ticks: ReturnType<typeof setInterval> | undefined;

/** Milliseconds now, once a second while it matters. */
export function useNow(ticking: boolean): number
{
	const [now, setNow] = useState(Date.now);

	useEffect(() => {
		if (!ticking)
			return;
		growing.add(setNow);
		ticks ??= setInterval(() => {
			const all = Date.now();

			growing.forEach(grow => grow(all));
		}, 1000);
		setNow(Date.now());
		return () => {
			growing.delete(setNow);
			if (growing.size === 0) {
				clearInterval(ticks);
				ticks = undefined;
			}
		};
	}, [ticking]);
	return now;
}
