// Which page an address is. Each is its own chunk.
import Box from '@cloudscape-design/components/box';
import {lazy, type ComponentType} from 'react';
import type {Me} from '../api/types';
import {useWords} from '../i18n';

export interface PageProps { me: Me; name: string }

const page = (load: () => Promise<{default: ComponentType<PageProps>}>) => lazy(load);

const table: [RegExp, ComponentType<PageProps>][] = [
	[/^\/(?:clusters)?$/, page(() => import('../pages/clusters'))],
	[/^\/clusters\/create$/, page(() => import('../pages/create'))],
	[/^\/clusters\/import$/, page(() => import('../pages/import'))],
	[/^\/clusters\/([^/]+)$/, page(() => import('../pages/cluster'))],
	[/^\/clusters\/([^/]+)\/dependencies$/, page(() => import('../pages/dependencies'))],
	[/^\/clusters\/([^/]+)\/storage$/, page(() => import('../pages/storage'))],
	[/^\/clusters\/([^/]+)\/logs$/, page(() => import('../pages/logs'))],
	[/^\/operations$/, page(() => import('../pages/operations'))],
	[/^\/operations\/([^/]+)$/, page(() => import('../pages/operation'))],
	[/^\/audit$/, page(() => import('../pages/audit'))],
	[/^\/tokens$/, page(() => import('../pages/tokens'))],
	[/^\/settings$/, page(() => import('../pages/settings'))],
];

export function Pages({me, path}: {me: Me; path: string})
{
	const {t} = useWords();

	for (const [pattern, Page] of table) {
		const match = pattern.exec(path);

		/* Another name is another page: nothing of the one before stays. */
		if (match)
			return <Page key={path} me={me} name={decodeURIComponent(match[1] ?? '')}/>;
	}
	return <Box variant='h1' padding='xxl' textAlign='center'>{t('common.pageMissing')}</Box>;
}
