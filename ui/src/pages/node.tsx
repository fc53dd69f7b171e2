import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Container from '@cloudscape-design/components/container';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import Header from '@cloudscape-design/components/header';
import KeyValuePairs from '@cloudscape-design/components/key-value-pairs';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Spinner from '@cloudscape-design/components/spinner';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {node, type NodeDetail} from '../api/compute';
import {useFollowAny, useListPoll} from '../api/live';
import {To} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {SeenAt, StateAt} from '../parts/age';
import {PlanModal, type Change} from '../parts/change';
import {Code, json} from '../parts/code';
import {nodeAction} from '../parts/node';
import {ProblemAlert} from '../parts/problem';
import {State, Time} from '../parts/status';
import {List} from '../parts/table';

interface Pod { namespace?: string; name?: string; phase?: string; [key: string]: unknown }
type Moment = NodeDetail['timeline'][number];

const VERBS = ['reboot', 'replace', 'delete'] as const;
const LEVELS: Record<string, string> = {Error: 'failed', Warn: 'held', error: 'failed', warn: 'held'};

export default function NodePage({me, name: cluster, rest: id}: PageProps)
{
	const {t, word} = useWords();
	const poll = useListPoll();
	const {data, error, refetch} = useQuery({...node(cluster, id), refetchInterval: poll});
	const [change, setChange] = useState<Change>();
	const may = me.role !== 'viewer';

	useFollowAny(cluster);
	usePage({title: id, crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`},
		{text: t('nodes.title'), href: `/clusters/${cluster}/nodes`}],
	readings: [{capability: 'get_node', path: `/clusters/${cluster}/nodes/${id}`, args: {cluster, node: id}}]});
	if (error && !data)
		return <ProblemAlert error={error} onRetry={() => void refetch()}/>;
	if (!data)
		return <Header variant='h1'>{id} <Spinner/></Header>;
	const acted = data.instance_id ?? data.logical_id ?? id;

	return <SpaceBetween size='l'>
		<Header variant='h1' description={<>{t('deps.seen')} <SeenAt at={data.observed_at}/></>}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				{VERBS.map(v => <Button key={v} disabled={!may} onClick={() => setChange(nodeAction(v, cluster, [acted], t))}>{t(`nodes.${v}`)}</Button>)}
			</SpaceBetween>}>{id}</Header>
		{data.unknown.length > 0 && <Alert type='warning' header={t('nodes.unknown')}>{data.unknown.join('; ')}</Alert>}
		{data.local_volumes.length > 0 && <Alert type='info' header={t('plan.stakeDisks')}>{data.local_volumes.join('; ')}</Alert>}
		<Container header={<Header variant='h2'>{t('cluster.health')}</Header>}>
			<KeyValuePairs columns={4} items={[
				{label: t('common.status'), value: <StateAt state={data.status} at={data.observed_at}/>},
				{label: t('nodes.group'), value: <To href={`/clusters/${cluster}/nodes?group=${encodeURIComponent(data.group)}`}>{data.group}</To>},
				{label: t('nodes.instance'), value: data.instance_id ?? '–'},
				{label: t('nodes.logical'), value: data.logical_id ?? '–'},
				{label: t('cluster.kubernetes'), value: data.name ?? '–'},
			]}/>
		</Container>
		<List<Moment> items={data.timeline} title={t('op.timeline')} description={t('nodes.timelineIntro')} empty={t('common.none')} pageSize={25}
			contentDensity='compact' wrapLines columnDefinitions={[
				{id: 'at', header: t('op.time'), width: 210, cell: m => <Time at={m.at}/>},
				{id: 'what', header: t('op.event'), isRowHeader: true, cell: m => <State state={LEVELS[m.level] ?? 'info'} label={m.what}/>},
				{id: 'detail', header: t('op.particulars'), cell: m => m.detail ?? '–'},
				{id: 'source', header: t('nodes.source'), width: 150, cell: m => word('source', m.source)},
				{id: 'by', header: t('ops.by'), width: 180, cell: m => m.operation ? <To href={`/operations/${m.operation}`}>{m.actor ?? m.operation}</To> : m.actor ?? '–'},
			]}/>
		<List<Pod> items={data.pods as Pod[]} title={t('nodes.pods')} empty={t('logs.noPods')} pageSize={25} contentDensity='compact'
			columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, cell: p => <To
					href={`/clusters/${cluster}/logs?namespace=${encodeURIComponent(p.namespace ?? '')}&pod=${encodeURIComponent(p.name ?? '')}`}>
					{p.namespace}/{p.name}</To>},
				{id: 'phase', header: t('common.status'), cell: p => p.phase ? <StateAt state={p.phase} at={data.observed_at}/> : '–'},
			]}/>
		<ExpandableSection variant='container' headerText={t('common.details')}>
			<Box><Code text={json({sagemaker: data.details, kubernetes: data.kubernetes})} label={t('common.details')}/></Box>
		</ExpandableSection>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
