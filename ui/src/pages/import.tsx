import Button from '@cloudscape-design/components/button';
import Container from '@cloudscape-design/components/container';
import Form from '@cloudscape-design/components/form';
import Header from '@cloudscape-design/components/header';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useState} from 'react';
import {navigate} from '../app/link';
import {usePage} from '../app/page';
import {useWords} from '../i18n';
import {Text, useForm} from '../parts/form';
import {PlanModal, type Change} from '../parts/change';

export default function Import()
{
	const {t} = useWords();
	const form = useForm('import_cluster', {});
	const [change, setChange] = useState<Change>();

	usePage({title: t('import.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}]});
	const review = () => {
		if (!form.check())
			return;
		const body = form.body();

		setChange({title: t('import.title'), submit: t('clusters.import'), idempotencyKey: form.keyFor(body),
			onAccepted: form.clear, onRefused: form.refused,
			call: {capability: 'import_cluster', method: 'POST', path: '/clusters:import', body}});
	};

	return <>
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
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</>;
}
