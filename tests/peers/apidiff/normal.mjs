// What two servers need not agree on is made equal: identities, times, versions, and
// what controllers write on their own time.

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/* Managers that work beside the table. */
const CONTROLLERS = /^(kube-|kwok|clusterrole-aggregation|cloud|unknown$)/;

/* Annotations of controllers. */
const NOISE = ['deployment.kubernetes.io/revision'];

/* Kinds whose status a controller writes when it comes to it. */
const STATUS_LATER = ['Pod', 'Deployment', 'DaemonSet', 'StatefulSet', 'ReplicaSet', 'Job', 'CronJob',
	'PersistentVolume', 'PersistentVolumeClaim', 'PodDisruptionBudget', 'Namespace', 'Node',
	'CustomResourceDefinition', 'HorizontalPodAutoscaler'];

const isObject = v => v !== null && typeof v === 'object' && !Array.isArray(v);

function managed(entries)
{
	return entries.filter(e => !CONTROLLERS.test(e.manager))
		.map(e => ({...e, time: undefined}))
		.sort((x, y) => (JSON.stringify([x.manager, x.operation, x.subresource ?? '']) <
			JSON.stringify([y.manager, y.operation, y.subresource ?? '']) ? -1 : 1));
}

function metadata(m)
{
	const out = {...m};

	if (out.resourceVersion !== undefined)
		out.resourceVersion = /^\d+$/.test(out.resourceVersion) ? '<rv>' : out.resourceVersion;
	if (out.generateName && out.name)
		out.name = out.name.startsWith(out.generateName) && /^[a-z0-9]{5}$/.test(
			out.name.slice(out.generateName.length)) ? `${out.generateName}<x>` : out.name;
	if (out.managedFields) {
		out.managedFields = managed(out.managedFields);
		if (out.managedFields.length === 0)
			delete out.managedFields;
	}
	if (out.continue)
		out.continue = '<continue>';
	if (out.annotations) {
		out.annotations = {...out.annotations};
		for (const name of NOISE)
			delete out.annotations[name];
		if (Object.keys(out.annotations).length === 0)
			delete out.annotations;
	}
	return out;
}

/** Words of a message without what differs by nature. */
export function words(text)
{
	return text.replace(UID, '<uid>').replace(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-<x>').replace(/current: \d+/g, 'current: <rv>')
		.replace(/too old resource version: \d+ \(\d+\)/g, 'too old resource version: <rv> (<rv>)')
		.replace(/ResourceVersion in record \(\d+\)/g, 'ResourceVersion in record (<rv>)')
		.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>');
}

function value(v, keepStatus)
{
	if (typeof v === 'string')
		return TIME.test(v) ? '<time>' : words(v);
	if (Array.isArray(v))
		return v.map(i => value(i, keepStatus));
	if (!isObject(v))
		return v;
	const out = {};

	for (const key of Object.keys(v).sort()) {
		if (key === 'metadata' && isObject(v[key]))
			out[key] = value(metadata(v[key]), keepStatus);
		else if (key === 'status' && STATUS_LATER.includes(v.kind) && !keepStatus)
			continue;
		else if (key === 'clusterIP' || key === 'clusterIPs')
			out[key] = JSON.parse(JSON.stringify(v[key]).replace(/\d+(\.\d+){3}/g, '<ip>'));
		else
			out[key] = value(v[key], keepStatus);
	}
	return JSON.parse(JSON.stringify(out));
}

/* Of these the words are compared, too: the others' tell of Go's types and diffs. */
const WORDS = ['NotFound', 'AlreadyExists', 'Conflict', 'Forbidden', 'Unauthorized', 'Timeout',
	'MethodNotAllowed', 'TooManyRequests', 'RequestEntityTooLarge', 'Expired'];

/** A failure: what a client can tell it by. */
function failure(s)
{
	const d = s.details ?? {};
	/* Some are told twice, by the checks of the metadata and those of the object. */
	const causes = [...new Set((d.causes ?? []).map(c => `${c.reason ?? ''} ${c.field ?? ''}`.trim()))].sort();

	return {status: s.status, code: s.code, reason: s.reason,
		...(WORDS.includes(s.reason) ? {message: words(s.message ?? '')} : {}), ...(d.kind ? {kind: d.kind} : {}), ...(d.group ? {group: d.group} : {}),
		...(d.name ? {name: words(d.name)} : {}), ...(s.metadata?.continue ? {continue: true} : {}), ...(causes.length ? {causes} : {}),
		...(d.retryAfterSeconds ? {retryAfterSeconds: d.retryAfterSeconds} : {})};
}

export function at(tree, path)
{
	return path.match(/[^.[\]]+|\[[^\]]*\]/g).reduce((v, step) => (v === undefined || v === null
		? undefined : v[step.replace(/^\[|\]$/g, '')]), tree);
}

function drop(tree, path)
{
	const steps = path.match(/[^.[\]]+/g);
	const last = steps.pop();
	const parent = steps.reduce((v, s) => v?.[s], tree);

	if (parent && Array.isArray(parent))
		parent.splice(Number(last), 1);
	else if (parent)
		delete parent[last];
}

/**
 * What is compared of an answer.
 * o: {bare: only the status code, only: [path], drop: [path], status: keep it, also: fn(answer), text: true}
 */
export function observe(r, o = {})
{
	const out = {code: r.status};

	if (o.bare)
		return out;
	const warnings = [].concat(r.headers?.warning ?? []).flatMap(w => w.match(/299 - "(\\.|[^"\\])*"/g) ?? []);

	if (warnings.length)
		out.warnings = warnings.map(w => words(w.slice(7, -1).replace(/\\"/g, '"')));
	if (o.type)
		out.type = (r.headers['content-type'] ?? '').replace(/\s/g, '');
	if (r.body?.kind === 'Status' && r.body.apiVersion === 'v1' && r.body.status === 'Failure') {
		out.failure = failure(r.body);
	} else if (o.only) {
		out.only = Object.fromEntries(o.only.map(p => [p, value(at(r.body, p), true) ?? null]));
	} else if (o.also && !o.whole) {
		// the function says all there is to say
	} else if (r.body !== null) {
		out.body = value(r.body, o.status);
		for (const path of o.drop ?? [])
			drop(out.body, path);
	} else if (o.text !== false) {
		out.text = words(r.text);
	}
	if (o.also && r.status < 400)
		out.also = JSON.parse(JSON.stringify(o.also(r) ?? null));
	return out;
}

/** An event of a watch: type, name, and the labels or words it came with. */
export function event(e)
{
	const m = e.object?.metadata ?? {};

	if (e.type === 'ERROR')
		return {type: e.type, failure: failure(e.object)};
	if (e.type === 'BOOKMARK')
		return {type: e.type, kind: e.object.kind, apiVersion: e.object.apiVersion,
			...(m.annotations ? {annotations: m.annotations} : {})};
	return {type: e.type, kind: e.object?.kind, name: m.name, ...(m.labels ? {labels: m.labels} : {}),
		...(m.deletionTimestamp ? {terminating: true} : {})};
}

/** Paths in which two observations differ: [{path, want, got}]. */
export function differences(want, got, path = '')
{
	if (isObject(want) && isObject(got))
		return [...new Set([...Object.keys(want), ...Object.keys(got)])].sort()
			.flatMap(k => differences(want[k], got[k], path ? `${path}.${k}` : k));
	if (Array.isArray(want) && Array.isArray(got))
		return Array.from({length: Math.max(want.length, got.length)}, (_, i) => i)
			.flatMap(i => differences(want[i], got[i], `${path}[${i}]`));
	return JSON.stringify(want) === JSON.stringify(got) ? [] : [{path, want, got}];
}
