// A page that is a form: what is kept, what is wrong, start over, cancel, review.
import Alert from '@cloudscape-design/components/alert';
import Button from '@cloudscape-design/components/button';
import Form from '@cloudscape-design/components/form';
import Header from '@cloudscape-design/components/header';
import SpaceBetween from '@cloudscape-design/components/space-between';
import type {ReactNode} from 'react';
import {navigate} from '../app/link';
import {useWords} from '../i18n';
import type {AnyForm} from './form';

interface FormPageProps {
	form: AnyForm;
	title: string;
	intro: string;
	/** Where cancelling leads. */
	back: string;
	may: boolean;
	/** Called when every field is in order. */
	onReview: () => void;
	children: ReactNode;
}

export function FormPage({form, title, intro, back, may, onReview, children}: FormPageProps)
{
	const {t} = useWords();

	return <form onSubmit={e => {
		e.preventDefault();
		if (form.check())
			onReview();
	}}>
		<Form header={<Header variant='h1' description={intro}>{title}</Header>}
			errorText={form.faults ? t('create.faults', {n: form.faults}) : undefined}
			secondaryActions={<Button formAction='none' onClick={() => {
				form.clear();
				/* The page anew, with an empty form and a key of its own. */
				location.reload();
			}}>{t('create.reset')}</Button>}
			actions={<SpaceBetween direction='horizontal' size='xs'>
				<Button variant='link' formAction='none' onClick={() => navigate(back)}>{t('common.cancel')}</Button>
				<Button variant='primary' formAction='submit' disabled={!may}>{t('create.submit')}</Button>
			</SpaceBetween>}>
			<SpaceBetween size='l'>
				{form.kept && <Alert type='info'>{t('create.kept')}</Alert>}
				{children}
			</SpaceBetween>
		</Form>
	</form>;
}
