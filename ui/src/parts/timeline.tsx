// Phases of an operation with their stages inside, each against its usual time.
import Box from '@cloudscape-design/components/box';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Steps, {type StepsProps} from '@cloudscape-design/components/steps';
import {useQuery} from '@tanstack/react-query';
import {useFollow} from '../api/live';
import {operation, operations} from '../api/queries';
import type {Operation, Phase, Stage} from '../api/types';
import {To} from '../app/link';
import {useWords} from '../i18n';
import {isOpen, seconds, usualOf} from '../pure/time';
import {useNow} from './status';

const STATUS: Record<string, StepsProps.Status> = {pending: 'not-started', running: 'in-progress', held: 'warning', done: 'success',
	skipped: 'stopped', failed: 'error', cancelled: 'stopped'};

function useUsual(op: Operation)
{
	const past = useQuery({...operations({kind: op.kind, state: 'succeeded', limit: 20}), staleTime: 300000});

	return usualOf(past.data?.items ?? [], op.id);
}

function PhaseTime({phase, usual, now}: {phase: Phase; usual: number | undefined; now: number})
{
	const {t, span} = useWords();
	const took = seconds(phase.started_at, phase.ended_at, now);
	const compared = usual === undefined ? '' : t('op.usually', {span: span(usual)});

	if (took === null)
		return compared ? <Box color='text-body-secondary' variant='small'>{compared}</Box> : null;
	return <Box color='text-body-secondary' variant='small'>{[span(took), compared].filter(Boolean).join(' · ')}</Box>;
}

/** The stage's own phases, read and followed only while it is at work or has failed. */
function StagePhases({stage}: {stage: Stage})
{
	const {t, word} = useWords();
	const open = stage.state === 'live' || stage.state === 'held' || stage.state === 'failed';
	const {data} = useQuery({...operation(stage.id), enabled: open});

	useFollow(stage.id, open && stage.state !== 'failed');
	return <SpaceBetween size='xs'>
		<To href={`/operations/${stage.id}`} fontSize='body-s'>{t('op.stage', {title: word('kind', stage.kind, stage.title)})}</To>
		{open && data && <Timeline op={data}/>}
	</SpaceBetween>;
}

export function Timeline({op}: {op: Operation})
{
	const {t, word} = useWords();
	const now = useNow(!op.done);
	const usual = useUsual(op);
	const titleOf = (p: Phase) => word('phase', p.name, p.title);

	return <Steps ariaLabel={`${t('op.timeline')}: ${word('kind', op.kind, op.title)}`} steps={op.phases.map(p => ({
		status: STATUS[p.state] ?? 'info',
		statusIconAriaLabel: word('state', p.state),
		header: <Box variant='span' fontWeight={isOpen(p) || p.state === 'failed' ? 'bold' : 'normal'}>{titleOf(p)}</Box>,
		details: <SpaceBetween size='xxs'>
			<PhaseTime phase={p} usual={usual.get(p.name)} now={now}/>
			{(op.children ?? []).filter(c => c.stage === p.name).map(c => <StagePhases key={c.id} stage={c}/>)}
		</SpaceBetween>,
	}))}/>;
}
