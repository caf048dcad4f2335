// drizzle over both drivers, and Kysely.
const { drizzle } = require('drizzle-orm/node-postgres')
const { drizzle: overJs } = require('drizzle-orm/postgres-js')
const { pgTable, text, jsonb } = require('drizzle-orm/pg-core')
const { eq, inArray, like, sql, asc } = require('drizzle-orm')
const { Kysely, PostgresDialect, sql: ksql } = require('kysely')
const { Pool } = require('pg')
const postgres = require('postgres')
const { checks, env, ssl, sqlstate } = require('./check')

// rev is never given, so that drizzle writes DEFAULT.
const docs = pgTable('docs', { id: text('id').primaryKey(), rev: text('rev'), doc: jsonb('doc').notNull().default({}) })
const pool = new Pool({ ...env, max: 2 })
const client = postgres({ ...env, username: env.user, ssl, max: 2, onnotice: () => {} })
const k = new Kysely({ dialect: new PostgresDialect({ pool }) })
const own = ({ _id, _rev, ...d }) => d

const all = (db, p) => async () => {
  const stored = async (l = '%', d = db) =>
    (
      await d
        .select()
        .from(docs)
        .where(like(docs.id, p + l))
        .orderBy(asc(docs.id))
    ).map((r) => [r.id, own(r.doc)])
  const id = (x) => ({ id: docs.id })
  return [
    await db
      .insert(docs)
      .values({ id: p + 'a', doc: { n: 1 } })
      .returning(id()),
    await db
      .insert(docs)
      .values([{ id: p + 'b', doc: { n: 2 } }, { id: p + 'c' }])
      .returning(id()),
    await db
      .insert(docs)
      .values({ id: p + 'a', doc: { over: 1 } })
      .onConflictDoUpdate({
        target: docs.id,
        set: { doc: sql`${docs.doc} || excluded.doc` },
        setWhere: sql`${docs.id} like ${p + '%'}`,
      })
      .returning(id()),
    await db
      .insert(docs)
      .values({ id: p + 'a' })
      .onConflictDoNothing()
      .returning(id()),
    await db
      .update(docs)
      .set({ doc: { set: true } })
      .where(eq(docs.id, p + 'b'))
      .returning(id()),
    await db
      .update(docs)
      .set({ doc: sql`jsonb_set(${docs.doc}, '{n}', ${JSON.stringify(7)})` })
      .where(inArray(docs.id, [p + 'a', p + 'zz']))
      .returning(id()),
    await db
      .delete(docs)
      .where(eq(docs.id, p + 'c'))
      .returning(id()),
    await db.transaction(async (tx) => {
      await tx.insert(docs).values({ id: p + 't' })
      const code = await tx.transaction((s) => s.insert(docs).values({ id: p + 't' })).catch(sqlstate)
      return [
        code,
        await tx
          .select({ id: docs.id })
          .from(docs)
          .where(eq(docs.id, p + 't'))
          .for('update'),
        await stored('t%', tx),
      ]
    }),
    await db
      .transaction(async (tx) => {
        await tx.delete(docs)
        tx.rollback()
      })
      .catch((e) => e.name),
    await db
      .insert(docs)
      .values({ id: p + 'a' })
      .catch(sqlstate),
    await stored(),
  ]
}
checks({
  'drizzle over pg': all(drizzle(pool), 'x'),
  'drizzle over postgres.js': all(overJs(client), 'y'),
  kysely: async () => [
    (
      await k
        .insertInto('docs')
        .values([
          { id: 'k1', doc: JSON.stringify({ n: 1 }) },
          { id: 'k2', doc: '{}' },
        ])
        .executeTakeFirst()
    ).numInsertedOrUpdatedRows,
    await k
      .insertInto('docs')
      .values({ id: 'k1', doc: '{"k": 1}' })
      .onConflict((c) => c.column('id').doUpdateSet((eb) => ({ doc: ksql`docs.doc || ${eb.ref('excluded.doc')}` })))
      .returning('id')
      .execute(),
    (
      await k
        .insertInto('docs')
        .values({ id: 'k1', doc: '{}' })
        .onConflict((c) => c.doNothing())
        .executeTakeFirst()
    ).numInsertedOrUpdatedRows,
    (
      await k
        .updateTable('docs')
        .set({ doc: ksql`doc || '{"z": 1}'` })
        .where('id', 'like', 'k%')
        .executeTakeFirst()
    ).numUpdatedRows,
    await k
      .updateTable('docs as d')
      .from('docs as e')
      .set({ doc: (eb) => ksql`d.doc || jsonb_build_object('from', e.id)` })
      .whereRef('d.id', '=', 'e.id')
      .where('d.id', '=', 'k2')
      .returning('d.id')
      .execute(),
    (await k.deleteFrom('docs').where('id', '=', 'k2').executeTakeFirst()).numDeletedRows,
    await k
      .transaction()
      .setIsolationLevel('serializable')
      .execute(async (t) => {
        await t.insertInto('docs').values({ id: 'k3', doc: '{}' }).execute()
        return t.selectFrom('docs').select('id').where('id', 'like', 'k%').orderBy('id').execute()
      }),
    await k
      .insertInto('docs')
      .columns(['id', 'doc'])
      .expression(
        k
          .selectFrom('docs')
          .select([ksql`'copy' || id`.as('id'), ksql`doc - '_id' - '_rev'`.as('doc')])
          .where('id', '=', 'k1'),
      )
      .returning('id')
      .execute(),
  ],
}).then(
  async () => {
    await k.destroy()
    await client.end()
  },
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
