// Forms by the server's own schemas: what is typed survives a reload and the way
// back, faults are shown where they are, and only what was chosen is sent.
import FormField from '@cloudscape-design/components/form-field';
import Input from '@cloudscape-design/components/input';
import {useEffect, useMemo, useRef, useState, type ReactNode} from 'react';
import {bodies} from '../api/generated/bodies';
import type {Problem} from '../api/types';
import {useWords, type Key} from '../i18n';
import {helpOf, type HelpKey} from '../i18n/help';
import {faultsOf, sparse, type Fault, type FieldSchema} from '../pure/schema';
import {newKey} from './change';

type Value = Record<string, unknown>;
interface Draft { value: Value; key: string; keyed: string }

function load(name: string, initial: Value): Draft
{
	try {
		const kept = JSON.parse(sessionStorage.getItem(name) ?? 'null') as Draft | null;

		if (kept?.value && kept.key)
			return kept;
	} catch { /* another version's draft */ }
	return {value: initial, key: newKey(), keyed: ''};
}

const at = (value: Value, pointer: string) => pointer.split('/').slice(1)
	.reduce<unknown>((v, name) => v && typeof v === 'object' ? (v as Value)[name] : undefined, value);

function put(value: Value, [name, ...rest]: string[], v: unknown): Value
{
	return {...value, [name!]: rest.length ? put((value[name!] ?? {}) as Value, rest, v) : v};
}

export interface FormState {
	capability: keyof typeof bodies;
	value: Value;
	get: (pointer: string) => unknown;
	set: (pointer: string, v: unknown) => void;
	touch: (pointer: string) => void;
	errorOf: (pointer: string) => string;
	schemaOf: (pointer: string) => FieldSchema;
	required: (pointer: string) => boolean;
	faults: number;
	/** Shows every fault; true when there is none. */
	check: () => boolean;
	body: () => Value;
	/** The same as long as the same thing is asked for. */
	keyFor: (body: Value) => string;
	refused: (p: Problem) => void;
	clear: () => void;
	kept: boolean;
}

export function useForm(capability: keyof typeof bodies, initial: Value): FormState
{
	const {t} = useWords();
	const schema = bodies[capability] as FieldSchema;
	const stored = `instantstart.draft.${capability}`;
	const first = useRef<Draft>(undefined);

	first.current ??= load(stored, initial);
	const [draft, setDraft] = useState<Draft>(first.current);
	const [kept] = useState(() => sessionStorage.getItem(stored) !== null);
	const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
	const [all, setAll] = useState(false);
	const [server, setServer] = useState<ReadonlyMap<string, string>>(new Map());
	const faults = useMemo(() => faultsOf(draft.value, schema), [draft.value, schema]);
	const cleared = useRef(false);

	useEffect(() => {
		if (!cleared.current && draft !== first.current)
			sessionStorage.setItem(stored, JSON.stringify(draft));
	}, [draft, stored]);
	const words = (f: Fault) => f.rule === 'pattern' && f.example ? t('fault.patternExample', {example: f.example})
		: t(`fault.${f.rule}` as Key, Object.fromEntries(Object.entries(f).map(([k, v]) => [k, v === Infinity ? '∞' : v])));
	const schemaOf = (pointer: string) => pointer.split('/').slice(1)
		.reduce<FieldSchema>((s, name) => s.properties?.[name] ?? {}, schema);

	return {
		capability,
		value: draft.value,
		get: pointer => at(draft.value, pointer),
		set: (pointer, v) => {
			setDraft(d => ({...d, value: put(d.value, pointer.split('/').slice(1), v)}));
			setServer(s => new Map([...s].filter(([p]) => p !== pointer)));
		},
		touch: pointer => setTouched(s => new Set([...s, pointer])),
		errorOf: pointer => {
			const fault = all || touched.has(pointer) ? faults.get(pointer) : undefined;

			return fault ? words(fault) : server.get(pointer) ?? '';
		},
		schemaOf,
		required: pointer => Boolean(schema.required?.includes(pointer.slice(1))),
		faults: all ? faults.size : 0,
		check: () => {
			setAll(true);
			return faults.size === 0;
		},
		body: () => sparse(draft.value, schema),
		keyFor: body => {
			const keyed = JSON.stringify(body);
			const next = draft.keyed && draft.keyed !== keyed ? {...draft, key: newKey(), keyed} : {...draft, keyed};

			setDraft(next);
			/* Before the request leaves: a reload in between repeats with the same key. */
			sessionStorage.setItem(stored, JSON.stringify(next));
			return next.key;
		},
		refused: p => setServer(new Map([
			...p.field ? [[p.field, [p.detail, p.fix].filter(Boolean).join('. ')] as const] : [],
			...(p.errors ?? []).map(e => [e.field, e.expected ? `${e.detail}: ${e.expected}` : e.detail] as const),
		])),
		clear: () => {
			cleared.current = true;
			sessionStorage.removeItem(stored);
		},
		kept,
	};
}

interface FieldProps { form: FormState; pointer: string; label: string; children: ReactNode; description?: ReactNode }

/** Label, what the schema says of it, and what is wrong with it. */
export function Field({form, pointer, label, children, description}: FieldProps)
{
	const {t, locale} = useWords();
	const schema = form.schemaOf(pointer);
	/* Fields of one name mean the same wherever they are. */
	const helpFor = (capability: string) => helpOf(locale, `${capability}${pointer}` as HelpKey);

	return <FormField label={form.required(pointer) ? label : <>{label} <i>– {t('create.optional')}</i></>}
		description={description ?? helpFor(form.capability) ?? helpFor('create_cluster') ?? schema.description} errorText={form.errorOf(pointer)}>
		{children}
	</FormField>;
}

export function Text({form, name, label, type = 'text', placeholder}:
	{form: FormState; name: string; label: string; type?: 'text' | 'number'; placeholder?: string})
{
	const pointer = `/${name}`;
	const schema = form.schemaOf(pointer);
	const value = form.get(pointer);
	const shown = placeholder ?? (schema.default !== undefined ? String(schema.default) : schema.examples?.[0] !== undefined ? String(schema.examples[0]) : '');

	return <Field form={form} pointer={pointer} label={label}>
		<Input type={type} value={value === undefined ? '' : String(value)} placeholder={shown} autoComplete={false} spellcheck={false}
			inputMode={type === 'number' ? 'numeric' : undefined} name={name}
			onChange={e => form.set(pointer, type === 'number' && e.detail.value !== '' ? Number(e.detail.value) : e.detail.value)}
			onBlur={() => form.touch(pointer)}/>
	</Field>;
}
