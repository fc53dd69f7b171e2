import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import Container from '@cloudscape-design/components/container';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import FormField from '@cloudscape-design/components/form-field';
import Header from '@cloudscape-design/components/header';
import Slider from '@cloudscape-design/components/slider';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Spinner from '@cloudscape-design/components/spinner';
import Table from '@cloudscape-design/components/table';
import Toggle from '@cloudscape-design/components/toggle';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {features, type Feature} from '../api/compute';
import {useFollowAny, useListPoll} from '../api/live';
import {To} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {SeenAt, StateAt} from '../parts/age';
import {PlanModal, type Change} from '../parts/change';
import {ProblemAlert} from '../parts/problem';
import {State} from '../parts/status';

type Name = 'training_operator' | 'inference_operator' | 'tiered_checkpointing' | 'autoscaling';
/** What the user has decided otherwise than it is. */
type Wish = {enabled: boolean; memory_percent?: number};

const KNOWN: readonly string[] = ['training_operator', 'inference_operator', 'tiered_checkpointing', 'autoscaling'];

function Parts({of}: {of: Feature})
{
	const {t, word} = useWords();

	return <SpaceBetween size='m'>
		{of.needs?.length ?  <Table variant='embedded' contentDensity='compact' wrapLines items={of.needs} header={<Box variant='h3'>{t('features.needs')}</Box>}
			columnDefinitions={[
				{id: 'title', header: t('common.name'), isRowHeader: true, cell: n => n.title},
				{id: 'state', header: t('common.state'), cell: n => <State state={n.state}/>},
				{id: 'found', header: t('features.found'), cell: n => n.found},
				{id: 'needed', header: t('features.needed'), cell: n => n.needed},
				{id: 'detail', header: t('common.details'), cell: n => n.detail ?? '–'},
			]}/> : null}
		{of.parts?.length ?  <Table variant='embedded' contentDensity='compact' wrapLines items={of.parts} header={<Box variant='h3'>{t('features.parts')}</Box>}
			columnDefinitions={[
				{id: 'part', header: t('plan.object'), cell: p => word('part', p.part)},
				{id: 'name', header: t('common.name'), isRowHeader: true, cell: p => p.name},
				{id: 'state', header: t('common.state'), cell: p => <State state={p.state}/>},
				{id: 'detail', header: t('common.details'), cell: p => p.detail ?? '–'},
			]}/> : null}
	</SpaceBetween>;
}

function Panel({of, at, wish, onWish, cluster, may}: {of: Feature; at: string; wish: Wish | undefined; onWish: (w: Wish | undefined) => void; cluster: string; may: boolean})
{
	const {t, word} = useWords();
	const on = wish?.enabled ?? of.enabled ?? false;
	const tiered = of.name === 'tiered_checkpointing';
	const percent = wish?.memory_percent ?? of.memory_percent;
	const decide = (next: Wish) => onWish(next.enabled === of.enabled &&
		(next.memory_percent === undefined || next.memory_percent === of.memory_percent) ? undefined : next);

	return <Container header={<Header variant='h2' description={word('feature', of.name)}
		actions={<Toggle checked={on} disabled={!may || of.state === 'pending' || of.enabled === undefined} ariaLabel={word('phase', of.name, of.title)}
			onChange={e => decide({enabled: e.detail.checked, ...e.detail.checked && wish?.memory_percent ? {memory_percent: wish.memory_percent} : {}})}>
			{of.enabled === undefined ? t('common.unknown') : word('state', on ? 'enabled' : 'disabled')}</Toggle>}>
		{word('phase', of.name, of.title)}</Header>}>
		<SpaceBetween size='m'>
			<SpaceBetween direction='horizontal' size='m'>
				<StateAt state={of.state} at={at}/>
				{of.version && <Box color='text-body-secondary'>{of.version}</Box>}
				{of.status && <Box color='text-body-secondary'>{of.status}</Box>}
				{of.name === 'autoscaling' && of.enabled && <To href={`/clusters/${cluster}/autoscaling`}>{t('autoscaling.title')}</To>}
			</SpaceBetween>
			{of.trouble && <Alert type='error' header={t('features.trouble')}>{of.trouble}</Alert>}
			{of.users?.length ? <Alert type='info' header={t('features.users', {n: of.users.length})}>{of.users.join(', ')}</Alert> : null}
			{of.not_known?.length ? <Alert type='warning' header={t('common.unknown')}>{of.not_known.map(n => `${n.what}: ${n.call ?? ''} ${n.why}`).join('; ')}</Alert> : null}
			{tiered && on && <FormField label={t('features.memory')} description={t('features.memoryHelp')}>
				<Slider min={20} max={100} value={percent ?? 20} ariaLabel={t('features.memory')} valueFormatter={v => `${v} %`}
					onChange={e => decide({enabled: true, memory_percent: e.detail.value})}/>
			</FormField>}
			<ExpandableSection headerText={t('common.details')}><Parts of={of}/></ExpandableSection>
		</SpaceBetween>
	</Container>;
}

export default function Features({me, name: cluster}: PageProps)
{
	const {t} = useWords();
	const poll = useListPoll();
	const {data, error, refetch} = useQuery({...features(cluster), refetchInterval: poll});
	const [wishes, setWishes] = useState<Partial<Record<Name, Wish>>>({});
	const [adopt, setAdopt] = useState(false);
	const [change, setChange] = useState<Change>();
	const may = me.role !== 'viewer';
	const decided = Object.keys(wishes).length;
	const foreign = data?.items.some(f => f.state === 'foreign' || f.parts?.some(p => p.state === 'foreign'));

	useFollowAny(cluster);
	usePage({title: t('features.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`}],
		readings: [{capability: 'get_features', path: `/clusters/${cluster}/features`, args: {cluster}}]});
	if (error && !data)
		return <ProblemAlert error={error} onRetry={() => void refetch()}/>;
	if (!data)
		return <Header variant='h1'>{t('features.title')} <Spinner/></Header>;
	return <SpaceBetween size='l'>
		<Header variant='h1' description={<>{t('features.intro')} {t('deps.seen')} <SeenAt at={data.observed_at}/></>}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button variant='link' disabled={decided === 0} onClick={() => setWishes({})}>{t('common.cancel')}</Button>
				<Button variant='primary' disabled={!may || decided === 0} onClick={() => setChange({title: t('features.title'), submit: t('features.apply'),
					onAccepted: () => setWishes({}),
					call: {capability: 'update_features', method: 'PATCH', path: '/clusters/{cluster}/features', params: {cluster},
						body: {...wishes, ...adopt ? {adopt} : {}}}})}>{t('create.submit')}</Button>
			</SpaceBetween>}>{t('features.title')}</Header>
		{foreign && may && <Checkbox checked={adopt} onChange={e => setAdopt(e.detail.checked)} description={t('features.adoptHelp')}>{t('features.adopt')}</Checkbox>}
		{data.items.filter(f => KNOWN.includes(f.name)).map(f => <Panel key={f.name} of={f} at={data.observed_at} cluster={cluster} may={may} wish={wishes[f.name as Name]}
			onWish={w => setWishes(all => {
				const next = {...all};

				if (w)
					next[f.name as Name] = w;
				else
					delete next[f.name as Name];
				return next;
			})}/>)}
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
