// Shows an operation and its stages on the terminal while they run.

const tty = process.stdout.isTTY;
const paint = code => text => tty ? `\x1b[${code}m${text}\x1b[0m` : text;

export const bold = paint('1');
export const dim = paint('2');
export const green = paint('32');
export const red = paint('31');

const MARKS = {done: green('✓'), skipped: dim('–'), failed: red('✗'), cancelled: red('✗'), held: red('?')};

/** seconds as 1:05 */
const clock = ms => `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;
const span = (from, to) => `${((Date.parse(to) - Date.parse(from)) / 1000).toFixed(1)} s`;

/** One line that may be written over on a terminal. */
function screen(began)
{
	let open = false;
	let last = '';
	let at = 0;

	return {
		line(text)
		{
			if (open)
				process.stdout.write('\r\x1b[K');
			open = false;
			console.log(`${dim(clock(Date.now() - began).padStart(5))}  ${text}`);
		},
		/** What is going on: overwritten on a terminal, else not more than every two seconds. */
		now(text)
		{
			if (text === last || (!tty && Date.now() - at < 2000))
				return;
			last = text;
			at = Date.now();
			if (!tty) {
				this.line(`      ${text}`);
				return;
			}
			const room = (process.stdout.columns ?? 100) - 16;
			const short = text.length > room ? `${text.slice(0, room - 1)}…` : text;

			process.stdout.write(`\r\x1b[K${dim(clock(Date.now() - began).padStart(5))}      ${dim(short)}`);
			open = true;
		},
	};
}

/* Phases of a stage that have ended since they were last shown. */
function showPhases(out, operation, shown)
{
	for (const p of operation.phases) {
		const key = `${operation.id} ${p.name}`;

		if (!MARKS[p.state] || p.state === 'held' || shown.has(key))
			continue;
		shown.add(key);
		const took = p.started_at && p.ended_at ? span(p.started_at, p.ended_at) : '';

		out.line(`      ${MARKS[p.state]} ${(p.title ?? p.name).padEnd(52)} ${dim(took)}`);
	}
}

/**
 * get(path) gives an answer of the API. Ends with the operation when it has ended.
 */
export async function follow(get, id, began)
{
	const out = screen(began);
	const shown = new Set();
	const stages = new Map();

	for (;;) {
		const root = await get(`/api/v1/operations/${id}`);
		const children = root.children ?? [];

		for (const child of children) {
			if (child.state !== 'live' && stages.get(child.id) === child.state)
				continue;
			if (!stages.has(child.id))
				out.line(`${bold('▸')} ${bold(child.title)}`);
			const stage = await get(`/api/v1/operations/${child.id}`);

			stages.set(child.id, stage.state);
			showPhases(out, stage, shown);
			if (stage.state === 'live' && stage.waiting_for)
				out.now(`waits for ${stage.waiting_for}`);
			if (stage.done)
				out.line(`  ${stage.state === 'succeeded' ? green('done') : red(stage.state)} ${
					dim(`in ${span(stage.created_at, stage.ended_at)}`)}`);
		}
		if (root.done || root.state === 'held')
			return root;
		const live = children.find(c => c.state === 'live');

		await get(`/api/v1/operations/${live?.id ?? id}?wait=2`);
	}
}
