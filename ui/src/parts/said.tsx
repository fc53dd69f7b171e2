// What the server says in whole sentences is English: marked as such, so that a
// screen reader reads it right where the page is in another language.
import {useWords} from '../i18n';

export function Said({children}: {children: string | null | undefined})
{
	const {locale} = useWords();

	return locale === 'en' ? <>{children}</> : <span lang='en'>{children}</span>;
}
