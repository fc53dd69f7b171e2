// Compresses what nginx serves (gzip_static, brotli_static) and prints what a
// browser transfers: of the whole, and of the first page.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import zlib from 'node:zlib';

const dist = fileURLToPath(new URL(`../${process.argv[2] ?? 'dist'}/`, import.meta.url));
const files = fs.readdirSync(dist, {recursive: true, withFileTypes: true})
	.filter(e => e.isFile() && !/\.(gz|br|map|woff2|png)$/.test(e.name))
	.map(e => path.join(e.parentPath ?? e.path, e.name));
const sum = {js: [0, 0], css: [0, 0]};
const kb = n => `${(n / 1000).toFixed(1)} KB`.padStart(9);

for (const file of files) {
	const data = fs.readFileSync(file);

	if (data.length < 256)
		continue;
	const gz = zlib.gzipSync(data, {level: 9});
	const br = zlib.brotliCompressSync(data, {params: {[zlib.constants.BROTLI_PARAM_QUALITY]: 10}});
	const type = path.extname(file).slice(1);

	fs.writeFileSync(`${file}.gz`, gz);
	fs.writeFileSync(`${file}.br`, br);
	if (sum[type]) {
		sum[type][0] += gz.length;
		sum[type][1] += br.length;
	}
}
for (const [type, [gz, br]] of Object.entries(sum))
	console.log(`  ${type.padEnd(4)} all routes ${kb(gz)} gzip ${kb(br)} brotli`);
