// What the pages read. Keys begin with what a live event names, so that one event
// makes old exactly what it may have changed.
import {keepPreviousData, QueryClient, queryOptions, useQueries, useQuery, useQueryClient} from '@tanstack/react-query';
import {ProblemError, read, readAll} from './client';
import type {Cluster, Event, Filter, Operation, Stage} from './types';

export const queryClient = new QueryClient({
	defaultOptions: {
		queries: {
			staleTime: 5000,
			/* A refusal stays one; a lost connection may come back. */
			retry: (n, e) => !(e instanceof ProblemError && e.problem.status < 500) && n < 3,
			retryDelay: n => Math.min(500 * 2 ** n, 8000),
		},
	},
});

export const me = queryOptions({queryKey: ['me'], queryFn: ({signal}) => read('/me', {signal}), staleTime: 60000});

export const clusters = queryOptions({
	queryKey: ['clusters'],
	queryFn: async ({signal}) => (await readAll('/clusters', {signal})).items,
});

export const cluster = (name: string) => queryOptions({
	queryKey: ['cluster', name],
	queryFn: async ({signal}) => await read('/clusters/{cluster}', {params: {cluster: name}, signal}) as Cluster,
});

export const hyperpod = (name: string) => queryOptions({
	queryKey: ['cluster', name, 'hyperpod'],
	queryFn: ({signal}) => read('/clusters/{cluster}/hyperpod', {params: {cluster: name}, signal}),
});

export const dependencies = (name: string) => queryOptions({
	queryKey: ['cluster', name, 'dependencies'],
	queryFn: ({signal}) => read('/clusters/{cluster}/dependencies', {params: {cluster: name}, signal}),
});

export const storages = (name: string) => queryOptions({
	queryKey: ['cluster', name, 'storages'],
	queryFn: ({signal}) => readAll('/clusters/{cluster}/storages', {params: {cluster: name}, signal}),
});

export type OperationFilter = Filter<'/operations', 'state' | 'cluster' | 'kind' | 'cursor' | 'limit'>;

export const readOperations = async (filter: OperationFilter, signal?: AbortSignal) =>
	await read('/operations', {query: {limit: 50, ...filter}, signal}) as {items: Operation[]; next_cursor: string | null};

export const operations = (filter: OperationFilter = {}) => queryOptions({
	queryKey: ['operations', filter],
	queryFn: ({signal}) => readOperations(filter, signal),
	placeholderData: keepPreviousData,
});

export const readOperation = async (id: string, query: {wait?: number; seen_version?: number} = {}, signal?: AbortSignal) =>
	await read('/operations/{id}', {params: {id}, query, signal}) as Operation;

export const operation = (id: string) => queryOptions({
	queryKey: ['operation', id],
	queryFn: ({signal}) => readOperation(id, {}, signal),
});

/* All events; what was read before is not read again. */
async function readEvents(client: QueryClient, id: string, signal: AbortSignal): Promise<Event[]>
{
	const all = [...client.getQueryData<Event[]>(['events', id]) ?? []];
	let cursor = all.length ? String(all[all.length - 1]!.seq) : undefined;

	for (;;) {
		const page = await read('/operations/{id}/events', {params: {id}, query: {limit: 100, cursor}, signal});

		all.push(...page.items as Event[]);
		if (!page.next_cursor || page.items.length === 0)
			break;
		cursor = page.next_cursor;
	}
	client.setQueryData(['events', id], all);
	return all;
}

export function useEvents(id: string, version: number | undefined)
{
	const client = useQueryClient();

	return useQuery({
		queryKey: ['operation', id, 'events', version],
		enabled: version !== undefined,
		placeholderData: keepPreviousData,
		queryFn: ({signal}) => readEvents(client, id, signal),
	});
}

/** Events of the stages, by stage; an ended stage is read once. */
export function useStageEvents(op: Operation, on: boolean): {stage: Stage; events: Event[]}[]
{
	const client = useQueryClient();
	const stages = op.children ?? [];

	return useQueries({
		queries: stages.map(stage => ({
			queryKey: ['operation', stage.id, 'events', stage.state === 'live' ? `of ${op.version}` : stage.state],
			enabled: on,
			placeholderData: keepPreviousData,
			queryFn: ({signal}: {signal: AbortSignal}) => readEvents(client, stage.id, signal),
		})),
	}).map((q, i) => ({stage: stages[i]!, events: q.data ?? []}));
}

export const zones = queryOptions({queryKey: ['zones'], staleTime: 60000,
	queryFn: ({signal}) => readAll('/zones', {signal})});

export const instanceTypes = (zone: string) => queryOptions({
	queryKey: ['instance-types', zone],
	staleTime: 60000,
	queryFn: ({signal}) => readAll('/instance-types', {query: {zone: zone || undefined}, signal}),
});

export const quotas = (instance_type: string, count: number, capacity_type: Filter<'/quotas', 'capacity_type'>['capacity_type']) => queryOptions({
	queryKey: ['quotas', instance_type, count, capacity_type],
	staleTime: 15000,
	queryFn: ({signal}) => read('/quotas', {query: {instance_type, count, capacity_type}, signal}),
	placeholderData: keepPreviousData,
});
