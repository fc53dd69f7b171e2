import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import Modal from '@cloudscape-design/components/modal';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {useFollowAny, useListPoll} from '../api/live';
import {storages} from '../api/queries';
import type {Storage} from '../api/types';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {SeenAt, StateAt} from '../parts/age';
import {Text, useForm} from '../parts/form';
import {PlanModal, type Change} from '../parts/change';
import {List} from '../parts/table';
import {OLD_UNASKED_S} from '../pure/time';

function Mount({cluster, onDismiss, onPlan}: {cluster: string; onDismiss: () => void; onPlan: (change: Change) => void})
{
	const {t} = useWords();
	const form = useForm('create_s3_storage', {});
	const review = () => {
		if (!form.check())
			return;
		const body = form.body();

		onPlan({title: t('storage.mount'), submit: t('storage.mount'), idempotencyKey: form.keyFor({cluster, ...body}), onAccepted: form.clear,
			call: {capability: 'create_s3_storage', method: 'POST', path: '/clusters/{cluster}/storages', params: {cluster}, body}});
	};

	return <Modal visible onDismiss={onDismiss} header={t('storage.mount')} footer={<Box float='right'><SpaceBetween direction='horizontal' size='xs'>
		<Button variant='link' onClick={onDismiss}>{t('common.cancel')}</Button>
		<Button variant='primary' onClick={review}>{t('storage.review')}</Button>
	</SpaceBetween></Box>}>
		<SpaceBetween size='m'>
			<Text form={form} name='name' label={t('common.name')}/>
			<Text form={form} name='bucket' label={t('storage.bucket')}/>
			<Text form={form} name='prefix' label={t('storage.prefix')} placeholder='datasets/'/>
			<Text form={form} name='namespace' label={t('storage.namespace')}/>
			<Checkbox checked={Boolean(form.get('/read_only'))} onChange={e => form.set('/read_only', e.detail.checked)}>{t('storage.readOnly')}</Checkbox>
		</SpaceBetween>
	</Modal>;
}

export default function StoragePage({me, name}: PageProps)
{
	const {t} = useWords();
	const poll = useListPoll();
	const query = useQuery({...storages(name), refetchInterval: poll});
	const [chosen, setChosen] = useState<Storage[]>([]);
	const [mounting, setMounting] = useState(false);
	const [change, setChange] = useState<Change>();
	const one = chosen[0];
	const may = me.role !== 'viewer';

	useFollowAny(name);
	usePage({title: t('storage.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: name, href: `/clusters/${name}`}],
		readings: [{capability: 'list_storages', path: `/clusters/${name}/storages`, args: {cluster: name}}]});
	return <>
		<List<Storage> items={query.data?.items} error={query.error} onRetry={() => void query.refetch()} title={t('storage.title')} headingTag='h1'
			description={t('storage.intro')} empty={t('storage.empty')} variant='full-page' trackBy={s => `${s.namespace}/${s.name}`}
			emptyHelp={may && <Button onClick={() => setMounting(true)}>{t('storage.mount')}</Button>}
			selectionType='single' selectedItems={one ? [one] : []} onSelectionChange={e => setChosen(e.detail.selectedItems)}
			ariaLabels={{selectionGroupLabel: t('storage.title'), itemSelectionLabel: (_, s) => s.name}}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button disabled={!may || !one} onClick={() => one && setChange({title: `${t('storage.unmount')} ${one.name}`, submit: t('storage.unmount'),
					typed: one.name, lost: [t('storage.stays')],
					call: {capability: 'delete_storage', method: 'DELETE', path: '/clusters/{cluster}/storages/{name}',
						params: {cluster: name, name: one.name}, query: {namespace: one.namespace}}})}>{t('storage.unmount')}</Button>
				<Button variant='primary' disabled={!may} onClick={() => setMounting(true)}>{t('storage.mount')}</Button>
			</SpaceBetween>}
			columnDefinitions={[
				{id: 'name', header: t('storage.claim'), isRowHeader: true, cell: s => `${s.namespace}/${s.name}`},
				{id: 'status', header: t('common.status'), cell: s => <SpaceBetween size='xxs'><StateAt state={s.status} at={s.observed_at} oldS={OLD_UNASKED_S}/>
					{s.why && <Box variant='small'>{s.why}</Box>}
					{s.not_known?.map(n => <Box key={n.what} variant='small'>{`${n.what}: ${n.call ?? ''} ${n.why}`}</Box>)}</SpaceBetween>},
				{id: 'bucket', header: t('storage.bucket'), cell: s => s.bucket},
				{id: 'prefix', header: t('storage.prefix'), cell: s => s.prefix ?? '–'},
				{id: 'access', header: t('storage.access'), cell: s => s.read_only ? t('storage.readOnly') : t('storage.readWrite')},
				{id: 'seen', header: t('deps.seen'), cell: s => <SeenAt at={s.observed_at} oldS={OLD_UNASKED_S}/>},
			]}/>
		{mounting && <Mount cluster={name} onDismiss={() => setMounting(false)} onPlan={c => {
			setMounting(false);
			setChange(c);
		}}/>}
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</>;
}
