// drizzle and kysely, over node-postgres and postgres.js.
const { drizzle } = require('drizzle-orm/node-postgres')
const { drizzle: overJs } = require('drizzle-orm/postgres-js')
const { pgTable, pgSchema, text, jsonb } = require('drizzle-orm/pg-core')
const { eq, inArray, like, sql, desc, count, and, notLike, gt } = require('drizzle-orm')
const { Kysely, PostgresDialect, sql: ksql } = require('kysely')
const { Pool } = require('pg')
const postgres = require('postgres')
const { checks, env, ssl, sqlstate } = require('./check')

const docs = pgTable('docs', { id: text('id').primaryKey(), rev: text('rev'), doc: jsonb('doc') })
const country = pgSchema('by').table('country', { id: text('id'), key: jsonb('key'), value: jsonb('value') })
const pool = new Pool({ ...env, max: 2 })
const client = postgres({ ...env, username: env.user, ssl, max: 1 })
const k = new Kysely({ dialect: new PostgresDialect({ pool }) })

const all = (db) => async () => [
  (await db.select().from(docs).where(eq(docs.id, 'no:2294')))[0].doc.name,
  await db
    .select({ id: docs.id })
    .from(docs)
    .where(inArray(docs.id, ['no:2294', 'fr:1077']))
    .orderBy(desc(docs.id)),
  await db
    .select({ n: count() })
    .from(docs)
    .where(sql`${docs.doc}->>'country' = ${'NO'}`),
  await db
    .select({ n: count() })
    .from(docs)
    .where(sql`${docs.doc} @> ${JSON.stringify({ country: 'NO' })}`),
  await db
    .select({ n: count() })
    .from(docs)
    .where(and(notLike(docs.id, 'odd%'), sql`(${docs.doc}->>'n')::int > ${3420}`)),
  await db
    .select({ c: sql`${docs.doc}->>'country'`.as('c'), n: count() })
    .from(docs)
    .groupBy(sql`c`)
    .having(gt(count(), 150))
    .orderBy(sql`2 DESC`, sql`c`),
  await db.select().from(country).where(eq(country.key, 'IS')).orderBy(country.id).limit(2),
  await db.$count(docs, like(docs.id, 'no-%')),
  await db.transaction(
    async (tx) => [
      await tx.select({ n: count() }).from(docs),
      await tx.transaction((s) => s.execute(sql`SELECT 1/0`)).catch(sqlstate),
      await tx.select({ n: count() }).from(docs),
    ],
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  ),
]
checks({
  'drizzle over pg': all(drizzle(pool)),
  'drizzle over postgres.js': all(overJs(client)),
  'drizzle prepared': async () => {
    const p = drizzle(pool)
      .select({ id: docs.id })
      .from(docs)
      .where(eq(docs.id, sql.placeholder('id')))
      .prepare('one')
    return [await p.execute({ id: 'no:2294' }), await p.execute({ id: 'x' })]
  },
  kysely: async () => [
    await k
      .selectFrom('docs')
      .select(['id', ksql`doc->>'name'`.as('name')])
      .where('id', '=', 'no:2294')
      .execute(),
    await k
      .selectFrom('docs')
      .select(k.fn.countAll().as('n'))
      .where(ksql`doc->>'country'`, '=', 'NO')
      .executeTakeFirst(),
    await k
      .selectFrom('by.country')
      .select('id')
      .where('key', '=', JSON.stringify('IS'))
      .orderBy('id')
      .limit(2)
      .execute(),
    await k
      .transaction()
      .setIsolationLevel('serializable')
      .execute((t) => t.selectFrom('docs').select(k.fn.countAll().as('n')).execute()),
  ],
  'kysely tables': async () => {
    const t = await k.introspection.getTables()
    return ['docs', 'country'].map((n) => {
      const f = t.find((x) => x.name === n)
      return f && f.columns.map((c) => [c.name, c.dataType])
    })
  },
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
