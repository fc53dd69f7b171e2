// The questions before a plan, in a dialog.
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Modal from '@cloudscape-design/components/modal';
import SpaceBetween from '@cloudscape-design/components/space-between';
import type {ReactNode} from 'react';
import {useWords} from '../i18n';

export function Ask({title, onDismiss, onReview, children}: {title: string; onDismiss: () => void; onReview: () => void; children: ReactNode})
{
	const {t} = useWords();

	return <Modal visible size='large' onDismiss={onDismiss} header={title} footer={<Box float='right'><SpaceBetween direction='horizontal' size='xs'>
		<Button variant='link' onClick={onDismiss}>{t('common.cancel')}</Button>
		<Button variant='primary' onClick={onReview}>{t('create.submit')}</Button>
	</SpaceBetween></Box>}>
		<SpaceBetween size='m'>{children}</SpaceBetween>
	</Modal>;
}
