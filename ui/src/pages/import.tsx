import Button from '@cloudscape-design/components/button';
import Container from '@cloudscape-design/components/container';
import Form from '@cloudscape-design/components/form';
import Header from '@cloudscape-design/components/header';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {accountClusters, type AccountCluster} from '../api/compute';
import {navigate} from '../app/link';
import {usePage} from '../app/page';
import {useWords} from '../i18n';
import {Text, useForm} from '../parts/form';
import {PlanModal, type Change} from '../parts/change';
import {State} from '../parts/status';
import {List} from '../parts/table';

export default function Import()
{
	const {t, word} = useWords();
	const form = useForm('import_cluster', {});
	const account = useQuery(accountClusters);
	const [chosen, setChosen] = useState<AccountCluster>();
	const [change, setChange] = useState<Change>();

	usePage({title: t('import.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}],
		readings: [{capability: 'list_hyperpod_clusters', path: '/hyperpod-clusters'}]});
	const choose = (c: AccountCluster | undefined) => {
		setChosen(c);
		if (!c)
			return;
		form.set('/hyperpod_name', c.name);
		form.set('/eks_name', c.eks_name);
	};
	const review = () => {
		if (!form.check())
			return;
		const body = form.body();

		setChange({title: t('import.title'), submit: t('clusters.import'), idempotencyKey: form.keyFor(body),
			onAccepted: form.clear, onRefused: form.refused,
			call: {capability: 'import_cluster', method: 'POST', path: '/clusters:import', body}});
	};

	return <SpaceBetween size='l'>
		<form onSubmit={e => {
			e.preventDefault();
			review();
		}}>
			<Form header={<Header variant='h1' description={t('import.intro')}>{t('import.title')}</Header>}
				actions={<SpaceBetween direction='horizontal' size='xs'>
					<Button variant='link' formAction='none' onClick={() => navigate('/clusters')}>{t('common.cancel')}</Button>
					<Button variant='primary' formAction='submit'>{t('import.submit')}</Button>
				</SpaceBetween>}>
				<Container>
					<SpaceBetween size='l'>
						<Text form={form} name='eks_name' label={t('import.eks_name')}/>
						<Text form={form} name='hyperpod_name' label={t('import.hyperpod_name')}/>
						<Text form={form} name='name' label={t('import.name')}/>
					</SpaceBetween>
				</Container>
			</Form>
		</form>
		<List<AccountCluster> items={account.data?.items} error={account.error} onRetry={() => void account.refetch()} title={t('import.account')}
			description={t('import.accountIntro')} empty={t('common.none')} trackBy='name' selectionType='single' selectedItems={chosen ? [chosen] : []}
			isItemDisabled={c => c.state !== 'ok'} onSelectionChange={e => choose(e.detail.selectedItems[0])}
			ariaLabels={{selectionGroupLabel: t('import.account'), itemSelectionLabel: (_, c) => c.name}}
			columnDefinitions={[
				{id: 'name', header: t('clusters.hyperpod'), isRowHeader: true, cell: c => c.name},
				{id: 'eks', header: t('clusters.eks'), cell: c => c.eks_name ?? '–'},
				{id: 'status', header: t('common.status'), cell: c => c.status ? <State state={c.status}/> : '–'},
				{id: 'state', header: t('common.state'), cell: c => word('importable', c.state)},
				{id: 'why', header: t('events.reason'), cell: c => c.reason ?? '–'},
			]}/>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
