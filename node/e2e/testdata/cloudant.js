// The calls of the documented tour of @ibm-cloud/cloudant. Argument: {url, name, password}. Prints what it saw.
const assert = require('node:assert');
const { CloudantV1, ChangesFollower, CouchdbSessionAuthenticator, BasicAuthenticator, Pager, PagerType, Pagination } =
  require('@ibm-cloud/cloudant');
const { Readable } = require('node:stream');

const { url, name, password } = JSON.parse(process.argv[2]);

const connect = (authenticator) => {
  const service = new CloudantV1({ authenticator });
  service.setServiceUrl(url);
  return service;
};

(async () => {
  const basic = connect(new BasicAuthenticator({ username: name, password }));
  const service = connect(new CouchdbSessionAuthenticator({ username: name, password }));
  const seen = {};
  seen.version = (await basic.getServerInformation()).result.version;
  assert.strictEqual((await service.getSessionInformation()).result.userCtx.name, name);
  const db = 'cloudant';
  assert.ok((await service.putDatabase({ db })).result.ok);
  await assert.rejects(service.putDatabase({ db }), (err) => err.status === 412);
  assert.ok((await service.getAllDbs()).result.includes(db));

  const doc = { _id: 'example', name: 'Bob', joined: '2019-01-24T10:42:59.000Z' };
  const made = (await service.postDocument({ db, document: doc })).result;
  assert.ok(made.ok);
  const got = (await service.getDocument({ db, docId: 'example' })).result;
  got.address = '19 Front Street';
  delete got.joined;
  const second = (await service.putDocument({ db, docId: 'example', document: got })).result;
  await assert.rejects(service.putDocument({ db, docId: 'example', document: { ...got, _rev: made.rev } }),
    (err) => err.status === 409);
  assert.strictEqual((await service.headDocument({ db, docId: 'example' })).headers.etag, `"${second.rev}"`);
  const docs = Array.from({ length: 50 }, (_, i) => ({
    _id: `small-${String(i).padStart(2, '0')}`, n: i, type: i % 2 ? 'odd' : 'even',
  }));
  assert.strictEqual((await service.postBulkDocs({ db, bulkDocs: { docs } })).result.length, 50);
  seen.all = (await service.postAllDocs({ db, startKey: 'small-10', limit: 3, includeDocs: true }))
    .result.rows.map((r) => r.doc.n);
  seen.byKeys = (await service.postAllDocs({ db, keys: ['small-01', 'none'] })).result.rows.map((r) => r.error || r.id);
  seen.queries = (await service.postAllDocsQueries({ db, queries: [{ limit: 1 }, { startKey: 'small-48' }] }))
    .result.results
    .map((r) => r.rows.length);
  const bulk = (await service.postBulkGet({ db, docs: [{ id: 'example' }, { id: 'none' }] })).result.results;
  seen.bulk = bulk.map((r) => (r.docs[0].ok ? 'ok' : r.docs[0].error.error));

  const map = 'function (doc) { if (doc.type) emit(doc.type, doc.n) }';
  const designDocument = { views: { type: { map, reduce: '_stats' } } };
  await service.putDesignDocument({ db, ddoc: 'd', designDocument });
  const view = (await service.postView({ db, ddoc: 'd', view: 'type', group: true })).result.rows;
  seen.view = view.map((r) => [r.key, r.value.count, r.value.sum]);
  seen.info = (await service.getDesignDocumentInformation({ db, ddoc: 'd' })).result.viewIndex.updatesPending.total;
  await service.postIndex({ db, index: { fields: ['type', 'n'] }, ddoc: 'q', name: 'by', type: 'json' });
  seen.indexes = (await service.getIndexesInformation({ db })).result.totalRows;
  const find = { db, selector: { type: 'odd', n: { $gt: 40 } }, fields: ['n'], sort: [{ type: 'desc' }, { n: 'desc' }],
    executionStats: true };
  const found = (await service.postFind(find)).result;
  seen.find = found.docs.map((d) => d.n);
  seen.examined = found.executionStats.totalDocsExamined;
  assert.strictEqual((await service.postExplain(find)).result.index.name, 'by');
  await service.deleteIndex({ db, ddoc: 'q', type: 'json', index: 'by' });

  const att = { db, docId: 'example', attachmentName: 'a.txt' };
  const third = (await service.putAttachment({ ...att, attachment: Readable.from(['hello']), contentType: 'text/plain',
    rev: second.rev })).result;
  const stream = (await service.getAttachment(att)).result;
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
  }
  assert.strictEqual(text, 'hello');
  const fourth = (await service.deleteAttachment({ ...att, rev: third.rev })).result;

  const pager = PagerType ? PagerType.POST_ALL_DOCS : 'postAllDocs';
  const pagination = Pagination.newPagination(service, pager, { db, limit: 20 });
  const ids = [];
  for await (const row of pagination.rows()) {
    ids.push(row.id);
  }
  seen.paged = [ids.length, new Set(ids).size];
  seen.changes = (await service.postChanges({ db, limit: 5 })).result.results.length;
  const follower = new ChangesFollower(service, { db, includeDocs: true, limit: 52 });
  let followed = 0;
  for await (const change of follower.startOneOff()) {
    assert.ok(change.doc);
    followed++;
  }
  seen.followed = followed;

  await service.putSecurity({ db, admins: { names: ['anna'] }, members: { roles: ['reader'] } });
  seen.security = (await service.getSecurity({ db })).result.members.roles;
  const diff = await service.postRevsDiff({ db, documentRevisions: { example: [fourth.rev, '9-f'] } });
  seen.missing = Object.keys(diff.result);
  await service.deleteDocument({ db, docId: 'example', rev: fourth.rev });
  await assert.rejects(service.getDocument({ db, docId: 'example' }), (err) => err.status === 404);
  const local = await service.putLocalDocument({ db, docId: 'mark', document: { n: 1 } });
  assert.strictEqual(local.result.id, '_local/mark');
  const info = (await service.getDatabaseInformation({ db })).result;
  seen.count = [info.docCount, info.docDelCount];
  assert.ok(info.sizes.active > 0 && info.sizes.external > 0 && info.sizes.file > 0);

  const to = { url: `${url}/cloudant-copy`, auth: { basic: { username: name, password } } };
  await service.putReplicationDocument({ docId: 'copy', replicationDocument:
    { source: { ...to, url: `${url}/${db}` }, target: to, create_target: true } });
  let state = '';
  for (let i = 0; i < 200 && !['completed', 'failed'].includes(state); i++) {
    state = (await service.getSchedulerDocument({ docId: 'copy' })).result.state;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.strictEqual(state, 'completed');
  seen.copied = (await service.getDatabaseInformation({ db: 'cloudant-copy' })).result.docCount;
  seen.tasks = Array.isArray((await service.getActiveTasks()).result);
  seen.up = (await service.getUpInformation()).result.status;
  assert.strictEqual((await service.getUuids({ count: 3 })).result.uuids.length, 3);
  await service.putDatabase({ db: 'cloudant-parts', partitioned: true });
  await service.putDocument({ db: 'cloudant-parts', docId: 'a:1', document: { n: 1 } });
  seen.partition = (await service.getPartitionInformation({ db: 'cloudant-parts', partitionKey: 'a' })).result.docCount;
  const inPartition = await service.postPartitionFind({ db: 'cloudant-parts', partitionKey: 'a', selector: { n: 1 } });
  seen.inPartition = inPartition.result.docs.length;
  process.stdout.write(JSON.stringify(seen));
})().catch((err) => {
  console.error(err);
  process.exit(1);
});
