import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import ColumnLayout from '@cloudscape-design/components/column-layout';
import Container from '@cloudscape-design/components/container';
import Header from '@cloudscape-design/components/header';
import KeyValuePairs from '@cloudscape-design/components/key-value-pairs';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {group, groups, type Group} from '../api/compute';
import {useFollowAny, useListPoll} from '../api/live';
import {navigate, To} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords, type Words} from '../i18n';
import {SeenAt, StateAt} from '../parts/age';
import {HealthChecks} from '../parts/capacity';
import {Ask} from '../parts/ask';
import {PlanModal, type Change} from '../parts/change';
import type {BodyOf} from '../api/calls';
import {Text, useForm, type FormState} from '../parts/form';
import {Labels, Taints} from '../parts/pairs';
import {State} from '../parts/status';
import {List} from '../parts/table';

interface ChangeProps { cluster: string; of: Group; onDismiss: () => void; onPlan: (c: Change) => void }

const words = {on_demand: 'create.on_demand', spot: 'create.spot', training_plan: 'create.training_plan'} as const;
const capacityOf = (g: Group, t: Words['t']) => g.capacity_type in words ? t(words[g.capacity_type as keyof typeof words]) : g.capacity_type;

/* What is shown is what there is: a draft of another group must not be. */
const useFresh = <O extends 'scale_instance_group' | 'update_instance_group' | 'update_cluster_software'>(capability: O, initial: Partial<BodyOf<O>>) => {
	useState(() => sessionStorage.removeItem(`instantstart.draft.${capability}`));
	return useForm(capability, initial);
};

function Scale({cluster, of, onDismiss, onPlan}: ChangeProps)
{
	const {t} = useWords();
	const form = useFresh('scale_instance_group', {count: of.target_count});
	const review = () => form.check() && onPlan({title: `${t('groups.scale')} ${of.name}`, submit: t('groups.scale'), onAccepted: form.clear,
		call: {capability: 'scale_instance_group', method: 'POST', path: '/clusters/{cluster}/groups/{group}:scale',
			params: {cluster, group: of.name}, body: form.body()}});

	return <Ask title={`${t('groups.scale')} ${of.name}`} onDismiss={onDismiss} onReview={review}>
		<Text form={form} name='count' type='number' label={t('create.count')}/>
	</Ask>;
}

type GroupBody = BodyOf<'update_instance_group'>;

/** Only what was changed is sent; what was taken away altogether is cleared by name. */
function changed(form: FormState<'update_instance_group'>, before: Partial<GroupBody>): GroupBody
{
	const body: Record<string, unknown> = {}, clear: string[] = [];

	for (const name of ['min_count', 'labels', 'taints', 'deep_health_checks'] as const) {
		const now = form.get(`/${name}`) as unknown, was = before[name];
		const gone = now === undefined || now === '' || (Array.isArray(now) && now.length === 0);

		if (JSON.stringify(gone ? null : now) === JSON.stringify(was ?? null))
			continue;
		if (gone)
			clear.push(name);
		else
			body[name] = now;
	}
	return (clear.length ? {...body, clear} : body) as GroupBody;
}

function Edit({cluster, of, onDismiss, onPlan, detail}: ChangeProps & {detail: Record<string, unknown>})
{
	const {t} = useWords();
	const some = (v: unknown) => (v && Object.keys(v).length ? v : undefined) as never;
	const before: Partial<GroupBody> = {min_count: detail.min_count as number | undefined, labels: some(detail.labels), taints: some(detail.taints), deep_health_checks: some(detail.deep_health_checks)};
	const form = useFresh('update_instance_group', before);
	const body = changed(form, before);
	const review = () => form.check() && Object.keys(body).length > 0 && onPlan({title: `${t('groups.change')} ${of.name}`, submit: t('groups.change'),
		onAccepted: form.clear, call: {capability: 'update_instance_group', method: 'PATCH', path: '/clusters/{cluster}/groups/{group}',
			params: {cluster, group: of.name}, body}});

	return <Ask title={`${t('groups.change')} ${of.name}`} onDismiss={onDismiss} onReview={review}>
		<Alert type='info'>{t('groups.fixed')}</Alert>
		<Text form={form} name='min_count' type='number' label={t('groups.min_count')}/>
		<HealthChecks form={form}/>
		<Labels form={form} pointer='/labels' label={t('groups.labels')}/>
		<Taints form={form} pointer='/taints' label={t('groups.taints')}/>
	</Ask>;
}

function Software({cluster, chosen, onDismiss, onPlan}: {cluster: string; chosen: Group[]; onDismiss: () => void; onPlan: (c: Change) => void})
{
	const {t} = useWords();
	const form = useFresh('update_cluster_software', {});
	const groupNames = chosen.map(g => g.name);
	const review = () => form.check() && onPlan({title: t('groups.software'), submit: t('groups.software'), onAccepted: form.clear,
		call: {capability: 'update_cluster_software', method: 'POST', path: '/clusters/{cluster}/hyperpod:update-software', params: {cluster},
			body: {...form.body(), ...groupNames.length ? {groups: groupNames} : {}}}});

	return <Ask title={t('groups.software')} onDismiss={onDismiss} onReview={review}>
		<Box>{groupNames.length ? groupNames.join(', ') : t('groups.allGroups')}</Box>
		<Text form={form} name='image_release_version' label={t('groups.image_release_version')}/>
		<ColumnLayout columns={2}>
			<Text form={form} name='batch_percent' type='number' label={t('groups.batch_percent')}/>
			<Text form={form} name='wait_between_s' type='number' label={t('groups.wait_between_s')}/>
		</ColumnLayout>
	</Ask>;
}

function Remove({cluster, of, onDismiss}: {cluster: string; of: Group; onDismiss: () => void})
{
	const {t} = useWords();

	return <PlanModal onDismiss={onDismiss} change={{title: `${t('groups.delete')} ${of.name}`, submit: t('groups.delete'), typed: of.name,
		lost: of.current_count ? [t('plan.lostNodes', {n: of.current_count})] : [],
		call: {capability: 'delete_instance_group', method: 'DELETE', path: '/clusters/{cluster}/groups/{group}',
			params: {cluster, group: of.name}}}}/>;
}

function Details({cluster, of}: {cluster: string; of: Group})
{
	const {t, number} = useWords();
	const {data} = useQuery(group(cluster, of.name));
	const list = (v: string[] | undefined) => v?.length ? v.join(', ') : '–';
	const room = data?.addresses;

	return <Container header={<Header variant='h2'>{of.name}</Header>}>
		<KeyValuePairs columns={4} items={[
			{label: t('create.capacity_type'), value: capacityOf(of, t)},
			{label: t('groups.interface_mode'), value: of.interface_mode ?? t('groups.interfaceDefault')},
			{label: t('groups.subnet'), value: list(of.subnet_ids)},
			{label: t('groups.addresses'), value: room ? t('groups.addressesOf', {free: number(room.free_now), each: number(room.each_node), n: room.nodes_that_fit}) : '–'},
			{label: t('groups.min_count'), value: data?.min_count ?? '–'},
			{label: t('create.deep_health_checks'), value: list(data?.deep_health_checks)},
			{label: t('groups.threads_per_core'), value: data?.threads_per_core ?? '–'},
			{label: t('groups.image_release_version'), value: of.image_release_version ?? '–'},
			{label: t('create.training_plan_arn'), value: of.training_plan_arn?.split('/').pop() ?? '–'},
			{label: t('groups.labels'), value: Object.entries(data?.labels ?? {}).map(([k, v]) => `${k}=${String(v)}`).join(', ') || '–'},
			{label: t('groups.taints'), value: (data?.taints ?? []).map(x => {
				const {key, value, effect} = x as Record<string, string>;

				return `${key}${value ? `=${value}` : ''}:${effect}`;
			}).join(', ') || '–'},
			{label: t('create.execution_role_arn'), value: data?.execution_role_arn?.split('/').pop() ?? '–'},
		]}/>
	</Container>;
}

/** Both sides: instances that are no nodes, and nodes behind which no instance is. */
function Joined({of}: {of: Group})
{
	const {t} = useWords();
	const {joined, no_node: noNode, no_instance: noInstance} = of;

	if (joined === undefined)
		return <>–</>;
	return <SpaceBetween size='xxs'>
		<Box>{t('groups.joined', {n: joined})}</Box>
		{noNode ? <State state='not_ready' label={t('groups.noNode', {n: noNode})}/> : null}
		{noInstance ? <State state='missing' label={t('groups.noInstance', {n: noInstance})}/> : null}
	</SpaceBetween>;
}

export default function Groups({me, name: cluster}: PageProps)
{
	const {t} = useWords();
	const poll = useListPoll();
	const query = useQuery({...groups(cluster), refetchInterval: poll});
	const [names, setNames] = useState<string[]>([]);
	const [asking, setAsking] = useState<'scale' | 'edit' | 'software' | 'delete'>();
	const [change, setChange] = useState<Change>();
	const chosen = (query.data?.items ?? []).filter(g => names.includes(g.name));
	const one = chosen.length === 1 ? chosen[0] : undefined;
	const detail = useQuery({...group(cluster, one?.name ?? ''), enabled: Boolean(one)});
	const may = me.role !== 'viewer';
	const done = () => setAsking(undefined);
	const plan = (c: Change) => {
		done();
		setChange(c);
	};

	useFollowAny(cluster);
	usePage({title: t('groups.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`}],
		readings: [{capability: 'list_instance_groups', path: `/clusters/${cluster}/groups`, args: {cluster}}]});
	return <SpaceBetween size='l'>
		<List<Group> items={query.data?.items} error={query.error} onRetry={() => void query.refetch()} title={t('groups.title')} headingTag='h1'
			description={<>{t('groups.intro')} {t('deps.seen')} <SeenAt at={query.data?.observed_at}/></>} empty={t('cluster.noGroups')} trackBy='name' find={t('groups.find')}
			emptyHelp={may && <Button onClick={() => navigate(`/clusters/${cluster}/groups/add`)}>{t('groups.add')}</Button>}
			selectionType='multi' selectedItems={chosen} onSelectionChange={e => setNames(e.detail.selectedItems.map(g => g.name))}
			ariaLabels={{selectionGroupLabel: t('groups.title'), allItemsSelectionLabel: () => t('groups.title'), itemSelectionLabel: (_, g) => g.name}}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button disabled={!may || !one} onClick={() => setAsking('scale')}>{t('groups.scale')}</Button>
				<Button disabled={!may || !one || !detail.data} onClick={() => setAsking('edit')}>{t('groups.change')}</Button>
				<Button disabled={!may} onClick={() => setAsking('software')}>{t('groups.software')}</Button>
				<Button disabled={!may || !one} onClick={() => setAsking('delete')}>{t('groups.delete')}</Button>
				<Button variant='primary' disabled={!may} onClick={() => navigate(`/clusters/${cluster}/groups/add`)}>{t('groups.add')}</Button>
			</SpaceBetween>}
			columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, sortingField: 'name',
					cell: g => <To href={`/clusters/${cluster}/nodes?group=${encodeURIComponent(g.name)}`}>{g.name}</To>},
				{id: 'status', header: t('common.status'), cell: g => g.status ? <StateAt state={g.status} at={query.data?.observed_at}/> : '–'},
				{id: 'type', header: t('cluster.type'), sortingField: 'instance_type', cell: g => g.instance_types?.join(', ') || g.instance_type || '–'},
				{id: 'nodes', header: t('cluster.nodes'), sortingField: 'current_count', cell: g => t('cluster.nodesOf', {current: g.current_count, target: g.target_count})},
				{id: 'joined', header: t('cluster.kubernetes'), sortingField: 'joined', cell: g => <Joined of={g}/>},
				{id: 'capacity', header: t('create.capacity_type'), sortingField: 'capacity_type', cell: g => capacityOf(g, t)},
				{id: 'mode', header: t('groups.interface_mode'), cell: g => g.interface_mode ?? '–'},
				{id: 'software', header: t('groups.image_release_version'), cell: g => g.software_update_status && g.software_update_status !== 'Succeeded'
					? <State state={g.software_update_status}/> : g.image_release_version ?? '–'},
			]}/>
		{one && <Details cluster={cluster} of={one}/>}
		{one && asking === 'scale' && <Scale cluster={cluster} of={one} onDismiss={done} onPlan={plan}/>}
		{one && detail.data && asking === 'edit' && <Edit cluster={cluster} of={one} detail={detail.data} onDismiss={done} onPlan={plan}/>}
		{asking === 'software' && <Software cluster={cluster} chosen={chosen} onDismiss={done} onPlan={plan}/>}
		{one && asking === 'delete' && <Remove cluster={cluster} of={one} onDismiss={done}/>}
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
