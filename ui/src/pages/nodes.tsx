import Alert from '@cloudscape-design/components/alert';
import Button from '@cloudscape-design/components/button';
import ButtonDropdown from '@cloudscape-design/components/button-dropdown';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useInfiniteQuery, useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {useSearchParams} from 'wouter';
import {groups, nodes, type Node} from '../api/compute';
import {useFollowAny, useListPoll} from '../api/live';
import {To} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {Age, SeenAt, useOld} from '../parts/age';
import {PlanModal, type Change} from '../parts/change';
import {nodeAction, type NodeVerb} from '../parts/node';
import {State} from '../parts/status';
import {List} from '../parts/table';
import {seenAgo} from '../pure/time';

const STATUSES = ['Running', 'Pending', 'Failure', 'DeepHealthCheckInProgress', 'SystemUpdating', 'ShuttingDown'];
const VERBS = ['reboot', 'replace', 'delete'] as const;

const used = (n: number | null | undefined, all: number | null | undefined) => all ? `${n ?? '–'} / ${all}` : '–';

export default function Nodes({me, name: cluster}: PageProps)
{
	const {t, word} = useWords();
	const [search, setSearch] = useSearchParams();
	const poll = useListPoll();
	const filter = {group: search.get('group') ?? undefined, status: search.get('status') ?? undefined, health: search.get('health') ?? undefined};
	const query = useInfiniteQuery({...nodes(cluster, filter), refetchInterval: poll});
	const groupNames = useQuery(groups(cluster)).data?.items.map(g => g.name) ?? [];
	const [ids, setIds] = useState<string[]>([]);
	const [change, setChange] = useState<Change>();
	const items = query.data?.pages.flatMap(p => p.items);
	const first = query.data?.pages[0];
	const chosen = items?.filter(n => ids.includes(n.name)) ?? [];
	const may = me.role !== 'viewer';
	const set = (name: string, value: string) => setSearch(all => {
		const next = new URLSearchParams(all);

		if (value)
			next.set(name, value);
		else
			next.delete(name);
		return next;
	});
	const choice = (name: 'group' | 'status', label: string, any: string, values: string[]) => {
		const now = filter[name] ?? '';
		const options = [{value: '', label: any}, ...[...new Set([...values, ...now ? [now] : []])].map(value => ({value, label: name === 'status' ? word('state', value) : value}))];

		return <Select options={options} selectedOption={options.find(o => o.value === now) ?? options[0]!} ariaLabel={label}
			onChange={e => set(name, e.detail.selectedOption.value ?? '')}/>;
	};
	const seen = seenAgo(first?.refresh.age_s, query.dataUpdatedAt, first?.refresh.pollers);
	const old = useOld(seen);

	useFollowAny(cluster);
	usePage({title: t('nodes.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`}],
		readings: [{capability: 'list_nodes', path: `/clusters/${cluster}/nodes`, query: Object.fromEntries(Object.entries(filter).filter(([, v]) => v)),
			args: {cluster, ...filter}}]});
	return <SpaceBetween size='s'>
		{first?.refresh.error && <Alert type='warning' header={t('nodes.stale')}>{first.refresh.error}</Alert>}
		<List<Node> items={items} error={query.error} onRetry={() => void query.refetch()} title={t('nodes.title')} headingTag='h1' variant='full-page'
			description={first ? <Age seen={seen} at={first.refresh.observed_at}>{age => t('nodes.seen', {n: first.total, age})}</Age> : t('nodes.notSeen')}
			empty={t('nodes.empty')} trackBy='name' pageSize={50}
			selectionType='multi' selectedItems={chosen} onSelectionChange={e => setIds(e.detail.selectedItems.map(n => n.name))}
			ariaLabels={{selectionGroupLabel: t('nodes.title'), allItemsSelectionLabel: () => t('nodes.title'), itemSelectionLabel: (_, n) => n.name}}
			actions={<ButtonDropdown disabled={!may || chosen.length === 0} items={VERBS.map(id => ({id, text: t(`nodes.${id}`)}))}
				onItemClick={e => setChange(nodeAction(e.detail.id as NodeVerb, cluster, chosen.map(n => n.instance_id ?? n.logical_id ?? n.name), t))}>
				{t('common.actions')}</ButtonDropdown>}
			filterControls={<SpaceBetween direction='horizontal' size='xs'>
				{choice('group', t('nodes.filterGroup'), t('nodes.allGroups'), groupNames)}
				{choice('status', t('nodes.filterStatus'), t('nodes.allStatuses'), STATUSES)}
			</SpaceBetween>}
			after={query.hasNextPage && <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t('common.more')}</Button>}
			columnDefinitions={[
				{id: 'name', header: t('nodes.node'), isRowHeader: true, cell: n => <To href={`/clusters/${cluster}/nodes/${n.instance_id ?? n.logical_id ?? n.name}`}>
					{n.instance_id ?? n.logical_id ?? n.name}</To>},
				{id: 'group', header: t('nodes.group'), cell: n => n.group},
				{id: 'status', header: t('common.status'), cell: n => n.missing ? <State state='missing'/> : <State state={n.status} old={old}/>},
				{id: 'health', header: t('cluster.health'), cell: n => n.faults?.length ? <State state='failed' label={n.faults.join(', ')}/>
					: n.health ? <State state={n.health} old={old}/> : '–'},
				{id: 'kubernetes', header: t('cluster.kubernetes'), cell: n => n.ready === null || n.ready === undefined ? '–'
					: <State state={n.ready ? n.schedulable === false ? 'cordoned' : 'ready' : 'not_ready'} old={old}/>},
				{id: 'gpus', header: t('cluster.gpus'), cell: n => used(n.gpus_used, n.gpus)},
				{id: 'pods', header: t('nodes.pods'), cell: n => n.pods ?? '–'},
				{id: 'type', header: t('cluster.type'), cell: n => n.instance_type ?? '–'},
				{id: 'zone', header: t('create.zone'), cell: n => n.zone ?? '–'},
				{id: 'efas', header: 'EFA', cell: n => used(n.efas_used, n.efas)},
				{id: 'seen', header: t('deps.seen'), cell: n => <SeenAt at={n.observed_at}/>},
			]}/>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
