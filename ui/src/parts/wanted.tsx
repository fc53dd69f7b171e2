// What the cloud goes on with after an operation: what, what it costs, what stops it.
import Box from '@cloudscape-design/components/box';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import SpaceBetween from '@cloudscape-design/components/space-between';
import type {Wanted} from '../api/types';
import {useWords} from '../i18n';
import {callOfTool, mcpOf} from '../pure/call';
import {CallTabs} from './calls';
import {Code} from './code';
import {Said} from './said';

function Stop({of}: {of: Wanted})
{
	const {t} = useWords();

	if (!of.stop)
		return <Box variant='small'><Said>{of.no_stop}</Said></Box>;
	const call = callOfTool(of.stop.tool, of.stop.arguments);

	return <ExpandableSection headerText={t('wanted.stop', {call: of.stop.tool})}>
		{call ? <CallTabs calls={[call]}/> : <Code text={mcpOf(of.stop.tool, of.stop.arguments)} label={of.stop.tool}/>}
	</ExpandableSection>;
}

export function StillWanted({all}: {all: Wanted[]})
{
	const {t} = useWords();

	return <SpaceBetween size='s'>
		<Box>{t('wanted.intro')}</Box>
		<ul>{all.map((w, i) => <li key={i}>
			<Box><Said>{[w.what, w.goes_on].filter(Boolean).join(': ')}</Said></Box>
			{w.cost && <Box variant='small'><Said>{w.cost}</Said></Box>}
			<Stop of={w}/>
		</li>)}</ul>
	</SpaceBetween>;
}
