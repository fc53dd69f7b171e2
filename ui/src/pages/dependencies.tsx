import Button from '@cloudscape-design/components/button';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {useFollowAny, useListPoll} from '../api/live';
import {dependencies} from '../api/queries';
import type {Dependency, OperationError} from '../api/types';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {SeenAt, StateAt} from '../parts/age';
import {PlanModal, type Change} from '../parts/change';
import {List} from '../parts/table';
import {OLD_UNASKED_S} from '../pure/time';

export default function Dependencies({me, name}: PageProps)
{
	const {t} = useWords();
	const poll = useListPoll();
	const query = useQuery({...dependencies(name), refetchInterval: poll});
	const [chosen, setChosen] = useState<Dependency[]>([]);
	const [change, setChange] = useState<Change>();
	const may = me.role !== 'viewer';

	useFollowAny(name);
	usePage({title: t('deps.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: name, href: `/clusters/${name}`}],
		readings: [{capability: 'get_dependencies', path: `/clusters/${name}/dependencies`, args: {cluster: name}}]});
	const reconcile = (components?: string[]) => setChange({title: t('deps.reconcile'), submit: t('deps.reconcile'),
		call: {capability: 'reconcile_dependencies', method: 'POST', path: '/clusters/{cluster}/dependencies:reconcile',
			params: {cluster: name}, body: components ? {components} : {}}});
	const titleOf = (n: string | undefined) => query.data?.items.find(d => d.name === n)?.title ?? n ?? '–';

	return <>
		<List<Dependency> items={query.data?.items} error={query.error} onRetry={() => void query.refetch()} title={t('deps.title')} headingTag='h1'
			description={t('deps.intro')} empty={t('deps.empty')} variant='full-page' trackBy='name'
			selectionType='multi' selectedItems={chosen} onSelectionChange={e => setChosen(e.detail.selectedItems)}
			ariaLabels={{selectionGroupLabel: t('deps.title'), allItemsSelectionLabel: () => t('deps.title'), itemSelectionLabel: (_, d) => d.title}}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button disabled={!may || chosen.length === 0} onClick={() => reconcile(chosen.map(d => d.name))}>{t('deps.reconcileOne')}</Button>
				<Button variant='primary' disabled={!may} onClick={() => reconcile()}>{t('deps.reconcile')}</Button>
			</SpaceBetween>}
			columnDefinitions={[
				{id: 'title', header: t('common.name'), isRowHeader: true, sortingField: 'title', cell: d => d.title},
				{id: 'state', header: t('common.state'), sortingField: 'state', cell: d => <SpaceBetween size='xxs'>
					<StateAt state={d.state} at={d.observed_at} oldS={OLD_UNASKED_S}/>{(d.error as OperationError | undefined)?.detail}</SpaceBetween>},
				{id: 'version', header: t('deps.version'), cell: d => d.version ?? '–'},
				{id: 'via', header: t('deps.via'), cell: d => d.via === 'addon' ? t('deps.addon') : t('deps.chart')},
				{id: 'needs', header: t('deps.needs'), cell: d => titleOf(d.needs)},
				{id: 'seen', header: t('deps.seen'), cell: d => <SeenAt at={d.observed_at} oldS={OLD_UNASKED_S}/>},
			]}/>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</>;
}
