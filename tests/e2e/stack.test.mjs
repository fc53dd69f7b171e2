// What the demo and the tests stand on.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {test} from 'node:test';
import {top} from '../stack/stack.mjs';

const run = (name, ...args) => {
	const done = spawnSync(name, args, {encoding: 'utf8', cwd: top});

	assert.equal(done.status, 0, `${name} ${args.join(' ')}: ${done.stderr}`);
	return done.stdout.trim();
};

test('PostgreSQL starts in a folder that only its owner may enter, as root\'s home is, and begins anew where it was cleared', () => {
	const home = fs.mkdtempSync(path.join(os.tmpdir(), 'is-home-'));
	const pg = path.join(home, 'pg');
	const sql = text => run('psql', '-AtX', '-d', `host=${pg} user=postgres dbname=postgres`, '-c', text);

	fs.chmodSync(home, 0o700);
	try {
		run('tests/lib/pg.sh', 'start', pg);
		sql('create table kept ()');
		run('tests/lib/pg.sh', 'stop', pg);
		run('tests/lib/pg.sh', 'start', pg);
		assert.equal(sql("select to_regclass('kept')"), 'kept');
		run('tests/lib/pg.sh', 'stop', pg);
		fs.rmSync(pg, {recursive: true});
		run('tests/lib/pg.sh', 'start', pg);
		assert.equal(sql("select to_regclass('kept')"), '');
	} finally {
		run('tests/lib/pg.sh', 'stop', pg);
		fs.rmSync(fs.realpathSync(pg), {recursive: true, force: true});
		fs.rmSync(home, {recursive: true, force: true});
	}
});
