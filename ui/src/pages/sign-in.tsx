import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import Container from '@cloudscape-design/components/container';
import Form from '@cloudscape-design/components/form';
import FormField from '@cloudscape-design/components/form-field';
import Grid from '@cloudscape-design/components/grid';
import Header from '@cloudscape-design/components/header';
import Input from '@cloudscape-design/components/input';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {useEffect, useState} from 'react';
import {signIn} from '../api/client';
import {queryClient} from '../api/queries';
import {navigate} from '../app/link';
import {loadConsole, nextOf} from '../app/start';
import {useWords} from '../i18n';
import {ProblemAlert} from '../parts/problem';

export default function SignIn({error}: {error?: unknown})
{
	const {t} = useWords();
	const [secret, setSecret] = useState('');
	const [problem, setProblem] = useState<unknown>(error);
	const [busy, setBusy] = useState(false);
	const [empty, setEmpty] = useState(false);
	const query = new URLSearchParams(location.search);

	useEffect(() => {
		document.title = `${t('signin.title')} – InstantStart`;
	}, [t]);
	useEffect(() => {
		/* Somebody who types has time; the console is there when they are in. */
		const timer = setTimeout(() => loadConsole(nextOf(location.search).split('?')[0]!), 300);

		return () => clearTimeout(timer);
	}, []);
	const submit = async () => {
		setEmpty(!secret.trim());
		if (!secret.trim() || busy)
			return;
		setBusy(true);
		setProblem(undefined);
		try {
			await signIn(secret);
			queryClient.clear();
			navigate(nextOf(location.search), {replace: true});
		} catch (e) {
			setProblem(e);
		} finally {
			setBusy(false);
		}
	};

	return <main>
		<Box padding={{vertical: 'xxxl', horizontal: 'l'}}>
			<Grid gridDefinition={[{colspan: {default: 12, s: 8, m: 6, l: 4}, offset: {default: 0, s: 2, m: 3, l: 4}}]}>
				<form onSubmit={e => {
					e.preventDefault();
					void submit();
				}}>
					<Form actions={<Button variant='primary' loading={busy} formAction='submit'>{t('signin.button')}</Button>}>
						<Container header={<Header variant='h1' description={t('signin.intro')}>InstantStart</Header>}>
							<SpaceBetween size='m'>
								{query.has('expired') && <Alert type='info'>{t('signin.expired')}</Alert>}
								{query.has('link') && <Alert type='warning'>{t('signin.linkUsed')}</Alert>}
								<ProblemAlert error={problem}/>
								<FormField label={t('signin.secret')} description={t('signin.secretHelp')} errorText={empty && t('signin.empty')}>
									<Input type='password' value={secret} onChange={e => setSecret(e.detail.value)} autoFocus
										autoComplete={false} spellcheck={false}/>
								</FormField>
							</SpaceBetween>
						</Container>
					</Form>
				</form>
			</Grid>
		</Box>
	</main>;
}
