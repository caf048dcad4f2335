// Filtered and live replication between a server and PouchDB on disk. Argument: {url, dir, country}. It edits on the PouchDB side and on the
// server, and prints what it saw; the test that started it looks at the server afterwards.
const assert = require('node:assert');
const path = require('node:path');
const PouchDB = require('pouchdb');

const { url, dir, country } = JSON.parse(process.argv[2]);

const until = async (what, condition) => {
  const end = Date.now() + 30000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error('timed out waiting for ' + what);
    await new Promise((done) => setTimeout(done, 20));
  }
};
const absent = (db, id) => db.get(id).then(() => false, (err) => err.status === 404);

(async () => {
  const remote = new PouchDB(url, { skip_setup: true });
  // Of the server's design document. All local documents are replicated back.
  const filter = { filter: 'by/country', query_params: { country } };
  const seen = {};

  // A part of the database, by a filter function of a design document, by a Mango selector, and by ids.
  const local = new PouchDB(path.join(dir, 'by-function'));
  const pulled = await local.replicate.from(remote, { ...filter, batch_size: 500 });
  assert.deepStrictEqual(pulled.errors, []);
  seen.byFunction = (await local.info()).doc_count;

  const ids = (await local.allDocs({ limit: 7 })).rows.map((row) => row.id);
  for (const [name, options] of [['bySelector', { selector: { country } }], ['byIDs', { doc_ids: ids }]]) {
    const other = new PouchDB(path.join(dir, name));
    const pulled = await other.replicate.from(remote, { ...options, batch_size: 500 });
    assert.deepStrictEqual(pulled.errors, []);
    seen[name] = (await other.info()).doc_count;
    await other.close();
  }

  // Again: the checkpoint is found, and nothing is written twice.
  seen.again = (await local.replicate.from(remote, filter)).docs_written;

  // Edits are replicated back.
  const rows = (await local.allDocs({ include_docs: true, limit: 12 })).rows.map((row) => row.doc);
  for (const doc of rows.slice(0, 10)) await local.put({ ...doc, note: 'edited in PouchDB — ✓ Ωλ' });
  await local.remove(rows[10]);
  await local.put({ _id: 'pouch-new', country, name: 'Newtown', _attachments: { 'a.txt': { content_type: 'text/plain', data: Buffer.from('hello').toString('base64') } } });
  const pushed = await local.replicate.to(remote);
  assert.deepStrictEqual(pushed.errors, []);
  seen.pushed = pushed.docs_written;
  seen.edited = rows.slice(0, 10).map((doc) => doc._id);
  seen.removed = rows[10]._id;

  // A conflict made on both sides exists on both sides, with the same winner.
  const ours = await local.get(rows[11]._id);
  await local.put({ ...ours, side: 'pouch' });
  await remote.put({ ...ours, side: 'server' });
  await local.sync(remote, { pull: filter });
  const [here, there] = await Promise.all([local, remote].map((db) => db.get(ours._id, { conflicts: true })));
  assert.strictEqual(here._rev, there._rev);
  assert.deepStrictEqual(here._conflicts, there._conflicts);
  seen.conflicts = there._conflicts.length;

  // Live, in both directions.
  const sync = local.sync(remote, { live: true, retry: true, pull: filter });
  const errors = [];
  sync.on('error', (err) => errors.push(String(err))).on('denied', (err) => errors.push(JSON.stringify(err)));
  await remote.put({ _id: 'live-server', country, n: 1 });
  await remote.put({ _id: 'live-elsewhere', country: 'nowhere', n: 1 });
  await until('the server’s document here', async () => !(await absent(local, 'live-server')));
  await local.put({ _id: 'live-pouch', country, n: 2 });
  await until('our document on the server', async () => !(await absent(remote, 'live-pouch')));
  const doc = await remote.get('live-server');
  await remote.put({ ...doc, _deleted: true }); // with its country, or the filter would drop the tombstone
  await until('the deletion here', () => absent(local, 'live-server'));
  seen.filtered = await absent(local, 'live-elsewhere');
  sync.cancel();
  await new Promise((done) => sync.on('complete', done));
  seen.errors = errors;
  await local.close();
  process.stdout.write(JSON.stringify(seen));
})().catch((err) => {
  console.error(err);
  process.exit(1);
});
