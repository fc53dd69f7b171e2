import Checkbox from '@cloudscape-design/components/checkbox';
import ColumnLayout from '@cloudscape-design/components/column-layout';
import Container from '@cloudscape-design/components/container';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import Header from '@cloudscape-design/components/header';
import SpaceBetween from '@cloudscape-design/components/space-between';
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import Toggle from '@cloudscape-design/components/toggle';
import {useState} from 'react';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {Capacity, HealthChecks, Quota, Type, Zone} from '../parts/capacity';
import {Labels, Taints} from '../parts/pairs';
import {Text, useForm, type FormState} from '../parts/form';
import {FormPage} from '../parts/form-page';
import {PlanModal, type Change} from '../parts/change';

function Health({form}: {form: FormState<'create_cluster'>})
{
	const {t} = useWords();

	return <SpaceBetween size='m'>
		<StatusIndicator type='success'>{t('create.nodeRecovery')}</StatusIndicator>
		<HealthChecks form={form}/>
	</SpaceBetween>;
}

function StorageFields({form}: {form: FormState<'create_cluster'>})
{
	const {t} = useWords();
	const mounted = !form.get('/storage/skip');

	return <SpaceBetween size='m'>
		<Toggle checked={mounted} description={t('create.mountHelp', {claim: 'default/data'})}
			onChange={e => form.set('/storage/skip', !e.detail.checked)}>{t('create.mount')}</Toggle>
		{mounted && <ColumnLayout columns={2}>
			<Text form={form} name='storage/bucket' label={t('create.storage.bucket')}/>
			<Text form={form} name='storage/prefix' label={t('create.storage.prefix')} placeholder='datasets/'/>
			<Checkbox checked={Boolean(form.get('/storage/read_only'))}
				onChange={e => form.set('/storage/read_only', e.detail.checked)}>{t('create.storage.read_only')}</Checkbox>
		</ColumnLayout>}
	</SpaceBetween>;
}

export default function Create({me}: PageProps)
{
	const {t} = useWords();
	const form = useForm('create_cluster', {});
	const [change, setChange] = useState<Change>();

	usePage({title: t('create.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}], readings: [
		{capability: 'list_availability_zones', path: '/zones'},
		{capability: 'list_instance_types', path: '/instance-types', query: {zone: form.get('/zone') ?? 'us-west-2a'}},
	]});
	const review = () => {
		const body = form.body();

		setChange({title: `${t('create.title')}: ${String(body.name)}`, submit: t('clusters.create'), idempotencyKey: form.keyFor(body),
			onAccepted: form.clear, onRefused: form.refused,
			call: {capability: 'create_cluster', method: 'POST', path: '/clusters', body}});
	};
	const section = (title: string, content: React.ReactNode, description?: string) =>
		<Container header={<Header variant='h2' description={description}>{title}</Header>}>{content}</Container>;

	return <>
		<FormPage form={form} title={t('create.title')} intro={t('create.intro')} back='/clusters' may={me.role !== 'viewer'} onReview={review}>
			{section(t('create.basics'), <ColumnLayout columns={2}>
				<Text form={form} name='name' label={t('create.name')}/>
				<Zone form={form}/>
			</ColumnLayout>, me.region ? `${t('create.region')}: ${me.region}` : undefined)}
			{section(t('create.capacity'), <SpaceBetween size='l'>
				<Capacity form={form}/>
				<ColumnLayout columns={2}>
					<Type form={form}/>
					<SpaceBetween size='xs'>
						<Text form={form} name='count' type='number' label={t('create.count')}/>
						<Quota form={form}/>
					</SpaceBetween>
				</ColumnLayout>
			</SpaceBetween>)}
			{section(t('create.health'), <Health form={form}/>)}
			{section(t('create.storage'), <StorageFields form={form}/>)}
			<ExpandableSection variant='container' headerText={t('create.advanced')} headerDescription={t('create.advancedHelp')}>
				<ColumnLayout columns={2}>
					<Text form={form} name='kubernetes_version' label={t('create.kubernetes_version')}/>
					<Text form={form} name='volume_size_gb' type='number' label={t('create.volume_size_gb')}/>
					<Text form={form} name='group_name' label={t('create.group_name')}/>
					<Text form={form} name='min_count' type='number' label={t('groups.min_count')}/>
					<Text form={form} name='threads_per_core' type='number' label={t('groups.threads_per_core')}/>
					<Text form={form} name='image_release_version' label={t('groups.image_release_version')}/>
					<Text form={form} name='execution_role_arn' label={t('create.execution_role_arn')}/>
					<Text form={form} name='permissions_boundary' label={t('create.permissions_boundary')}/>
					<Text form={form} name='lifecycle_s3_uri' label={t('create.lifecycle_s3_uri')}/>
					<Text form={form} name='lifecycle_on_create' label={t('create.lifecycle_on_create')}/>
				</ColumnLayout>
				<Labels form={form} pointer='/labels' label={t('groups.labels')}/>
				<Taints form={form} pointer='/taints' label={t('groups.taints')}/>
			</ExpandableSection>
		</FormPage>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</>;
}
