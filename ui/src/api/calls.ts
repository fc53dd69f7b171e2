// What each change takes, whole from the API's document: capability, method, path, path
// members, query members and body belong together, and what the API does not take does
// not compile.
import type {changes} from './generated/calls';
import type {operations} from './generated/schema';

type Changes = typeof changes;
export type Capability = keyof Changes & keyof operations;

/* What the dialog adds by itself: the plan, its digest, and the word for it. */
type Added = 'dry_run' | 'plan_digest' | 'confirm';
type Exact<T> = {[K in keyof T]: T[K]};

export type ParamsOf<O extends Capability> = operations[O]['parameters'] extends {path: infer P} ? Exact<P> : undefined;
export type QueryOf<O extends Capability> = operations[O]['parameters'] extends {query?: infer Q}
	? Exact<Omit<NonNullable<Q>, Added>> : Record<string, never>;
export type BodyOf<O extends Capability> = operations[O] extends {requestBody?: infer B}
	? NonNullable<B> extends {content: {'application/json': infer J}} ? J : undefined : undefined;

type With<K extends string, T> = undefined extends T ? {[k in K]?: undefined} : {[k in K]: T};

export type CallOf<O extends Capability> = {
	capability: O;
	method: Changes[O]['method'];
	path: Changes[O]['path'];
	query?: QueryOf<O>;
	/** The name that must be repeated, when it destroys. */
	confirm?: string;
} & With<'params', ParamsOf<O>> & (undefined extends BodyOf<O> ? {body?: undefined}
	: Partial<BodyOf<O>> extends BodyOf<O> ? {body?: BodyOf<O>} : {body: BodyOf<O>});

/** One change: enough to plan it, to run it, and to show it as curl and MCP. */
export type Call = {[O in Capability]: CallOf<O>}[Capability];
