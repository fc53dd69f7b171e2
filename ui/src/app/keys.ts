// Shortcuts: single keys and "g" followed by one, never while something is typed.
import {useEffect, useRef} from 'react';
import type {Key} from '../i18n';

export interface Shortcut { keys: string; label: Key; run: () => void }

const typing = (target: EventTarget | null) => target instanceof HTMLElement &&
	(target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.getAttribute('role') === 'option');
/* The list of a closed Select stays in the page, as a dialog that nobody sees. */
const inDialog = () => [...document.querySelectorAll('[role=dialog]')].some(e => e.checkVisibility({visibilityProperty: true, opacityProperty: true}));
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
			if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || inDialog())
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
