// Text for machines, to read and to copy.
import Box from '@cloudscape-design/components/box';
import CopyToClipboard from '@cloudscape-design/components/copy-to-clipboard';
import {useWords} from '../i18n';
import './code.css';

export function Code({text, label}: {text: string; label: string})
{
	const {t} = useWords();

	return <div className='code'>
		<div className='code-copy'>
			<CopyToClipboard variant='icon' textToCopy={text} copyButtonAriaLabel={`${t('common.copy')}: ${label}`}
				copySuccessText={t('common.copied')} copyErrorText={t('common.unknown')}/>
		</div>
		<Box variant='code'><pre className='code-text' tabIndex={0} role='region' aria-label={label}>{text}</pre></Box>
	</div>;
}

export const json = (value: unknown) => JSON.stringify(value, null, 2);
