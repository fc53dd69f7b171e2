// XML as services write it: elements, attributes, text. No namespaces, no DTD.

const unescape = s => s.replace(/&(#x?[0-9a-fA-F]+|\w+);/g, (_, e) => e[0] === '#'
	? String.fromCodePoint(e[1] === 'x' ? parseInt(e.slice(2), 16) : parseInt(e.slice(1), 10))
	: {lt: '<', gt: '>', amp: '&', quot: '"', apos: '\''}[e]);

/** {name, attributes, children, text}; throws for what is not well formed. */
export function parseXml(text)
{
	const root = {children: [], text: ''};
	const open = [root];
	const token = /<\?[^>]*\?>|<!--[\s\S]*?-->|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+="[^"]*")*)\s*(\/?)>|([^<]+)/gy;
	let at = 0;

	while (at < text.length) {
		token.lastIndex = at;
		const m = token.exec(text);

		if (!m)
			throw new Error(`no XML at ${JSON.stringify(text.slice(at, at + 40))}`);
		at = token.lastIndex;
		const top = open.at(-1);

		if (m[5] !== undefined)
			top.text += unescape(m[5]);
		else if (m[1]) {
			if (top.name !== m[2])
				throw new Error(`</${m[2]}> closes <${top.name}>`);
			open.pop();
		} else if (m[2]) {
			const node = {name: m[2], attributes: {}, children: [], text: ''};

			for (const [, k, v] of m[3].matchAll(/([\w:.-]+)="([^"]*)"/g))
				node.attributes[k] = unescape(v);
			top.children.push(node);
			if (!m[4])
				open.push(node);
		}
	}
	if (open.length !== 1 || root.children.length !== 1)
		throw new Error('elements are left open, or there is no single root');
	return root.children[0];
}
