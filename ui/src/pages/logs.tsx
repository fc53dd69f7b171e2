import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Checkbox from '@cloudscape-design/components/checkbox';
import Container from '@cloudscape-design/components/container';
import Header from '@cloudscape-design/components/header';
import Input from '@cloudscape-design/components/input';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useQuery} from '@tanstack/react-query';
import {useCallback, useEffect, useRef, useState} from 'react';
import {useSearchParams} from 'wouter';
import {fill, read, withQuery} from '../api/client';
import {usePage} from '../app/page';
import type {PageProps} from '../app/routes';
import {useWords} from '../i18n';
import {LogView} from '../parts/log-view';
import {ProblemAlert} from '../parts/problem';
import {State} from '../parts/status';
import {emptyLog, hold, take, type Log} from '../pure/log';
import {backoffMs, frameOf, type Frame} from '../pure/stream';

const FINAL = [1000, 4401, 4403, 4404];

/** Frames are gathered and shown once a screen refresh, however many come. */
function useLog(query: Record<string, unknown> | null, held: boolean): {log: Log; problem: string | undefined}
{
	const [log, setLog] = useState<Log>(emptyLog);
	const [problem, setProblem] = useState<string>();
	const key = query && JSON.stringify(query);
	const reading = useRef(held);
	const change = useRef<() => void>(undefined);

	useEffect(() => {
		let now: Log = emptyLog, failures = 0, over = false, frames: Frame[] = [], socket: WebSocket | undefined;
		let retry: ReturnType<typeof setTimeout>, raf = 0;

		setLog(emptyLog);
		setProblem(undefined);
		if (!key)
			return;
		const show = () => {
			raf = 0;
			now = frames.reduce(take, hold(now, reading.current));
			frames = [];
			setLog(now);
		};
		change.current = () => void (raf ||= requestAnimationFrame(show));
		const connect = () => {
			const resume = now.epoch ? {epoch: now.epoch, after: now.next - 1} : {};

			socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${
				withQuery('/ws/logs', {...JSON.parse(key) as object, ...resume})}`);
			socket.onmessage = e => {
				const frame = frameOf(String(e.data));

				failures = 0;
				if (frame)
					frames.push(frame);
				raf ||= requestAnimationFrame(show);
			};
			socket.onclose = e => {
				if (over)
					return;
				if (frames.length)
					show();
				if (FINAL.includes(e.code)) {
					setProblem(e.code === 1000 ? undefined : e.reason || `${e.code}`);
					return;
				}
				now = {...now, state: 'reconnecting'};
				setLog(now);
				failures++;
				if (failures > 3 && !now.epoch)
					setProblem('unreachable');
				retry = setTimeout(connect, e.code === 1001 ? 200 : backoffMs(failures));
			};
		};

		connect();
		return () => {
			over = true;
			clearTimeout(retry);
			cancelAnimationFrame(raf);
			socket?.close();
		};
	}, [key]);
	useEffect(() => {
		reading.current = held;
		change.current?.();
	}, [held]);
	return {log, problem};
}

export default function Logs({name: cluster}: PageProps)
{
	const {t} = useWords();
	const [search, setSearch] = useSearchParams();
	const [following, setFollowing] = useState(true);
	const [wrap, setWrap] = useState(true);
	const [times, setTimes] = useState(false);
	const [find, setFind] = useState('');
	const pods = useQuery({queryKey: ['cluster', cluster, 'pods'],
		queryFn: ({signal}) => read('/clusters/{cluster}/pods', {params: {cluster}, query: {limit: 500}, signal})});
	const namespace = search.get('namespace'), name = search.get('pod');
	const pod = pods.data?.items.find(p => p.name === name && p.namespace === namespace);
	const container = search.get('container') ?? pod?.containers[0]?.name;
	const previous = search.has('previous');
	const {log, problem} = useLog(namespace && name && container
		? {cluster, namespace, pod: name, container, ...previous ? {previous: 1} : {tail: 500}} : null, !following);
	const seenAtPause = useRef(0);
	const onFollow = useCallback((on: boolean) => setFollowing(on), []);

	useEffect(() => {
		if (following)
			seenAtPause.current = log.lines;
	}, [following, log.lines]);
	const set = (values: Record<string, string | undefined>) => setSearch(s => {
		const next = new URLSearchParams(s);

		for (const [k, v] of Object.entries(values))
			if (v === undefined)
				next.delete(k);
			else
				next.set(k, v);
		return next;
	});
	const options = pods.data?.items.map(p => ({value: `${p.namespace}/${p.name}`, label: p.name, labelTag: p.phase, description: p.namespace})) ?? [];
	const containers = pod?.containers.map(c => ({value: c.name, label: c.name, labelTag: c.state})) ?? [];
	/* Everything that the cluster still has, straight to a file: not through this page. */
	const whole = name && withQuery(fill('/api/v1/clusters/{cluster}/pods/{pod}/logs:download', {cluster, pod: name}), {
		namespace, container, previous: previous || undefined, timestamps: true});

	usePage({title: t('logs.title'), crumbs: [{text: t('clusters.title'), href: '/clusters'}, {text: cluster, href: `/clusters/${cluster}`}], readings: [
		{capability: 'list_pods', path: `/clusters/${cluster}/pods`, args: {cluster}},
		...name ? [{capability: 'get_pod_logs', path: `/clusters/${cluster}/pods/${name}/logs`, query: {namespace, container}, args: {cluster, namespace, pod: name, container}},
			{capability: 'download_pod_logs', path: `/clusters/${cluster}/pods/${name}/logs:download`, query: {namespace, container, timestamps: true}, restOnly: true}] : [],
	]});
	return <SpaceBetween size='l'>
		<Header variant='h1' actions={name && <Button iconName='download' href={whole || undefined} download={`${name}-${container}.log`}>{t('logs.download')}</Button>}>{t('logs.title')}</Header>
		<ProblemAlert error={pods.error} onRetry={() => void pods.refetch()}/>
		<SpaceBetween direction='horizontal' size='s' alignItems='center'>
			<Select options={options} filteringType='auto' placeholder={t('logs.choosePod')} empty={t('logs.noPods')} ariaLabel={t('logs.pod')}
				selectedOption={options.find(o => o.value === `${namespace}/${name}`) ?? null} statusType={pods.isPending ? 'loading' : 'finished'}
				onChange={e => {
					const [ns, pd] = (e.detail.selectedOption.value ?? '').split('/');

					set({namespace: ns, pod: pd, container: undefined, previous: undefined});
				}}/>
			<Select options={containers} ariaLabel={t('logs.container')} disabled={!pod} placeholder={t('logs.container')}
				selectedOption={containers.find(c => c.value === container) ?? null} onChange={e => set({container: e.detail.selectedOption.value})}/>
			<Input type='search' value={find} placeholder={t('logs.find')} ariaLabel={t('logs.find')} onChange={e => setFind(e.detail.value)}/>
			<Checkbox checked={wrap} onChange={e => setWrap(e.detail.checked)}>{t('logs.wrap')}</Checkbox>
			<Checkbox checked={times} onChange={e => setTimes(e.detail.checked)}>{t('logs.times')}</Checkbox>
			<Checkbox checked={previous} disabled={!pod} onChange={e => set({previous: e.detail.checked ? '1' : undefined})}>{t('logs.previous')}</Checkbox>
		</SpaceBetween>
		{!name && <Box textAlign='center' padding='xxl' color='text-body-secondary'>{pods.data?.items.length === 0 ? t('logs.noPods') : t('logs.choosePod')}</Box>}
		{name && <Container header={<Header variant='h2' actions={<Button iconName={following ? 'pause' : 'play'} onClick={() => setFollowing(!following)}>
			{following ? t('logs.pause') : t('logs.resume')}</Button>}
		description={following ? undefined : t('logs.paused', {n: log.lines - seenAtPause.current})}>
			<SpaceBetween direction='horizontal' size='s'>{name}<State state={log.state} label={log.state === 'following' ? t('logs.following')
				: log.state === 'ended' ? t('logs.ended') : t('logs.reconnecting')}/></SpaceBetween>
		</Header>}>
			{problem && <Alert type='error'>{problem === 'unreachable' ? t('logs.unavailable') : problem}</Alert>}
			<LogView log={log} following={following} onFollow={onFollow} wrap={wrap} times={times} find={find}/>
		</Container>}
	</SpaceBetween>;
}
