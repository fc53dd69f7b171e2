// Validation of a form by the schemas that the server validates by.

export interface FieldSchema {
	type?: string | readonly string[];
	description?: string;
	default?: unknown;
	enum?: readonly unknown[];
	examples?: readonly unknown[];
	pattern?: string;
	minLength?: number;
	maxLength?: number;
	minimum?: number;
	maximum?: number;
	minItems?: number;
	maxItems?: number;
	items?: FieldSchema;
	properties?: Readonly<Record<string, FieldSchema>>;
	required?: readonly string[];
}

export type Fault =
	| {rule: 'required'}
	| {rule: 'pattern'; example?: string}
	| {rule: 'length'; min: number; max: number}
	| {rule: 'range'; min: number; max: number}
	| {rule: 'number'}
	| {rule: 'choice'; choices: string}
	| {rule: 'items'; min: number; max: number};

export const isEmpty = (v: unknown) => v === undefined || v === null || v === '' || (Array.isArray(v) && v.length === 0);

function ofString(v: string, s: FieldSchema): Fault | null
{
	const min = s.minLength ?? 0, max = s.maxLength ?? Infinity;

	if (v.length < min || v.length > max)
		return {rule: 'length', min, max};
	/* ECMAScript's "u" is what JSON Schema means by a pattern. */
	if (s.pattern && !new RegExp(s.pattern, 'u').test(v))
		return {rule: 'pattern', example: s.examples?.[0] === undefined ? undefined : String(s.examples[0])};
	return null;
}

function ofNumber(v: unknown, s: FieldSchema): Fault | null
{
	const n = typeof v === 'number' ? v : Number(v);
	const min = s.minimum ?? -Infinity, max = s.maximum ?? Infinity;

	if (!Number.isFinite(n) || (s.type === 'integer' && !Number.isInteger(n)))
		return {rule: 'number'};
	return n < min || n > max ? {rule: 'range', min, max} : null;
}

export function faultOf(v: unknown, s: FieldSchema, required = false): Fault | null
{
	if (isEmpty(v))
		return required ? {rule: 'required'} : null;
	if (s.enum && !s.enum.includes(v))
		return {rule: 'choice', choices: s.enum.join(', ')};
	if (s.type === 'integer' || s.type === 'number')
		return ofNumber(v, s);
	if (s.type === 'array' && Array.isArray(v)) {
		const min = s.minItems ?? 0, max = s.maxItems ?? Infinity;

		return v.length < min || v.length > max ? {rule: 'items', min, max} : null;
	}
	return typeof v === 'string' ? ofString(v, s) : null;
}

/** Every fault by JSON pointer. */
export function faultsOf(value: Record<string, unknown>, schema: FieldSchema, at = ''): Map<string, Fault>
{
	const all = new Map<string, Fault>();

	for (const [name, s] of Object.entries(schema.properties ?? {})) {
		const pointer = `${at}/${name}`, v = value[name];

		if (s.type === 'object' && s.properties && v && typeof v === 'object') {
			for (const [p, f] of faultsOf(v as Record<string, unknown>, s, pointer))
				all.set(p, f);
			continue;
		}
		const fault = faultOf(v, s, schema.required?.includes(name));

		if (fault)
			all.set(pointer, fault);
	}
	return all;
}

/** Only what was chosen: nothing empty, nothing that is the default anyhow. */
export function sparse(value: Record<string, unknown>, schema: FieldSchema): Record<string, unknown>
{
	const out: Record<string, unknown> = {};

	for (const [name, v] of Object.entries(value)) {
		const s = schema.properties?.[name];

		if (!s || isEmpty(v) || (!schema.required?.includes(name) && v === s.default))
			continue;
		if (s.type === 'boolean' && v === false && s.default === undefined)
			continue;
		if (s.type === 'object' && s.properties) {
			const inner = sparse(v as Record<string, unknown>, s);

			if (Object.keys(inner).length)
				out[name] = inner;
			continue;
		}
		out[name] = s.type === 'integer' && typeof v === 'string' ? Number(v) : v;
	}
	return out;
}
