// The official AWS SDK clients against the simulated cloud: every operation that it
// plays, its paginators and waiters, and every error that the models know.
//
//   node tests/peers/sdk.mjs OUTPUT-FOLDER
import {spawnSync} from 'node:child_process';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';
import {model, played} from './models.mjs';
import {tally} from './tally.mjs';

const out = process.argv[2];
const deps = spawnSync(fileURLToPath(new URL('deps', import.meta.url)), [out, 'npm'],
	{stdio: 'inherit'});

if (deps.status !== 0)
	process.exit(deps.status);
const [{lab}, {errors}, {network}, {balancers}, {identity}, {store}, {clusters}] = await Promise.all(
	['lab', 'errors', 'network', 'balancers', 'identity', 'store', 'clusters'].map(f => import(`./sdk/${f}.mjs`)));
const t = tally('sdk', 'sdk-differences.json', 'sdk-answers.json');
const cloud = await lab(out, t);
const all = played(out);

try {
	for (const part of [identity, store, network, balancers, clusters])
		await t.case(`part ${part.name}`, () => part(cloud));
	await errors(cloud, t, all);
	/* Nothing that is played may go untried. */
	for (const [service, ops] of Object.entries(all)) {
		const {sdk} = cloud.of(service);
		const m = model(service);
		const waiters = Object.entries(m.waiters).filter(([, w]) => ops.includes(w.operation))
			.map(([name]) => `waitUntil${name}`).filter(name => sdk[name]);
		const pages = ops.map(op => `paginate${op}`).filter(name => sdk[name]);

		for (const what of [...ops, ...pages, ...waiters])
			t.count(`${service}.${what} tried`,
				cloud.answered.has(`${service}.${what}`) ? null : 'no case tries it');
	}
} finally {
	await cloud.stop();
}
const name = createRequire(import.meta.url)('@aws-sdk/client-ec2/package.json').version;

console.log(`@aws-sdk/client-ec2 ${name} and its siblings`);
process.exit(t.sum() ? 0 : 1);
