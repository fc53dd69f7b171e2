// The frame around every page.
import AppLayout from '@cloudscape-design/components/app-layout';
import Box from '@cloudscape-design/components/box';
import BreadcrumbGroup from '@cloudscape-design/components/breadcrumb-group';
import ErrorBoundary from '@cloudscape-design/components/error-boundary';
import type {FlashbarProps} from '@cloudscape-design/components/flashbar';
import HelpPanel from '@cloudscape-design/components/help-panel';
import SideNavigation, {type SideNavigationProps} from '@cloudscape-design/components/side-navigation';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Spinner from '@cloudscape-design/components/spinner';
import StatusIndicator from '@cloudscape-design/components/status-indicator';
import TopNavigation from '@cloudscape-design/components/top-navigation';
import {lazy, Suspense, useCallback, useEffect, useMemo, useState} from 'react';
import {useLocation} from 'wouter';
import {run} from '../api/client';
import {startLive, useLiveState} from '../api/live';
import {queryClient} from '../api/queries';
import type {Me} from '../api/types';
import {useWords, type Key} from '../i18n';
import {ProblemAlert} from '../parts/problem';
import {useShortcuts, type Shortcut} from './keys';
import {follow, navigate} from './link';
import {FrameContext, type Frame, type PageInfo} from './page';
import {usePrefs} from './prefs';
import {Pages} from './routes';

/* What is not on the screen at first comes when it is. */
const CallTabs = lazy(() => import('../parts/calls').then(m => ({default: m.CallTabs})));
const Flashbar = lazy(() => import('@cloudscape-design/components/flashbar'));
const KeysSheet = lazy(() => import('./keys-sheet'));

export async function signOut()
{
	await run({capability: 'sign_out', method: 'POST', path: '/sign-out'}, crypto.randomUUID());
	queryClient.clear();
	navigate('/sign-in');
}

const LIVE = {connected: 'success', connecting: 'pending', polling: 'info'} as const;

function Navigation({me, path}: {me: Me; path: string})
{
	const {t} = useWords();
	const live = useLiveState();
	const cluster = /^\/clusters\/(?!create$|import$)([^/]+)/.exec(path)?.[1] ?? me.selected_cluster ?? undefined;
	const at = `/clusters/${cluster}`;
	const items: SideNavigationProps.Item[] = [
		{type: 'link', text: t('nav.clusters'), href: '/clusters'},
		{type: 'link', text: t('nav.operations'), href: '/operations'},
		...cluster ? [{type: 'section', text: t('nav.cluster', {name: cluster}), items: [
			{type: 'link', text: t('nav.overview'), href: at},
			{type: 'link', text: t('groups.title'), href: `${at}/groups`},
			{type: 'link', text: t('nodes.title'), href: `${at}/nodes`},
			{type: 'link', text: t('features.title'), href: `${at}/features`},
			{type: 'link', text: t('autoscaling.title'), href: `${at}/autoscaling`},
			{type: 'link', text: t('nav.dependencies'), href: `${at}/dependencies`},
			{type: 'link', text: t('nav.storage'), href: `${at}/storage`},
			{type: 'link', text: t('nav.logs'), href: `${at}/logs`},
			{type: 'link', text: t('events.title'), href: `${at}/events`},
		]} as SideNavigationProps.Section] : [],
		{type: 'link', text: t('plans.title'), href: '/training-plans'},
		...me.role === 'admin' ? [{type: 'section', text: t('nav.administration'), items: [
			{type: 'link', text: t('nav.audit'), href: '/audit'},
			{type: 'link', text: t('nav.tokens'), href: '/tokens'},
		]} as SideNavigationProps.Section] : [],
		{type: 'divider'},
		{type: 'link', text: t('nav.settings'), href: '/settings'},
		{type: 'link', text: 'OpenAPI', href: '/api/v1/openapi.json', external: true},
	];
	const active = items.flatMap(i => i.type === 'section' ? i.items : [i])
		.flatMap(i => i.type === 'link' && (path === i.href || path.startsWith(`${i.href}/`)) ? [i.href] : [])
		.sort((a, b) => b.length - a.length)[0] ?? '';

	return <SpaceBetween size='s'>
		<SideNavigation activeHref={active} items={items} onFollow={follow as SideNavigationProps['onFollow']}/>
		<Box padding={{horizontal: 'xl'}}><StatusIndicator type={LIVE[live]}>{t(`live.${live}`)}</StatusIndicator></Box>
	</SpaceBetween>;
}

export default function Shell({me}: {me: Me})
{
	const {t} = useWords();
	const [path] = useLocation();
	const {keys} = usePrefs();
	const [page, setPage] = useState<PageInfo>({title: ''});
	const [messages, setMessages] = useState<FlashbarProps.MessageDefinition[]>([]);
	const [tools, setTools] = useState(false);
	const [sheet, setSheet] = useState(false);
	const [navigation, setNavigation] = useState(true);

	useEffect(startLive, []);
	const flash = useCallback<Frame['flash']>(message => {
		const id = crypto.randomUUID();

		setMessages(all => [{...message, id, dismissible: true, dismissLabel: t('common.close'),
			onDismiss: () => setMessages(now => now.filter(m => m.id !== id))}, ...all].slice(0, 4));
	}, [t]);
	const frame = useMemo<Frame>(() => ({setPage, flash, showCalls: () => setTools(true)}), [flash]);
	const go = (keysOf: string, label: Key, to: string): Shortcut => ({keys: keysOf, label, run: () => navigate(to)});
	const shortcuts: Shortcut[] = [
		{keys: '?', label: 'keys.help', run: () => setSheet(true)},
		{keys: '/', label: 'keys.find', run: () => document.querySelector<HTMLInputElement>('main input[type=search], main input')?.focus()},
		{keys: 'r', label: 'keys.refresh', run: () => void queryClient.invalidateQueries()},
		{keys: '.', label: 'keys.calls', run: () => setTools(open => !open)},
		go('g c', 'keys.goClusters', '/clusters'),
		go('g o', 'keys.goOperations', '/operations'),
		go('g n', 'keys.new', '/clusters/create'),
		go('g s', 'keys.goSettings', '/settings'),
		...me.role === 'admin' ? [go('g a', 'keys.goAudit', '/audit'), go('g t', 'keys.goTokens', '/tokens')] : [],
	];

	useShortcuts(shortcuts, keys);
	return <FrameContext.Provider value={frame}>
		<div id='top'>
			<TopNavigation
				identity={{href: '/', title: 'InstantStart', logo: {src: '/icon.svg', alt: t('nav.home')}, onFollow: e => {
					e.preventDefault();
					navigate('/');
				}}}
				utilities={[
					...me.account ? [{type: 'button' as const, text: `${me.account} · ${me.region}`, href: '/settings', onFollow: follow as never}] : [],
					{type: 'button', iconName: 'keyboard', ariaLabel: t('nav.keys'), title: t('nav.keys'), onClick: () => setSheet(true)},
					{type: 'menu-dropdown', text: me.name, description: t(`role.${me.role}` as Key), iconName: 'user-profile',
						ariaLabel: t('nav.user', {name: me.name}),
						items: [{id: 'settings', text: t('nav.settings')}, {id: 'out', text: t('nav.signOut')}],
						onItemClick: e => e.detail.id === 'out' ? void signOut() : navigate('/settings')},
				]}/>
		</div>
		<AppLayout headerSelector='#top' navigationOpen={navigation} onNavigationChange={e => setNavigation(e.detail.open)}
			navigation={<Navigation me={me} path={path}/>} navigationWidth={240}
			toolsOpen={tools} onToolsChange={e => setTools(e.detail.open)} toolsWidth={420}
			tools={<HelpPanel header={<h2>{t('call.title')}</h2>}>
				<Box variant='p'>{page.readings?.length ? t('call.intro') : t('call.none')}</Box>
				{tools && page.readings?.length ? <Suspense><CallTabs readings={page.readings}/></Suspense> : null}
			</HelpPanel>}
			ariaLabels={{navigation: t('nav.main'), navigationClose: t('common.close'), navigationToggle: t('nav.main'),
				tools: t('nav.help'), toolsClose: t('common.close'), toolsToggle: t('nav.help')}}
			breadcrumbs={page.crumbs?.length ? <BreadcrumbGroup items={[...page.crumbs, {text: page.title, href: path}]}
				onFollow={follow as never}/> : undefined}
			notifications={messages.length ? <Suspense><Flashbar items={messages}/></Suspense> : undefined}
			content={<ErrorBoundary key={path} onError={() => {}} renderFallback={() => <ProblemAlert error={new Error(t('common.pageFailed'))}/>}>
				<Suspense fallback={<Box textAlign='center' padding='xxl'><Spinner size='large'/></Box>}>
					<Pages me={me} path={path}/>
				</Suspense>
			</ErrorBoundary>}/>
		{sheet && <Suspense><KeysSheet shortcuts={shortcuts} onDismiss={() => setSheet(false)}/></Suspense>}
	</FrameContext.Provider>;
}

