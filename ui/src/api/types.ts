// What the API gives, under short names. Members that the document leaves open
// (they are what another system says) are narrowed here, all of them optional.
import type {components, paths} from './generated/schema';

export type Schema = components['schemas'];
export type Problem = Omit<Schema['Problem'], 'plan'> & {plan?: Plan};

export type GetPath = {[P in keyof paths]: paths[P] extends {get: object} ? P : never}[keyof paths];
export type Answer<P extends GetPath> = paths[P] extends
	{get: {responses: {200: {content: {'application/json': infer R}}}}} ? R : never;
export type QueryOf<P extends GetPath> = paths[P] extends {get: {parameters: {query?: infer Q}}} ? Q : never;
type PathOf<P extends GetPath> = paths[P] extends {get: {parameters: {path: infer V}}} ? V : undefined;
/** What a read takes: members of the path, which must be there, and of the query. */
export type Asked<P extends GetPath> = {query?: QueryOf<P>; signal?: AbortSignal} &
	(PathOf<P> extends object ? {params: {[K in keyof PathOf<P>]: PathOf<P>[K]}} : {params?: undefined});
/** Members of a filter that a page offers. */
export type Filter<P extends GetPath, K extends keyof NonNullable<QueryOf<P>>> = Pick<NonNullable<QueryOf<P>>, K>;
export type Item<P extends GetPath> = Answer<P> extends {items: (infer I)[]} ? I : never;

export interface Stage { id: string; kind: string; stage: string; state: string; title: string }
export interface Cause { code?: string; message?: string; request_id?: string; source?: string }
export interface OperationError {
	code?: string; title?: string; detail?: string; fix?: string; retry?: string; field?: string;
	seen?: string; expected?: string; step?: string; cause?: Cause[]; causes?: Cause[];
}
export interface Question {
	question?: string; evidence?: unknown; choices?: {id: string; title: string; consequence?: string}[];
}
/** What the cloud goes on with after the operation has ended before its time. */
export interface Wanted {
	what: string; goes_on?: string; cost?: string; no_stop?: string;
	stop?: {tool: string; arguments: Record<string, unknown>};
}
export type Operation = Omit<Schema['Operation'], 'children' | 'error' | 'question' | 'result'> & {
	children?: Stage[]; error?: OperationError; question?: Question; result?: {still_wanted?: Wanted[]; [key: string]: unknown};
};
export type Phase = Operation['phases'][number];

export interface Check { what: string; data: Record<string, unknown> }
export interface Resource { type: string; id: string; arn?: string | null; state?: string; made_at?: string; operation?: string }
export type Step = Schema['Plan']['steps'][number] & {call?: string; class?: string; request?: unknown};
/** A thing that a change ends, with what goes with it. */
export interface Stake {
	node?: string; name?: string; instance_id?: string; instance_group?: string; node_pool?: string; node_class?: string; feature?: string; storage?: string; bucket?: string;
	pods?: string[]; local_volumes?: string[]; claims?: string[]; objects?: string[];
	node_classes?: string[]; node_pools?: string[]; workloads?: string[];
}
export type Plan = Omit<Schema['Plan'], 'at_stake' | 'checks' | 'counts' | 'resources' | 'steps'> & {
	at_stake?: Stake[]; counts?: Record<string, number>; checks?: Check[]; resources?: Resource[]; steps: Step[];
};

export interface Observed { state?: string; title?: string; version?: string; [key: string]: unknown }
export interface Seen { name: string; observed: Observed; observed_at: string }
export type Cluster = Omit<Answer<'/clusters/{cluster}'>, 'dependencies' | 'instance_groups' | 'operations'
	| 'resources' | 'storages'> & {
	dependencies?: Seen[]; instance_groups?: Seen[]; nodes?: Seen[]; storages?: Seen[];
	operations?: {id: string; kind: string; title?: string; state: string; status?: string}[];
	resources?: Resource[];
};
export type ClusterItem = Item<'/clusters'>;
export type Event = Omit<Item<'/operations/{id}/events'>, 'data'> & {data?: Record<string, unknown>};
export type Me = Answer<'/me'>;
export type Role = 'viewer' | 'operator' | 'admin';
export type InstanceType = Item<'/instance-types'>;
export type Zone = Item<'/zones'>;
export type Token = Item<'/tokens'>;
export type AuditRow = Item<'/audit'>;
export type Dependency = Item<'/clusters/{cluster}/dependencies'>;
export type Storage = Item<'/clusters/{cluster}/storages'>;
