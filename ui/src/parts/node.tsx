// What can be done to nodes.
import type {Words} from '../i18n';
import type {BodyOf, Call} from '../api/calls';
import type {Change} from './change';

export type NodeVerb = 'reboot' | 'replace' | 'delete';

/** Typed: the one node, or how many they are; what is at stake is in the plan. */
export const nodeAction = (verb: NodeVerb, cluster: string, ids: string[], t: Words['t']): Change => ({
	title: `${t(`nodes.${verb}`)}: ${ids.length === 1 ? ids[0]! : t('plan.lostNodes', {n: ids.length})}`,
	submit: t(`nodes.${verb}`),
	typed: ids.length === 1 ? ids[0] : `${verb} ${ids.length}`,
	lost: [t(`nodes.${verb}Lost`)],
	/* The three take the same: what one of them would not is refused by the type of each. */
	call: {capability: `${verb}_nodes`, method: 'POST', path: `/clusters/{cluster}/nodes:${verb}`, params: {cluster},
		body: {nodes: ids} satisfies BodyOf<'reboot_nodes'> & BodyOf<'replace_nodes'> & BodyOf<'delete_nodes'>} as Call,
});
