// Shortcuts: single keys and "g" followed by one, never while something is typed.
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import KeyValuePairs from '@cloudscape-design/components/key-value-pairs';
import Modal from '@cloudscape-design/components/modal';
import {useEffect, useRef} from 'react';
import {useWords, type Key} from '../i18n';

export interface Shortcut { keys: string; label: Key; run: () => void }

const typing = (target: EventTarget | null) => target instanceof HTMLElement &&
	(target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.getAttribute('role') === 'option');
const SECOND_KEY_MS = 1500;

export function useShortcuts(shortcuts: Shortcut[], on: boolean)
{
	const latest = useRef(shortcuts);

	latest.current = shortcuts;
	useEffect(() => {
		if (!on)
			return;
		let first = '', at = 0;
		const onKey = (e: KeyboardEvent) => {
			if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || document.querySelector('[role=dialog]'))
				return;
			const typed = e.timeStamp - at < SECOND_KEY_MS && first ? `${first} ${e.key}` : e.key;
			const found = latest.current.find(s => s.keys === typed);

			first = latest.current.some(s => s.keys.startsWith(`${typed} `)) ? typed : '';
			at = e.timeStamp;
			if (found) {
				e.preventDefault();
				found.run();
			}
		};

		addEventListener('keydown', onKey);
		return () => removeEventListener('keydown', onKey);
	}, [on]);
}

export function KeysSheet({shortcuts, visible, onDismiss}: {shortcuts: Shortcut[]; visible: boolean; onDismiss: () => void})
{
	const {t} = useWords();
	const written = (keys: string) => {
		const [first, second] = keys.split(' ');

		return second ? t('keys.then', {first: first!, second}) : keys;
	};

	if (!visible)
		return null;
	return <Modal visible onDismiss={onDismiss} header={t('keys.title')}
		footer={<Box float='right'><Button variant='primary' onClick={onDismiss}>{t('common.close')}</Button></Box>}>
		<KeyValuePairs columns={2} items={shortcuts.map(s => ({label: t(s.label), value: <Box variant='code'>{written(s.keys)}</Box>}))}/>
	</Modal>;
}
