// The published API models (botocore's, from the AWS CLI's npm package), and what
// they say of a value: members, types, enums, patterns, lengths, ranges.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import zlib from 'node:zlib';

const tools = fileURLToPath(new URL('../node_modules/.tools', import.meta.url));

function dataFolder()
{
	const v2 = `${tools}/awscli/awscli/v2`;
	const [version] = fs.readdirSync(v2).filter(d => /^\d/.test(d));

	return `${v2}/${version}/dist/awscli/botocore/data`;
}

export const data = dataFolder();
const loaded = new Map();

function read(service, file)
{
	const versions = fs.readdirSync(path.join(data, service)).sort();
	const at = path.join(data, service, versions.at(-1), file);

	if (fs.existsSync(at))
		return JSON.parse(fs.readFileSync(at, 'utf8'));
	return fs.existsSync(`${at}.gz`)
		? JSON.parse(zlib.gunzipSync(fs.readFileSync(`${at}.gz`))) : null;
}

/** The whole model of a service; paginators and waiters too. */
export function model(service)
{
	if (!loaded.has(service)) {
		const m = read(service, 'service-2.json');

		m.service = service;
		m.paginators = read(service, 'paginators-1.json')?.pagination ?? {};
		m.waiters = read(service, 'waiters-2.json')?.waiters ?? {};
		loaded.set(service, m);
	}
	return loaded.get(service);
}

/** What the simulated cloud of this build plays: {service: [operation]}. */
export function played(out)
{
	const file = [out, path.dirname(out)].map(d => `${d}/cloud-models.json`)
		.find(f => fs.existsSync(f));
	const all = JSON.parse(fs.readFileSync(file, 'utf8'));

	return Object.fromEntries(Object.entries(all).map(([s, m]) => [s, Object.keys(m.operations)]));
}

const patterns = new Map();
export const unreadable = new Set();

/* Services match the whole text. The models' patterns are Java's. */
function matches(pattern, text)
{
	if (!patterns.has(pattern)) {
		const java = pattern.replaceAll('\\p{Print}', '\\x20-\\x7e')
			.replaceAll('\\p{Alnum}', 'a-zA-Z0-9').replaceAll('\\z', '$');
		let re = null;

		for (const flags of ['su', 's'])
			try {
				re ??= new RegExp(`^(?:${java})$`, flags);
			} catch {
				/* the next flavour, or none */
			}
		if (!re)
			unreadable.add(pattern);
		patterns.set(pattern, re);
	}
	return patterns.get(pattern)?.test(text) ?? true;
}

const typeOf = v => v === null ? 'null' : Array.isArray(v) ? 'list' : v instanceof Date ? 'date'
	: v instanceof Uint8Array ? 'bytes' : typeof v;

const SIMPLE = {
	string: 'string', character: 'string', boolean: 'boolean', integer: 'number',
	long: 'number', float: 'number', double: 'number', timestamp: 'date',
};

/**
 * Every way in which a value is not of its shape: [{path, what, key}]; the key names
 * the shape and what was wrong, for lists of known differences. Times are Dates,
 * blobs bytes or streams. The same for what a service says as for what it is asked.
 */
export function violations(m, shapeName, value, at = '', found = [])
{
	const shape = m.shapes[shapeName];
	const wrong = what => found.push({path: at, what, key: `${m.service} ${shapeName}: ${what}`});
	const type = typeOf(value);

	if (shape.type === 'structure') {
		if (shape.document)
			return found;
		if (type !== 'object') {
			wrong(`${type} where a structure belongs`);
			return found;
		}
		for (const name of shape.required ?? [])
			if (value[name] === undefined || value[name] === null)
				found.push({path: `${at}.${name}`, what: 'required, but missing',
					key: `${m.service} ${shapeName}.${name}: required, but missing`});
		for (const [name, one] of Object.entries(value)) {
			const member = shape.members[name];

			if (one === undefined)
				continue;
			if (!member)
				found.push({path: `${at}.${name}`, what: `no member of ${shapeName}`,
					key: `${m.service} ${shapeName}.${name}: no member`});
			else
				violations(m, member.shape, one, `${at}.${name}`, found);
		}
		const members = Object.values(value).filter(v => v !== undefined).length;

		if (shape.union && members !== 1)
			wrong(`${members} members of a union`);
		return found;
	}
	if (shape.type === 'list') {
		if (type !== 'list')
			wrong(`${type} where a list belongs`);
		else {
			length(shape, value.length, wrong);
			value.forEach((one, i) => violations(m, shape.member.shape, one, `${at}[${i}]`, found));
		}
		return found;
	}
	if (shape.type === 'map') {
		if (type !== 'object')
			wrong(`${type} where a map belongs`);
		else
			for (const [key, one] of Object.entries(value)) {
				violations(m, shape.key.shape, key, `${at}{key}`, found);
				violations(m, shape.value.shape, one, `${at}{${key}}`, found);
			}
		return found;
	}
	if (shape.type === 'blob')
		return found;
	if (type !== SIMPLE[shape.type]) {
		wrong(`${type} where a ${shape.type} belongs`);
		return found;
	}
	if (type === 'date' && Number.isNaN(value.getTime()))
		wrong('no time');
	if (type === 'string')
		checkText(shape, shapeName, value, wrong);
	if (type === 'number') {
		if (/integer|long/.test(shape.type) && !Number.isInteger(value))
			wrong(`${value} is no ${shape.type}`);
		if (value < (shape.min ?? -Infinity) || value > (shape.max ?? Infinity))
			wrong(`${value} is out of ${shape.min}…${shape.max}`);
	}
	return found;
}

function length(shape, n, wrong)
{
	if (n < (shape.min ?? 0) || n > (shape.max ?? Infinity))
		wrong(`length ${n} is out of ${shape.min ?? 0}…${shape.max ?? ''}`);
}

function checkText(shape, name, text, wrong)
{
	length(shape, [...text].length, wrong);
	if (shape.enum && !shape.enum.includes(text))
		wrong(`${JSON.stringify(text)} is not in the enum ${name}`);
	if (shape.pattern && !matches(shape.pattern, text))
		wrong(`${JSON.stringify(text.slice(0, 200))} does not match ${shape.pattern}`);
}
