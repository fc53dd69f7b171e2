import fs from 'node:fs';
import {describe, expect, test} from 'vitest';
import {bodies} from '../api/generated/bodies';
import type {Call} from '../api/calls';
import {fill, urlOf, withQuery} from '../api/client';
import type {Operation} from '../api/types';
import {callOfTool, curlOf, mcpArguments, mcpOf, oneOf} from './call';
import {BLOCK, emptyLog, HELD_BLOCKS, hold, isLine, MAX_BLOCKS, take, type Log} from './log';
import {faultOf, faultsOf, sparse, type FieldSchema} from './schema';
import {backoffMs, frameOf, missed} from './stream';
import {ageOf, hereMs, isOld, learnTime, median, OLD_S, seconds, seenAgo, seenAt, spansOf, usualOf} from './time';

const cluster = bodies.create_cluster as FieldSchema;

const texts = (log: Log) => log.blocks.flat().filter(isLine).map(l => l.text);

describe('schemas', () => {
	test('every fault by its pointer', () => {
		const faults = faultsOf({name: 'No Good', count: 0, capacity_type: 'free', volume_size_gb: 12.5, storage: {name: 'A'}}, cluster);

		expect(Object.fromEntries([...faults].map(([p, f]) => [p, f.rule]))).toEqual({'/name': 'pattern', '/zone': 'required',
			'/instance_type': 'required', '/count': 'range', '/capacity_type': 'choice', '/volume_size_gb': 'number', '/storage/name': 'pattern'});
		expect(faultsOf({name: 'demo', zone: 'us-west-2a', instance_type: 'ml.g5.12xlarge', count: '3'}, cluster).size).toBe(0);
	});
	test('lengths and lists', () => {
		expect(faultOf('a'.repeat(31), cluster.properties!.name!)).toEqual({rule: 'length', min: 1, max: 30});
		expect(faultOf([1, 2, 3], {type: 'array', maxItems: 2})).toEqual({rule: 'items', min: 0, max: 2});
	});
	test('only what was chosen is sent', () => {
		expect(sparse({name: 'demo', zone: '', count: 1, capacity_type: 'on_demand', volume_size_gb: '600', deep_health_checks: [],
			storage: {skip: false, bucket: '', read_only: true}, unknown: 1}, cluster))
			.toEqual({name: 'demo', volume_size_gb: 600, storage: {read_only: true}});
	});
});

/* What the API does not take does not compile: each of these lines is an error, and that
 * there is none would be one. */
const refused: Call[] = [
	// @ts-expect-error a list of names, no switch
	{capability: 'delete_cluster', method: 'DELETE', path: '/clusters/{cluster}', params: {cluster: 'a'}, query: {delete_buckets: true}},
	// @ts-expect-error no such query member
	{capability: 'delete_storage', method: 'DELETE', path: '/clusters/{cluster}/storages/{name}', params: {cluster: 'a', name: 'b'}, query: {force: true}},
	// @ts-expect-error no such body member
	{capability: 'scale_instance_group', method: 'POST', path: '/clusters/{cluster}/groups/{group}:scale', params: {cluster: 'a', group: 'b'}, body: {count: 1, size: 2}},
	// @ts-expect-error the body is not whole
	{capability: 'scale_instance_group', method: 'POST', path: '/clusters/{cluster}/groups/{group}:scale', params: {cluster: 'a', group: 'b'}, body: {}},
	// @ts-expect-error another call's address
	{capability: 'forget_cluster', method: 'POST', path: '/clusters/{cluster}:select', params: {cluster: 'a'}},
	// @ts-expect-error a member of the path is missing
	{capability: 'delete_node_pool', method: 'DELETE', path: '/clusters/{cluster}/node-pools/{name}', params: {cluster: 'a'}},
	// @ts-expect-error no such call
	{capability: 'drop_cluster', method: 'POST', path: '/clusters', body: {}},
];

describe('calls', () => {
	const call: Call = {capability: 'delete_cluster', method: 'DELETE', path: '/clusters/{cluster}', params: {cluster: 'a b'},
		query: {delete_buckets: ['one', 'two']}, confirm: 'a b'};

	test('what the API does not take is written nowhere', () => expect(refused).toHaveLength(7));
	test('addresses', () => {
		expect(fill('/x/{a}:go', {a: '1/2'})).toBe('/x/1%2F2:go');
		expect(withQuery('/x', {a: undefined, b: '', c: 0})).toBe('/x?c=0');
		expect(urlOf(call, {dry_run: 'plan'})).toBe('/api/v1/clusters/a%20b?delete_buckets=one%2Ctwo&dry_run=plan');
	});
	test('for a shell, quoted', () => {
		const text = curlOf('http://h', {capability: 'answer_operation', method: 'POST',
			path: '/operations/{id}:answer', params: {id: 'op_1'}, body: {choice: 'stop', note: "it's"}}, 'k');

		expect(text).toContain(`"note":"it'\\''s"}'`);
		expect(text).toContain(`-H 'Idempotency-Key: k'`);
	});
	test('for an agent', () => {
		expect(mcpArguments(call)).toEqual({cluster: 'a b', delete_buckets: ['one', 'two'], confirm: 'a b'});
		expect(JSON.parse(mcpOf('x', {a: 1})).params).toEqual({name: 'x', arguments: {a: 1}});
	});
	test('as the server names them for agents', () => {
		for (const args of [{cluster: 'a', group: 'b', count: 2}, {cluster: 'a', group: 'b', count: 0, confirm: 'c'}]) {
			const made = callOfTool('scale_instance_group', args)!;

			expect(mcpArguments(made)).toEqual(args);
			expect(curlOf('http://h', made, 'k')).toContain(`'{"count":${args.count}}'`);
		}
		expect(urlOf(callOfTool('delete_cluster', {cluster: 'a', delete_buckets: 'x'})!)).toBe('/api/v1/clusters/a?delete_buckets=x');
		expect(callOfTool('of_a_newer_server', {})).toBeUndefined();
	});
	test('what an address says is taken when the API takes it', () => {
		expect([oneOf(['a', 'b'], 'b'), oneOf(['a', 'b'], 'c'), oneOf(['a', 'b'], null)]).toEqual(['b', undefined, undefined]);
	});
	test('reads are typed by the document: no cast hides a member that the API does not take', () => {
		for (const [name, text] of sources())
			expect(/\bread\([^;]*\bas (object|never|any|unknown)\b/.exec(text)?.[0], name).toBeUndefined();
	});
});

/** The console's own texts, without what is generated, tests and languages. */
const sources = () => fs.readdirSync('src', {recursive: true, encoding: 'utf8'})
	.filter(f => /\.tsx?$/.test(f) && !/generated|i18n|\.test\./.test(f))
	.map(f => [`src/${f}`, fs.readFileSync(`src/${f}`, 'utf8')] as const);

describe('ages', () => {
	const now = Date.parse('2026-01-01T00:10:00Z');

	test('they grow by themselves, from what an answer said', () => {
		expect(ageOf(seenAgo(5, now - 60000), now)).toBe(65);
		expect(ageOf(seenAt('2026-01-01T00:00:00Z'), now)).toBe(600);
		expect(ageOf(seenAt(null), now)).toBeNull();
		expect(ageOf(seenAt('2026-01-01T00:11:00Z'), now)).toBe(0);
	});
	test('old is old, and at once when nobody makes it newer', () => {
		expect([OLD_S, OLD_S + 1].map(s => isOld(seenAgo(s, now), now))).toEqual([false, true]);
		expect([0, 1, null].map(pollers => isOld(seenAgo(1, now, pollers), now))).toEqual([true, false, false]);
		expect(isOld(seenAt(null), now)).toBe(false);
	});
	test('by the clock of the server, whatever this machine believes', () => {
		learnTime('Thu, 01 Jan 2026 01:10:00 GMT', now);
		expect(hereMs('2026-01-01T01:00:00Z')).toBe(now - 600000);
		expect(ageOf(seenAt('2026-01-01T01:09:00Z'), now)).toBe(60);
		learnTime('Thu, 01 Jan 2026 00:10:01 GMT', now);
		expect(hereMs('2026-01-01T00:10:00Z')).toBe(now);
	});
	test('no page reckons one of its own, or shows a moment of a look without its age', () => {
		const all = sources();

		expect(all.length).toBeGreaterThan(40);
		for (const [name, text] of all.filter(([f]) => /src\/(pages|parts)\//.test(f))) {
			expect(/<Time at=\{[^}]*(observed_at|seen_at)/.exec(text)?.[0], name).toBeUndefined();
			if (!/parts\/(age|status)\.tsx$/.test(name))
				expect(/Date\.(now|parse)|new Date\(|setInterval|<Age [^>]*seen=\{\{/.exec(text)?.[0], name).toBeUndefined();
		}
	});
});

describe('times', () => {
	test('spans', () => {
		const words = (s: number) => spansOf(s).map(x => `${x.value} ${x.unit}`).join(' ');

		expect([0, 59.9, 60, 3725, 86400, 90061].map(words)).toEqual(['0 second', '59 second', '1 minute', '1 hour 2 minute', '1 day', '1 day 1 hour']);
		expect(seconds(null, null, 0)).toBeNull();
		expect(seconds('2026-01-01T00:00:00Z', null, Date.parse('2026-01-01T00:01:00Z'))).toBe(60);
	});
	test('usual is the median of runs that went well, without this one', () => {
		const op = (id: string, state: string, s: number) => ({id, state, phases: [{name: 'a', state: 'done',
			started_at: '2026-01-01T00:00:00Z', ended_at: new Date(Date.parse('2026-01-01T00:00:00Z') + s * 1000).toISOString()}]}) as unknown as Operation;

		expect(usualOf([op('1', 'succeeded', 10), op('2', 'succeeded', 30), op('3', 'failed', 900), op('4', 'succeeded', 500)], '4').get('a')).toBe(20);
		expect(median([])).toBeNull();
	});
});

describe('streams', () => {
	test('frames that are none are none', () => {
		expect(['', '1', 'null', '{}', '{"t":1}'].map(frameOf)).toEqual([null, null, null, null, null]);
		expect(frameOf('{"t":"x","new":1}')).toEqual({t: 'x', new: 1});
		expect([missed(0, 9), missed(3, 4), missed(3, 5)]).toEqual([false, false, true]);
	});
	test('back-off grows to its limit and is spread', () => {
		expect([1, 2, 3, 20].map(n => backoffMs(n, () => 1))).toEqual([500, 1000, 2000, 30000]);
		expect(backoffMs(20, () => 0)).toBe(15000);
	});
});

describe('logs', () => {
	const at = (n: number) => `T${String(n).padStart(9, '0')}`;
	const lines = (seq: number, n: number, from = seq) => ({t: 'lines', seq, lines: Array.from({length: n}, (_, i) => [at(from + i), `l${from + i}`])});
	const run = (...frames: Parameters<typeof take>[1][]) => frames.reduce<Log>(take, emptyLog);
	const marks = (log: Log) => log.blocks.flat().filter(e => !isLine(e));

	test('a reconnect repeats nothing and loses nothing', () => {
		const log = run({t: 'hello', epoch: 'e', seq: 10}, lines(10, 5), {t: 'hello', epoch: 'e', seq: 12}, lines(12, 6));

		expect(texts(log)).toEqual(['l10', 'l11', 'l12', 'l13', 'l14', 'l15', 'l16', 'l17']);
		expect([log.lines, log.next, marks(log).length]).toEqual([8, 18, 0]);
	});
	test('a server that numbers anew repeats nothing; what nobody knows is marked', () => {
		const first = [{t: 'hello', epoch: 'e', seq: 1}, lines(1, 5)];
		const seen = run(...first, {t: 'hello', epoch: 'f', seq: 0}, {t: 'gap', seq: 0, missed: null, why: 'buffer'}, lines(0, 4, 3), lines(4, 1, 7));

		expect(texts(seen)).toEqual(['l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7']);
		expect(marks(seen)).toEqual([]);
		const away = run(...first, {t: 'hello', epoch: 'f', seq: 0}, lines(0, 2, 9));

		expect(texts(away)).toEqual(['l1', 'l2', 'l3', 'l4', 'l5', 'l9', 'l10']);
		expect(marks(away)).toEqual([{seq: 0, mark: 'gap', missed: null, why: 'buffer'}]);
	});
	test('what is missing is marked, whoever lost it', () => {
		const log = run({t: 'hello', epoch: 'e', seq: 1}, lines(1, 2), {t: 'gap', seq: 8, missed: 5, why: 'slow'}, lines(8, 1), lines(12, 1));

		expect(marks(log)).toEqual([{seq: 8, mark: 'gap', missed: 5, why: 'slow'}, {seq: 9, mark: 'gap', missed: 3, why: 'buffer'}]);
	});
	test('restart and end are told apart; unknown frames change nothing', () => {
		const log = run({t: 'hello', epoch: 'e', seq: 1}, lines(1, 1), {t: 'state', state: 'restarted', restarts: 2}, {t: 'later'},
			{t: 'state', state: 'ended', exit_code: 137});

		expect(marks(log).map(m => 'mark' in m && m.mark)).toEqual(['restarted', 'ended']);
		expect(log.state).toBe('ended');
	});
	test('what is read does not slide, however much comes; what was left out is marked', () => {
		let log = hold(run({t: 'hello', epoch: 'e', seq: 0}, lines(0, BLOCK * MAX_BLOCKS)), true);
		const first = log.blocks[0], firstBlock = log.firstBlock;

		for (let i = 0; i < HELD_BLOCKS + 20; i++)
			log = take(log, lines(log.next, BLOCK));
		expect(log.blocks[0]).toBe(first);
		expect(log.firstBlock).toBe(firstBlock);
		expect(log.blocks.length).toBe(HELD_BLOCKS);
		const came = log.lines;

		log = hold(log, false);
		expect(log.blocks.length).toBe(MAX_BLOCKS);
		expect(log.lines).toBe(came);
		expect(marks(log)).toEqual([{seq: log.next, mark: 'gap', missed: (MAX_BLOCKS + 20) * BLOCK, why: 'buffer'}]);
		log = take(log, lines(log.next, 1));
		expect(texts(log).at(-1)).toBe(`l${log.next - 1}`);
	});
	test('it does not grow without end, and full blocks stay the same objects', () => {
		let log = run({t: 'hello', epoch: 'e', seq: 0}, lines(0, BLOCK + 1));
		const full = log.blocks[0];

		log = take(log, lines(BLOCK + 1, 10));
		expect(log.blocks[0]).toBe(full);
		for (let i = 0; i < MAX_BLOCKS + 5; i++)
			log = take(log, lines(log.next, BLOCK));
		expect(log.blocks.length).toBe(MAX_BLOCKS);
		expect(log.firstBlock).toBeGreaterThan(0);
	});
});
