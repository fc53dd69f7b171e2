import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useInfiniteQuery, useQuery} from '@tanstack/react-query';
import {useSearchParams} from 'wouter';
import {useFollowAny, useListPoll} from '../api/live';
import {clusters, readOperations} from '../api/queries';
import type {Operation} from '../api/types';
import {To} from '../app/link';
import {usePage} from '../app/page';
import {useWords, type Key} from '../i18n';
import {State, Time, useNow} from '../parts/status';
import {List} from '../parts/table';
import {oneOf} from '../pure/call';
import {seconds} from '../pure/time';

const STATES = ['live', 'held', 'succeeded', 'failed', 'cancelled'] as const;

export default function Operations()
{
	const {t, word, span} = useWords();
	const [search, setSearch] = useSearchParams();
	const poll = useListPoll();
	const state = oneOf(STATES, search.get('state')) ?? '', of = search.get('cluster') ?? '', stages = search.has('stages');
	const filter = {...state && {state}, ...of && {cluster: of}};
	const query = useInfiniteQuery({
		queryKey: ['operations', 'list', filter],
		queryFn: ({pageParam, signal}) => readOperations({...filter, cursor: pageParam || undefined}, signal),
		initialPageParam: '',
		getNextPageParam: last => last.next_cursor ?? undefined,
		refetchInterval: poll,
	});
	const names = useQuery(clusters).data?.map(c => c.name) ?? [];
	const items = query.data?.pages.flatMap(p => p.items).filter(o => stages || !o.parent);
	const now = useNow(Boolean(items?.some(o => !o.done)));
	const set = (name: string, value: string) => setSearch(all => {
		const next = new URLSearchParams(all);

		if (value)
			next.set(name, value);
		else
			next.delete(name);
		return next;
	});
	const states = [{value: '', label: t('ops.allStates')}, ...STATES.map(value => ({value, label: word('state', value)}))];
	const ofs = [{value: '', label: t('ops.allClusters')}, ...[...new Set([...names, ...of ? [of] : []])].map(value => ({value, label: value}))];

	useFollowAny();
	usePage({title: t('ops.title'), readings: [{capability: 'list_operations', path: '/operations', query: filter}]});
	return <List<Operation> items={items} error={query.error} onRetry={() => void query.refetch()} title={t('ops.title')} headingTag='h1'
		description={t('ops.intro')} empty={t('ops.empty')} emptyHelp={t('ops.emptyHelp')} variant='full-page' trackBy='id' pageSize={50}
		filterControls={<SpaceBetween direction='horizontal' size='xs' alignItems='center'>
			<Select options={states} selectedOption={states.find(s => s.value === state) ?? states[0]!} ariaLabel={t('ops.filterState')}
				onChange={e => set('state', e.detail.selectedOption.value ?? '')}/>
			<Select options={ofs} selectedOption={ofs.find(s => s.value === of) ?? ofs[0]!} ariaLabel={t('ops.filterCluster')}
				onChange={e => set('cluster', e.detail.selectedOption.value ?? '')}/>
			<Checkbox checked={stages} onChange={e => set('stages', e.detail.checked ? '1' : '')}>{t('ops.stages')}</Checkbox>
		</SpaceBetween>}
		after={query.hasNextPage && <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t('common.more')}</Button>}
		columnDefinitions={[
			{id: 'title', header: t('ops.operation'), isRowHeader: true, cell: o => <To href={`/operations/${o.id}`}>{word('kind', o.kind, o.title)}</To>},
			{id: 'target', header: t('ops.target'), cell: o => o.target},
			{id: 'status', header: t('common.state'), cell: o => <State state={o.status}/>},
			{id: 'started', header: t('ops.started'), cell: o => <Time at={o.created_at}/>},
			{id: 'took', header: t('ops.took'), cell: o => span(seconds(o.created_at, o.ended_at, now) ?? 0)},
			{id: 'by', header: t('ops.by'), cell: o => t('ops.byFace', {name: o.actor.name, face: t(`face.${o.face}` as Key)})},
		]}/>;
}
