import react from '@vitejs/plugin-react';
import {defineConfig, type Plugin} from 'vite';

/**
 * Cloudscape's global styles carry eight fonts as data: URLs, 130 KB that every
 * visitor would load before the first pixel. As files they are loaded when used.
 */
function fontsAsFiles(): Plugin
{
	/* Regular and bold, as text is measured before it is painted. */
	const first = ['open-sans-3.woff2', 'open-sans-5.woff2'];

	return {
		name: 'fonts-as-files',
		apply: 'build',
		enforce: 'pre',
		transform(code, id) {
			if (!/global-styles\/index\.css$/.test(id.split('?')[0] ?? ''))
				return null;
			let n = 0;

			return code.replace(/url\('data:font\/woff2;base64,([^']+)'\)/g, (_, base64: string) => {
				const ref = this.emitFile({type: 'asset', name: `open-sans-${++n}.woff2`,
					source: Buffer.from(base64, 'base64')});

				return `url('/${this.getFileName(ref)}')`;
			});
		},
		transformIndexHtml: {
			order: 'post',
			handler: (_, {bundle}) => Object.values(bundle ?? {})
				.filter(f => f.type === 'asset' && f.names.some(n => first.includes(n)))
				.map(f => ({tag: 'link', attrs: {rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: '', fetchpriority: 'low', href: `/${f.fileName}`},
					injectTo: 'head' as const})),
		},
	};
}

/**
 * Parts of Cloudscape that this console never shows, but that their neighbours import:
 * the layouts of other designs, and dragging of list items with its library. Each
 * stands for a component; shown all the same it would fail loudly.
 */
function leftOut(): Plugin
{
	const unused: [importer: RegExp, what: RegExp][] = [
		[/components\/app-layout\/internal\.js$/, /^\.\/(classic|visual-refresh-toolbar)$/],
		[/components\/list\/internal\.js$/, /\/sortable-area$/],
	];

	return {
		name: 'left-out',
		apply: 'build',
		enforce: 'pre',
		resolveId: (id, importer) => unused.some(([from, what]) => from.test(importer ?? '') && what.test(id))
			? `\0left-out:${id}` : null,
		load: id => id.startsWith('\0left-out:')
			? `export default () => { throw new Error(${JSON.stringify(`${id.slice(1)} is not in this build`)}); };` : null,
	};
}

export default defineConfig({
	publicDir: 'static',
	plugins: [leftOut(), fontsAsFiles(), react()],
	build: {
		target: 'es2022',
		/* A data: URL in a style sheet is loaded whether it is used or not. */
		assetsInlineLimit: 0,
		modulePreload: {polyfill: false},
		reportCompressedSize: false,
		chunkSizeWarningLimit: 1000,
	},
	server: {
		proxy: Object.fromEntries(['/api', '/mcp', '/login', '/ws'].map(path => [path,
			{target: process.env.INSTANTSTART_URL ?? 'http://127.0.0.1:3099', ws: path === '/ws'}])),
	},
	test: {include: ['src/**/*.test.ts']},
} as Parameters<typeof defineConfig>[0]);
