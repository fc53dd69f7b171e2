import Button from '@cloudscape-design/components/button';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useInfiniteQuery} from '@tanstack/react-query';
import {useSearchParams} from 'wouter';
import {clusterEvents, type ClusterEvent} from '../api/compute';
import {useListPoll} from '../api/live';
import {To} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {State, Time} from '../parts/status';
import {List} from '../parts/table';
import {oneOf} from '../pure/call';

const LEVELS = ['Info', 'Warn', 'Error'] as const, RESOURCES = ['Cluster', 'InstanceGroup', 'Instance'] as const;
const STATES: Record<string, string> = {Error: 'failed', Warn: 'held'};

export default function Events({name: cluster}: PageProps)
{
	const {t, word} = useWords();
	const [search, setSearch] = useSearchParams();
	const poll = useListPoll();
	const filter = {level: oneOf(LEVELS, search.get('level')), resource: oneOf(RESOURCES, search.get('resource'))};
	const query = useInfiniteQuery({...clusterEvents(cluster, filter), refetchInterval: poll});
	const choice = (name: 'level' | 'resource', label: string, any: string, values: readonly string[]) => {
		const options = [{value: '', label: any}, ...values.map(value => ({value, label: word(name, value)}))];

		return <Select options={options} selectedOption={options.find(o => o.value === (filter[name] ?? '')) ?? options[0]!} ariaLabel={label}
			onChange={e => setSearch(all => {
				const next = new URLSearchParams(all), value = e.detail.selectedOption.value;

				if (value)
					next.set(name, value);
				else
					next.delete(name);
				return next;
			})}/>;
	};

	usePage({title: t('events.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`}],
		readings: [{capability: 'list_cluster_events', path: `/clusters/${cluster}/events`, args: {cluster, ...filter}}]});
	return <List<ClusterEvent> items={query.data?.pages.flatMap(p => p.items)} error={query.error} onRetry={() => void query.refetch()}
		title={t('events.title')} headingTag='h1' description={t('events.intro')} empty={t('events.empty')} variant='full-page' trackBy='id' pageSize={50} wrapLines
		filterControls={<SpaceBetween direction='horizontal' size='xs'>
			{choice('level', t('events.filterLevel'), t('events.allLevels'), LEVELS)}
			{choice('resource', t('events.filterResource'), t('events.allResources'), RESOURCES)}
		</SpaceBetween>}
		after={query.hasNextPage && <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t('common.more')}</Button>}
		columnDefinitions={[
			{id: 'at', header: t('op.time'), width: 210, cell: e => <Time at={e.at}/>},
			{id: 'text', header: t('op.event'), isRowHeader: true, cell: e => <State state={STATES[e.level] ?? 'info'} label={e.text}/>},
			{id: 'reason', header: t('events.reason'), cell: e => e.reason ?? '–'},
			{id: 'on', header: t('audit.on'), width: 220, cell: e => e.instance
				? <To href={`/clusters/${cluster}/nodes/${e.instance}`}>{e.instance}</To> : e.group ?? word('resource', e.resource)},
		]}/>;
}
