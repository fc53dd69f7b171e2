import Alert from '@cloudscape-design/components/alert';
import Badge from '@cloudscape-design/components/badge';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Container from '@cloudscape-design/components/container';
import Header from '@cloudscape-design/components/header';
import KeyValuePairs from '@cloudscape-design/components/key-value-pairs';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Spinner from '@cloudscape-design/components/spinner';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {run} from '../api/client';
import {useFollowAny, useListPoll} from '../api/live';
import {cluster, dependencies, hyperpod, instanceTypes, queryClient, storages} from '../api/queries';
import type {Answer, Resource} from '../api/types';
import {To} from '../app/link';
import {useFrame, usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {SeenAt, StateAt} from '../parts/age';
import {DeleteCluster, forget} from '../parts/cluster';
import {PlanModal, type Change} from '../parts/change';
import {ProblemAlert} from '../parts/problem';
import {Said} from '../parts/said';
import {State, Time} from '../parts/status';
import {List} from '../parts/table';

type Group = Answer<'/clusters/{cluster}/hyperpod'>['groups'][number];

export default function ClusterPage({me, name}: PageProps)
{
	const {t, number, word} = useWords();
	const {flash} = useFrame();
	const poll = useListPoll();
	const {data, error, refetch} = useQuery({...cluster(name), refetchInterval: poll});
	const pod = useQuery({...hyperpod(name), refetchInterval: poll, enabled: Boolean(data?.hyperpod_name)});
	const deps = useQuery(dependencies(name));
	const mounts = useQuery(storages(name));
	const types = useQuery({...instanceTypes(''), enabled: Boolean(pod.data?.groups.length)});
	const live = useFollowAny(name).filter(o => !o.parent);
	const [deleting, setDeleting] = useState(false);
	const [change, setChange] = useState<Change>();
	const may = me.role !== 'viewer';

	usePage({title: name, crumbs: [{text: t('clusters.title'), href: '/clusters'}], readings: [
		{capability: 'get_cluster', path: `/clusters/${name}`, args: {cluster: name}},
		{capability: 'get_hyperpod_cluster', path: `/clusters/${name}/hyperpod`, args: {cluster: name}},
	]});
	if (error && !data)
		return <ProblemAlert error={error} onRetry={() => void refetch()}/>;
	if (!data)
		return <Header variant='h1'>{name} <Spinner/></Header>;
	const groups = pod.data?.groups ?? [];
	const nodes = groups.reduce((n, g) => n + g.current_count, 0), wanted = groups.reduce((n, g) => n + g.target_count, 0);
	const gpusOf = (type: string | undefined) => types.data?.items.find(i => i.instance_type === type)?.gpus ?? 0;
	const gpus = groups.reduce((n, g) => n + g.current_count * gpusOf(g.instance_type), 0);
	const ready = deps.data?.items.filter(d => d.state === 'ready').length ?? 0;
	const select = async () => {
		await run({capability: 'select_cluster', method: 'POST', path: '/clusters/{cluster}:select', params: {cluster: name}}, crypto.randomUUID());
		void queryClient.invalidateQueries();
		flash({type: 'success', content: t('flash.selected', {name})});
	};

	return <SpaceBetween size='l'>
		<Header variant='h1' info={data.selected ? <Badge color='blue'>{t('clusters.selected')}</Badge> : undefined}
			description={data.updated_at && <>{t('common.updated')} <Time at={data.updated_at}/></>}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				{!data.selected && <Button onClick={() => void select()}>{t('clusters.select')}</Button>}
				{data.origin === 'imported'
					? <Button disabled={!may} onClick={() => setChange(forget(name, t, () => flash({type: 'success', content: t('flash.forgotten', {name})})))}>{t('clusters.forget')}</Button>
					: <Button disabled={!may} onClick={() => setDeleting(true)}>{t('clusters.delete')}</Button>}
			</SpaceBetween>}>{name}</Header>
		{pod.data?.failure && <Alert type='error' header={t('cluster.failure')}>{pod.data.failure}</Alert>}
		{data.trouble.map(what => <Alert key={what} type='warning'><Said>{what}</Said></Alert>)}
		<Container header={<Header variant='h2'>{t('cluster.health')}</Header>}>
			<KeyValuePairs columns={4} items={[
				{label: t('common.status'), value: <State state={data.status}/>},
				{label: t('cluster.nodes'), value: pod.data ? t('cluster.nodesOf', {current: nodes, target: wanted}) : '–'},
				{label: t('cluster.gpus'), value: pod.data ? number(gpus) : '–'},
				{label: t('cluster.recovery'), value: pod.data?.node_recovery ?? '–'},
				{label: t('nav.dependencies'), value: deps.data?.items.length
					? <To href={`/clusters/${name}/dependencies`}>{t('cluster.dependenciesReady', {ready, all: deps.data.items.length})}</To> : '–'},
				{label: t('cluster.storages'), value: mounts.data?.items.length
					? <To href={`/clusters/${name}/storage`}>{mounts.data.items.map(s => s.name).join(', ')}</To> : t('common.none')},
				{label: t('clusters.eks'), value: data.eks_name ?? '–'},
				{label: t('clusters.hyperpod'), value: data.hyperpod_name ?? '–'},
				{label: t('cluster.kubernetes'), value: data.kubernetes_version ?? '–'},
				{label: t('cluster.network'), value: data.vpc_id ?? '–'},
				{label: t('cluster.account'), value: `${data.account ?? '–'} · ${data.region ?? '–'}`},
				{label: t('clusters.origin'), value: data.origin === 'imported' ? t('clusters.imported') : t('clusters.created')},
			]}/>
		</Container>
		<Container header={<Header variant='h2'>{t('cluster.running')}</Header>}>
			{live.length === 0 ? <Box color='text-body-secondary'>{t('cluster.idle')}</Box>
				: <SpaceBetween size='xs'>{live.map(o => <div key={o.id}>
					<To href={`/operations/${o.id}`}>{word('kind', o.kind, o.title)}</To> <State state={o.status}/>
					{o.waiting_for && <Box variant='small'><Said>{o.waiting_for}</Said></Box>}
				</div>)}</SpaceBetween>}
		</Container>
		<List<Group> items={data.hyperpod_name && !pod.error ? pod.data?.groups : []} title={t('cluster.groups')} empty={t('cluster.noGroups')} trackBy='name'
			description={pod.data && <>{pod.data.status}. {t('deps.seen')} <SeenAt at={pod.data.observed_at}/></>} error={pod.error} onRetry={() => void pod.refetch()}
			columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, cell: g => g.name},
				{id: 'type', header: t('cluster.type'), cell: g => g.instance_type ?? '–'},
				{id: 'nodes', header: t('cluster.nodes'), cell: g => t('cluster.nodesOf', {current: g.current_count, target: g.target_count})},
				{id: 'gpus', header: t('cluster.gpus'), cell: g => number(g.current_count * gpusOf(g.instance_type))},
				{id: 'status', header: t('common.status'), cell: g => g.status ? <StateAt state={g.status} label={g.status} at={pod.data?.observed_at}/> : '–'},
			]}/>
		<List<Resource> items={data.resources ?? []} title={t('cluster.resources')} description={t('cluster.resourcesIntro')}
			empty={t('common.none')} pageSize={10} trackBy={r => `${r.type} ${r.id}`} contentDensity='compact' columnDefinitions={[
				{id: 'type', header: t('plan.object'), sortingField: 'type', cell: r => r.type},
				{id: 'id', header: t('common.name'), isRowHeader: true, sortingField: 'id', cell: r => r.id},
				{id: 'made', header: t('common.created'), sortingField: 'made_at', cell: r => <Time at={r.made_at}/>},
				{id: 'op', header: t('ops.operation'), cell: r => r.operation ? <To href={`/operations/${r.operation}`}>{r.operation}</To> : '–'},
			]}/>
		{deleting && <DeleteCluster name={name} onDismiss={() => setDeleting(false)}/>}
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
