// Every error that a model knows for an operation, and every refusal that comes
// before the operation, must reach the caller as what the client has for it.
import assert from 'node:assert/strict';
import {model} from '../models.mjs';

/* An input that the client can write: what goes into the path must be there. */
function smallest(m, op)
{
	const shape = m.shapes[m.operations[op].input?.shape];
	const input = {};

	for (const name of shape?.required ?? []) {
		const member = shape.members[name];

		if (member.location === 'uri' || m.service === 's3')
			input[name] = m.shapes[member.shape].type === 'structure' ? {} : 'some-name';
	}
	return input;
}

const REFUSALS = [
	['throttle', /Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|503/, true],
	['denied', /AccessDenied|UnauthorizedOperation|403/, false],
	['expired', /Expired|400|403/, false],
];

export async function errors(cloud, tally, played)
{
	for (const [service, ops] of Object.entries(played)) {
		const m = model(service);
		const {sdk} = cloud.of(service);

		for (const op of ops) {
			const input = smallest(m, op);
			const head = m.operations[op].http.method === 'HEAD';

			for (const {shape} of m.operations[op].errors ?? []) {
				const e = m.shapes[shape].error ?? {};
				const code = head ? 'NotFound' : e.code ?? shape;

				await tally.case(`${service}.${op} error ${shape}`, async () => {
					await cloud.fault({service, op, fault: 'error', code, message: 'told <so> & "so"',
						...(head ? {status: 404} : {})});
					const x = await cloud.send(service, op, input)
						.then(() => assert.fail('not refused'), y => y);

					if (head) {
						assert.equal(x.$metadata.httpStatusCode, 404);
						assert.equal(x.name, 'NotFound');
						return;
					}
					assert(sdk[shape], `the client has no ${shape}`);
					assert(x instanceof sdk[shape], `a ${x.name}: ${x.message}`);
					assert.equal(x.message, 'told <so> & "so"');
					if (e.httpStatusCode)
						assert.equal(x.$metadata.httpStatusCode, e.httpStatusCode);
					assert.equal(x.$fault,
						m.shapes[shape].fault || e.httpStatusCode >= 500 ? 'server' : 'client');
				});
			}
			for (const [fault, name, throttles] of REFUSALS)
				await tally.case(`${service}.${op} ${fault}`, async () => {
					await cloud.fault({service, op, fault});
					const x = await cloud.send(service, op, input)
						.then(() => assert.fail('not refused'), y => y);

					assert.match(`${x.name} ${x.$metadata.httpStatusCode}`, name);
					/* What the client would do again by itself. */
					const status = x.$metadata.httpStatusCode;

					if (throttles && !head)
						assert(x.$retryable?.throttling || status === 429 || status === 503 ||
							/^(Throttling|ThrottlingException|RequestLimitExceeded|SlowDown|TooManyRequestsException)$/
								.test(x.name), `${x.name} ${status} is no throttling`);
				});
		}
	}
	await cloud.clearFaults();
}
