/* The main job by the client that openapi-typescript makes of our document: what
 * does not compile here, a user could not write. */
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const api = createClient<paths>({ baseUrl: 'http://localhost:3099/api/v1' });

export async function run(name: string, zone: string): Promise<string> {
	const made = await api.POST('/clusters', {
		params: { header: { 'Idempotency-Key': 'once' } },
		body: { name, zone, instance_type: 'ml.g5.12xlarge', count: 2 },
	});

	if (made.error)
		return made.error.detail;
	/* With dry_run it is a plan. */
	if (!('id' in made.data))
		return made.data.plan_digest;
	const seen = await api.GET('/operations/{id}', {
		params: { path: { id: made.data.id }, query: { wait: 5 } },
	});

	if (seen.data?.status === 'succeeded')
		return name;
	const clusters = await api.GET('/clusters', { params: { query: { limit: 10 } } });

	return clusters.data?.items.map((c) => c.name).join() ?? '';
}

/* A member that does not exist, and a wrong type, must not compile. */
export const wrong = [
	// @ts-expect-error no such member
	api.POST('/clusters', { body: { name: 'a', bogus: 1 } }),
	// @ts-expect-error a number is no name
	api.POST('/clusters', { body: { name: 7 } }),
	// @ts-expect-error no such path
	api.GET('/nothing'),
];
export type Problem = components['schemas']['Problem'];
