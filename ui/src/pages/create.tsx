import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import ColumnLayout from '@cloudscape-design/components/column-layout';
import Container from '@cloudscape-design/components/container';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import Form from '@cloudscape-design/components/form';
import Header from '@cloudscape-design/components/header';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import Tiles from '@cloudscape-design/components/tiles';
import Toggle from '@cloudscape-design/components/toggle';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {instanceTypes, quotas, zones} from '../api/queries';
import type {InstanceType} from '../api/types';
import {navigate} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {Field, Text, useForm, type FormState} from '../parts/form';
import {PlanModal, type Change} from '../parts/change';

const CAPACITY = ['on_demand', 'spot', 'training_plan'] as const;
const CHECKS = ['InstanceStress', 'InstanceConnectivity'] as const;
const STATUS = {loading: 'loading', error: 'error', pending: 'pending', success: 'finished'} as const;

function Zone({form}: {form: FormState})
{
	const {t} = useWords();
	const query = useQuery(zones);
	const options = query.data?.items.map(z => ({value: z.name, label: z.name, labelTag: z.id, disabled: z.state !== 'available',
		description: z.control_plane ? undefined : t('create.noControlPlane')})) ?? [];

	return <Field form={form} pointer='/zone' label={t('create.zone')}>
		<Select options={options} selectedOption={options.find(o => o.value === form.get('/zone')) ?? null} placeholder={t('create.chooseZone')}
			statusType={query.isPending ? 'loading' : STATUS[query.status]} errorText={query.error?.message} recoveryText={t('common.retry')}
			onLoadItems={() => query.error && void query.refetch()} ariaLabel={t('create.zone')}
			onChange={e => form.set('/zone', e.detail.selectedOption.value)} onBlur={() => form.touch('/zone')}/>
	</Field>;
}

/** What the quota leaves of a type; all of it when nobody could count. */
const roomOf = (i: InstanceType) => i.left ?? i.quota ?? 0;

function Type({form}: {form: FormState})
{
	const {t} = useWords();
	const zone = String(form.get('/zone') ?? '');
	const query = useQuery({...instanceTypes(zone), enabled: zone !== ''});
	const [gpus, setGpus] = useState(true);
	const chosen = form.get('/instance_type');
	const text = (i: InstanceType) => {
		const memory = Math.round(i.memory_mib / 1024);

		return i.gpus ? t('create.typeText', {n: i.gpus, gpu: i.gpu_name ?? '', vcpus: i.vcpus, memory})
			: t('create.typeTextNoGpu', {vcpus: i.vcpus, memory});
	};
	const options = (query.data?.items ?? []).filter(i => !gpus || i.gpus > 0 || i.instance_type === chosen)
		.sort((a, b) => Number(roomOf(b) > 0) - Number(roomOf(a) > 0))
		.map(i => ({value: i.instance_type, label: i.instance_type, description: text(i),
			tags: i.quota === undefined ? undefined : [i.left === undefined ? t('create.typeQuotaOnly', {quota: i.quota})
				: t('create.typeQuota', {quota: i.quota, left: i.left})]}));

	return <Field form={form} pointer='/instance_type' label={t('create.instance_type')} description={zone ? undefined : t('create.zoneFirst')}>
		<SpaceBetween size='xs'>
			<Select options={options} disabled={!zone} filteringType='auto' placeholder={t('create.chooseType')} virtualScroll
				selectedOption={options.find(o => o.value === chosen) ?? (chosen ? {value: String(chosen), label: String(chosen)} : null)}
				statusType={query.isFetching && !query.data ? 'loading' : query.error ? 'error' : 'finished'} errorText={query.error?.message}
				recoveryText={t('common.retry')} onLoadItems={() => query.error && void query.refetch()} ariaLabel={t('create.instance_type')}
				onChange={e => form.set('/instance_type', e.detail.selectedOption.value)} onBlur={() => form.touch('/instance_type')}/>
			<Checkbox checked={gpus} onChange={e => setGpus(e.detail.checked)}>{t('create.gpuOnly')}</Checkbox>
		</SpaceBetween>
	</Field>;
}

/** What the account's quotas say of the choice so far. */
function Quota({form}: {form: FormState})
{
	const {t, number} = useWords();
	const type = String(form.get('/instance_type') ?? ''), count = Number(form.get('/count') ?? 1);
	const capacity = String(form.get('/capacity_type') ?? 'on_demand');
	const able = type !== '' && Number.isInteger(count) && count > 0 && count <= 1000 && capacity !== 'training_plan';
	const {data} = useQuery({...quotas(type, count, capacity), enabled: able});

	if (!data || !able)
		return null;
	const short = data.items.filter(i => !i.fits);

	return <SpaceBetween size='xxs'>
		{data.fits && <StatusIndicator type='success'>{t('create.quotaFits')}</StatusIndicator>}
		{data.fits && data.items.filter(i => i.left !== undefined).map(i => <Box key={i.name} variant='small'>
			{t('create.quotaLeft', {name: i.name, left: number(i.left!), limit: number(i.limit)})}</Box>)}
		{short.map(i => <StatusIndicator key={i.name} type='error'>{t('create.quotaShort', {name: i.name, code: i.code ?? '',
			limit: number(i.limit), left: number(i.left ?? i.limit), needed: i.needed})}</StatusIndicator>)}
		{data.uncounted > 0 && <StatusIndicator type='warning'>{t('create.quotaUncounted', {n: data.uncounted})}</StatusIndicator>}
	</SpaceBetween>;
}

function Health({form}: {form: FormState})
{
	const {t} = useWords();
	const pointer = '/deep_health_checks';
	const chosen = (form.get(pointer) ?? []) as string[];

	return <SpaceBetween size='m'>
		<StatusIndicator type='success'>{t('create.nodeRecovery')}</StatusIndicator>
		<Field form={form} pointer={pointer} label={t('create.deep_health_checks')}>
			{CHECKS.map(c => <Checkbox key={c} checked={chosen.includes(c)} description={t(`create.${c}Help`)}
				onChange={e => form.set(pointer, CHECKS.filter(x => x === c ? e.detail.checked : chosen.includes(x)))}>{t(`create.${c}`)}</Checkbox>)}
		</Field>
	</SpaceBetween>;
}

function StorageFields({form}: {form: FormState})
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
	const capacity = String(form.get('/capacity_type') ?? 'on_demand');

	usePage({title: t('create.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}], readings: [
		{capability: 'list_availability_zones', path: '/zones'},
		{capability: 'list_instance_types', path: '/instance-types', query: {zone: form.get('/zone') ?? 'us-west-2a'}},
	]});
	const review = () => {
		if (!form.check())
			return;
		const body = form.body();

		setChange({title: `${t('create.title')}: ${String(body.name)}`, submit: t('clusters.create'), idempotencyKey: form.keyFor(body),
			onAccepted: form.clear, onRefused: form.refused,
			call: {capability: 'create_cluster', method: 'POST', path: '/clusters', body}});
	};
	const section = (title: string, content: React.ReactNode, description?: string) =>
		<Container header={<Header variant='h2' description={description}>{title}</Header>}>{content}</Container>;

	return <>
		<form onSubmit={e => {
			e.preventDefault();
			review();
		}}>
			<Form header={<Header variant='h1' description={t('create.intro')}>{t('create.title')}</Header>}
				errorText={form.faults ? t('create.faults', {n: form.faults}) : undefined}
				secondaryActions={<Button formAction='none' onClick={() => {
					form.clear();
					/* The page anew, with an empty form and a key of its own. */
					location.reload();
				}}>{t('create.reset')}</Button>}
				actions={<SpaceBetween direction='horizontal' size='xs'>
					<Button variant='link' formAction='none' onClick={() => navigate('/clusters')}>{t('common.cancel')}</Button>
					<Button variant='primary' formAction='submit' disabled={me.role === 'viewer'}>{t('create.submit')}</Button>
				</SpaceBetween>}>
				<SpaceBetween size='l'>
					{form.kept && <Alert type='info'>{t('create.kept')}</Alert>}
					{section(t('create.basics'), <ColumnLayout columns={2}>
						<Text form={form} name='name' label={t('create.name')}/>
						<Zone form={form}/>
					</ColumnLayout>, me.region ? `${t('create.region')}: ${me.region}` : undefined)}
					{section(t('create.capacity'), <SpaceBetween size='l'>
						<Field form={form} pointer='/capacity_type' label={t('create.capacity_type')}>
							<Tiles value={capacity} columns={3} onChange={e => form.set('/capacity_type', e.detail.value)}
								items={CAPACITY.map(value => ({value, label: t(`create.${value}`), description: t(`create.${value}Help`)}))}/>
						</Field>
						{capacity === 'training_plan' && <Text form={form} name='training_plan_arn' label={t('create.training_plan_arn')}/>}
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
							<Text form={form} name='execution_role_arn' label={t('create.execution_role_arn')}/>
							<Text form={form} name='permissions_boundary' label={t('create.permissions_boundary')}/>
							<Text form={form} name='lifecycle_s3_uri' label={t('create.lifecycle_s3_uri')}/>
							<Text form={form} name='lifecycle_on_create' label={t('create.lifecycle_on_create')}/>
						</ColumnLayout>
					</ExpandableSection>
				</SpaceBetween>
			</Form>
		</form>
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</>;
}
