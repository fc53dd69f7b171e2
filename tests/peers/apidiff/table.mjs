// All scenes in their order. A scene is a function that plays its cases one after the
// other; those of a file share a namespace.
import * as access from './table/access.mjs';
import * as aggregated from './table/aggregated.mjs';
import * as applies from './table/applies.mjs';
import * as custom from './table/custom.mjs';
import * as deletes from './table/deletes.mjs';
import * as kinds from './table/kinds.mjs';
import * as lists from './table/lists.mjs';
import * as objects from './table/objects.mjs';
import * as patches from './table/patches.mjs';
import * as server from './table/server.mjs';
import * as subs from './table/subs.mjs';
import * as watches from './table/watches.mjs';

const of = (file, module, ...names) => names.map(name => ({name: `${file} ${name}`, play: module[name]}));

export const scenes = [
	...of('server', server, 'discovery', 'refusals'),
	...of('objects', objects, 'creates', 'validation', 'dryRuns', 'updates'),
	...of('lists', lists, 'chunks', 'selectors', 'versions', 'forms'),
	...of('watches', watches, 'watches'),
	...of('patches', patches, 'jsonPatches', 'mergePatches', 'strategicMerges'),
	...of('applies', applies, 'applies', 'ownership'),
	...of('deletes', deletes, 'deletes', 'owners', 'collections', 'pods', 'namespaces'),
	...of('kinds', kinds, 'core', 'pods', 'workloads', 'roles'),
	...of('subs', subs, 'statuses', 'scales', 'evictions', 'bindings', 'logs', 'tokens'),
	...of('custom', custom, 'definitions', 'resources', 'applies', 'ends'),
	...of('access', access, 'strangers', 'roles', 'reviews'),
	...of('aggregated', aggregated, 'unserved', 'namespaces'),
	/* Last: the servers lose their history. */
	...of('watches', watches, 'expiry'),
];
