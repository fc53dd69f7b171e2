// Every change goes through here: its plan is shown, then exactly that plan runs.
import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import CopyToClipboard from '@cloudscape-design/components/copy-to-clipboard';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import FormField from '@cloudscape-design/components/form-field';
import Input from '@cloudscape-design/components/input';
import Modal from '@cloudscape-design/components/modal';
import SpaceBetween from '@cloudscape-design/components/space-between';
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import Table from '@cloudscape-design/components/table';
import {useEffect, useRef, useState} from 'react';
import {planOf, ProblemError, run, type Call} from '../api/client';
import {queryClient} from '../api/queries';
import type {Check, Plan, Resource, Stake, Step} from '../api/types';
import {useFrame} from '../app/page';
import {navigate} from '../app/link';
import {useWords} from '../i18n';
import {CallTabs} from './calls';
import {newKey, type Change} from './change';
import {Code, json} from './code';
import {ProblemAlert} from './problem';

/* Checks repeat when two stages need the same thing. */
const distinct = <T,>(all: T[]) => [...new Map(all.map(x => [JSON.stringify(x), x])).values()];

function Checks({checks}: {checks: Check[]})
{
	const {t, number} = useWords();
	const n = (c: Check, name: string) => Number(c.data[name] ?? 0);
	/* Limit less what all clusters use already. */
	const left = (c: Check) => c.what === 'quota' ? Math.max(0, n(c, 'limit') - n(c, 'used')) : n(c, 'free');

	return <Table variant='embedded' contentDensity='compact' items={distinct(checks).filter(c => c.data.needed !== undefined)} wrapLines
		header={<Box variant='h3'>{t('plan.checks')}</Box>}
		columnDefinitions={[
			{id: 'what', header: t('plan.check'), isRowHeader: true, cell: c => c.what === 'quota'
				? t('plan.quota', {name: String(c.data.name), code: String(c.data.code)})
				: c.what === 'addresses' ? t('plan.addresses', {each: n(c, 'each')}) : c.what},
			{id: 'needed', header: t('plan.needs'), cell: c => number(n(c, 'needed'))},
			{id: 'free', header: t('plan.left'), cell: c => number(left(c))},
			{id: 'after', header: t('plan.after'), cell: c => <StatusIndicator type={left(c) >= n(c, 'needed') ? 'success' : 'error'}>
				{number(left(c) - n(c, 'needed'))}</StatusIndicator>},
		]}/>;
}

function Steps({steps}: {steps: Step[]})
{
	const {t, word} = useWords();
	const [all, setAll] = useState(false);
	const shown = all ? steps : steps.filter(s => s.action === 'call' || s.action === 'wait' || s.action === 'stage');

	return <SpaceBetween size='xs'>
		<Table variant='embedded' contentDensity='compact' items={shown} wrapLines trackBy={s => `${s.step} ${steps.indexOf(s)}`}
			header={<Box variant='h3'>{t('plan.steps')}</Box>} empty={t('plan.nothing')}
			columnDefinitions={[
				{id: 'n', header: '#', width: 56, cell: s => steps.indexOf(s) + 1},
				{id: 'phase', header: t('plan.phase'), width: 150, cell: s => word('phase', s.phase ?? '')},
				{id: 'what', header: t('plan.what'), isRowHeader: true, cell: s => s.request === undefined ? s.what || s.title
					: <ExpandableSection variant='inline' headerText={s.what || s.title || s.step}>
						<Code text={json(s.request)} label={`${t('plan.request')} ${s.step ?? ''}`}/>
					</ExpandableSection>},
				{id: 'call', header: t('plan.call'), width: 230, cell: s => s.call ? <Box variant='code'>{s.call}</Box> : '–'},
			]}/>
		<Checkbox checked={all} onChange={e => setAll(e.detail.checked)}>{t('plan.allSteps')}</Checkbox>
	</SpaceBetween>;
}

function Objects({resources}: {resources: Resource[]})
{
	const {t} = useWords();

	return <Table variant='embedded' contentDensity='compact' items={resources} wrapLines trackBy={r => `${r.type} ${r.id}`}
		header={<Box variant='h3'>{t('plan.resources')}</Box>}
		columnDefinitions={[
			{id: 'type', header: t('plan.object'), cell: r => r.type.replace(/:%$/, '')},
			{id: 'id', header: t('common.name'), isRowHeader: true, cell: r => r.id},
			{id: 'state', header: t('plan.becomes'), cell: r => r.state === 'gone' ? t('plan.gone') : r.state === 'made' ? t('plan.made') : r.state},
		]}/>;
}

/** What ends or is lost, thing by thing. */
function AtStake({all, total = all.length}: {all: Stake[]; total?: number})
{
	const {t, word, number} = useWords();
	const words = (list: string[] | undefined) => list?.length ? list.join(', ') : '–';

	return <Table variant='embedded' contentDensity='compact' items={all} wrapLines header={<Box variant='h3'>{t('plan.stake')}</Box>}
		footer={total > all.length ? t('plan.stakePart', {shown: number(all.length), all: number(total)}) : undefined}
		columnDefinitions={[
			{id: 'name', header: t('common.name'), isRowHeader: true, cell: x => x.node ?? x.instance_group ?? x.node_pool ?? x.node_class ?? (x.feature && word('phase', x.feature)) ?? x.storage ?? x.bucket ?? x.name ?? x.instance_id ?? '–'},
			{id: 'pods', header: t('plan.stakePods'), cell: x => words(x.pods)},
			{id: 'disks', header: t('plan.stakeDisks'), cell: x => words([...x.local_volumes ?? [], ...x.claims ?? [], ...x.objects ?? []])},
			{id: 'users', header: t('plan.stakeUsers'), cell: x => words([...x.node_classes ?? [], ...x.node_pools ?? [], ...x.workloads ?? []])},
		]}/>;
}

/** It cannot be run: what is not known of it may be anything. */
const endsEarly = (plan: Plan) => plan.incomplete === 'rest';

export function PlanView({plan}: {plan: Plan})
{
	const {t} = useWords();
	const count = (action: string) => plan.steps.filter(s => s.action === action).length;

	return <SpaceBetween size='l'>
		<Box fontSize='heading-s' fontWeight='bold'>
			{[t('plan.changes', {n: count('call')}), t('plan.waits', {n: count('wait')})].join(' · ')}
		</Box>
		{plan.at_stake?.length ? <AtStake all={plan.at_stake} total={plan.counts?.at_stake}/> : null}
		{endsEarly(plan) && <Alert type='error'>{t('plan.incomplete')}</Alert>}
		{plan.warnings?.map(w => <Alert key={w} type='warning' header={t('plan.warnings')}>{w}</Alert>)}
		{plan.checks?.length ? <Checks checks={plan.checks}/> : null}
		<Steps steps={plan.steps}/>
		{plan.resources?.length ? <Objects resources={plan.resources}/> : null}
		<FormField label={t('plan.digest')} description={t('plan.digestHelp')}>
			<CopyToClipboard variant='inline' textToCopy={plan.plan_digest} textToDisplay={plan.plan_digest}
				copyButtonAriaLabel={`${t('common.copy')}: ${t('plan.digest')}`} copySuccessText={t('common.copied')} copyErrorText={t('common.unknown')}/>
		</FormField>
	</SpaceBetween>;
}

interface Accepted { id?: string; links?: {self?: string}; title?: string; target?: string }

/* IAM was asked, and says that something is not allowed. */
const lacksRights = (e: unknown) => e instanceof ProblemError
	&& Boolean(e.problem.cause?.some(c => c.source === 'iam:SimulatePrincipalPolicy'));

/** The same change, whatever IAM says; the refusal that asks for it comes only from those that take it. */
const insisting = (call: Call) => ({...call, query: {...call.query, accept_missing_rights: true}}) as Call;

const isOperation = (x: Accepted | null) => Boolean(x?.id && x.links?.self);

export default function PlanModal({change, onDismiss}: {change: Change; onDismiss: () => void})
{
	const {t} = useWords();
	const {flash} = useFrame();
	const [plan, setPlan] = useState<Plan>();
	const [error, setError] = useState<unknown>();
	const [changed, setChanged] = useState(false);
	const [typed, setTyped] = useState('');
	const [busy, setBusy] = useState(false);
	const key = useRef(change.idempotencyKey ?? newKey());
	const [insists, setInsists] = useState(false);
	const call = insists ? insisting(change.call) : change.call;
	const asked = JSON.stringify(call);
	const [tries, setTries] = useState(0);
	const refused = useRef(change.onRefused);

	useEffect(() => {
		let wanted = true;

		setPlan(undefined);
		setError(undefined);
		planOf(JSON.parse(asked) as Call).then(p => wanted && setPlan(p), (e: unknown) => {
			if (!wanted)
				return;
			setError(e);
			if (e instanceof ProblemError)
				refused.current?.(e.problem);
		});
		return () => {
			wanted = false;
		};
	}, [asked, tries]);

	const submit = async () => {
		if (busy || !plan || endsEarly(plan) || (change.typed && typed !== change.typed))
			return;
		setBusy(true);
		setError(undefined);
		try {
			const answer = await run<Accepted>(change.typed || plan.confirm ? {...call, confirm: plan.confirm ?? typed} : call,
				key.current, plan.plan_digest);

			change.onAccepted?.();
			void queryClient.invalidateQueries();
			if (change.onDone)
				change.onDone(answer);
			else if (isOperation(answer)) {
				flash({type: 'info', content: t('flash.started', {title: `${answer.title}: ${answer.target}`}), dismissible: true});
				navigate(`/operations/${answer.id}`);
			}
			onDismiss();
		} catch (e) {
			const fresh = e instanceof ProblemError ? e.problem.plan : undefined;

			if (fresh) {
				setPlan(fresh);
				setChanged(true);
				/* Another plan is another request. */
				key.current = newKey();
			} else
				setError(e);
		} finally {
			setBusy(false);
		}
	};

	return <Modal visible size='max' onDismiss={onDismiss} header={t('plan.title', {what: change.title})}
		footer={<Box float='right'><SpaceBetween direction='horizontal' size='xs'>
			<Button variant='link' onClick={onDismiss}>{t('common.cancel')}</Button>
			{plan && endsEarly(plan) && <Button onClick={() => setTries(n => n + 1)}>{t('common.retry')}</Button>}
			<Button variant='primary' loading={busy} disabled={!plan || endsEarly(plan) || (change.typed !== undefined && typed !== change.typed)}
				onClick={() => void submit()}>{change.submit}</Button>
		</SpaceBetween></Box>}>
		<SpaceBetween size='l'>
			{change.options}
			{(insists || lacksRights(error)) && <Checkbox checked={insists} description={t('plan.insistHelp')}
				onChange={e => setInsists(e.detail.checked)}>{t('plan.insist')}</Checkbox>}
			<ProblemAlert error={error} onRetry={plan ? undefined : () => setTries(n => n + 1)}/>
			{changed && <Alert type='warning'>{t('plan.changed')}</Alert>}
			{!plan && !error && <StatusIndicator type='loading'>{t('plan.working')}</StatusIndicator>}
			{change.typed && <Alert type='warning' header={t('plan.lost')}>
				<SpaceBetween size='s'>
					{change.lost?.length ? <ul>{change.lost.map(x => <li key={x}>{x}</li>)}</ul> : null}
					<FormField label={t('plan.confirmName', {name: change.typed})}>
						<Input value={typed} onChange={e => setTyped(e.detail.value)} autoComplete={false} spellcheck={false}
							onKeyDown={e => e.detail.key === 'Enter' && void submit()}/>
					</FormField>
				</SpaceBetween>
			</Alert>}
			{plan && <PlanView plan={plan}/>}
			<ExpandableSection headerText={t('call.title')}>
				<CallTabs calls={[call]} idempotencyKey={key.current}/>
			</ExpandableSection>
		</SpaceBetween>
	</Modal>;
}
