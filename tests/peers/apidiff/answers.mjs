// The answers of a real API server, kept: one line a case.
import fs from 'node:fs';
import {differences} from './normal.mjs';

const FILE = new URL('../apidiff-answers.json', import.meta.url);

const short = v => (v === undefined ? 'nothing' : JSON.stringify(v).slice(0, 300));

/** null, or in what they differ. */
export function agree(want, got)
{
	const found = got === undefined ? [{path: '', want, got}] : differences(want, got);

	return found.length === 0 ? null : found.slice(0, 6)
		.map(d => `${d.path}: ${short(d.want)} is right, ${short(d.got)} is there`).join('; ');
}

export const readAnswers = () => JSON.parse(fs.readFileSync(FILE, 'utf8'));

export function writeAnswers(seen)
{
	const lines = [...seen].filter(([name]) => !name.includes('published '))
		.map(([name, answer]) => `${JSON.stringify(name)}: ${JSON.stringify(answer)}`);

	fs.writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}
