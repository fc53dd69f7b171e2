import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import Header from '@cloudscape-design/components/header';
import Multiselect from '@cloudscape-design/components/multiselect';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {groups, nodeClasses, nodePools, pendingPods, type NodeClass, type NodePool, type PendingPod} from '../api/compute';
import {useFollowAny, useListPoll} from '../api/live';
import {To} from '../app/link';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {Ask} from '../parts/ask';
import {PlanModal, type Change} from '../parts/change';
import {Field, Text, useForm} from '../parts/form';
import {Labels} from '../parts/pairs';
import {State, Time} from '../parts/status';
import {List} from '../parts/table';

interface AskProps { cluster: string; onDismiss: () => void; onPlan: (c: Change) => void }

function NewClass({cluster, onDismiss, onPlan}: AskProps)
{
	const {t} = useWords();
	const form = useForm('create_node_class', {});
	const query = useQuery(groups(cluster));
	const options = (query.data?.items ?? []).map(g => ({value: g.name, label: g.name, labelTag: g.instance_type,
		description: t('cluster.nodesOf', {current: g.current_count, target: g.target_count})}));
	const chosen = (form.get('/instance_groups') ?? []) as string[];
	const box = (name: 'allow_spot' | 'scale_to_zero', label: string) => <Checkbox checked={Boolean(form.get(`/${name}`))}
		description={form.schemaOf(`/${name}`).description} onChange={e => form.set(`/${name}`, e.detail.checked)}>{label}</Checkbox>;
	const review = () => {
		const body = form.body();

		if (form.check())
			onPlan({title: t('autoscaling.newClass'), submit: t('autoscaling.newClass'), idempotencyKey: form.keyFor({cluster, ...body}), onAccepted: form.clear,
				call: {capability: 'create_node_class', method: 'POST', path: '/clusters/{cluster}/node-classes', params: {cluster}, body}});
	};

	return <Ask title={t('autoscaling.newClass')} onDismiss={onDismiss} onReview={review}>
		<Text form={form} name='name' label={t('common.name')}/>
		<Field form={form} pointer='/instance_groups' label={t('cluster.groups')}>
			<Multiselect options={options} selectedOptions={options.filter(o => chosen.includes(o.value))} ariaLabel={t('cluster.groups')}
				empty={t('cluster.noGroups')} onBlur={() => form.touch('/instance_groups')}
				onChange={e => form.set('/instance_groups', e.detail.selectedOptions.map(o => o.value))}/>
		</Field>
		{box('allow_spot', t('autoscaling.allow_spot'))}
		{box('scale_to_zero', t('autoscaling.scale_to_zero'))}
	</Ask>;
}

function NewPool({cluster, onDismiss, onPlan}: AskProps)
{
	const {t} = useWords();
	const form = useForm('create_node_pool', {});
	const classes = useQuery(nodeClasses(cluster)).data?.items ?? [];
	const options = classes.map(c => ({value: c.name, label: c.name, description: c.instance_groups.join(', ')}));
	const types = [...new Set(classes.filter(c => c.name === form.get('/node_class_ref/name')).flatMap(c => c.groups.flatMap(g => g.instance_types)))]
		.map(value => ({value, label: value}));
	const chosen = (form.get('/instance_types') ?? []) as string[];
	const review = () => {
		const body = form.body();

		if (form.check())
			onPlan({title: t('autoscaling.newPool'), submit: t('autoscaling.newPool'), idempotencyKey: form.keyFor({cluster, ...body}), onAccepted: form.clear,
				call: {capability: 'create_node_pool', method: 'POST', path: '/clusters/{cluster}/node-pools', params: {cluster}, body}});
	};

	return <Ask title={t('autoscaling.newPool')} onDismiss={onDismiss} onReview={review}>
		<Text form={form} name='name' label={t('common.name')}/>
		<Field form={form} pointer='/node_class_ref/name' label={t('autoscaling.class')}>
			<Select options={options} selectedOption={options.find(o => o.value === form.get('/node_class_ref/name')) ?? null} ariaLabel={t('autoscaling.class')}
				empty={t('autoscaling.noClasses')} onBlur={() => form.touch('/node_class_ref/name')}
				onChange={e => form.set('/node_class_ref/name', e.detail.selectedOption.value)}/>
		</Field>
		<Field form={form} pointer='/instance_types' label={t('autoscaling.types')}>
			<Multiselect options={types} selectedOptions={types.filter(o => chosen.includes(o.value))} ariaLabel={t('autoscaling.types')}
				onChange={e => form.set('/instance_types', e.detail.selectedOptions.map(o => o.value))}/>
		</Field>
		<Labels form={form} pointer='/limits' label={t('autoscaling.limits')}/>
		<Text form={form} name='consolidate_after' label={t('autoscaling.consolidate_after')}/>
		<Text form={form} name='weight' type='number' label={t('autoscaling.weight')}/>
	</Ask>;
}

const text = (o: Record<string, unknown>) => Object.entries(o).map(([k, v]) => `${k}=${String(v)}`).join(', ') || '–';

export default function Autoscaling({me, name: cluster}: PageProps)
{
	const {t, word} = useWords();
	const refetchInterval = useListPoll();
	const classes = useQuery({...nodeClasses(cluster), refetchInterval});
	const pools = useQuery({...nodePools(cluster), refetchInterval});
	const pending = useQuery({...pendingPods(cluster), refetchInterval: 10000});
	const [asking, setAsking] = useState<'class' | 'pool'>();
	const [className, setClass] = useState<string>();
	const [poolName, setPool] = useState<string>();
	const [change, setChange] = useState<Change>();
	const oneClass = classes.data?.items.find(c => c.name === className), onePool = pools.data?.items.find(p => p.name === poolName);
	const may = me.role !== 'viewer', served = classes.data?.served !== false;
	const plan = (c: Change) => {
		setAsking(undefined);
		setChange(c);
	};
	const ariaOf = (title: string) => ({selectionGroupLabel: title, itemSelectionLabel: (_: unknown, x: {name: string}) => x.name});

	useFollowAny(cluster);
	usePage({title: t('autoscaling.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`}], readings: [
		{capability: 'list_node_classes', path: `/clusters/${cluster}/node-classes`, args: {cluster}},
		{capability: 'list_node_pools', path: `/clusters/${cluster}/node-pools`, args: {cluster}},
		{capability: 'list_pending_pods', path: `/clusters/${cluster}/pending-pods`, args: {cluster}},
	]});
	return <SpaceBetween size='l'>
		<Header variant='h1' description={t('autoscaling.intro')}>{t('autoscaling.title')}</Header>
		{!served && <Alert type='info' action={<To href={`/clusters/${cluster}/features`}>{t('features.title')}</To>}>{t('autoscaling.off')}</Alert>}
		<List<PendingPod> items={pending.data?.items} error={pending.error} onRetry={() => void pending.refetch()} title={t('autoscaling.pending')}
			empty={t('autoscaling.noPending')} trackBy={p => `${p.namespace}/${p.name}`} wrapLines columnDefinitions={[
				{id: 'name', header: t('logs.pod'), isRowHeader: true, cell: p => `${p.namespace}/${p.name}`},
				{id: 'why', header: t('events.reason'), cell: p => <SpaceBetween size='xxs'>
					<State state={p.code === 'node_starting' ? 'pending' : 'held'} label={word('pending', p.code)}/>
					<Box variant='small'>{p.reason}</Box>
					{p.tries && <Box variant='small'>{t('autoscaling.tries', {n: p.tries.count})} <Time at={p.tries.first_at}/></Box>}
				</SpaceBetween>},
				{id: 'fix', header: t('autoscaling.fix'), cell: p => p.fix ?? '–'},
				{id: 'since', header: t('autoscaling.since'), cell: p => <Time at={p.since}/>},
			]}/>
		<List<NodeClass> items={classes.data?.items} error={classes.error} onRetry={() => void classes.refetch()} title={t('autoscaling.classes')}
			description={t('autoscaling.classesIntro')} empty={t('autoscaling.noClasses')} trackBy='name' wrapLines
			selectionType='single' selectedItems={oneClass ? [oneClass] : []} onSelectionChange={e => setClass(e.detail.selectedItems[0]?.name)}
			ariaLabels={ariaOf(t('autoscaling.classes'))}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button disabled={!may || !oneClass} onClick={() => oneClass && setChange({title: `${t('autoscaling.deleteClass')} ${oneClass.name}`,
					submit: t('autoscaling.deleteClass'), typed: oneClass.name, lost: [t('autoscaling.classStays')],
					call: {capability: 'delete_node_class', method: 'DELETE', path: '/clusters/{cluster}/node-classes/{name}', params: {cluster, name: oneClass.name}}})}>
					{t('autoscaling.deleteClass')}</Button>
				<Button disabled={!may || !served} onClick={() => setAsking('class')}>{t('autoscaling.newClass')}</Button>
			</SpaceBetween>}
			columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, cell: c => c.name},
				{id: 'state', header: t('common.state'), cell: c => <SpaceBetween size='xxs'><State state={c.state}/>{c.why && <Box variant='small'>{c.why}</Box>}</SpaceBetween>},
				{id: 'groups', header: t('cluster.groups'), cell: c => c.instance_groups.join(', ')},
				{id: 'types', header: t('cluster.type'), cell: c => [...new Set(c.groups.flatMap(g => g.instance_types))].join(', ') || '–'},
				{id: 'pools', header: t('autoscaling.pools'), cell: c => c.node_pools.join(', ') || '–'},
			]}/>
		<List<NodePool> items={pools.data?.items} error={pools.error} onRetry={() => void pools.refetch()} title={t('autoscaling.pools')}
			description={t('autoscaling.poolsIntro')} empty={t('autoscaling.noPools')} trackBy='name' wrapLines
			selectionType='single' selectedItems={onePool ? [onePool] : []} onSelectionChange={e => setPool(e.detail.selectedItems[0]?.name)}
			ariaLabels={ariaOf(t('autoscaling.pools'))}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button disabled={!may || !onePool} onClick={() => onePool && setChange({title: `${t('autoscaling.deletePool')} ${onePool.name}`,
					submit: t('autoscaling.deletePool'), typed: onePool.name, lost: onePool.nodes ? [t('plan.lostNodes', {n: onePool.nodes})] : [],
					call: {capability: 'delete_node_pool', method: 'DELETE', path: '/clusters/{cluster}/node-pools/{name}', params: {cluster, name: onePool.name}}})}>
					{t('autoscaling.deletePool')}</Button>
				<Button disabled={!may || !served} onClick={() => setAsking('pool')}>{t('autoscaling.newPool')}</Button>
			</SpaceBetween>}
			columnDefinitions={[
				{id: 'name', header: t('common.name'), isRowHeader: true, cell: p => p.name},
				{id: 'state', header: t('common.state'), cell: p => <SpaceBetween size='xxs'><State state={p.state}/>{p.why && <Box variant='small'>{p.why}</Box>}</SpaceBetween>},
				{id: 'class', header: t('autoscaling.class'), cell: p => p.node_class},
				{id: 'nodes', header: t('cluster.nodes'), cell: p => p.nodes},
				{id: 'limits', header: t('autoscaling.limits'), cell: p => text(p.limits)},
				{id: 'resources', header: t('autoscaling.resources'), cell: p => text(p.resources)},
				{id: 'goes', header: t('autoscaling.consolidate_after'), cell: p => `${p.consolidate_after} · ${p.consolidation}`},
			]}/>
		{asking === 'class' && <NewClass cluster={cluster} onDismiss={() => setAsking(undefined)} onPlan={plan}/>}
		{asking === 'pool' && <NewPool cluster={cluster} onDismiss={() => setAsking(undefined)} onPlan={plan}/>}
		{change && <PlanModal change={change} onDismiss={() => setChange(undefined)}/>}
	</SpaceBetween>;
}
