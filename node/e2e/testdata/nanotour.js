// The functions of nano's documentation, in its order. Argument: {url, name, password}. Prints what it saw.
const assert = require('node:assert');
const nano = require('nano');

const { url, name, password } = JSON.parse(process.argv[2]);

const text = async (stream) => {
  let all = '';
  for await (const part of stream) all += part;
  return all;
};
const status = (promise) => promise.then(() => 200, (err) => err.statusCode);
const when = async (what, ready) => {
  for (let i = 0; i < 300; i++) {
    if (await ready()) return;
    await new Promise((next) => setTimeout(next, 100));
  }
  throw new Error('not yet: ' + what);
};

(async () => {
  const withPassword = url.replace('://', `://${encodeURIComponent(name)}:${encodeURIComponent(password)}@`);
  const server = nano({ url: withPassword, headers: { 'X-Of-Ours': '1' } });
  const seen = {};

  // database functions
  const created = await server.db.create('alice', { n: 1, q: 2 });
  assert.deepStrictEqual(created, { ok: true });
  seen.again = await status(server.db.create('alice'));
  seen.get = (await server.db.get('alice')).db_name;
  assert.ok((await server.db.list()).includes('alice'));
  assert.ok(JSON.parse(await text(server.db.listAsStream())).includes('alice'));
  seen.compact = (await server.db.compact('alice')).ok;
  const alice = server.use('alice');
  assert.strictEqual(server.scope('alice').config.db, server.db.scope('alice').config.db);
  seen.info = (await server.info()).couchdb;
  seen.updates = typeof (await server.updates({ limit: 1 })).last_seq;
  seen.request = (await server.request({ db: 'alice', method: 'get', path: '_all_docs', qs: { limit: 1 } })).total_rows;
  seen.relax = (await server.relax({ path: '_up' })).status;
  seen.uuids = (await server.uuids(3)).uuids.length;

  // document functions
  const rabbit = await alice.insert({ crazy: true }, { docName: 'rabbit' });
  seen.conflict = await status(alice.insert({ crazy: false }, 'rabbit'));
  const second = await alice.insert({ _id: 'rabbit', _rev: rabbit.rev, crazy: true, n: 2 });
  seen.rabbit = await alice.get('rabbit', { revs_info: true }).then((d) => d._revs_info.map((r) => r.status));
  seen.head = (await alice.head('rabbit')).etag === `"${second.rev}"`;
  seen.bulk = (await alice.bulk({ docs: [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }, { _id: 'c', n: 3 }] })).map((r) => r.ok);
  seen.list = (await alice.list({ include_docs: true })).rows.map((r) => r.doc._id);
  assert.strictEqual(JSON.parse(await text(alice.listAsStream({ limit: 2 }))).rows.length, 2);
  seen.fetch = (await alice.fetch({ keys: ['a', 'zz'] })).rows.map((r) => (r.doc ? r.doc.n : r.error));
  seen.fetchRevs = (await alice.fetchRevs({ keys: ['a', 'c'] })).rows.map((r) => r.value.rev.slice(0, 2));
  const index = await alice.createIndex({ index: { fields: ['n'] }, name: 'byn', type: 'json' });
  assert.strictEqual(index.result, 'created');
  seen.destroy = (await alice.destroy('rabbit', second.rev)).ok;

  // the feed of changes: once, as a stream, in batches, and a spooled one
  seen.changes = (await server.db.changes('alice', { limit: 2 })).results.length;
  seen.changed = JSON.parse(await text(alice.changesAsStream({ filter: '_design' }))).results.length;
  const feed = [];
  const reader = server.use('alice').changesReader;
  await new Promise((done) => reader.start({ since: '0', batchSize: 2, wait: false })
    .on('batch', (b) => { feed.push(...b.map((c) => c.id)); if (feed.length >= 5) done(); })
    .on('error', () => {})); // it is stopped while it waits
  reader.stop();
  assert.ok(feed.includes('a') && feed.includes('rabbit'), feed.join());
  const spooled = [];
  await new Promise((done, fail) => alice.changesReader.spool({ since: 0 })
    .on('batch', (b) => spooled.push(...b)).on('end', done).on('error', fail));
  seen.spooled = spooled.length;

  // partitions
  await server.db.create('parts', { partitioned: true });
  const parts = server.use('parts');
  await parts.bulk({ docs: [{ _id: 'canidae:wolf', n: 1 }, { _id: 'canidae:fox', n: 2 }, { _id: 'felidae:cat', n: 3 }] });
  await parts.insert({ views: { n: { map: 'function (doc) { emit(doc.n, 1) }', reduce: '_sum' } } }, '_design/d');
  seen.partition = (await parts.partitionInfo('canidae')).doc_count;
  seen.partitioned = (await parts.partitionedList('canidae', { limit: 5 })).rows.map((r) => r.id);
  assert.strictEqual(JSON.parse(await text(parts.partitionedListAsStream('felidae'))).rows.length, 1);
  const selector = { n: { $gt: 1 } };
  seen.partitionedFind = (await parts.partitionedFind('canidae', { selector })).docs.map((d) => d._id);
  assert.strictEqual(JSON.parse(await text(parts.partitionedFindAsStream('canidae', { selector }))).docs.length, 1);
  seen.partitionedView = (await parts.partitionedView('canidae', 'd', 'n', { reduce: true })).rows[0].value;
  assert.strictEqual(JSON.parse(await text(parts.partitionedViewAsStream('canidae', 'd', 'n', { reduce: false }))).rows.length, 2);

  // documents with attachments in one request, and attachments
  const picture = Buffer.from([0, 1, 2, 250, 255]);
  await alice.multipart.insert({ foo: 'bar' }, [
    { name: 'rabbit.png', data: picture, content_type: 'image/png' },
    { name: 'note.txt', data: 'hello', content_type: 'text/plain' }], 'pictures');
  const both = await alice.multipart.get('pictures');
  assert.ok(both.includes('rabbit.png') && both.includes('note.txt')); // nano reads all of it as a text
  const put = await alice.attachment.insert('pictures', 'more.bin', picture, 'application/octet-stream',
    { rev: (await alice.get('pictures'))._rev });
  assert.deepStrictEqual(await alice.attachment.get('pictures', 'rabbit.png'), picture);
  assert.strictEqual(await text(alice.attachment.getAsStream('pictures', 'note.txt')), 'hello');
  seen.attachments = Object.keys((await alice.get('pictures'))._attachments).sort();
  seen.detached = (await alice.attachment.destroy('pictures', 'more.bin', { rev: put.rev })).ok;

  // views and design functions
  await alice.insert({
    views: { n: { map: 'function (doc) { if (doc.n) emit(doc.n, doc._id) }', reduce: '_count' } },
    shows: { s: 'function (doc, req) { return { json: { id: doc._id, q: req.query.q } } }' },
    lists: { l: 'function (head, req) { var row, all = []; while (row = getRow()) all.push(row.key); return toJSON(all) }' },
    updates: { inplace: 'function (doc, req) { var b = JSON.parse(req.body); doc[b.field] = b.value; return [doc, toJSON(doc.n)] }' },
  }, '_design/d');
  seen.view = (await alice.view('d', 'n', { keys: [1, 3], reduce: false, include_docs: true })).rows.map((r) => r.doc._id);
  seen.reduced = (await alice.view('d', 'n')).rows[0].value;
  seen.queries = await status(alice.view('d', 'n', { queries: [{ reduce: false, limit: 1 }] })); // as CouchDB 3
  assert.strictEqual(JSON.parse(await text(alice.viewAsStream('d', 'n', { reduce: false }))).rows.length, 3);
  seen.withList = await alice.viewWithList('d', 'n', 'l', { reduce: false });
  seen.asStream = await text(alice.viewWithListAsStream('d', 'n', 'l', { reduce: false, limit: 1 }));
  seen.show = await alice.show('d', 's', 'a', { q: 'x' });
  seen.atomic = await alice.atomic('d', 'inplace', 'a', { field: 'n', value: 25 });
  seen.search = await status(alice.search('d', 'none', { q: 'x' }));
  seen.find = (await alice.find({ selector: { n: { $gte: 2 } }, sort: ['n'], fields: ['_id', 'n'] })).docs;
  assert.strictEqual(JSON.parse(await text(alice.findAsStream({ selector: { n: 25 } }))).docs.length, 1);

  // replication: by request, and by documents
  await server.db.create('copy');
  seen.replicated = (await server.db.replicate(`${withPassword}/alice`, `${withPassword}/copy`)).ok;
  seen.copied = (await server.use('copy').info()).doc_count;
  const enabled = await server.db.replication.enable(`${withPassword}/alice`, `${withPassword}/second`,
    { create_target: true });
  await when('the document is complete', async () =>
    (await server.db.replication.query(enabled.id))._replication_state === 'completed');
  seen.disabled = (await server.db.replication.disable(enabled.id,
    (await server.db.replication.query(enabled.id))._rev)).ok;
  seen.second = (await server.use('second').info()).doc_count;

  // cookies
  const visitor = nano({ url });
  assert.strictEqual((await visitor.session()).userCtx.name, null);
  assert.ok((await visitor.auth(name, password)).ok);
  seen.session = (await visitor.session()).userCtx.name;
  seen.byCookie = (await visitor.use('alice').info()).db_name;
  seen.wrong = await status(nano(url).auth(name, 'wrong'));

  for (const db of ['alice', 'parts', 'copy', 'second']) await server.db.destroy(db);
  seen.gone = await status(server.db.get('alice'));
  process.stdout.write(JSON.stringify(seen));
})().catch((err) => {
  console.error(err);
  process.exit(1);
});
