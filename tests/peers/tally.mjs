// Counts a peer's cases, and which known differences they met.
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';

/**
 * lists: files of this folder with {"key": {"reason", "source"}}; a case whose key
 * is there may differ; * in a key stands for any text. An entry that no case met is a fault too: it is out of
 * date; unless "sometimes" says that a run need not come upon it.
 */
export function tally(name, ...lists)
{
	const known = Object.assign({}, ...lists.map(f =>
		JSON.parse(fs.readFileSync(fileURLToPath(new URL(f, import.meta.url)), 'utf8'))));
	const unreasoned = Object.keys(known).filter(k => !known[k].reason || !known[k].source);
	const entries = Object.keys(known).map(k => ({k, re: new RegExp(`^${k.split('*').map(p =>
		p.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`, 's')}));
	const entryOf = key => entries.find(e => e.re.test(key))?.k;
	const met = new Set();
	let listed = 0;
	const failed = [];
	let cases = 0;

	const t = {
		/** Cases that were counted elsewhere, and passed. */
		add(n) {
			cases += n;
		},
		knows: key => entryOf(key) !== undefined,
		/** problem: null or what went wrong; undefined is what a program that could not be started says. */
		count(key, problem)
		{
			cases++;
			if (problem === null)
				return true;
			if (t.knows(key)) {
				met.add(entryOf(key));
				listed++;
				console.log(`  listed  ${key}: ${problem}`);
				return false;
			}
			failed.push(key);
			console.log(`  FAILED  ${key}: ${problem}`);
			return false;
		},
		async case(key, fn)
		{
			try {
				await fn();
				return t.count(key, null);
			} catch (e) {
				return t.count(key, e.code === 'ERR_ASSERTION' ? e.message
					: (process.env.V ? e.stack : `${e.name}: ${e.message}`));
			}
		},
		/** Prints the sum that tests/peers/run reads; true when all is well. */
		sum()
		{
			const unmet = Object.keys(known).filter(k => !met.has(k) && !known[k].sometimes);

			for (const key of unreasoned)
				console.log(`  FAILED  ${key}: listed without a reason or a source`);
			for (const key of unmet)
				console.log(`  FAILED  ${key}: listed as a difference, but it agrees`);
			if (failed.length)
				console.log(`failed: ${failed.join(', ')}`);
			console.log(`${name}: cases ${cases}, passed ${cases - failed.length - listed
			}, listed ${listed}`);
			return failed.length + unmet.length + unreasoned.length === 0;
		},
	};

	return t;
}
