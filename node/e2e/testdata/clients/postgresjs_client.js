const postgres = require('postgres')
const { checks, env, ssl } = require('./check')

const notices = []
const sql = postgres({
  ...env,
  username: env.user,
  ssl,
  max: 2,
  // A cancel that comes before the statement has begun is lost, and the client sends only one.
  connection: { statement_timeout: 20000 },
  onnotice: (n) => notices.push([n.severity, n.code, n.message]),
})
const plain = (rows) => rows.map((r) => ({ ...r }))
checks({
  parameters: async () =>
    plain(
      await sql`SELECT ${1}::int AS a, ${'2'}::int8 AS b, ${1.5}::float8 AS c, ${"it's é"}::text AS d, ${true}::bool AS e, ${null}::text AS f, ${new Date(0)}::timestamptz AS g, ${[1, 2]}::int[] AS h, ${['a', 'b,c']}::text[] AS i, ${sql.json({ a: [1, null] })}::jsonb AS j, ${Buffer.from([0, 255])}::bytea AS k`,
    ),
  documents: async () =>
    plain(
      await sql`SELECT id, doc->>'name' AS name, doc->'n' AS n FROM docs WHERE id IN ${sql(['no:2294', 'fr:1077'])} ORDER BY id`,
    ),
  filters: async () => {
    const out = []
    for (const q of [
      sql`SELECT count(*) FROM docs WHERE doc->>'country' = ${'NO'}`,
      sql`SELECT count(*) FROM docs WHERE doc @> ${sql.json({ country: 'NO' })}`,
      sql`SELECT count(*) FROM docs WHERE doc->'n' > ${sql.json(100)}`,
      sql`SELECT count(*) FROM docs WHERE doc->'n' = ${100}`,
      sql`SELECT count(*) FROM docs WHERE doc ? ${'tags'}`,
      sql`SELECT count(*), min(id) FROM ${sql('by.country')} WHERE key = ${sql.json('NO')}`,
      sql`SELECT count(*) FROM docs WHERE id = ANY(${['no:2294', 'x']})`,
      sql`SELECT ${sql('id', 'rev')} IS NOT NULL AS x FROM docs WHERE id = ${'nope'}`,
    ])
      out.push(await q.then(plain, (e) => e.code))
    return out
  },
  simple: async () => (await sql`SELECT 1 AS a; SELECT 2 AS b`.simple()).map(plain),
  described: async () => {
    const d = await sql`SELECT id, doc FROM docs WHERE id = ${'x'} LIMIT ${1}`.describe()
    return [d.types, d.columns.map((c) => [c.name, c.type])]
  },
  cursor: async () => {
    const out = []
    for await (const part of sql`SELECT id FROM docs ORDER BY id LIMIT 25`.cursor(10)) out.push(part.length, part[0].id)
    return out
  },
  copy: async () => {
    const parts = []
    for await (const p of await sql`COPY (SELECT id, doc->>'name' FROM docs ORDER BY id LIMIT 20) TO STDOUT`.readable())
      parts.push(p)
    return Buffer.concat(parts).toString()
  },
  transactions: async () => {
    const out = []
    await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (tx) => {
      out.push(plain(await tx`SHOW transaction_isolation`), plain(await tx`SELECT count(*) FROM docs`))
      await tx.savepoint((sp) => sp`SELECT 1/0`).catch((e) => out.push(e.code))
      out.push(plain(await tx`SELECT 1 AS one`))
    })
    return out
  },
  errors: async () => {
    try {
      await sql`SELECT nope FROM docs`
    } catch (e) {
      return [e.code, e.message, e.position, e.severity]
    }
  },
  cancelled: async () => {
    const q = sql`SELECT count(*) FROM generate_series(1, 10000000000)`
    setTimeout(() => q.cancel(), 200)
    return q.catch((e) => e.code)
  },
  arrays: async () =>
    (
      await sql`SELECT ARRAY[1,2] AS a, ARRAY['x'] AS b, ARRAY[1.5] AS c, '{}'::jsonb AS d, ARRAY['{"a":1}'::jsonb] AS e, ARRAY[now()] IS NULL AS f`
    )[0],
  notices: async () => {
    await sql`ROLLBACK`.catch((e) => notices.push(e.message))
    return notices
  },
}).then(
  () => sql.end(),
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
