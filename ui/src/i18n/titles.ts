// Headlines of problems by their code. English ones are the server's own; a code
// that this page does not know yet has the server's words in every language.
import type {Code} from '../api/generated/words';
import type {Language} from '.';

/* A test names what is missing; a server that has learnt a code is built all the same. */
export type Titles = Partial<Record<Code, string>>;

const known: Partial<Record<Language, Titles>> = {};

export function provideTitles(language: Language, titles: Titles)
{
	known[language] = titles;
}

export const titleOf = (language: Language, code: string | undefined, said: string | undefined): string | undefined =>
	(known[language] as Record<string, string> | undefined)?.[code ?? ''] ?? said;
