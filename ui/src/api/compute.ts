// What the pages of groups, nodes and features read. Keys under ['cluster', name] are
// made old by every event of that cluster.
import {infiniteQueryOptions, keepPreviousData, queryOptions} from '@tanstack/react-query';
import {read, readAll} from './client';
import type {Answer, Filter, Item} from './types';

export type Group = Item<'/clusters/{cluster}/groups'>;
export type Node = Item<'/clusters/{cluster}/nodes'>;
export type NodeDetail = Answer<'/clusters/{cluster}/nodes/{node}'>;
export type ClusterEvent = Item<'/clusters/{cluster}/events'>;
export type Feature = Answer<'/clusters/{cluster}/features'>['items'][number];
export type NodeClass = Item<'/clusters/{cluster}/node-classes'>;
export type NodePool = Item<'/clusters/{cluster}/node-pools'>;
export type PendingPod = Item<'/clusters/{cluster}/pending-pods'>;
export type TrainingPlan = Item<'/training-plans'>;
export type AccountCluster = Item<'/hyperpod-clusters'>;
export type PlanOffering = Item<'/training-plan-offerings'>;

const at = (cluster: string) => ({params: {cluster}});

export const groups = (cluster: string) => queryOptions({
	queryKey: ['cluster', cluster, 'groups'],
	queryFn: ({signal}) => readAll('/clusters/{cluster}/groups', {...at(cluster), signal}),
});

export const group = (cluster: string, name: string) => queryOptions({
	queryKey: ['cluster', cluster, 'groups', name],
	queryFn: ({signal}) => read('/clusters/{cluster}/groups/{group}', {params: {cluster, group: name}, signal}),
});

export type NodeFilter = Filter<'/clusters/{cluster}/nodes', 'group' | 'status' | 'health'>;

export const nodes = (cluster: string, filter: NodeFilter) => infiniteQueryOptions({
	queryKey: ['cluster', cluster, 'nodes', filter],
	queryFn: ({signal, pageParam}) => read('/clusters/{cluster}/nodes',
		{...at(cluster), query: {limit: 100, cursor: pageParam || undefined, ...filter}, signal}),
	initialPageParam: '',
	getNextPageParam: last => last.next_cursor ?? undefined,
	placeholderData: keepPreviousData,
});

export const node = (cluster: string, id: string) => queryOptions({
	queryKey: ['cluster', cluster, 'node', id],
	queryFn: ({signal}) => read('/clusters/{cluster}/nodes/{node}', {params: {cluster, node: id}, signal}),
});

export type EventFilter = Filter<'/clusters/{cluster}/events', 'level' | 'resource' | 'group'>;

export const clusterEvents = (cluster: string, filter: EventFilter) => infiniteQueryOptions({
	queryKey: ['cluster', cluster, 'events', filter],
	queryFn: ({signal, pageParam}) => read('/clusters/{cluster}/events',
		{...at(cluster), query: {limit: 50, cursor: pageParam || undefined, ...filter}, signal}),
	initialPageParam: '',
	getNextPageParam: last => last.next_cursor ?? undefined,
	placeholderData: keepPreviousData,
});

export const features = (cluster: string) => queryOptions({
	queryKey: ['cluster', cluster, 'features'],
	queryFn: ({signal}) => read('/clusters/{cluster}/features', {...at(cluster), signal}),
});

export const nodeClasses = (cluster: string) => queryOptions({
	queryKey: ['cluster', cluster, 'node-classes'],
	queryFn: ({signal}) => readAll('/clusters/{cluster}/node-classes', {...at(cluster), signal}),
});

export const nodePools = (cluster: string) => queryOptions({
	queryKey: ['cluster', cluster, 'node-pools'],
	queryFn: ({signal}) => readAll('/clusters/{cluster}/node-pools', {...at(cluster), signal}),
});

export const pendingPods = (cluster: string) => queryOptions({
	queryKey: ['cluster', cluster, 'pending-pods'],
	queryFn: ({signal}) => read('/clusters/{cluster}/pending-pods', {...at(cluster), signal}),
});

export const trainingPlans = (status?: Filter<'/training-plans', 'status'>['status']) => queryOptions({
	queryKey: ['training-plans', status],
	staleTime: 60000,
	queryFn: ({signal}) => read('/training-plans', {query: {limit: 100, status}, signal}),
});

export const planOfferings = (query: {instance_type: string; count: number; duration_hours: number}) => queryOptions({
	queryKey: ['training-plan-offerings', query],
	staleTime: 60000,
	queryFn: ({signal}) => readAll('/training-plan-offerings', {query, signal}),
});

/** Each is looked at, so a page takes a while. */
export const accountClusters = queryOptions({
	queryKey: ['hyperpod-clusters'],
	staleTime: 30000,
	queryFn: ({signal}) => read('/hyperpod-clusters', {query: {limit: 50}, signal}),
});
