import Badge from '@cloudscape-design/components/badge';
import Button from '@cloudscape-design/components/button';
import ButtonDropdown from '@cloudscape-design/components/button-dropdown';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {run} from '../api/client';
import {useFollowAny, useListPoll} from '../api/live';
import {clusters, queryClient} from '../api/queries';
import type {ClusterItem} from '../api/types';
import {navigate, To} from '../app/link';
import {useFrame, usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {PlanModal, type Change} from '../parts/change';
import {DeleteCluster, forget} from '../parts/cluster';
import {State, Time} from '../parts/status';
import {List} from '../parts/table';

export default function Clusters({me}: PageProps)
{
	const {t, word} = useWords();
	const {flash} = useFrame();
	const poll = useListPoll();
	const query = useQuery({...clusters, refetchInterval: poll});
	const live = useFollowAny();
	const [chosen, setChosen] = useState<ClusterItem[]>([]);
	const [change, setChange] = useState<Change>();
	const [deleting, setDeleting] = useState<string>();
	const one = query.data?.find(c => c.name === chosen[0]?.name);
	const may = me.role !== 'viewer';

	usePage({title: t('clusters.title'), readings: [{capability: 'list_clusters', path: '/clusters'}]});
	/* A choice of one's own: it changes nothing in the cloud, so there is no plan to show. */
	const select = async (name: string) => {
		await run({capability: 'select_cluster', method: 'POST', path: '/clusters/{cluster}:select', params: {cluster: name}}, crypto.randomUUID());
		void queryClient.invalidateQueries();
		flash({type: 'success', content: t('flash.selected', {name})});
	};
	const act = (id: string) => {
		if (!one)
			return;
		if (id === 'select')
			void select(one.name);
		else if (id === 'forget')
			setChange(forget(one.name, t, () => flash({type: 'success', content: t('flash.forgotten', {name: one.name})})));
		else
			setDeleting(one.name);
	};

	return <>
		<List<ClusterItem> items={query.data} error={query.error} onRetry={() => void query.refetch()} title={t('clusters.title')} headingTag='h1'
			description={t('clusters.intro')} empty={t('clusters.empty')} find={t('clusters.find')} variant='full-page' trackBy='name'
			emptyHelp={<SpaceBetween size='xs'><span>{t('clusters.emptyHelp')}</span>
				{may && <Button onClick={() => navigate('/clusters/create')}>{t('clusters.create')}</Button>}</SpaceBetween>}
			selectionType='single' selectedItems={one ? [one] : []} onSelectionChange={e => setChosen(e.detail.selectedItems)}
			ariaLabels={{selectionGroupLabel: t('clusters.title'), itemSelectionLabel: (_, c) => c.name}}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button iconName='refresh' ariaLabel={t('common.refresh')} onClick={() => void query.refetch()}/>
				<ButtonDropdown disabled={!one} onItemClick={e => act(e.detail.id)} items={[
					{id: 'select', text: t('clusters.select'), disabled: one?.selected},
					{id: 'forget', text: t('clusters.forget'), disabled: !may || one?.origin !== 'imported'},
					{id: 'delete', text: t('clusters.delete'), disabled: !may || one?.origin === 'imported'},
				]}>{t('common.actions')}</ButtonDropdown>
				<Button disabled={!may} href='/clusters/import' onFollow={e => (e.preventDefault(), navigate('/clusters/import'))}>{t('clusters.import')}</Button>
				<Button variant='primary' disabled={!may} href='/clusters/create' onFollow={e => (e.preventDefault(), navigate('/clusters/create'))}>{t('clusters.create')}</Button>
			</SpaceBetween>}
			columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, sortingField: 'name', cell: c => <SpaceBetween direction='horizontal' size='xs'>
					<To href={`/clusters/${c.name}`}>{c.name}</To>{c.selected && <Badge color='blue'>{t('clusters.selected')}</Badge>}</SpaceBetween>},
				{id: 'status', header: t('common.status'), sortingField: 'status', cell: c => <State state={c.status}/>},
				{id: 'running', header: t('clusters.running'), cell: c => {
					const op = live.find(o => o.cluster === c.name && !o.parent);

					return op ? <To href={`/operations/${op.id}`}>{word('kind', op.kind, op.title)}</To> : '–';
				}},
				{id: 'origin', header: t('clusters.origin'), cell: c => c.origin === 'imported' ? t('clusters.imported') : t('clusters.created')},
				{id: 'eks', header: t('clusters.eks'), cell: c => c.eks_name ?? '–'},
				{id: 'hyperpod', header: t('clusters.hyperpod'), cell: c => c.hyperpod_name ?? '–'},
				{id: 'region', header: t('common.region'), cell: c => c.region ?? '–'},
				{id: 'created', header: t('common.created'), sortingField: 'created_at', cell: c => <Time at={c.created_at}/>},
			]}/>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
		{deleting && <DeleteCluster name={deleting} onDismiss={() => setDeleting(undefined)}/>}
	</>;
}
