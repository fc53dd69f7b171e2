// Makes the API models that the simulated cloud is strict by.
//
// Reads botocore's service-2.json files (from the AWS CLI's npm package) and
// writes one file with the operations that tests/cloud plays, the shapes they
// reach, and nothing that only people read. An operation is played when a row
// {"Name", true|false, …} names it in the file of its service's cloud_service, so
// that a new handler needs no entry anywhere else.
//
//   prune.mjs OUT DIR...   DIR: where to look for botocore/data, the first wins

import fs from 'node:fs'
import path from 'node:path'
import url from 'node:url'
import zlib from 'node:zlib'

const SERVICES = ['sts', 'iam', 'ec2', 'cloudformation', 'eks', 'sagemaker', 's3',
	'service-quotas', 'logs', 'fsx', 'elbv2']
const KEEP_METADATA = ['apiVersion', 'endpointPrefix', 'protocol', 'jsonVersion', 'serviceId',
	'signingName', 'targetPrefix', 'xmlNamespace']

const [out, ...roots] = process.argv.slice(2)
const cloud = path.dirname(path.dirname(url.fileURLToPath(import.meta.url)))

function* walk(dir) {
	for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
		const p = path.join(dir, e.name)
		if (e.isDirectory()) yield* walk(p)
		else if (e.name.endsWith('.c')) yield p
	}
}

function findData(dir, depth) {
	const here = path.join(dir, 'botocore', 'data')
	if (fs.existsSync(here)) return here
	if (depth === 0 || !fs.existsSync(dir)) return null
	for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
		if (!e.isDirectory()) continue
		const found = findData(path.join(dir, e.name), depth - 1)
		if (found) return found
	}
	return null
}

function readModel(data, service) {
	const dir = path.join(data, service)
	if (!fs.existsSync(dir)) return null
	const version = fs.readdirSync(dir).sort().at(-1)
	const file = path.join(dir, version, 'service-2.json')
	if (fs.existsSync(file)) return JSON.parse(fs.readFileSync(file, 'utf8'))
	return JSON.parse(zlib.gunzipSync(fs.readFileSync(file + '.gz')).toString('utf8'))
}

function bare(v) {
	if (Array.isArray(v)) return v.map(bare)
	if (v === null || typeof v !== 'object') return v
	const r = {}
	for (const [k, x] of Object.entries(v)) {
		// A member may be called "documentation": only texts are dropped.
		if (typeof x === 'string' && k.startsWith('documentation')) continue
		r[k] = bare(x)
	}
	return r
}

function prune(model, played) {
	const r = { metadata: {}, operations: {}, shapes: {} }
	for (const k of KEEP_METADATA) if (k in model.metadata) r.metadata[k] = model.metadata[k]
	const reach = (name) => {
		if (name in r.shapes) return
		const shape = (r.shapes[name] = bare(model.shapes[name]))
		for (const ref of Object.values(shape.members ?? {})) reach(ref.shape)
		for (const k of ['member', 'key', 'value']) if (shape[k]) reach(shape[k].shape)
	}
	for (const [name, op] of Object.entries(model.operations)) {
		if (!played.has(name)) continue
		const o = bare(op)
		r.operations[name] = {
			http: o.http, input: o.input, output: o.output,
			errors: (o.errors ?? []).map((e) => e.shape),
		}
		for (const ref of [o.input, o.output, ...(o.errors ?? [])]) if (ref) reach(ref.shape)
	}
	return r
}

const played = new Map()
for (const file of walk(cloud)) {
	const text = fs.readFileSync(file, 'utf8')
	const service = /struct cloud_service cloud_\w+ = \{\s*(?:\.id = )?"([\w-]+)"/.exec(text)
	if (!service) continue
	const rows = text.matchAll(/\{\s*"([A-Z]\w+)",\s*(?:true|false)\b/g)
	played.set(service[1], new Set([...rows].map((m) => m[1])))
}

const data = roots.map((r) => findData(r, 6)).find(Boolean)
if (!data) {
	console.error(`prune.mjs: no botocore/data under ${roots.join(', ')}; run make deps`)
	process.exit(1)
}
const result = {}
for (const s of SERVICES) {
	const model = readModel(data, s)
	if (model && played.has(s)) result[s] = prune(model, played.get(s))
}
fs.writeFileSync(out + '.new', JSON.stringify(result))
fs.renameSync(out + '.new', out)
