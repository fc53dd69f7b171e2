import Button from '@cloudscape-design/components/button';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import Flashbar from '@cloudscape-design/components/flashbar';
import Input from '@cloudscape-design/components/input';
import {useInfiniteQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {useSearchParams} from 'wouter';
import {read} from '../api/client';
import type {Answer, AuditRow} from '../api/types';
import {To} from '../app/link';
import {usePage} from '../app/page';
import {useWords} from '../i18n';
import {Code, json} from '../parts/code';
import {ProblemAlert} from '../parts/problem';
import {State, Time} from '../parts/status';
import {List} from '../parts/table';

export default function Audit()
{
	const {t} = useWords();
	const [search, setSearch] = useSearchParams();
	const principal = search.get('principal') ?? '';
	const [typed, setTyped] = useState(principal);
	const [checked, setChecked] = useState<Answer<'/audit:verify'>>();
	const [error, setError] = useState<unknown>();
	const [busy, setBusy] = useState(false);
	const query = useInfiniteQuery({
		queryKey: ['audit', principal],
		queryFn: ({pageParam, signal}) => read('/audit', {signal, query: {limit: 50, cursor: pageParam || undefined, principal: principal || undefined}}),
		initialPageParam: '',
		getNextPageParam: last => last.next_cursor ?? undefined,
	});
	const verify = async () => {
		setBusy(true);
		setError(undefined);
		await read('/audit:verify').then(setChecked, setError);
		setBusy(false);
	};

	usePage({title: t('audit.title'), readings: [{capability: 'list_audit', path: '/audit', query: principal ? {principal} : {}},
		{capability: 'verify_audit', path: '/audit:verify'}]});
	return <>
		<ProblemAlert error={error}/>
		{checked && <Flashbar items={[{id: 'checked', type: checked.ok ? 'success' : 'error', dismissible: true, onDismiss: () => setChecked(undefined),
			dismissLabel: t('common.close'), content: checked.ok ? t('audit.whole', {n: checked.checked})
				: t('audit.broken', {at: checked.broken_at ?? '?', why: checked.why ?? ''})}]}/>}
		<List<AuditRow> items={query.data?.pages.flatMap(p => p.items)} error={query.error} onRetry={() => void query.refetch()} title={t('audit.title')}
			headingTag='h1' description={t('audit.intro')} empty={t('audit.empty')} variant='full-page' trackBy='id' pageSize={200} wrapLines contentDensity='compact'
			actions={<Button loading={busy} onClick={() => void verify()}>{t('audit.verify')}</Button>}
			filterControls={<Input type='search' value={typed} placeholder={t('audit.filter')} ariaLabel={t('audit.filter')}
				onChange={e => setTyped(e.detail.value)} onBlur={() => setSearch(typed ? {principal: typed} : {})}
				onKeyDown={e => e.detail.key === 'Enter' && setSearch(typed ? {principal: typed} : {})}/>}
			after={query.hasNextPage && <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t('common.more')}</Button>}
			columnDefinitions={[
				{id: 'at', header: t('op.time'), cell: r => <Time at={r.at}/>},
				{id: 'who', header: t('audit.who'), cell: r => r.principal ?? '–'},
				{id: 'what', header: t('audit.what'), isRowHeader: true, cell: r => r.capability ?? '–'},
				{id: 'on', header: t('audit.on'), cell: r => r.operation ? <To href={`/operations/${r.operation}`}>{r.target ?? r.operation}</To> : r.target ?? '–'},
				{id: 'from', header: t('audit.from'), cell: r => r.face ?? '–'},
				{id: 'outcome', header: t('audit.outcome'), cell: r => <><State state={r.outcome}/>{r.detail && <div>{r.detail}</div>}</>},
				{id: 'parameters', header: t('audit.parameters'), cell: r => r.parameters && Object.keys(r.parameters).length
					? <ExpandableSection headerText={t('common.details')}><Code text={json(r.parameters)} label={t('audit.parameters')}/></ExpandableSection> : '–'},
				{id: 'request', header: t('op.requestId'), cell: r => r.request_id?.slice(0, 12) ?? '–'},
			]}/>
	</>;
}
