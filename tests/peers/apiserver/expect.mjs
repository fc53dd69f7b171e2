// What an answer of our client must be.
import assert from 'node:assert/strict';

/** A success; gives the object. */
export function ok(r)
{
	assert(r.ok, `${r.status} ${r.code} ${r.errc}: ${r.message}`);
	return r.out;
}

/** Refused so, and nothing is left open about it; gives the answer. */
export function refused(r, status, code, errc)
{
	assert.equal(`${r.ok} ${r.status} ${r.code} ${r.errc} ${r.ambiguous}`,
		`false ${status} ${code} ${errc} false`, r.message);
	return r;
}
