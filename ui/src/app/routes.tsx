// Which page an address is. Each is its own chunk.
import Box from '@cloudscape-design/components/box';
import {lazy, type ComponentType} from 'react';
import {clusters, queryClient} from '../api/queries';
import type {Me} from '../api/types';
import {useWords} from '../i18n';

/** `rest` is the second name of an address, such as a node's. */
export interface PageProps { me: Me; name: string; rest: string }

type Load = () => Promise<{default: ComponentType<PageProps>}>;

const page = (pattern: RegExp, load: Load, data?: () => Promise<unknown>) => ({pattern, load, data, Page: lazy(load)});

const table = [
	page(/^\/(?:clusters)?$/, () => import('../pages/clusters'), () => queryClient.prefetchQuery(clusters)),
	page(/^\/clusters\/create$/, () => import('../pages/create')),
	page(/^\/clusters\/import$/, () => import('../pages/import')),
	page(/^\/clusters\/([^/]+)$/, () => import('../pages/cluster')),
	page(/^\/clusters\/([^/]+)\/groups$/, () => import('../pages/groups')),
	page(/^\/clusters\/([^/]+)\/groups\/add$/, () => import('../pages/add-group')),
	page(/^\/clusters\/([^/]+)\/nodes$/, () => import('../pages/nodes')),
	page(/^\/clusters\/([^/]+)\/nodes\/([^/]+)$/, () => import('../pages/node')),
	page(/^\/clusters\/([^/]+)\/events$/, () => import('../pages/events')),
	page(/^\/clusters\/([^/]+)\/features$/, () => import('../pages/features')),
	page(/^\/clusters\/([^/]+)\/autoscaling$/, () => import('../pages/autoscaling')),
	page(/^\/clusters\/([^/]+)\/dependencies$/, () => import('../pages/dependencies')),
	page(/^\/clusters\/([^/]+)\/storage$/, () => import('../pages/storage')),
	page(/^\/clusters\/([^/]+)\/logs$/, () => import('../pages/logs')),
	page(/^\/training-plans$/, () => import('../pages/plans')),
	page(/^\/operations$/, () => import('../pages/operations')),
	page(/^\/operations\/([^/]+)$/, () => import('../pages/operation')),
	page(/^\/audit$/, () => import('../pages/audit')),
	page(/^\/tokens$/, () => import('../pages/tokens')),
	page(/^\/settings$/, () => import('../pages/settings')),
];

/** Its chunk, and for who is in its data, before it is shown. */
export function preload(path: string, signedIn: boolean)
{
	const row = table.find(r => r.pattern.test(path));

	void row?.load().catch(() => {});
	if (signedIn)
		void row?.data?.();
}

export function Pages({me, path}: {me: Me; path: string})
{
	const {t} = useWords();

	for (const {pattern, Page} of table) {
		const match = pattern.exec(path);

		/* Another name is another page: nothing of the one before stays. */
		if (match)
			return <Page key={path} me={me} name={decodeURIComponent(match[1] ?? '')} rest={decodeURIComponent(match[2] ?? '')}/>;
	}
	return <Box variant='h1' padding='xxl' textAlign='center'>{t('common.pageMissing')}</Box>;
}
