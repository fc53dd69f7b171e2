import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import CopyToClipboard from '@cloudscape-design/components/copy-to-clipboard';
import Modal from '@cloudscape-design/components/modal';
import RadioGroup from '@cloudscape-design/components/radio-group';
import SpaceBetween from '@cloudscape-design/components/space-between';
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import {useInfiniteQuery, useQueryClient} from '@tanstack/react-query';
import {useState} from 'react';
import {ProblemError, read, run} from '../api/client';
import type {Token} from '../api/types';
import {useFrame, usePage} from '../app/page';
import {useWords, type Key} from '../i18n';
import {Field, Text, useForm} from '../parts/form';
import {PlanModal, type Change} from '../parts/change';
import {ProblemAlert} from '../parts/problem';
import {Time, useNow} from '../parts/status';
import {List} from '../parts/table';
import {hereMs} from '../pure/time';

const ROLES = ['viewer', 'operator', 'admin'];

/** A token changes nothing in the cloud and its secret comes once: made at once, without a plan. */
function Make({onDismiss}: {onDismiss: () => void})
{
	const {t} = useWords();
	const client = useQueryClient();
	const form = useForm('create_token', {role: 'viewer'});
	const [made, setMade] = useState<string>();
	const [error, setError] = useState<unknown>();
	const [busy, setBusy] = useState(false);
	const make = async () => {
		if (!form.check() || busy)
			return;
		const body = form.body();

		setBusy(true);
		setError(undefined);
		try {
			const answer = await run<{token: string}>({capability: 'create_token', method: 'POST', path: '/tokens', body}, form.keyFor(body));

			form.clear();
			setMade(answer.token);
			void client.invalidateQueries({queryKey: ['tokens']});
		} catch (e) {
			setError(e);
			if (e instanceof ProblemError)
				form.refused(e.problem);
		} finally {
			setBusy(false);
		}
	};

	if (made)
		return <Modal visible onDismiss={onDismiss} header={t('tokens.made')} footer={<Box float='right'>
			<Button variant='primary' onClick={onDismiss}>{t('common.close')}</Button></Box>}>
			<Alert type='success' header={t('tokens.once')}>
				<CopyToClipboard variant='inline' textToCopy={made} copyButtonAriaLabel={t('common.copy')} copySuccessText={t('common.copied')} copyErrorText={t('common.unknown')}/>
			</Alert>
		</Modal>;
	return <Modal visible onDismiss={onDismiss} header={t('tokens.create')} footer={<Box float='right'><SpaceBetween direction='horizontal' size='xs'>
		<Button variant='link' onClick={onDismiss}>{t('common.cancel')}</Button>
		<Button variant='primary' loading={busy} onClick={() => void make()}>{t('tokens.create')}</Button>
	</SpaceBetween></Box>}>
		<SpaceBetween size='m'>
			<ProblemAlert error={error}/>
			<Text form={form} name='name' label={t('common.name')}/>
			<Field form={form} pointer='/role' label={t('tokens.role')}>
				<RadioGroup value={String(form.get('/role') ?? '')} onChange={e => form.set('/role', e.detail.value)}
					items={ROLES.map(value => ({value, label: t(`role.${value}` as Key)}))}/>
			</Field>
			<Text form={form} name='principal' label={t('tokens.principal')}/>
			<Text form={form} name='expires_in_days' type='number' label={t('tokens.days')}/>
		</SpaceBetween>
	</Modal>;
}

export default function Tokens()
{
	const {t} = useWords();
	const {flash} = useFrame();
	const query = useInfiniteQuery({
		queryKey: ['tokens'],
		queryFn: ({pageParam, signal}) => read('/tokens', {signal, query: {limit: 100, cursor: pageParam || undefined}}),
		initialPageParam: '',
		getNextPageParam: last => last.next_cursor ?? undefined,
	});
	const [chosen, setChosen] = useState<Token[]>([]);
	const [making, setMaking] = useState(false);
	const [change, setChange] = useState<Change>();
	const items = query.data?.pages.flatMap(p => p.items);
	const one = items?.find(x => x.id === chosen[0]?.id);
	const now = useNow(true);

	usePage({title: t('tokens.title'), readings: [{capability: 'list_tokens', path: '/tokens'}]});
	return <>
		<List<Token> items={items} error={query.error} onRetry={() => void query.refetch()} title={t('tokens.title')} headingTag='h1'
			description={t('tokens.intro')} empty={t('tokens.empty')} variant='full-page' trackBy='id'
			selectionType='single' selectedItems={one ? [one] : []} onSelectionChange={e => setChosen(e.detail.selectedItems)}
			ariaLabels={{selectionGroupLabel: t('tokens.title'), itemSelectionLabel: (_, x) => x.name}}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button disabled={!one || Boolean(one.revoked_at)} onClick={() => one && setChange({title: `${t('tokens.revoke')}: ${one.name}`,
					submit: t('tokens.revoke'), onDone: () => flash({type: 'success', content: t('flash.revoked')}),
					call: {capability: 'revoke_token', method: 'DELETE', path: '/tokens/{id}', params: {id: one.id}}})}>{t('tokens.revoke')}</Button>
				<Button variant='primary' onClick={() => setMaking(true)}>{t('tokens.create')}</Button>
			</SpaceBetween>}
			after={query.hasNextPage && <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{t('common.more')}</Button>}
			columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, sortingField: 'name', cell: x => x.name},
				{id: 'principal', header: t('tokens.principal'), sortingField: 'principal', cell: x => x.principal},
				{id: 'role', header: t('tokens.role'), sortingField: 'role', cell: x => t(`role.${x.role}` as Key)},
				{id: 'state', header: t('common.state'), cell: x => x.revoked_at ? <StatusIndicator type='stopped'>{t('tokens.revoked')}</StatusIndicator>
					: x.expires_at && hereMs(x.expires_at) < now ? <StatusIndicator type='stopped'>{t('tokens.expired')}</StatusIndicator>
						: <StatusIndicator type='success'>{t('tokens.valid')}</StatusIndicator>},
				{id: 'created', header: t('common.created'), sortingField: 'created_at', cell: x => <Time at={x.created_at}/>},
				{id: 'expires', header: t('tokens.expires'), sortingField: 'expires_at', cell: x => <Time at={x.expires_at}/>},
				{id: 'used', header: t('tokens.used'), cell: x => x.last_used_at ? <Time at={x.last_used_at}/> : t('tokens.never')},
			]}/>
		{making && <Make onDismiss={() => setMaking(false)}/>}
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</>;
}
