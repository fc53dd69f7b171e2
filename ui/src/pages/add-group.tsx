import ColumnLayout from '@cloudscape-design/components/column-layout';
import Container from '@cloudscape-design/components/container';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import Header from '@cloudscape-design/components/header';
import SegmentedControl from '@cloudscape-design/components/segmented-control';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useState} from 'react';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {Capacity, HealthChecks, Quota, Type, Zone} from '../parts/capacity';
import {Field, Text, useForm, type FormState} from '../parts/form';
import {Labels, Taints} from '../parts/pairs';
import {FormPage} from '../parts/form-page';
import {PlanModal, type Change} from '../parts/change';

function InterfaceMode({form}: {form: FormState<'add_instance_group'>})
{
	const {t} = useWords();

	return <Field form={form} pointer='/interface_mode' label={t('groups.interface_mode')}>
		<SegmentedControl label={t('groups.interface_mode')} selectedId={String(form.get('/interface_mode') ?? '')}
			onChange={e => form.set('/interface_mode', e.detail.selectedId || undefined)}
			options={[{id: '', text: t('groups.interfaceDefault')}, {id: 'efa', text: 'EFA'}, {id: 'efa-only', text: t('groups.efaOnly')}]}/>
	</Field>;
}

export default function AddGroup({me, name: cluster}: PageProps)
{
	const {t} = useWords();
	const form = useForm('add_instance_group', {});
	const [change, setChange] = useState<Change>();
	const list = `/clusters/${cluster}/groups`;

	usePage({title: t('groups.add'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`},
		{text: t('groups.title'), href: list}], readings: [{capability: 'list_availability_zones', path: '/zones'}]});
	const review = () => {
		const body = form.body();

		setChange({title: `${t('groups.add')}: ${String(body.name)}`, submit: t('groups.add'), idempotencyKey: form.keyFor({cluster, ...body}),
			onAccepted: form.clear, onRefused: form.refused,
			call: {capability: 'add_instance_group', method: 'POST', path: '/clusters/{cluster}/groups', params: {cluster}, body}});
	};

	return <>
		<FormPage form={form} title={t('groups.add')} intro={t('groups.addIntro')} back={list} may={me.role !== 'viewer'} onReview={review}>
			<Container header={<Header variant='h2' description={t('groups.fixed')}>{t('create.capacity')}</Header>}>
				<SpaceBetween size='l'>
					<ColumnLayout columns={2}>
						<Text form={form} name='name' label={t('common.name')}/>
						<Zone form={form}/>
					</ColumnLayout>
					<Capacity form={form}/>
					<ColumnLayout columns={2}>
						<Type form={form}/>
						<SpaceBetween size='xs'>
							<Text form={form} name='count' type='number' label={t('create.count')}/>
							<Quota form={form}/>
						</SpaceBetween>
						<InterfaceMode form={form}/>
						<Text form={form} name='min_count' type='number' label={t('groups.min_count')}/>
					</ColumnLayout>
				</SpaceBetween>
			</Container>
			<Container header={<Header variant='h2'>{t('create.health')}</Header>}><HealthChecks form={form}/></Container>
			<Container header={<Header variant='h2'>{t('cluster.kubernetes')}</Header>}>
				<SpaceBetween size='l'>
					<Labels form={form} pointer='/labels' label={t('groups.labels')}/>
					<Taints form={form} pointer='/taints' label={t('groups.taints')}/>
				</SpaceBetween>
			</Container>
			<ExpandableSection variant='container' headerText={t('create.advanced')} headerDescription={t('create.advancedHelp')}>
				<ColumnLayout columns={2}>
					<Text form={form} name='volume_size_gb' type='number' label={t('create.volume_size_gb')}/>
					<Text form={form} name='threads_per_core' type='number' label={t('groups.threads_per_core')}/>
					<Text form={form} name='image_release_version' label={t('groups.image_release_version')}/>
					<Text form={form} name='subnet_id' label={t('groups.subnet')}/>
					<Text form={form} name='security_group_id' label={t('groups.security_group')}/>
					<Text form={form} name='execution_role_arn' label={t('create.execution_role_arn')}/>
					<Text form={form} name='lifecycle_s3_uri' label={t('create.lifecycle_s3_uri')}/>
					<Text form={form} name='lifecycle_on_create' label={t('create.lifecycle_on_create')}/>
				</ColumnLayout>
			</ExpandableSection>
		</FormPage>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</>;
}
