// The help sheet of the keyboard.
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import KeyValuePairs from '@cloudscape-design/components/key-value-pairs';
import Modal from '@cloudscape-design/components/modal';
import {useWords} from '../i18n';
import type {Shortcut} from './keys';

export default function KeysSheet({shortcuts, onDismiss}: {shortcuts: Shortcut[]; onDismiss: () => void})
{
	const {t} = useWords();
	const written = (keys: string) => {
		const [first, second] = keys.split(' ');

		return second ? t('keys.then', {first: first!, second}) : keys;
	};

	return <Modal visible onDismiss={onDismiss} header={t('keys.title')}
		footer={<Box float='right'><Button variant='primary' onClick={onDismiss}>{t('common.close')}</Button></Box>}>
		<KeyValuePairs columns={2} items={shortcuts.map(s => ({label: t(s.label), value: <Box variant='code'>{written(s.keys)}</Box>}))}/>
	</Modal>;
}
