// The same by REST and by MCP: of a page, of a change.
import SpaceBetween from '@cloudscape-design/components/space-between';
import Tabs from '@cloudscape-design/components/tabs';
import type {Call} from '../api/client';
import {useWords} from '../i18n';
import {curlOf, curlOfReading, mcpArguments, mcpOf, type Reading} from '../pure/call';
import {Code} from './code';

export function CallTabs({calls = [], readings = [], idempotencyKey}: {calls?: Call[]; readings?: Reading[]; idempotencyKey?: string})
{
	const {t} = useWords();
	const curl = [...calls.map(c => curlOf(location.origin, c, idempotencyKey ?? '…')),
		...readings.map(r => curlOfReading(location.origin, r))];
	const mcp = [...calls.map(c => mcpOf(c.capability, mcpArguments(c))),
		...readings.filter(r => !r.restOnly).map(r => mcpOf(r.capability, r.args ?? r.query ?? {}))];
	const list = (label: string, all: string[]) => <SpaceBetween size='s'>
		{all.map((text, i) => <Code key={i} text={text} label={label}/>)}
	</SpaceBetween>;

	return <Tabs ariaLabel={t('call.title')} tabs={[
		{id: 'rest', label: t('call.rest'), content: list(t('call.rest'), curl)},
		{id: 'mcp', label: t('call.mcp'), content: list(t('call.mcp'), mcp)},
	]}/>;
}
