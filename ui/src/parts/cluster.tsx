// What ends a cluster's time here.
import Checkbox from '@cloudscape-design/components/checkbox';
import {useQuery} from '@tanstack/react-query';
import {useState} from 'react';
import {cluster} from '../api/queries';
import {useWords, type Words} from '../i18n';
import {PlanModal, type Change} from './change';

export function DeleteCluster({name, onDismiss}: {name: string; onDismiss: () => void})
{
	const {t} = useWords();
	const {data} = useQuery(cluster(name));
	const [buckets, setBuckets] = useState(false);
	const nodes = data?.instance_groups?.reduce((n, g) => n + Number(g.observed.CurrentCount ?? 0), 0) ?? 0;
	const running = data?.operations?.length ?? 0;
	/* Those that were made for it; the API takes names, and so nothing that is not shown here. */
	const names = [...new Set((data?.resources ?? []).filter(r => r.type === 's3:bucket' && r.state !== 'gone').map(r => r.id))];
	const lost = [
		...nodes ? [t('plan.lostNodes', {n: nodes})] : [],
		...data?.storages?.length ? [t('plan.lostStorages', {n: data.storages.length})] : [],
		...running ? [t('plan.lostRunning', {n: running})] : [],
	];

	return <PlanModal onDismiss={onDismiss} change={{
		title: `${t('clusters.delete')} ${name}`, submit: t('clusters.delete'), typed: name, lost,
		options: names.length > 0 && <Checkbox checked={buckets} onChange={e => setBuckets(e.detail.checked)} description={names.join(', ')}>
			{t('cluster.deleteBuckets')}</Checkbox>,
		call: {capability: 'delete_cluster', method: 'DELETE', path: '/clusters/{cluster}', params: {cluster: name},
			query: buckets ? {delete_buckets: names} : {}},
	}}/>;
}

export const forget = (name: string, t: Words['t'], onDone: () => void): Change => ({
	title: `${t('clusters.forget')} ${name}`, submit: t('clusters.forget'), onDone,
	call: {capability: 'forget_cluster', method: 'POST', path: '/clusters/{cluster}:forget', params: {cluster: name}},
});
