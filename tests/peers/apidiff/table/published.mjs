// Custom resource definitions that others have published, where there are any: they are
// taken, served, and refuse what their schema refuses.
import fs from 'node:fs';

const folder = [new URL('../../../../../shared/facts/crds/', import.meta.url),
	new URL('../../../../shared/facts/crds/', import.meta.url)].find(at => fs.existsSync(at));
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const YAML = {headers: {'content-type': 'application/yaml'}};

/* file: an object of it whose schema says what is wrong, and one that is right. */
const WANTED = {
	'ray.io_rayjobs.yaml': {name: 'rayjobs.ray.io', path: '/apis/ray.io/v1/namespaces/diff-published/rayjobs',
		kind: 'RayJob', version: 'ray.io/v1', good: {entrypoint: 'python x.py'},
		odd: {submissionMode: 'x', entrypoint: 5}},
	'keda.sh_scaledobjects.yaml': {name: 'scaledobjects.keda.sh', path: '/apis/keda.sh/v1alpha1/namespaces/diff-published/scaledobjects',
		kind: 'ScaledObject', version: 'keda.sh/v1alpha1', good: {scaleTargetRef: {name: 'd'}, triggers: [{type: 'cpu', metadata: {value: '50'}}]},
		odd: {scaleTargetRef: {}}},
};

export const published = !folder ? [] : Object.entries(WANTED).filter(([file]) => fs.existsSync(new URL(file, folder)))
	.map(([file, w]) => ({name: `published ${w.name}`, async play(k) {
		if ((await k.ask('GET', '/api/v1/namespaces/diff-published')).status === 404)
			await k.namespace('diff-published');
		await k.case(`published ${w.name}`, 'POST', CRDS, {...YAML, body: fs.readFileSync(new URL(file, folder), 'utf8'),
			also: r => [r.body.spec.names, r.body.spec.scope, r.body.spec.versions.map(v => [v.name, v.served, v.storage])]});
		await k.until(w.path, r => r.status === 200);
		const object = (name, spec) => ({apiVersion: w.version, kind: w.kind, metadata: {name}, spec});

		await k.case(`published ${w.name}, wrong`, 'POST', w.path, {body: object('odd', w.odd)});
		await k.case(`published ${w.name}, unknown`, 'POST', `${w.path}?fieldValidation=Strict`,
			{body: object('odd', {...w.odd, bogusMember: 1}), only: []});
		if (w.good) {
			await k.case(`published ${w.name}, right`, 'POST', w.path, {body: object('good', w.good), only: ['spec', 'metadata.generation']});
			await k.case(`published ${w.name}, applied`, 'PATCH', `${w.path}/good?fieldManager=two`, {headers: {
				'content-type': 'application/apply-patch+yaml'}, body: object('good', w.good), drop: ['spec', 'status']});
		}
		await k.case(`published ${w.name}, table`, 'GET', w.path, {headers: {accept:
			'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'}, also: r =>
			r.body.columnDefinitions.map(c => [c.name, c.type, c.priority])});
	}}));
