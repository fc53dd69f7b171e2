// Every text that people and models read, with its kind and place. The C sources are
// read as tokens: a text is a run of adjacent string literals, and its kind is the
// call, the designated member or the macro that it stands in. What looks like a
// sentence and stands in none of these is listed as `text`: nothing is left out.
import fs from 'node:fs';
import path from 'node:path';

const CALLS = {
	error: ['err_set', 'err_setv', 'step_fail', 'step_need', 'err_retry', 'fault', 'refuse', 'violation'],
	cause: ['err_because'],
	fix: ['err_fix'],
	expected: ['err_field'],
	wait: ['step_wait', 'waits_for_end', 'wait_for_child'],
	event: ['step_event', 'note', 'toggle_note'],
	doc: ['TEXT', 'NUMBER', 'FIELD_CLUSTER_NAME'],
	log: ['log_debug', 'log_info', 'log_warn', 'log_error', 'log_err', 'log_line'],
};
const MEMBERS = {
	title: ['title', 'label'], doc: ['doc', 'about', 'summary', 'description', 'help', 'question', 'answer', 'leaves', 'note'],
	fix: ['fix'], error: ['detail', 'why', 'message'], expected: ['expected'],
};
const DEFS = {errors: 'error', fixes: 'fix', config: 'setting'};
const kindOf = (table, name) => Object.keys(table).find(k => table[k].includes(name));

/** Whether a text is prose: two words of letters beside each other, and no code. */
export function isProse(text)
{
	const t = text.replace(/%[-+ #0]*[\d.*]*(?:ll|l|z|h)?[a-zA-Z]|<[A-Za-z]*PRI[a-zA-Z0-9]+>/g, 'N');

	return /\b[A-Za-z][a-z']+[,;:]? [A-Za-z0-9(]/.test(t) && !/^[{[]|^(select|insert|update|delete|with|set|begin) |^\(\?|\\x|^%?[A-Z]+ .* HTTP/.test(t);
}

/** The tokens of C: strings, words and signs; comments and the rest are passed over. */
function *tokens(s)
{
	const ONE = /\/\*[^]*?\*\/|\/\/[^\n]*|"((?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)+'|([A-Za-z_]\w*)|\\\n|\s+|([^])/g;
	let line = 1, at = 0;

	for (let m; (m = ONE.exec(s));) {
		while (at < m.index) if (s[at++] === '\n') line++;
		if (m[1] !== undefined) yield {type: 'text', text: m[1], line, from: m.index, to: ONE.lastIndex};
		else if (m[2] !== undefined) yield {type: 'word', text: m[2], line, from: m.index, to: ONE.lastIndex};
		else if (m[3] !== undefined) yield {type: 'sign', text: m[3], line};
	}
}

const unescape = t => t.replace(/\\(["\\nt])/g, (_, c) => ({n: '\n', t: '\t'})[c] ?? c);

/** The texts of one C source: {kind, line, text, pieces}. */
export function textsOfC(source)
{
	const out = [], stack = [];
	let run, before, member;
	const finish = () => {
		if (!run) return;
		const call = stack.findLast(f => f.call && (kindOf(CALLS, f.call) || /^(FIELD|OUT|FIX|E|CONFIG)/.test(f.call)));
		const kind = run.member && kindOf(MEMBERS, run.member) || call && kindOf(CALLS, call.call) || 'text';
		if (isProse(run.text) || (['title', 'doc', 'fix', 'error'].includes(kind) && / /.test(run.text)))
			out.push({kind, line: run.line, text: unescape(run.text), pieces: run.pieces});
		run = undefined;
	};

	for (const t of tokens(source)) {
		if (t.type === 'text') {
			run ??= {text: '', line: t.line, pieces: [], member};
			run.text += t.text;
			run.pieces.push(t);
			continue;
		}
		if (t.type === 'word' && run && /PRI\w+$/.test(t.text)) {
			run.text += `<${t.text}>`;
			run.pieces.push(t);
			continue;
		}
		finish();
		if (t.text === '(' || t.text === '{' || t.text === '[') {
			stack.push({call: t.text === '(' && before?.type === 'word' ? before.text : undefined, member});
			if (t.text === '{') member = undefined;
		} else if (t.text === ')' || t.text === '}' || t.text === ']') {
			member = stack.pop()?.member;
		} else if (t.text === ',' || t.text === ';') {
			if (!stack.length || stack.at(-1).call !== undefined || t.text === ';') member = undefined;
			else member = stack.at(-1).call === undefined && stack.at(-1).member !== undefined && member === stack.at(-1).member ? member : undefined;
		} else if (t.type === 'word' && before?.text === '.') {
			member = t.text;
		}
		before = t;
	}
	finish();
	return out;
}

/** The rows of a .def file: the sentences of E, FIX and CONFIG_*. */
function textsOfDef(file, source)
{
	const kind = DEFS[path.basename(file, '.def')];

	return kind ? textsOfC(source).map(t => ({...t, kind})) : textsOfC(source);
}

/** The sentences of SQL that reach an answer: what is raised, and detail and fix. */
function textsOfSql(source)
{
	const out = [], code = source.replace(/--[^\n]*/g, c => ' '.repeat(c.length));

	for (const m of code.matchAll(/'((?:[^'\n]|'')*)'/g)) {
		const text = m[1].replace(/''/g, "'"), before = code.slice(0, m.index);
		if (!isProse(text)) continue;
		out.push({kind: /'fix',\s*$/.test(before) ? 'fix' : /'(detail|message)',\s*$|raise exception\s*$/.test(before) ? 'error' : 'text',
			line: before.split('\n').length, text});
	}
	return out;
}

/** The entries of a catalog of the console: 'key': 'text', plural forms one by one. */
function textsOfCatalog(source)
{
	const out = [];

	for (const m of source.matchAll(/('[\w./]+'|\b(?:zero|one|two|few|many|other)): (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")/g))
		out.push({kind: 'console', line: source.slice(0, m.index).split('\n').length, key: m[1].replace(/'/g, ''),
			text: (m[2] ?? m[3]).replace(/\\(['"\\])/g, '$1')});
	return out;
}

/** Headings, paragraphs, items and rows of Markdown; code is passed over. */
function textsOfMarkdown(source)
{
	const out = [];
	let run, code = false;
	const finish = () => {
		if (run) out.push(run);
		run = undefined;
	};

	source.split('\n').forEach((l, n) => {
		if (/^\s*```/.test(l)) code = !code;
		if (code || /^\s*```|^( {4}|\t)(?![-*]).*|^\s*$|^\|[-| ]+\|$|^!\[/.test(l) && !(run && /^\t? +\S/.test(l))) return finish();
		if (/^#/.test(l)) {
			finish();
			out.push({kind: 'heading', line: n + 1, text: l.replace(/^#+ */, '')});
		} else if (/^\||^\s*([-*]|\d+\.) /.test(l) || !run) {
			finish();
			run = {kind: 'paragraph', line: n + 1, text: l.replace(/^\s*[-*] /, '').trim()};
		} else {
			run.text += ` ${l.trim()}`;
		}
	});
	finish();
	return out;
}

/** What a script says (echo, printf, say, die) and what a template describes. */
function textsOfScript(source)
{
	const out = [];

	source.split('\n').forEach((l, n) => {
		const m = /\b(?:echo|printf|say|die|fail|log|warn)\b[^"']*(["'])((?:[^\\]|\\.)*?)\1/.exec(l.replace(/^\s*#.*/, ''));
		if (m && isProse(m[2])) out.push({kind: 'script', line: n + 1, text: m[2]});
	});
	return out;
}

const textsOfTemplate = source => source.split('\n').flatMap((l, n) => {
	const m = /^\s*Description: *["']?(.*?)["']?$/.exec(l);
	return m && isProse(m[1]) ? [{kind: 'template', line: n + 1, text: m[1]}] : [];
});

const textsOfHelp = source => [...source.matchAll(/^##? ?|^[\w-]+:.*?## (.*)$/gm)].filter(m => m[1])
	.map(m => ({kind: 'target', line: source.slice(0, m.index).split('\n').length, text: m[1]}));

const walk = (root, dir) => fs.existsSync(path.join(root, dir)) ? fs.readdirSync(path.join(root, dir), {recursive: true})
	.map(f => path.join(dir, f)).filter(f => !/node_modules|\/dist\//.test(f) && fs.statSync(path.join(root, f)).isFile()).sort() : [];

/* Which files hold texts, and who reads them; the first row that matches counts. */
const READERS = [
	[/^(core|fcgi)\/.*\.def$/, textsOfDef],
	[/^(core|fcgi)\/.*\.[ch]$/, (_, s) => textsOfC(s)],
	[/^sql\/.*\.sql$/, (_, s) => textsOfSql(s)],
	[/^ui\/src\/i18n\/en(-\w+)?\.ts$/, (_, s) => textsOfCatalog(s)],
	[/^core\/domain\/kinds\.md$/, () => []], /* written from the tables */
	[/\.md$/, (_, s) => textsOfMarkdown(s)],
	[/^cloudformation\/.*\.ya?ml$/, (_, s) => textsOfTemplate(s)],
	[/^cloudformation\/lifecycle\//, (_, s) => textsOfScript(s)],
	[/^Makefile$/, (_, s) => textsOfHelp(s)],
];

/** All texts below root: {file, line, kind, text}. */
export function allTexts(root)
{
	const files = ['core', 'fcgi', 'sql', 'ui/src/i18n', 'cloudformation', 'tests/cloud'].flatMap(d => walk(root, d))
		.concat(['Makefile', 'README.md', 'ui/README.md', 'tests/faults/README.md', 'tests/bench/README.md'].filter(f => fs.existsSync(path.join(root, f))));

	return files.flatMap(file => {
		const reader = READERS.find(([which]) => which.test(file))?.[1];
		return reader ? reader(file, fs.readFileSync(path.join(root, file), 'utf8')).map(t => ({file, ...t})) : [];
	});
}
