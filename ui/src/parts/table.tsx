// A list of things with the states every list has: loading, empty, no match, failed.
import {useCollection} from '@cloudscape-design/collection-hooks';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Header, {type HeaderProps} from '@cloudscape-design/components/header';
import Pagination from '@cloudscape-design/components/pagination';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Table, {type TableProps} from '@cloudscape-design/components/table';
import TextFilter from '@cloudscape-design/components/text-filter';
import type {ReactNode} from 'react';
import {useWords} from '../i18n';
import {ProblemAlert} from './problem';

interface ListProps<T> extends Omit<TableProps<T>, 'items' | 'header' | 'empty' | 'filter' | 'pagination'> {
	items: readonly T[] | undefined;
	title: string;
	description?: ReactNode;
	actions?: ReactNode;
	headingTag?: HeaderProps['variant'];
	error?: unknown;
	onRetry?: () => void;
	empty: string;
	emptyHelp?: ReactNode;
	find?: string;
	pageSize?: number;
	filterControls?: ReactNode;
	after?: ReactNode;
}

export function List<T>({items, title, description, actions, headingTag, error, onRetry, empty, emptyHelp, find, pageSize = 25,
	filterControls, after, ...rest}: ListProps<T>)
{
	const {t} = useWords();
	const nothing = (text: string, more?: ReactNode) => <Box textAlign='center' padding='s'>
		<SpaceBetween size='xs'><Box variant='strong'>{text}</Box>{more}</SpaceBetween>
	</Box>;
	const {items: shown, collectionProps, filterProps, filteredItemsCount, paginationProps, actions: {setFiltering}} =
		useCollection(items ?? [], {
			filtering: {
				empty: nothing(empty, emptyHelp),
				noMatch: nothing(t('common.noMatch'), <Button onClick={() => setFiltering('')}>{t('common.clearFilter')}</Button>),
			},
			sorting: {},
			pagination: {pageSize},
		});

	if (error && !items)
		return <ProblemAlert error={error} onRetry={onRetry}/>;
	return <Table<T> {...collectionProps} {...rest} items={shown} loading={items === undefined} loadingText={t('common.loading')}
		header={<Header variant={headingTag ?? 'h2'} description={description} actions={actions}
			counter={items ? `(${items.length})` : undefined}>{title}</Header>}
		filter={find || filterControls ? <SpaceBetween direction='horizontal' size='xs'>
			{find && <TextFilter {...filterProps} filteringPlaceholder={find} filteringAriaLabel={find}
				countText={t('common.matches', {n: filteredItemsCount ?? 0})}/>}
			{filterControls}
		</SpaceBetween> : undefined}
		pagination={(items?.length ?? 0) > pageSize ? <Pagination {...paginationProps}/> : undefined}
		footer={after}/>;
}
