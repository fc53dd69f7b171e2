// A refusal, with what to do about it. What the cloud said is a cause, never the headline.
import Alert from '@cloudscape-design/components/alert';
import Box from '@cloudscape-design/components/box';
import Button from '@cloudscape-design/components/button';
import ExpandableSection from '@cloudscape-design/components/expandable-section';
import SpaceBetween from '@cloudscape-design/components/space-between';
import {ProblemError} from '../api/client';
import type {Cause} from '../api/types';
import {useWords, type Key} from '../i18n';
import {titleOf} from '../i18n/titles';
import {Said} from './said';

export function Causes({causes}: {causes: Cause[] | undefined})
{
	const {t} = useWords();

	if (!causes?.length)
		return null;
	return <ExpandableSection headerText={t('problem.cause')} defaultExpanded>
		<SpaceBetween size='xs'>
			{causes.map((c, i) => <div key={i}>
				<Box variant='strong'>{[c.source, c.code].filter(Boolean).join(' ')}</Box>
				<Box><Said>{c.message}</Said></Box>
				{c.request_id && <Box variant='small'>{t('problem.request', {id: c.request_id})}</Box>}
			</div>)}
		</SpaceBetween>
	</ExpandableSection>;
}

interface Words { code?: string; detail?: string; title?: string; fix?: string; retry?: string; cause?: Cause[]; instance?: string;
	errors?: {field: string; detail: string; seen?: string; expected?: string}[] }

/** The words around what the server says stay those of the page. */
function Fix({fix}: {fix: string})
{
	const {t} = useWords();
	const [before, after] = t('problem.fix', {fix: '\n'}).split('\n');

	return <Box variant='strong'>{before}<Said>{fix}</Said>{after}</Box>;
}

export function ProblemText({problem}: {problem: Words})
{
	const {t} = useWords();

	return <SpaceBetween size='xs'>
		<Box><Said>{problem.detail}</Said></Box>
		{problem.errors && problem.errors.length > 1 && <ul>
			{problem.errors.map(e => <li key={e.field + e.detail}>{e.field.slice(1)}: <Said>{e.detail}</Said></li>)}
		</ul>}
		{problem.fix && <Fix fix={problem.fix}/>}
		{problem.retry && <Box variant='small'>{t(`problem.retry.${problem.retry}` as Key)}</Box>}
		<Causes causes={problem.cause}/>
		{problem.instance && <Box variant='small'>{t('problem.request', {id: problem.instance.replace(/^.*:/, '')})}</Box>}
	</SpaceBetween>;
}

export function ProblemAlert({error, onRetry}: {error: unknown; onRetry?: () => void})
{
	const {t, locale} = useWords();

	if (!error)
		return null;
	/* fetch() says so of a connection that was lost; a change may have arrived. */
	const problem: Words = error instanceof ProblemError ? error.problem
		: error instanceof TypeError ? {title: t('common.unreachable'), retry: 'same-key'}
			: {title: t('common.pageFailed'), detail: error instanceof Error ? error.message : String(error)};

	return <Alert type='error' header={titleOf(locale, problem.code, problem.title)}
		action={onRetry && <Button onClick={onRetry}>{t('common.retry')}</Button>}>
		<ProblemText problem={problem}/>
	</Alert>;
}
