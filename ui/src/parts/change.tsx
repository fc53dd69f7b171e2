// A change and the dialog that shows its plan; the dialog is loaded when there is one.
import {lazy, Suspense, type ReactNode} from 'react';
import type {Call} from '../api/client';
import type {Problem} from '../api/types';

export const newKey = () => `console-${crypto.randomUUID()}`;

export interface Change {
	call: Call;
	title: string;
	submit: string;
	/** Typed before a destroying change is allowed. */
	typed?: string;
	/** What would be lost, in words. */
	lost?: string[];
	/** Kept by a form that survives a reload; made here otherwise. */
	idempotencyKey?: string;
	/** Ways to do it differently; a change here is a new plan. */
	options?: ReactNode;
	/** Instead of going to the operation that was started. */
	onDone?: (answer: unknown) => void;
	onAccepted?: () => void;
	onRefused?: (p: Problem) => void;
}

const Dialog = lazy(() => import('./plan'));

export function PlanModal(props: {change: Change; onDismiss: () => void})
{
	return <Suspense><Dialog {...props}/></Suspense>;
}
