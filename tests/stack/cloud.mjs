// The controls of the simulated cloud: its state, ledger, settings, faults, clock.

export function cloudOf(url)
{
	async function ask(method, what, body)
	{
		const res = await fetch(`${url}/_cloud/${what}`, {method,
			body: body === undefined ? undefined : JSON.stringify(body)});
		const json = await res.json();

		if (!res.ok)
			throw new Error(`cloud: ${method} ${what}: ${res.status} ${json.message}`);
		return json;
	}

	return {
		url,
		state: () => ask('GET', 'state'),
		ledger: () => ask('GET', 'ledger'),
		faults: () => ask('GET', 'faults'),
		/** Merge patch: null takes a setting away. */
		settings: patch => ask('POST', 'settings', patch),
		addFaults: rules => ask('POST', 'faults', rules),
		clearFaults: () => ask('DELETE', 'faults'),
		/** Groups and nodes at once: {cluster, groups, nodes, type, pods}. */
		fleet: body => ask('POST', 'fleet', body),
		advance: ms => ask('POST', 'clock', {advance_ms: ms}),
	};
}
