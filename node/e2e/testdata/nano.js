// The everyday calls of nano, CouchDB's own client for Node. Argument: {url, db}. Prints what it saw.
const assert = require('node:assert');
const nano = require('nano');

const { url, db } = JSON.parse(process.argv[2]);

(async () => {
  const server = nano(url);
  const seen = {};
  await server.db.create(db);
  assert.ok((await server.db.list()).includes(db));
  const d = server.use(db);
  const made = await d.insert({ n: 1 }, 'one');
  assert.ok(made.ok);
  const got = await d.get('one');
  assert.strictEqual(got._rev, made.rev);
  await assert.rejects(d.insert({ n: 2 }, 'one'), (err) => err.statusCode === 409 && err.error === 'conflict');
  await d.insert({ ...got, n: 2 });
  await d.bulk({ docs: Array.from({ length: 20 }, (_, i) => ({ _id: 'b' + i, n: i })) });
  await d.insert({ views: { n: { map: 'function (doc) { emit(doc.n, doc._id) }' } } }, '_design/d');
  const view = await d.view('d', 'n', { start_key: 5, end_key: 7, include_docs: true });
  seen.view = view.rows.map((row) => [row.key, row.doc._id]);
  seen.list = (await d.list({ limit: 3 })).rows.map((row) => row.id);
  seen.fetched = (await d.fetch({ keys: ['b1', 'none'] })).rows.map((row) => row.error || row.doc.n);
  await d.attachment.insert('with', 'a.txt', Buffer.from('hello'), 'text/plain');
  seen.attachment = (await d.attachment.get('with', 'a.txt')).toString();
  seen.head = (await d.head('one')).etag;
  seen.rev = (await d.get('one'))._rev;
  const changes = await d.changes({ since: 0, limit: 5 });
  seen.changes = changes.results.length;
  const gone = await d.destroy('b0', (await d.get('b0'))._rev);
  assert.ok(gone.ok);
  await assert.rejects(d.get('b0'), (err) => err.statusCode === 404 && err.reason === 'deleted');
  seen.count = (await d.info()).doc_count;

  // A feed from a sequence on, until nothing arrives for a while.
  const feed = [];
  const since = (await d.info()).update_seq;
  const reader = d.changesReader.get({ since, batchSize: 10, includeDocs: true, timeout: 500 });
  const ended = new Promise((done, fail) => reader.on('change', (c) => feed.push(c.id)).on('end', done).on('error', fail));
  await d.bulk({ docs: [{ _id: 'f1' }, { _id: 'f2' }] });
  await ended;
  seen.feed = feed.sort();
  await server.db.destroy(db);
  process.stdout.write(JSON.stringify(seen));
})().catch((err) => {
  console.error(err);
  process.exit(1);
});
