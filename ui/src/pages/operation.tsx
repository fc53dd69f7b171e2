import type {CallOf} from '../api/calls';
import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import ColumnLayout from '@cloudscape-design/components/column-layout';
import Container from '@cloudscape-design/components/container';
import CopyToClipboard from '@cloudscape-design/components/copy-to-clipboard';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import FormField from '@cloudscape-design/components/form-field';
import Grid from '@cloudscape-design/components/grid';
import Header from '@cloudscape-design/components/header';
import Input from '@cloudscape-design/components/input';
import KeyValuePairs from '@cloudscape-design/components/key-value-pairs';
import LiveRegion from '@cloudscape-design/components/live-region';
import Modal from '@cloudscape-design/components/modal';
import RadioGroup from '@cloudscape-design/components/radio-group';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Spinner from '@cloudscape-design/components/spinner';
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import Tabs from '@cloudscape-design/components/tabs';
import {useState} from 'react';
import {useSearchParams} from 'wouter';
import type {Call} from '../api/client';
import {useOperation} from '../api/live';
import {useEvents, useStageEvents} from '../api/queries';
import type {Event, Operation, Question, Wanted} from '../api/types';
import {To} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords, type Key} from '../i18n';
import {titleOf} from '../i18n/titles';
import {Code, json} from '../parts/code';
import {PlanModal, type Change} from '../parts/change';
import {ProblemAlert, ProblemText} from '../parts/problem';
import {Said} from '../parts/said';
import {State, Time, useNow} from '../parts/status';
import {List} from '../parts/table';
import {Timeline} from '../parts/timeline';
import {StillWanted} from '../parts/wanted';
import {seconds} from '../pure/time';

type Verb = 'retry' | 'cancel' | 'answer';
type Order<V extends Verb> = CallOf<`${V}_operation`>;

const order = <V extends Verb>(verb: V, id: string, body?: Order<V>['body']): Call => ({
	capability: `${verb}_operation`, method: 'POST', path: `/operations/{id}:${verb}`, params: {id}, body} as unknown as Order<V> as Call);

function Failure({op, onRetry}: {op: Operation; onRetry?: () => void})
{
	const {t, locale} = useWords();
	const error = op.error ?? {};
	const step = error.step ?? op.step;

	const title = titleOf(locale, error.code, error.title);

	return <Alert type='error' header={[title, t('op.failed', {step})].filter(Boolean).join('. ')}
		action={onRetry && <Button variant='primary' onClick={onRetry}>{t('op.retry')}</Button>}>
		<ProblemText problem={{...error, cause: error.cause ?? error.causes}}/>
	</Alert>;
}

/** Only a person can say how to go on. */
function Decision({op, question, onAnswer}: {op: Operation; question: Question; onAnswer?: (call: Call) => void})
{
	const {t} = useWords();
	const [choice, setChoice] = useState<string | null>(null);
	const [note, setNote] = useState('');
	const unknown = op.status === 'outcome-unknown';

	return <Alert type='warning' header={unknown ? t('op.unknownOutcome') : t('op.question')}>
		<SpaceBetween size='m'>
			<Box><Said>{question.question}</Said></Box>
			{question.evidence !== undefined && <ExpandableSection headerText={t('op.evidence')}>
				<Code text={json(question.evidence)} label={t('op.evidence')}/></ExpandableSection>}
			<FormField label={t('op.choose')}>
				<RadioGroup value={choice} onChange={e => setChoice(e.detail.value)} ariaRequired
					items={(question.choices ?? []).map(c => ({value: c.id, label: c.title, description: c.consequence}))}/>
			</FormField>
			<FormField label={t('op.note')}><Input value={note} onChange={e => setNote(e.detail.value)}/></FormField>
			<Button variant='primary' disabled={!choice || !onAnswer}
				onClick={() => choice && onAnswer?.(order('answer', op.id, {choice, ...note ? {note} : {}}))}>{t('op.answer')}</Button>
		</SpaceBetween>
	</Alert>;
}

function Facts({op}: {op: Operation})
{
	const {t, span, locale, word} = useWords();
	const now = useNow(!op.done);
	const phase = op.phases.find(p => p.name === op.phase);

	return <Container header={<Header variant='h2'>{t('op.waitingShort')}</Header>}>
		<SpaceBetween size='m'>
			<Box fontSize='heading-s'>{!op.waiting_for ? <State state={op.status}/>
				: locale === 'en' ? t('op.waiting', {what: op.waiting_for})
					: t('op.waitingAt', {phase: word('phase', op.phase, phase?.title)})}</Box>
			{op.waiting_for && locale !== 'en' && <Box><Said>{op.waiting_for}</Said></Box>}
			<ColumnLayout columns={2} variant='text-grid'>
				<KeyValuePairs columns={2} items={[
					{label: op.done ? t('op.tookLabel') : t('op.elapsed'), value: span(seconds(op.created_at, op.ended_at, now) ?? 0)},
					{label: t('ops.started'), value: <Time at={op.created_at}/>},
					{label: t('op.startedBy'), value: t('ops.byFace', {name: op.actor.name, face: t(`face.${op.face}` as Key)})},
					{label: t('ops.target'), value: op.cluster ? <To href={`/clusters/${op.cluster}`}>{op.target}</To> : op.target},
					...op.parent ? [{label: t('op.partOf'), value: <To href={`/operations/${op.parent}`}>{op.parent}</To>}] : [],
				]}/>
			</ColumnLayout>
			{op.blind_since && <StatusIndicator type='warning'>{t('op.blind', {age: span(seconds(op.blind_since, null, now) ?? 0)})} (<Time at={op.blind_since}/>)</StatusIndicator>}
			{op.attempt > 0 && <StatusIndicator type='warning'>{t('op.attempts', {n: op.attempt})}</StatusIndicator>}
			{!op.done && <Box variant='small' color='text-body-secondary'>{t('common.continues')}</Box>}
		</SpaceBetween>
	</Container>;
}

function Events({op, events}: {op: Operation; events: Event[] | undefined})
{
	const {t, word} = useWords();
	const [search, setSearch] = useSearchParams();
	const phase = search.get('phase') ?? '', marked = Number(search.get('event') ?? 0);
	const options = [{value: '', label: t('op.anyPhase')}, ...op.phases.map(p => ({value: p.name, label: word('phase', p.name, p.title)}))];
	/* An event belongs to the phase that the last one with a phase named. */
	let last = '';
	const all = events?.map(e => ({...e, phase: last = e.phase ?? last}));
	const shown = all?.filter(e => !phase || e.phase === phase).reverse();

	return <List items={shown} title={t('op.events')} empty={t('op.noEvents')} trackBy='seq' contentDensity='compact' wrapLines pageSize={50}
		selectedItems={shown?.filter(e => e.seq === marked) ?? []}
		filterControls={<Select options={options} selectedOption={options.find(o => o.value === phase) ?? options[0]!} ariaLabel={t('op.filterPhase')}
			onChange={e => setSearch(s => {
				const next = new URLSearchParams(s);

				if (e.detail.selectedOption.value)
					next.set('phase', e.detail.selectedOption.value);
				else
					next.delete('phase');
				return next;
			})}/>}
		columnDefinitions={[
			{id: 'seq', header: '#', width: 70, cell: e => e.seq},
			{id: 'at', header: t('op.time'), width: 210, cell: e => <Time at={e.at}/>},
			{id: 'what', header: t('op.event'), isRowHeader: true, width: 160, cell: e => e.seq === marked ? <Box variant='strong'>{e.what}</Box> : e.what},
			{id: 'step', header: t('plan.phase'), width: 220, cell: e => [e.phase && word('phase', e.phase), e.step].filter(Boolean).join(' / ')},
			{id: 'data', header: t('op.particulars'), cell: e => <Particulars data={e.data}/>},
			{id: 'link', header: t('common.copy'), width: 90, cell: e => <CopyToClipboard variant='icon' copyButtonAriaLabel={`${t('op.link')} ${e.seq}`}
				textToCopy={`${location.origin}/operations/${op.id}?tab=events&event=${e.seq}`} copySuccessText={t('common.copied')} copyErrorText={t('common.unknown')}/>},
		]}/>;
}

function Particulars({data}: {data: Record<string, unknown> | undefined})
{
	const {t} = useWords();

	if (!data || Object.keys(data).length === 0)
		return <>–</>;
	if (typeof data.waiting_for === 'string')
		return <Said>{data.waiting_for}</Said>;
	if (Array.isArray(data.rows))
		return <StillWanted all={data.rows as Wanted[]}/>;
	if (typeof data.operation === 'string')
		return <To href={`/operations/${data.operation}`}>{String(data.title ?? data.operation)}</To>;
	return <ExpandableSection headerText={String(data.detail ?? data.call ?? data.name ?? data.title ?? t('common.details'))}>
		<Code text={json(data)} label={t('op.particulars')}/></ExpandableSection>;
}

/** The ledger: every call that was to change the cloud, of this operation and its stages. */
function Calls({op, events}: {op: Operation; events: Event[] | undefined})
{
	const {t, number, word} = useWords();
	const stages = useStageEvents(op, true);
	const all = events && [{stage: undefined, events}, ...stages]
		.flatMap(({stage, events: own}) => own.filter(e => e.what === 'call').map(e => ({...e, stage, key: `${stage?.id} ${e.seq}`})))
		.sort((a, b) => b.at.localeCompare(a.at));

	return <List items={all} title={t('op.calls')} empty={t('op.noCalls')} trackBy='key'
		contentDensity='compact' wrapLines columnDefinitions={[
			{id: 'at', header: t('op.time'), width: 210, cell: e => <Time at={e.at}/>},
			{id: 'call', header: t('op.service'), isRowHeader: true, cell: e => [e.data?.call, e.data?.item].filter(Boolean).join(' ')},
			...op.children?.length ? [{id: 'stage', header: t('op.inStage'), cell: (e: NonNullable<typeof all>[number]) => e.stage
				? <To href={`/operations/${e.stage.id}?tab=calls`}>{word('kind', e.stage.kind, e.stage.title)}</To> : '–'}] : [],
			{id: 'outcome', header: t('op.outcome'), cell: e => <State state={String(e.data?.outcome ?? 'unknown')}/>},
			{id: 'id', header: t('op.requestId'), cell: e => e.data?.request_id ? <CopyToClipboard variant='inline' textToCopy={String(e.data.request_id)}
				copyButtonAriaLabel={`${t('common.copy')} ${String(e.data.request_id)}`} copySuccessText={t('common.copied')} copyErrorText={t('common.unknown')}/> : '–'},
			{id: 'ms', header: t('op.duration'), cell: e => e.data?.duration_ms === undefined ? '–' : `${number(Number(e.data.duration_ms))} ms`},
		]}/>;
}

function CancelModal({op, onDismiss, onPlan}: {op: Operation; onDismiss: () => void; onPlan: (c: Change) => void})
{
	const {t} = useWords();
	const [undo, setUndo] = useState(false);

	return <Modal visible onDismiss={onDismiss} header={t('op.cancel')} footer={<Box float='right'><SpaceBetween direction='horizontal' size='xs'>
		<Button variant='link' onClick={onDismiss}>{t('common.close')}</Button>
		<Button variant='primary' onClick={() => onPlan({title: t('op.cancel'), submit: t('op.cancel'), onDone: () => {},
			call: {...order('cancel', op.id, undo ? {undo} : {}), ...undo ? {confirm: op.id} : {}}})}>{t('create.submit')}</Button>
	</SpaceBetween></Box>}>
		<Checkbox checked={undo} description={t('op.undoHelp')} onChange={e => setUndo(e.detail.checked)}>{t('op.undo')}</Checkbox>
	</Modal>;
}

export default function OperationPage({me, name: id}: PageProps)
{
	const {t, word} = useWords();
	const {data: op, error, refetch} = useOperation(id);
	const events = useEvents(id, op?.version);
	const [search, setSearch] = useSearchParams();
	const [change, setChange] = useState<Change>();
	const [cancelling, setCancelling] = useState(false);
	const may = me.role !== 'viewer';
	const tab = search.get('tab') ?? 'events';

	usePage({title: op ? `${word('kind', op.kind, op.title)}: ${op.target}` : id, crumbs: [{text: t('ops.title'), href: '/operations'}], readings: [
		{capability: 'get_operation', path: `/operations/${id}`, query: {wait: 25}, args: {id, wait_seconds: 25}},
		{capability: 'list_events', path: `/operations/${id}/events`, args: {id}},
	]});
	if (!op)
		return error ? <ProblemAlert error={error} onRetry={() => void refetch()}/>
			: <Header variant='h1'>{t('ops.operation')} <Spinner/></Header>;
	const retry = () => setChange({title: t('op.retry'), submit: t('op.retry'), call: order('retry', id), onDone: () => {}});
	const phase = op.phases.find(p => p.name === op.phase);
	const change_tab = (to: string) => setSearch(s => {
		const next = new URLSearchParams(s);

		next.set('tab', to);
		return next;
	}, {replace: true});

	return <SpaceBetween size='l'>
		<LiveRegion hidden>{op.done || op.state === 'held' ? t('op.nowState', {title: word('kind', op.kind, op.title), state: word('state', op.status)})
			: t('op.phaseNow', {phase: word('phase', op.phase, phase?.title), state: word('state', phase?.state ?? op.status)})}</LiveRegion>
		<Header variant='h1' description={<State state={op.status}/>} actions={<SpaceBetween direction='horizontal' size='xs'>
			{op.retryable && op.state === 'cancelled' && <Button disabled={!may} onClick={retry}>{t('op.retry')}</Button>}
			<Button disabled={!may || !op.cancellable} onClick={() => setCancelling(true)}>{t('op.cancel')}</Button>
		</SpaceBetween>}>{word('kind', op.kind, op.title)}: {op.target}</Header>
		{op.state === 'failed' && <Failure op={op} onRetry={op.retryable && may ? retry : undefined}/>}
		{op.state === 'held' && op.question && <Decision op={op} question={op.question} onAnswer={may
			? call => setChange({title: t('op.answer'), submit: t('op.answer'), call, onDone: () => {}}) : undefined}/>}
		{op.result?.still_wanted?.length ? <Alert type='warning' header={t('wanted.title')}><StillWanted all={op.result.still_wanted}/></Alert> : null}
		<Grid gridDefinition={[{colspan: {default: 12, xs: 6}}, {colspan: {default: 12, xs: 6}}]}>
			<Container fitHeight header={<Header variant='h2' counter={`(${op.progress.done}/${op.progress.total})`}>{t('op.timeline')}</Header>}>
				<Timeline op={op}/>
			</Container>
			<Facts op={op}/>
		</Grid>
		<Tabs activeTabId={tab} onChange={e => change_tab(e.detail.activeTabId)} tabs={[
			{id: 'events', label: t('op.events'), content: <Events op={op} events={events.data}/>},
			{id: 'calls', label: t('op.calls'), content: <Calls op={op} events={events.data}/>},
			...op.result !== undefined ? [{id: 'result', label: t('op.result'), content: <Code text={json(op.result)} label={t('op.result')}/>}] : [],
		]}/>
		{cancelling && <CancelModal op={op} onDismiss={() => setCancelling(false)} onPlan={c => {
			setCancelling(false);
			setChange(c);
		}}/>}
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
