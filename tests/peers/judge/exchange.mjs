// What an exchange on the wire was: service, operation, input, output or error.
import {model} from '../models.mjs';
import {fromBody, fromForm, fromJson, fromPlaces, fromXml} from './decode.mjs';
import {parseXml} from './xml.mjs';

const SERVICES = ['sts', 'iam', 'ec2', 'cloudformation', 'eks', 'sagemaker', 's3',
	'service-quotas', 'logs', 'fsx', 'ssm', 'pricing', 'elbv2'];

const bytes = part => part.base64 === undefined ? Buffer.from(part.body ?? '')
	: Buffer.from(part.base64, 'base64');
const headersOf = part => new Map(part.headers.map(([k, v]) => [k.toLowerCase(), v]));

/* Which service: who signs tells for whom it is. */
function serviceOf(headers, query, form)
{
	const scope = /Credential=[^/]+\/\d+\/[^/]+\/([^/]+)\/aws4_request/
		.exec(headers.get('authorization') ?? '')?.[1] ??
		query.get('X-Amz-Credential')?.[0].split('/')[3];

	if (scope)
		return SERVICES.find(s => {
			const {signingName, endpointPrefix} = model(s).metadata;

			return (signingName ?? endpointPrefix) === scope;
		});
	return form.has('Action') || query.has('Action') ? 'sts' : undefined;
}

/* --- REST routes ------------------------------------------------------------------------- */

const decode = s => decodeURIComponent(s);

function routes(m)
{
	m.routes ??= Object.entries(m.operations).map(([op, o]) => {
		const [path, query = ''] = o.http.requestUri.split('?');
		const names = [];
		const re = path.split('/').filter(Boolean).map(part => {
			const name = /^\{([^}+]+)(\+?)\}$/.exec(part);

			if (!name)
				return `/${part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`;
			names.push(name[1]);
			return name[2] ? '/(.+)' : '/([^/]+)';
		}).join('');

		const members = m.shapes[o.input?.shape] ?? {members: {}};
		const needed = (members.required ?? []).map(n => members.members[n])
			.filter(r => r.location === 'header' || r.location === 'querystring');

		return {op, method: o.http.method, names, needed, re: new RegExp(`^${re || ''}/?$`),
			query: query.split('&').filter(Boolean).map(q => q.split('=')),
			weight: path.replace(/\{[^}]*\}/g, '').length};
	}).sort((a, b) => b.query.length - a.query.length || b.weight - a.weight ||
		b.needed.length - a.needed.length);
	return m.routes;
}

/* Two of S3's operations may differ in nothing but a header that one needs. */
function route(m, method, path, query, headers)
{
	for (const r of routes(m)) {
		const match = r.method === method && r.re.exec(path);

		if (match && r.query.every(([k, v = '']) => query.get(k)?.[0] === v) &&
			(m.service !== 's3' || r.needed.every(n => n.location === 'header'
				? headers.has(n.locationName.toLowerCase()) : query.has(n.locationName))))
			return {op: r.op, query: new Set(r.query.map(([k]) => k)),
				uri: Object.fromEntries(r.names.map((n, i) => [n, decode(match[i + 1])]))};
	}
	return null;
}

/* --- requests -------------------------------------------------------------------------------- */

/* Query members that no model has: the protocols' own. */
const OWN_QUERY = /^(X-Amz-.*|x-id|Action|Version)$/;

/** {service, m, op, input, faults}; faults: what no model needs to be asked about. */
export function readRequest(req)
{
	const headers = headersOf(req);
	const [told, search = ''] = req.target.split('?');
	/* The bucket may stand in the host's name. */
	const bucket = /^([a-z0-9][a-z0-9.-]+)\.s3[.-]/.exec(req.host)?.[1];
	const path = bucket ? `/${bucket}${told === '/' ? '' : told}` : told;
	const query = new Map();

	for (const [k, v] of new URLSearchParams(search.replaceAll('+', '%2B')))
		query.set(k, [...(query.get(k) ?? []), v]);
	const body = bytes(req);
	const type = headers.get('content-type') ?? '';
	const form = new Map(/x-www-form-urlencoded/.test(type) ? new URLSearchParams(body.toString()) : []);
	const service = serviceOf(headers, query, form);

	if (!service)
		return null;
	const m = model(service);
	const faults = [];
	const fault = what => faults.push({path: '', what, key: `${service}: ${what}`});
	/* Only what tests run in process has no agent. */
	const found = {service, m, faults, headers,
		ours: /^instantstart|^$/.test(headers.get('user-agent') ?? '')};
	const {protocol, targetPrefix, jsonVersion, apiVersion} = m.metadata;

	if (protocol === 'json') {
		const [prefix, op] = (headers.get('x-amz-target') ?? '').split('.');

		found.op = op;
		if (!m.operations[op])
			return found;
		if (prefix !== targetPrefix)
			fault(`target ${prefix}`);
		if (type !== `application/x-amz-json-${jsonVersion}`)
			fault(`content type ${type}`);
		found.input = m.operations[op].input
			? fromJson(m, m.operations[op].input, JSON.parse(body.toString() || '{}')) : {};
	} else if (protocol === 'query' || protocol === 'ec2') {
		/* A presigned call has its form in the query. */
		const params = form.size ? form : new Map([...query].filter(([k]) => !/^X-Amz-/.test(k))
			.map(([k, [v]]) => [k, v]));

		found.op = params.get('Action');
		if (!m.operations[found.op])
			return found;
		if (params.get('Version') !== apiVersion)
			fault(`version ${params.get('Version')}`);
		found.input = fromForm(m, m.operations[found.op].input, params, protocol === 'ec2');
	} else
		readRest(found, {method: req.method, path, query, body, headers, type, fault});
	return found;
}

function readRest(found, {method, path, query, body, headers, type, fault})
{
	const {m} = found;
	const r = route(m, method, path, query, headers);

	found.op = r?.op;
	if (!r)
		return;
	const ref = m.operations[r.op].input;
	const json = m.metadata.protocol === 'rest-json';

	if (json && body.length && type !== 'application/json')
		fault(`content type ${type}`);
	if (!ref) {
		found.input = {};
		return;
	}
	const shape = m.shapes[ref.shape];
	const known = new Set(Object.values(shape.members).filter(x => x.location === 'querystring')
		.map(x => x.locationName));

	found.input = {...fromPlaces(m, shape, {uri: r.uri, query, headers}),
		...fromBody(m, shape, ref, body, json)};
	for (const k of query.keys())
		if (!known.has(k) && !r.query.has(k) && !OWN_QUERY.test(k))
			fault(`query member ${k}`);
}

/* --- answers ------------------------------------------------------------------------------------ */

/** {output} or {error: {code, members}}; throws for what cannot be read. */
export function readAnswer({m, op, service}, res, method)
{
	const headers = headersOf(res);
	const body = bytes(res);
	const o = m.operations[op];
	const {protocol} = m.metadata;

	if (res.status >= 300)
		return {error: readError(protocol, headers, body, method)};
	if (!o.output) {
		if (protocol === 'query' || protocol === 'ec2')
			envelope(op, o, body, protocol);
		return {output: {}};
	}
	const ref = o.output;
	const shape = m.shapes[ref.shape];

	if (protocol === 'json')
		return {output: fromJson(m, ref, JSON.parse(body.toString() || '{}'))};
	if (protocol === 'query' || protocol === 'ec2')
		return {output: fromXml(m, ref, envelope(op, o, body, protocol))};
	/* Its body is the text of its only member. */
	if (service === 's3' && op === 'GetBucketLocation') {
		const {text} = parseXml(body.toString());

		return {output: text ? {LocationConstraint: text} : {}};
	}
	const out = fromPlaces(m, shape, {headers});

	return {output: method === 'HEAD' ? out
		: {...out, ...fromBody(m, shape, ref, body, protocol === 'rest-json')}};
}

function envelope(op, o, body, protocol)
{
	const root = parseXml(body.toString());

	if (root.name !== `${op}Response`)
		throw new Error(`root <${root.name}>`);
	if (protocol === 'ec2') {
		if (!root.children.some(c => c.name === 'requestId'))
			throw new Error('no requestId');
		return {...root, children: root.children.filter(c => c.name !== 'requestId' &&
			!(c.name === 'return' && !o.output))};
	}
	const meta = root.children.find(c => c.name === 'ResponseMetadata');
	const wrapper = o.output?.resultWrapper;

	if (!meta?.children.some(c => c.name === 'RequestId'))
		throw new Error('no ResponseMetadata');
	if (!wrapper)
		return {...root, children: root.children.filter(c => c !== meta)};
	const result = root.children.find(c => c.name === wrapper);

	if (!result)
		throw new Error(`no ${wrapper}`);
	return result;
}

function readError(protocol, headers, body, method)
{
	if (method === 'HEAD')
		return {code: null, members: {}};
	if (protocol === 'json' || protocol === 'rest-json') {
		const all = JSON.parse(body.toString());
		const code = headers.get('x-amzn-errortype') ?? all.__type ?? all.code;

		delete all.__type;
		return {code: code.replace(/^.*#/, '').replace(/:.*$/, ''), members: all, json: true};
	}
	const root = parseXml(body.toString());
	const find = (n, name) => n.name === name ? n
		: n.children.map(c => find(c, name)).find(Boolean);

	return {code: find(root, 'Code').text, members: {}, message: find(root, 'Message').text};
}
