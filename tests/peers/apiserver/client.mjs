// The cases of our client, in groups; each group has a namespace of its own.
import {startWorld} from './world.mjs';
import * as objects from './objects.mjs';
import * as streams from './streams.mjs';
import * as access from './access.mjs';
import * as workloads from './workloads.mjs';
import * as helm from './helm.mjs';

export async function run(out, dir, t)
{
	const w = await startWorld(out, dir);

	try {
		/* streams last: it restarts the API server and compacts its store */
		for (const group of [objects, access, workloads, helm, streams])
			for (const [name, scene] of Object.entries(group.cases)) {
				if (process.env.CASE && !name.includes(process.env.CASE))
					continue;
				await t.case(`client ${name}`, async () => scene(await spaceOf(w)));
			}
	} finally {
		await w.stop();
	}
}

let spaces = 0;

/** The world, with a namespace that nobody has used. */
async function spaceOf(w)
{
	const ns = `case-${++spaces}`;

	await w.plane.request('POST', '/api/v1/namespaces', {metadata: {name: ns}});
	return {...w, ns, root: `/api/v1/namespaces/${ns}`};
}
