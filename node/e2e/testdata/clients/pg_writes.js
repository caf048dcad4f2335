const { Client, Pool } = require('pg')
const Cursor = require('pg-cursor')
const { from } = require('pg-copy-streams')
const { Readable } = require('stream')
const { pipeline } = require('stream/promises')
const { checks, sqlstate } = require('./check')

const pool = new Pool({ max: 3 })
const stored = async (like = '%', c = pool) =>
  (await c.query("SELECT id, doc - '_id' - '_rev' AS doc FROM docs WHERE id LIKE $1 ORDER BY id", [like])).rows.map(
    (r) => [r.id, r.doc],
  )
const failure = (e) => [sqlstate(e), e.constraint, e.table, e.schema, e.column, e.message]
checks({
  insert: async () => {
    const r = await pool.query("INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id, doc->'n' AS n", [
      'a',
      { n: 1, s: "it's é" },
    ])
    return [r.command, r.rowCount, r.oid, r.rows, r.fields.map((f) => [f.name, f.dataTypeID])]
  },
  update: async () => {
    const r = await pool.query({
      name: 'u',
      text: 'UPDATE docs SET doc = doc || $2 WHERE id = $1',
      values: ['a', { more: [1, null] }],
    })
    return [r.command, r.rowCount, await stored()]
  },
  several: async () =>
    (
      await pool.query(
        "INSERT INTO docs (id) VALUES ('b'); INSERT INTO docs (id) VALUES ('c'), ('d'); DELETE FROM docs WHERE id IN ('c', 'd') RETURNING id; SELECT count(*) FROM docs",
      )
    ).map((r) => [r.command, r.rowCount, r.rows]),
  failed: async () => [
    await pool
      .query(
        "INSERT INTO docs (id) VALUES ('x1'); INSERT INTO docs (id) VALUES ('a'); INSERT INTO docs (id) VALUES ('x2')",
      )
      .catch(failure),
    await stored('x%'),
  ],
  transaction: async () => {
    const c = await pool.connect()
    await c.query('BEGIN')
    await c.query("INSERT INTO docs (id, doc) VALUES ('t1', '{}')")
    await c.query('SAVEPOINT s')
    const code = await c.query("INSERT INTO docs (id, doc) VALUES ('t1', '{}')").catch(failure)
    await c.query('ROLLBACK TO SAVEPOINT s')
    const [seen, unseen] = [await stored('t%', c), await stored('t%')]
    await c.query('COMMIT')
    c.release()
    return [code, seen, unseen, await stored('t%')]
  },
  cursor: async () => {
    const c = new Client()
    await c.connect()
    const cur = c.query(
      new Cursor(
        "INSERT INTO docs (id, doc) SELECT 'k' || i, jsonb_build_object('i', i) FROM generate_series(1, 25) i RETURNING id",
      ),
    )
    const sizes = []
    for (;;) {
      const rows = await cur.read(10)
      sizes.push(rows.length)
      if (!rows.length) break
    }
    await cur.close()
    await c.query('BEGIN')
    const half = c.query(new Cursor("DELETE FROM docs WHERE id LIKE 'k%' RETURNING id"))
    sizes.push((await half.read(3)).length)
    await half.close()
    sizes.push((await stored('k%', c)).length)
    await c.query('ROLLBACK')
    await c.end()
    return [sizes, (await stored('k%')).length]
  },
  copy: async () => {
    const c = await pool.connect()
    const s = c.query(from('COPY docs (id, doc) FROM STDIN WITH (FORMAT csv)'))
    await pipeline(Readable.from(Array.from({ length: 200 }, (_, i) => `p${i},"{""n"": ${i}}"\n`)), s)
    const bad = c.query(from('COPY docs (id, doc) FROM STDIN'))
    const code = await pipeline(Readable.from(['q1\t{}\n', 'p1\t{}\n']), bad).catch(failure)
    c.release()
    return [s.rowCount, code, await stored('p19%'), await stored('q%')]
  },
  upsert: async () =>
    (
      await pool.query(
        "INSERT INTO docs (id, doc) VALUES ($1, $2), ($3, $4) ON CONFLICT (id) DO UPDATE SET doc = jsonb_set(docs.doc, '{n}', excluded.doc->'n') RETURNING id, doc->'n' AS n",
        ['a', { n: 5 }, 'u', { n: 6 }],
      )
    ).rows,
  arrays: async () => [
    (
      await pool.query('INSERT INTO docs (id, doc) SELECT * FROM unnest($1::text[], $2::jsonb[])', [
        ['r1', 'r2'],
        [{ r: 1 }, { r: 2 }].map((x) => JSON.stringify(x)),
      ])
    ).rowCount,
    (await pool.query('DELETE FROM docs WHERE id = ANY($1)', [['r1', 'zz']])).rowCount,
    await stored('r%'),
  ],
  errors: async () => [
    await pool.query('INSERT INTO docs (id, doc) VALUES ($1, $2)', ['a', {}]).catch(failure),
    await pool.query('INSERT INTO docs (id, doc) VALUES ($1, $2)', [null, {}]).catch(failure),
    await pool.query('INSERT INTO docs (id, doc) VALUES ($1, $2)', ['n', null]).catch(failure),
  ],
  parallel: async () => {
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        pool.query("UPDATE docs SET doc = jsonb_set(doc, '{n}', to_jsonb((doc->>'n')::int + 1)) WHERE id = $1", ['a']),
      ),
    )
    return stored('a')
  },
}).then(
  () => pool.end(),
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
