import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import ColumnLayout from '@cloudscape-design/components/column-layout';
import Container from '@cloudscape-design/components/container';
import FormField from '@cloudscape-design/components/form-field';
import Header from '@cloudscape-design/components/header';
import Input from '@cloudscape-design/components/input';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {planOfferings, trainingPlans, type PlanOffering, type TrainingPlan} from '../api/compute';
import {usePage} from '../app/page';
import {useWords} from '../i18n';
import {ProblemAlert} from '../parts/problem';
import {State, Time} from '../parts/status';
import {List} from '../parts/table';

type Part = TrainingPlan['capacity'][number];

const capacityOf = (all: Pick<Part, 'count' | 'instance_type' | 'zone'>[]) =>
	all.map(c => [c.count && `${c.count} ×`, c.instance_type, c.zone && `· ${c.zone}`].filter(Boolean).join(' ')).join(', ') || '–';

function Offerings()
{
	const {t, number} = useWords();
	const [type, setType] = useState('ml.p5.48xlarge');
	const [count, setCount] = useState('1');
	const [hours, setHours] = useState('24');
	const [asked, setAsked] = useState<Parameters<typeof planOfferings>[0]>();
	const query = useQuery({...planOfferings(asked ?? {instance_type: type, count: 1, duration_hours: 24}), enabled: Boolean(asked)});
	const whole = (v: string) => /^[1-9]\d*$/.test(v);
	const able = /^ml\.[a-z0-9-]+\.[a-z0-9]+$/.test(type) && whole(count) && whole(hours);

	return <SpaceBetween size='m'>
		<Container header={<Header variant='h2' description={t('plans.offersIntro')}>{t('plans.offers')}</Header>}>
			<form onSubmit={e => {
				e.preventDefault();
				if (able)
					setAsked({instance_type: type, count: Number(count), duration_hours: Number(hours)});
			}}>
				<SpaceBetween size='m'>
					<ColumnLayout columns={3}>
						<FormField label={t('create.instance_type')}><Input value={type} onChange={e => setType(e.detail.value)}/></FormField>
						<FormField label={t('create.count')}><Input type='number' value={count} onChange={e => setCount(e.detail.value)}/></FormField>
						<FormField label={t('plans.hours')}><Input type='number' value={hours} onChange={e => setHours(e.detail.value)}/></FormField>
					</ColumnLayout>
					<Button formAction='submit' disabled={!able} loading={query.isFetching}>{t('plans.search')}</Button>
				</SpaceBetween>
			</form>
		</Container>
		{query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()}/>}
		{asked && query.data && <List<PlanOffering> items={query.data.items} title={t('plans.found')} empty={t('plans.noOffers')} trackBy='id' columnDefinitions={[
			{id: 'capacity', header: t('create.capacity'), isRowHeader: true, cell: o => capacityOf(o.capacity)},
			{id: 'starts', header: t('plans.starts'), cell: o => <Time at={o.capacity[0]?.starts_at}/>},
			{id: 'hours', header: t('plans.hours'), cell: o => o.duration_hours === undefined ? '–' : number(o.duration_hours)},
			{id: 'fee', header: t('plans.fee'), cell: o => o.upfront_fee ? `${o.upfront_fee} ${o.currency ?? ''}` : '–'},
			{id: 'id', header: t('plans.offering'), cell: o => <Box variant='code'>{o.id}</Box>},
		]}/>}
	</SpaceBetween>;
}

export default function Plans()
{
	const {t, number} = useWords();
	const query = useQuery(trainingPlans());

	usePage({title: t('plans.title'), readings: [{capability: 'list_training_plans', path: '/training-plans'}]});
	return <SpaceBetween size='l'>
		<List<TrainingPlan> items={query.data?.items} error={query.error} onRetry={() => void query.refetch()} title={t('plans.title')} headingTag='h1'
			description={t('plans.intro')} empty={t('plans.empty')} trackBy='name' columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, sortingField: 'name', cell: p => p.name},
				{id: 'status', header: t('common.status'), sortingField: 'status', cell: p => <State state={p.status}/>},
				{id: 'capacity', header: t('create.capacity'), cell: p => capacityOf(p.capacity)},
				{id: 'left', header: t('plans.left'), cell: p => p.available === undefined ? '–' : t('cluster.nodesOf', {current: number(p.available), target: number(p.total ?? p.available)})},
				{id: 'starts', header: t('plans.starts'), sortingField: 'starts_at', cell: p => <Time at={p.starts_at}/>},
				{id: 'ends', header: t('plans.ends'), sortingField: 'ends_at', cell: p => <Time at={p.ends_at}/>},
			]}/>
		<Offerings/>
	</SpaceBetween>;
}
