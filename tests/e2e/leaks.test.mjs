// Memory stays flat over many requests and operations: a short form of what
// make bench does over 10,000 and 1,000.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {leaks} from '../bench/leaks.mjs';
import {end, start} from './faces.mjs';

let s;

before(async () => {
	s = await start({cloud: true});
	s.token = s.tokens.admin;
});
after(() => end(s));

test('no process grows with the requests it answers and the operations it carries out', async () => {
	const {growth, slack} = await leaks(s, {n: 3000, ops: 300});

	assert(growth.length > 10, 'masters and workers of three programs');
	for (const g of growth)
		assert(g.kb <= slack, `${g.name} grew by ${g.kb} kB: ${g.all}`);
});
