// What GET /operations/{id} is compared with: Express and pg, the same SELECT, the
// same headers; no access, no checks, no log.
//
//   node express.mjs SOCKET PG_FOLDER PROCESSES SELECT
import cluster from 'node:cluster';
import fs from 'node:fs';
import express from 'express';
import pg from 'pg';

const [socket, host, processes, text] = process.argv.slice(2);

if (cluster.isPrimary && processes > 1) {
	fs.rmSync(socket, {force: true});
	for (let i = 0; i < processes; i++)
		cluster.fork();
	process.on('SIGTERM', () => process.exit(0));
} else {
	const pool = new pg.Pool({host, user: 'instantstart_faces', database: 'instantstart', max: 10,
		options: '-c search_path=instantstart'});
	const app = express();

	app.disable('x-powered-by');
	app.get('/api/v1/operations/:id', async (req, res) => {
		const {rows} = await pool.query({name: 'get', text, values: [req.params.id]});

		if (rows.length === 0) {
			res.status(404).json({});
			return;
		}
		res.set('ETag', `"${rows[0].version}"`).set('Cache-Control', 'no-store')
			.type('json').send(rows[0].doc);
	});
	if (!cluster.isWorker)
		fs.rmSync(socket, {force: true});
	app.listen(socket);
}
