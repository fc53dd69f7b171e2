// Forms by the server's own schemas: what is typed survives a reload and the way
// back, faults are shown where they are, and only what was chosen is sent.
import FormField from '@cloudscape-design/components/form-field';
import Input from '@cloudscape-design/components/input';
import {useEffect, useMemo, useRef, useState, type ReactNode} from 'react';
import type {BodyOf, Capability} from '../api/calls';
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

export type FormCapability = keyof typeof bodies & Capability;

/* Members of the body, and members of those: what a field may stand for. */
type Inner<T> = T extends readonly unknown[] ? never : T extends object ? `/${keyof T & string}` : never;
export type PointerOf<O extends FormCapability> = {[K in keyof BodyOf<O> & string]:
	`/${K}` | `/${K}${Inner<NonNullable<BodyOf<O>[K]>>}`}[keyof BodyOf<O> & string];

/** Fields of a form, each by its pointer. */
export interface Fields<P> {
	capability: FormCapability;
	get: (pointer: P) => unknown;
	set: (pointer: P, v: unknown) => void;
	touch: (pointer: P) => void;
	errorOf: (pointer: P) => string;
	schemaOf: (pointer: P) => FieldSchema;
	required: (pointer: P) => boolean;
	value: Value;
	faults: number;
	/** Shows every fault; true when there is none. */
	check: () => boolean;
	/** The same as long as the same thing is asked for. */
	keyFor: (body: object) => string;
	refused: (p: Problem) => void;
	clear: () => void;
	kept: boolean;
}

export interface FormState<O extends FormCapability> extends Fields<PointerOf<O>> {
	capability: O;
	/** Checked against the very schema that its type comes from. */
	body: () => BodyOf<O>;
}

/** Of a part that several forms share: it names what all of them have. */
export type AnyForm = Fields<any>;

export function useForm<O extends FormCapability>(capability: O, initial: Partial<BodyOf<O>>): FormState<O>
{
	const {t} = useWords();
	const schema = bodies[capability] as FieldSchema;
	const stored = `instantstart.draft.${capability}`;
	const first = useRef<Draft>(undefined);

	first.current ??= load(stored, initial as Value);
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
		body: () => sparse(draft.value, schema) as unknown as BodyOf<O>,
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

interface FieldProps<P extends string> { form: Fields<P>; pointer: NoInfer<P>; label: string; children: ReactNode; description?: ReactNode }

/** Label, what the schema says of it, and what is wrong with it. */
export function Field<P extends string>({form, pointer, label, children, description}: FieldProps<P>)
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

type NameOf<P> = P extends `/${infer N}` ? N : never;

export function Text<P extends string>({form, name, label, type = 'text', placeholder}:
	{form: Fields<P>; name: NameOf<NoInfer<P>>; label: string; type?: 'text' | 'number'; placeholder?: string})
{
	const pointer = `/${name}` as P;
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
