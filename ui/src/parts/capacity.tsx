// Where nodes come from: zone, instance type and capacity, with what is offered and
// what the quotas leave, read live.
import Box from '@cloudscape-design/components/box';
import Checkbox from '@cloudscape-design/components/checkbox';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import Tiles from '@cloudscape-design/components/tiles';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {instanceTypes, quotas, zones} from '../api/queries';
import {trainingPlans} from '../api/compute';
import type {InstanceType} from '../api/types';
import {useWords} from '../i18n';
import {Field, type AnyForm} from './form';
import {oneOf} from '../pure/call';

const CAPACITY = ['on_demand', 'spot', 'training_plan'] as const;
const CHECKS = ['InstanceStress', 'InstanceConnectivity'] as const;
const STATUS = {loading: 'loading', error: 'error', pending: 'pending', success: 'finished'} as const;

export function Zone({form}: {form: AnyForm})
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

export function Type({form}: {form: AnyForm})
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
export function Quota({form}: {form: AnyForm})
{
	const {t, number} = useWords();
	const type = String(form.get('/instance_type') ?? ''), count = Number(form.get('/count') ?? 1);
	/* A training plan has no quota. */
	const capacity = oneOf(['on_demand', 'spot'] as const, String(form.get('/capacity_type') ?? 'on_demand'));
	const able = type !== '' && Number.isInteger(count) && count > 0 && count <= 1000 && capacity !== undefined;
	const {data} = useQuery({...quotas(type, count, capacity), enabled: able});

	if (!data || !able)
		return null;
	const short = data.items.filter(i => i.fits === false);

	return <SpaceBetween size='xxs'>
		{data.fits && <StatusIndicator type='success'>{t('create.quotaFits')}</StatusIndicator>}
		{data.fits && data.items.filter(i => i.left !== undefined).map(i => <Box key={i.name} variant='small'>
			{t('create.quotaLeft', {name: i.name, left: number(i.left!), limit: number(i.limit ?? 0)})}</Box>)}
		{short.map(i => <StatusIndicator key={i.name} type='error'>{t('create.quotaShort', {name: i.name, code: i.code ?? '',
			limit: number(i.limit ?? 0), left: number(i.left ?? i.limit ?? 0), needed: i.needed})}</StatusIndicator>)}
		{data.fits === null && data.why && <StatusIndicator type='warning'>{data.why}</StatusIndicator>}
		{data.uncounted > 0 && <StatusIndicator type='warning'>{t('create.quotaUncounted', {n: data.uncounted})}</StatusIndicator>}
	</SpaceBetween>;
}

/** A plan of the account that has begun or will; its zone is shown, since the subnet must be there. */
function Plan({form}: {form: AnyForm})
{
	const {t, word} = useWords();
	const query = useQuery(trainingPlans());
	const options = (query.data?.items ?? []).filter(p => p.status === 'Active' || p.status === 'Scheduled').map(p => ({
		value: p.arn, label: p.name, labelTag: word('state', p.status),
		description: p.capacity.map(c => `${c.count ?? ''} × ${c.instance_type ?? ''} · ${c.zone ?? ''}`).join(', ')}));
	const chosen = form.get('/training_plan_arn');

	return <Field form={form} pointer='/training_plan_arn' label={t('create.training_plan_arn')}>
		<Select options={options} filteringType='auto' placeholder={t('plans.choose')} empty={t('plans.empty')}
			selectedOption={options.find(o => o.value === chosen) ?? (chosen ? {value: String(chosen), label: String(chosen)} : null)}
			statusType={query.isPending ? 'loading' : STATUS[query.status]} errorText={query.error?.message} recoveryText={t('common.retry')}
			onLoadItems={() => query.error && void query.refetch()} ariaLabel={t('create.training_plan_arn')}
			onChange={e => form.set('/training_plan_arn', e.detail.selectedOption.value)} onBlur={() => form.touch('/training_plan_arn')}/>
	</Field>;
}

export function Capacity({form}: {form: AnyForm})
{
	const {t} = useWords();
	const capacity = String(form.get('/capacity_type') ?? 'on_demand');

	return <>
		<Field form={form} pointer='/capacity_type' label={t('create.capacity_type')}>
			<Tiles value={capacity} columns={3} onChange={e => form.set('/capacity_type', e.detail.value)}
				items={CAPACITY.map(value => ({value, label: t(`create.${value}`), description: t(`create.${value}Help`)}))}/>
		</Field>
		{capacity === 'training_plan' && <Plan form={form}/>}
	</>;
}

export function HealthChecks({form}: {form: AnyForm})
{
	const {t} = useWords();
	const pointer = '/deep_health_checks';
	const chosen = (form.get(pointer) ?? []) as string[];

	return <Field form={form} pointer={pointer} label={t('create.deep_health_checks')}>
		{CHECKS.map(c => <Checkbox key={c} checked={chosen.includes(c)} description={t(`create.${c}Help`)}
			onChange={e => form.set(pointer, CHECKS.filter(x => x === c ? e.detail.checked : chosen.includes(x)))}>{t(`create.${c}`)}</Checkbox>)}
	</Field>;
}
