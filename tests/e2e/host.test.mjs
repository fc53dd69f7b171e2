// What the other users of a host can reach, and an upgrade of the files below the
// running programs.
import assert from 'node:assert/strict';
import {execFile, spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {childrenOf, run, shellEnv, top, up, down, waitFor} from '../stack/stack.mjs';

const PROGRAMS = ['fcgi', 'live', 'poller'];
const build = process.env.INSTANTSTART_BUILD ?? `${top}/build`;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'is-host-'));
const bin = `${dir}/bin`;
let s;

before(async () => {
	fs.mkdirSync(bin);
	for (const name of PROGRAMS)
		fs.copyFileSync(`${build}/instantstart-${name}`, `${bin}/instantstart-${name}`);
	fs.copyFileSync(`${build}/instantstart-cloud`, `${bin}/instantstart-cloud`);
	fs.copyFileSync([build, path.dirname(build)].map(d => `${d}/cloud-models.json`).find(f => fs.existsSync(f)),
		`${bin}/cloud-models.json`);
	s = await up(`${dir}/stack`, {build: bin, cloud: true});
});

after(async () => {
	if (s)
		await down(s);
	fs.rmSync(dir, {recursive: true, force: true});
});

const mode = file => (fs.statSync(file).mode & 0o777).toString(8);
const environ = pid => fs.readFileSync(`/proc/${pid}/environ`, 'utf8');

test('nobody else gets at the database, the logs or the sign-in link', () => {
	assert.equal(mode(fs.realpathSync(`${s.dir}/pg`)), '700');
	assert.match(mode(s.dir), /^7[01][01]$/);
	for (const file of fs.readdirSync(s.dir).filter(f => f.endsWith('.log')))
		assert.match(mode(`${s.dir}/${file}`), /^600$/, file);
	assert.equal(mode(`${s.run}/login-link`), '600');
	assert.match(s.login, /\/login\?code=isl_/);
	for (const name of PROGRAMS)
		assert.doesNotMatch(fs.readFileSync(`${s.dir}/${name}.log`, 'utf8'), /isl_/);
	assert.equal(run('psql', ['-AtX', s.owner_url, '-c', 'show unix_socket_permissions']).trim(), '0700');
	assert.equal(run('psql', ['-AtX', s.owner_url, '-c',
		'select count(*) from pg_hba_file_rules where auth_method <> \'peer\'']).trim(), '0');
	if (process.getuid() !== 0)
		return;
	/* Another user is kept out, however he asks. */
	for (const role of ['postgres', 'instantstart_owner', 'instantstart_faces']) {
		const done = spawnSync('runuser', ['-u', 'nobody', '--', 'psql', '-X', '-c', 'select 1',
			`host=${s.dir}/pg user=${role} dbname=instantstart`], {encoding: 'utf8'});

		assert.notEqual(done.status, 0, role);
	}
	assert.notEqual(spawnSync('runuser', ['-u', 'nobody', '--', 'cat', `${s.dir}/fcgi.log`]).status, 0);
	assert.notEqual(spawnSync('runuser', ['-u', 'nobody', '--', 'ls', s.dir]).status, 0);
});

test('the owner of the tables is known to masters that migrate, and to no worker', () => {
	let workers = 0;

	for (const name of PROGRAMS) {
		for (const pid of childrenOf(s.pids[name])) {
			assert.doesNotMatch(environ(pid), /user=postgres/, `a worker of ${name}`);
			workers++;
		}
	}
	assert(workers >= 8, String(workers));
	for (const name of ['live', 'poller'])
		assert.doesNotMatch(environ(s.pids[name]), /user=postgres/, name);
});

test('files that were renamed into place are what SIGHUP starts; without one the old go on', async () => {
	for (const name of PROGRAMS) {
		const file = `${bin}/instantstart-${name}`, pid = s.pids[name];
		const exe = () => fs.readlinkSync(`/proc/${pid}/exe`);
		const old = childrenOf(pid);

		fs.copyFileSync(file, `${file}.new`);
		fs.renameSync(`${file}.new`, file);
		assert.match(exe(), /\(deleted\)$/, name);
		process.kill(pid, 'SIGHUP');
		await waitFor(`${name} anew`, () => exe() === file, 30000);
		await waitFor(`workers of ${name}`, () => {
			const now = childrenOf(pid);

			return now.length >= old.length && now.every(p => !old.includes(p));
		}, 40000);
	}
	/* The pollers' workers are there; readiness waits until they are heard of. */
	await waitFor('readiness', async () => (await fetch(`${s.url}/readyz`)).status === 200, 10000);

	/* An upgrade that went wrong: nothing is there. */
	const file = `${bin}/instantstart-fcgi`, workers = childrenOf(s.pids.fcgi);

	fs.renameSync(file, `${file}.away`);
	process.kill(s.pids.fcgi, 'SIGHUP');
	await waitFor('its complaint', () => /reload_failed/.test(fs.readFileSync(`${s.dir}/fcgi.log`, 'utf8')));
	assert.deepEqual(childrenOf(s.pids.fcgi), workers);
	assert.equal((await fetch(`${s.url}/readyz`)).status, 200);
	fs.renameSync(`${file}.away`, file);
});

const SSO = `[profile sso]\nsso_session = work\nsso_account_id = 111122223333\nsso_role_name = Admin
[sso-session work]\nsso_region = eu-west-1\nsso_start_url = https://d-1.awsapps.com/start\n`;

test('--check says region, credentials and caller, and what a person must mend', () => {
	const check = (env, program = 'poller') => spawnSync(`${bin}/instantstart-${program}`, ['--check'],
		{encoding: 'utf8', env: {...shellEnv(s), HOME: dir, ...env}});
	const good = check({});

	assert.equal(good.status, 0, good.stderr);
	assert.match(good.stdout, /^region: us-west-2 \(partition aws\)\ncredentials: the environment \(AWS_ACCESS_KEY_ID\)\ncaller: arn:aws:/m);
	assert.equal(check({}, 'fcgi').status, 0);

	fs.mkdirSync(`${dir}/.aws`, {recursive: true});
	fs.writeFileSync(`${dir}/.aws/config`, `${SSO}[profile "in china"]\nregion = cn-north-1\ncredential_process = /bin/cat ${dir}/keys.json\n`);
	fs.writeFileSync(`${dir}/keys.json`, JSON.stringify({Version: 1, AccessKeyId: s.env.AWS_ACCESS_KEY_ID,
		SecretAccessKey: s.env.AWS_SECRET_ACCESS_KEY}));
	const ended = check({AWS_PROFILE: 'sso'});

	assert.equal(ended.status, 1);
	assert.match(ended.stderr, /no user has signed in.*\n  Run `aws sso login --sso-session work` as this user/);
	/* Region of the profile, keys of a program; the simulated cloud is in another region. */
	const china = check({AWS_PROFILE: 'in china', INSTANTSTART_REGION: ''});

	assert.match(china.stdout, /^region: cn-north-1 \(partition aws-cn\)\ncredentials: credential_process of the profile in china$/m);
	const refused = check({AWS_SECRET_ACCESS_KEY: 'wrong'});

	assert.equal(refused.status, 1);
	assert.match(refused.stderr, /AWS rejects the keys of the environment/);
	assert.match(check({INSTANTSTART_PUBLIC_URL: 'https://host/prefix'}).stderr, /without a path/);
	assert.match(check({AWS_CA_BUNDLE: '/nothing/there'}).stderr, /AWS_CA_BUNDLE: \/nothing\/there/);
	const plain = check({AWS_ENDPOINT_URL: 'http://192.0.2.1:80'});

	assert.equal(plain.status, 1);
	assert.match(plain.stderr, /must use https or a loopback address/);
});

test('an ended session of `aws sso login` is renewed in its file', async () => {
	const cache = `${dir}/.aws/sso/cache/${createHash('sha1').update('work').digest('hex')}.json`;
	const asked = [];
	const center = http.createServer((req, res) => {
		let body = '';

		req.on('data', more => (body += more)).on('end', () => {
			asked.push(`${req.method} ${req.url} ${req.headers['x-amz-sso_bearer_token'] ?? JSON.parse(body).refreshToken}`);
			res.end(JSON.stringify(req.url === '/token' ? {accessToken: 'new', expiresIn: 3600, refreshToken: 'r2'}
				: {roleCredentials: {accessKeyId: 'ASIA', secretAccessKey: 's', sessionToken: 't', expiration: Date.now() + 3600000}}));
		});
	}).listen(0, '127.0.0.1');

	await once(center, 'listening');
	fs.mkdirSync(path.dirname(cache), {recursive: true});
	fs.writeFileSync(`${dir}/.aws/config`, SSO);
	fs.writeFileSync(cache, JSON.stringify({accessToken: 'old', expiresAt: '2020-01-01T00:00:00Z', refreshToken: 'r1',
		clientId: 'c', clientSecret: 's', registrationExpiresAt: '2999-01-01T00:00:00Z'}));
	const url = `http://127.0.0.1:${center.address().port}`;
	const renewed = await new Promise(resolve => execFile(`${bin}/instantstart-poller`, ['--check'], {env: {...shellEnv(s),
		HOME: dir, AWS_PROFILE: 'sso', AWS_ENDPOINT_URL_SSO: url, AWS_ENDPOINT_URL_SSO_OIDC: url}},
	(e, stdout, stderr) => resolve({stdout, stderr})));

	center.close();
	assert.match(renewed.stdout, /^credentials: IAM Identity Center by the profile sso$/m, renewed.stderr);
	/* The cloud rejects these keys: they are looked up once more. */
	assert.deepEqual([...new Set(asked)], ['POST /token r1', 'GET /federation/credentials?role_name=Admin&account_id=111122223333 new']);
	assert.equal(JSON.parse(fs.readFileSync(cache, 'utf8')).refreshToken, 'r2');
});

test('/readyz knows of credentials that need a person', async () => {
	const ready = () => fetch(`${s.url}/readyz`).then(async r => ({code: r.status, ...await r.json()}));

	assert.equal((await ready()).code, 200);
	run('psql', ['-qAtX', s.owner_url, '-c', "select instantstart.credential_note(false, null, 'ended', 'sign in')"],
		{env: {...process.env, PGOPTIONS: '-c search_path=instantstart'}});
	const r = await ready();

	assert.equal(r.code, 503);
	assert.match(JSON.stringify(r.checks.credentials), /--check/);
	assert.doesNotMatch(JSON.stringify(r), /sign in/); /* anybody may read it */
});
