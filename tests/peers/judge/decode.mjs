// From the wire to members of the models, for every protocol. What has no place in
// the model stays under its wire name, so that the check of members sees it.
import {parseXml} from './xml.mjs';

const capital = s => s[0].toUpperCase() + s.slice(1);

/* --- scalars ---------------------------------------------------------------------- */

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$/;

function time(text, format)
{
	if (format === 'unixTimestamp' || (format === 'any' && /^\d+(\.\d+)?$/.test(text)))
		return new Date(Number(text) * 1000);
	if (format === 'rfc822')
		return /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(text) ? new Date(text) : text;
	return ISO.test(text) ? new Date(text) : text;
}

/** A text that stands for a value; stays a text when it does not. */
function scalar(m, ref, text, timeFormat)
{
	const shape = m.shapes[ref.shape];

	switch (shape.type) {
	case 'boolean':
		return text === 'true' ? true : text === 'false' ? false : text;
	case 'integer':
	case 'long':
		return /^-?\d+$/.test(text) ? Number(text) : text;
	case 'float':
	case 'double':
		return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
	case 'timestamp':
		return time(text, ref.timestampFormat ?? shape.timestampFormat ?? timeFormat);
	case 'blob':
		return Buffer.from(text, 'base64');
	default:
		return text;
	}
}

/* --- JSON --------------------------------------------------------------------------- */

export function fromJson(m, ref, value)
{
	const shape = m.shapes[ref.shape];

	if (value === null || shape.document)
		return value;
	switch (shape.type) {
	case 'structure': {
		if (typeof value !== 'object' || Array.isArray(value))
			return value;
		const names = new Map(Object.entries(shape.members).filter(([, r]) => !r.location)
			.map(([name, r]) => [r.locationName ?? name, name]));

		return Object.fromEntries(Object.entries(value).map(([wire, one]) => {
			const name = names.get(wire);

			/* A name of the model that the wire spells otherwise is not one. */
			return name === undefined ? [shape.members[wire] ? `(wire) ${wire}` : wire, one]
				: [name, fromJson(m, shape.members[name], one)];
		}));
	}
	case 'list':
		return Array.isArray(value) ? value.map(one => fromJson(m, shape.member, one)) : value;
	case 'map':
		return typeof value === 'object' ? Object.fromEntries(Object.entries(value)
			.map(([k, one]) => [k, fromJson(m, shape.value, one)])) : value;
	case 'timestamp':
		if ((ref.timestampFormat ?? shape.timestampFormat ?? 'unixTimestamp') === 'unixTimestamp')
			return typeof value === 'number' ? new Date(value * 1000) : value;
		return typeof value === 'string'
			? time(value, ref.timestampFormat ?? shape.timestampFormat) : value;
	case 'blob':
		return typeof value === 'string' ? Buffer.from(value, 'base64') : value;
	default:
		return value;
	}
}

/* --- forms of the query protocols ---------------------------------------------------- */

export function fromForm(m, ref, params, ec2)
{
	const used = new Set(['Action', 'Version']);
	const has = p => params.has(p) || [...params.keys()].some(k => k.startsWith(`${p}.`));

	function numbered(prefix, read)
	{
		const list = [];

		for (let i = 1; has(`${prefix}.${i}`); i++)
			list.push(read(`${prefix}.${i}`));
		return list;
	}

	function read(r, p)
	{
		const shape = m.shapes[r.shape];

		if (shape.type === 'structure') {
			const value = {};

			for (const [name, one] of Object.entries(shape.members)) {
				const wire = ec2 ? one.queryName ?? capital(one.locationName ?? name)
					: one.locationName ?? name;
				const member = m.shapes[one.shape];
				const flat = member.type === 'list' && member.flattened && member.member.locationName;
				const at = (p ? `${p}.` : '') + (flat && !ec2 ? flat : wire);

				if (has(at))
					value[name] = read(one, at);
			}
			return value;
		}
		if (shape.type === 'list') {
			if (params.get(p) === '') {
				used.add(p);
				return [];
			}
			return numbered(ec2 || shape.flattened ? p : `${p}.${shape.member.locationName ?? 'member'}`,
				at => read(shape.member, at));
		}
		if (shape.type === 'map')
			return Object.fromEntries(numbered(shape.flattened ? p : `${p}.entry`, at =>
				[read(shape.key, `${at}.${shape.key.locationName ?? 'key'}`),
					read(shape.value, `${at}.${shape.value.locationName ?? 'value'}`)]));
		used.add(p);
		return scalar(m, r, params.get(p) ?? '', 'iso8601');
	}

	const value = ref ? read(ref, '') : {};

	for (const key of params.keys())
		if (!used.has(key))
			value[`(form) ${key}`] = params.get(key);
	return value;
}

/* --- XML ------------------------------------------------------------------------------- */

const bare = name => name.replace(/^.*:/, '');

export function fromXml(m, ref, node)
{
	const shape = m.shapes[ref.shape];

	switch (shape.type) {
	case 'structure':
		return structure(m, shape, node);
	case 'list': {
		const item = shape.member.locationName ?? 'member';

		return node.children.map(c => bare(c.name) === item ? fromXml(m, shape.member, c)
			: {[`(element) ${c.name}`]: c.text});
	}
	case 'map':
		return Object.fromEntries(node.children.map(entry => {
			const part = (r, fallback) => fromXml(m, r, entry.children
				.find(c => bare(c.name) === (r.locationName ?? fallback)));

			return [part(shape.key, 'key'), part(shape.value, 'value')];
		}));
	default:
		return node.children.length ? {[`(element) ${node.children[0].name}`]: ''}
			: scalar(m, ref, node.text, 'iso8601');
	}
}

function structure(m, shape, node)
{
	const value = {};
	const names = new Map();

	for (const [name, ref] of Object.entries(shape.members)) {
		const member = m.shapes[ref.shape];
		const flat = member.type === 'list' && (member.flattened || ref.flattened);

		if (ref.location)
			continue;
		if (ref.xmlAttribute) {
			if (node.attributes[ref.locationName] !== undefined)
				value[name] = scalar(m, ref, node.attributes[ref.locationName], 'iso8601');
			continue;
		}
		names.set(flat ? ref.locationName ?? member.member.locationName ?? name
			: ref.locationName ?? name, {name, ref, flat});
	}
	for (const child of node.children) {
		const known = names.get(bare(child.name));

		if (!known)
			value[`(element) ${child.name}`] = child.text;
		else if (known.flat)
			(value[known.name] ??= []).push(fromXml(m, m.shapes[known.ref.shape].member, child));
		else if (value[known.name] !== undefined)
			value[`(twice) ${child.name}`] = child.text;
		else
			value[known.name] = fromXml(m, known.ref, child);
	}
	return value;
}

/* --- REST: what is not in the body --------------------------------------------------------- */

export function fromPlaces(m, shape, {uri = {}, query = new Map(), headers})
{
	const value = {};

	for (const [name, ref] of Object.entries(shape.members)) {
		const wire = ref.locationName ?? name;
		const type = m.shapes[ref.shape].type;

		if (ref.location === 'uri' && uri[wire] !== undefined)
			value[name] = scalar(m, ref, uri[wire], 'iso8601');
		if (ref.location === 'header' && headers.has(wire.toLowerCase())) {
			const text = headers.get(wire.toLowerCase());

			value[name] = type === 'list' ? text.split(/\s*,\s*/) : scalar(m, ref, text, 'rfc822');
		}
		if (ref.location === 'headers') {
			const found = [...headers].filter(([k]) => k.startsWith(wire.toLowerCase()));

			if (found.length)
				value[name] = Object.fromEntries(found.map(([k, v]) => [k.slice(wire.length), v]));
		}
		if (ref.location !== 'querystring')
			continue;
		if (type === 'list' && query.has(wire))
			value[name] = query.get(wire).map(t => scalar(m, m.shapes[ref.shape].member, t, 'iso8601'));
		else if (query.has(wire))
			value[name] = query.get(wire).length === 1
				? scalar(m, ref, query.get(wire)[0], 'iso8601') : query.get(wire);
	}
	return value;
}

/** A body by the payload member, or by all members that have no other place. */
export function fromBody(m, shape, ref, body, json)
{
	const payload = shape.payload;
	const empty = body.length === 0;

	if (payload) {
		const r = shape.members[payload];
		const type = m.shapes[r.shape].type;

		if (type === 'blob' || type === 'string')
			return empty ? {} : {[payload]: type === 'blob' ? body : body.toString()};
		if (empty)
			return {};
		return {[payload]: json ? fromJson(m, r, JSON.parse(body)) : fromRoot(m, r, body)};
	}
	if (empty || Object.values(shape.members).every(r => r.location))
		return empty || (json && body.toString() === '{}') ? {} : {'(body)': body.toString()};
	return json ? fromJson(m, ref, JSON.parse(body)) : fromRoot(m, ref, body);
}

function fromRoot(m, ref, body)
{
	const root = parseXml(body.toString());
	const want = ref.locationName ?? m.shapes[ref.shape].locationName;

	if (want && bare(root.name) !== want)
		return {[`(root) ${root.name}`]: ''};
	return fromXml(m, ref, root);
}
