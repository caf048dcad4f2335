require('reflect-metadata')
const { DataSource, EntitySchema, In, Like } = require('typeorm')
const { checks, env, sqlstate } = require('./check')

const Doc = new EntitySchema({
  name: 'Doc',
  tableName: 'docs',
  columns: { id: { type: 'text', primary: true }, doc: { type: 'jsonb' } },
})
const Full = new EntitySchema({
  name: 'Full',
  tableName: 'docs',
  columns: {
    id: { type: 'text', primary: true },
    rev: { type: 'text', insert: false, update: false, nullable: true },
    doc: { type: 'jsonb' },
  },
})
const ds = new DataSource({
  type: 'postgres',
  host: env.host,
  port: env.port,
  username: env.user,
  password: env.password,
  database: env.database,
  entities: [Doc, Full],
  extra: { max: 3 },
  installExtensions: false,
})
const own = ({ _id, _rev, ...d }) => d

const main = async () => {
  await ds.initialize()
  const docs = ds.getRepository('Doc')
  const stored = async (like = '%', m = ds) =>
    (await m.getRepository('Doc').find({ where: { id: Like(like) }, order: { id: 'ASC' } })).map((d) => [
      d.id,
      own(d.doc),
    ])
  await checks({
    save: async () => {
      await docs.save({ id: 'a', doc: { n: 1 } })
      await docs.save(
        [
          { id: 'b', doc: { n: 2 } },
          { id: 'c', doc: {} },
        ],
        { chunk: 1 },
      )
      const d = await docs.findOneBy({ id: 'b' })
      d.doc.more = true
      await docs.save(d)
      return stored()
    },
    insert: async () => [
      (
        await docs.insert([
          { id: 'd', doc: {} },
          { id: 'e', doc: { e: 1 } },
        ])
      ).identifiers,
      (await docs.update({ id: In(['d', 'e']) }, { doc: { up: 1 } })).affected,
      (await docs.update('nope', { doc: {} })).affected,
      (
        await docs.upsert(
          [
            { id: 'e', doc: { up: 2 } },
            { id: 'f', doc: {} },
          ],
          ['id'],
        )
      ).identifiers,
      (await docs.upsert({ id: 'f', doc: { f: 1 } }, { conflictPaths: ['id'], skipUpdateIfNoValuesChanged: true }))
        .identifiers,
      await stored(),
    ],
    builder: async () => [
      (
        await docs
          .createQueryBuilder()
          .insert()
          .values([
            { id: 'q1', doc: {} },
            { id: 'a', doc: {} },
          ])
          .orIgnore()
          .returning(['id'])
          .execute()
      ).raw,
      (
        await docs
          .createQueryBuilder()
          .update()
          .set({ doc: () => 'doc || \'{"q": 1}\'' })
          .where('id LIKE :l', { l: 'q%' })
          .returning('id')
          .execute()
      ).raw,
      (await docs.createQueryBuilder().delete().where('id = :i', { i: 'q1' }).execute()).affected,
    ],
    remove: async () => [
      (await docs.remove(await docs.findOneBy({ id: 'c' }))).doc !== undefined,
      (await docs.delete(['d', 'nope'])).affected,
      await docs.count(),
    ],
    transaction: async () => [
      await ds.transaction(async (m) => {
        await m.getRepository('Doc').insert({ id: 't1', doc: {} })
        const code = await m.transaction((n) => n.getRepository('Doc').insert({ id: 't1', doc: {} })).catch(sqlstate)
        const locked = await m
          .getRepository('Doc')
          .findOne({ where: { id: 't1' }, lock: { mode: 'pessimistic_write' } })
        return [code, locked.id, await stored('t%', m)]
      }),
      await ds
        .transaction('SERIALIZABLE', async (m) => {
          await m.getRepository('Doc').createQueryBuilder().delete().execute()
          throw new Error('mine')
        })
        .catch((e) => e.message),
      await stored('t%'),
    ],
    full: async () => {
      const f = ds.getRepository('Full')
      await f.insert({ id: 'full', doc: { x: 1 } })
      const x = await f.findOneBy({ id: 'full' })
      x.doc = { x: 2 }
      await f.save(x)
      return stored('full')
    },
    errors: async () => [
      await docs
        .insert({ id: 'a', doc: {} })
        .catch((e) => [e.name, sqlstate(e), e.driverError.constraint, e.driverError.table]),
      await docs.insert({ id: 'n', doc: null }).catch(sqlstate),
    ],
    query: async () => [
      await ds.query('INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id', ['raw', { r: 1 }]),
      await ds.query("UPDATE docs SET doc = '{}' WHERE id = 'raw' RETURNING id"),
      await ds.query("DELETE FROM docs WHERE id = 'raw'"),
    ],
  })
  await ds.destroy()
}
main().catch((e) => {
  console.error(e)
  process.exit(1)
})
