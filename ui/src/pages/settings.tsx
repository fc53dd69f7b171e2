import Button from '@cloudscape-design/components/button';
import Container from '@cloudscape-design/components/container';
import FormField from '@cloudscape-design/components/form-field';
import Header from '@cloudscape-design/components/header';
import KeyValuePairs from '@cloudscape-design/components/key-value-pairs';
import SegmentedControl from '@cloudscape-design/components/segmented-control';
import Select from '@cloudscape-design/components/select';
import SpaceBetween from '@cloudscape-design/components/space-between';
import Toggle from '@cloudscape-design/components/toggle';
import {useState} from 'react';
import {run} from '../api/client';
import {queryClient} from '../api/queries';
import {navigate} from '../app/link';
import {usePage} from '../app/page';
import {setPrefs, usePrefs, type Prefs} from '../app/prefs';
import type {PageProps} from '../app/routes';
import {signOut} from '../app/shell';
import {LANGUAGES, useWords, type Key, type Language} from '../i18n';
import {ProblemAlert} from '../parts/problem';

const MODES = ['auto', 'light', 'dark'] as const;
const DENSITIES = ['comfortable', 'compact'] as const;

export default function Settings({me}: PageProps)
{
	const {t} = useWords();
	const prefs = usePrefs();
	const [error, setError] = useState<unknown>();
	const languages = Object.entries(LANGUAGES).map(([value, label]) => ({value, label, lang: value}));
	const everywhere = async () => {
		try {
			await run({capability: 'sign_out_everywhere', method: 'POST', path: '/sign-out:everywhere'}, crypto.randomUUID());
			queryClient.clear();
			navigate('/sign-in');
		} catch (e) {
			setError(e);
		}
	};

	usePage({title: t('settings.title'), readings: [{capability: 'get_me', path: '/me'}]});
	return <SpaceBetween size='l'>
		<Header variant='h1' description={t('settings.intro')}>{t('settings.title')}</Header>
		<Container>
			<SpaceBetween size='l'>
				<FormField label={t('settings.mode')}>
					<SegmentedControl label={t('settings.mode')} selectedId={prefs.mode} options={MODES.map(id => ({id, text: t(`settings.mode.${id}`)}))}
						onChange={e => setPrefs({mode: e.detail.selectedId as Prefs['mode']})}/>
				</FormField>
				<FormField label={t('settings.density')}>
					<SegmentedControl label={t('settings.density')} selectedId={prefs.density} options={DENSITIES.map(id => ({id, text: t(`settings.density.${id}`)}))}
						onChange={e => setPrefs({density: e.detail.selectedId as Prefs['density']})}/>
				</FormField>
				<FormField label={t('settings.language')}>
					<Select options={languages} selectedOption={languages.find(l => l.value === prefs.language) ?? null} ariaLabel={t('settings.language')}
						onChange={e => setPrefs({language: e.detail.selectedOption.value as Language})}/>
				</FormField>
				<FormField label={t('settings.zone')}>
					<SegmentedControl label={t('settings.zone')} selectedId={prefs.times} onChange={e => setPrefs({times: e.detail.selectedId as Prefs['times']})} options={[
						{id: 'local', text: t('settings.zone.local', {zone: Intl.DateTimeFormat().resolvedOptions().timeZone})},
						{id: 'utc', text: t('settings.zone.utc')}]}/>
				</FormField>
				<Toggle checked={prefs.keys} description={t('settings.keysHelp')} onChange={e => setPrefs({keys: e.detail.checked})}>{t('settings.keys')}</Toggle>
			</SpaceBetween>
		</Container>
		<Container header={<Header variant='h2' description={t('settings.signOutAllHelp')} actions={<SpaceBetween direction='horizontal' size='xs'>
			<Button onClick={() => void signOut()}>{t('nav.signOut')}</Button>
			<Button onClick={() => void everywhere()}>{t('settings.signOutAll')}</Button>
		</SpaceBetween>}>{t('settings.session')}</Header>}>
			<SpaceBetween size='m'>
				<ProblemAlert error={error}/>
				<KeyValuePairs columns={4} items={[
					{label: t('common.name'), value: `${me.name} (${me.id})`},
					{label: t('tokens.role'), value: t(`role.${me.role}` as Key)},
					{label: t('cluster.account'), value: `${me.account ?? '–'} · ${me.region ?? '–'}`},
					{label: t('settings.version'), value: me.version},
				]}/>
			</SpaceBetween>
		</Container>
	</SpaceBetween>;
}
