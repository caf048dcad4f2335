// node-postgres, with its cursors, query streams and copy streams.
const { Client, Pool, types } = require('pg')
const Cursor = require('pg-cursor')
const QueryStream = require('pg-query-stream')
const { to: copyTo } = require('pg-copy-streams')
const { checks, sqlstate } = require('./check')

const main = async () => {
  const c = new Client()
  const notices = []
  c.on('notice', (n) => notices.push([n.severity, n.code, n.message]))
  await c.connect()
  const rows = async (text, values) => (await c.query({ text, values, rowMode: 'array' })).rows
  await checks({
    parameters: () =>
      rows(
        'SELECT $1::int, $2::int8, $3::float8, $4::numeric, $5::text, $6::bool, $7::text, $8::date::text, $9::timestamptz, $10::int[], $11::text[], $12::jsonb, $13::bytea',
        [
          1,
          2 ** 40,
          1.5,
          '12.340',
          "it's \\ é",
          true,
          null,
          '2024-02-29',
          new Date(0),
          [1, 2, null],
          ['a', 'b,c'],
          { a: [1, null] },
          Buffer.from([0, 255]),
        ],
      ),
    untyped: () => rows('SELECT $1, $2', ['x', 5]),
    documents: () =>
      rows("SELECT id, doc->>'name', doc->'n', doc->'nested' FROM docs WHERE id = ANY($1) ORDER BY id", [
        ['no:2294', 'fr:1077'],
      ]),
    filters: async () => {
      const out = []
      for (const [q, v] of [
        ["SELECT count(*) FROM docs WHERE doc->>'country' = $1", ['NO']],
        ['SELECT count(*) FROM docs WHERE doc @> $1', [{ country: 'NO' }]],
        ["SELECT count(*) FROM docs WHERE doc->'n' > $1", [100]],
        ["SELECT count(*) FROM docs WHERE doc->'n' = $1", ['100']],
        ['SELECT count(*) FROM docs WHERE doc ? $1', ['tags']],
        ["SELECT count(*) FROM docs WHERE id NOT LIKE 'odd%' AND (doc->>'n')::int = ANY($1)", [[1, 2, 3]]],
        ['SELECT count(*), min(id) FROM "by".country WHERE key = $1', ['"NO"']],
        ['SELECT id FROM "by".n WHERE key >= $1 AND key < $2 ORDER BY key', [5, 8]],
        ['SELECT id FROM docs ORDER BY id LIMIT $1 OFFSET $2', [3, 5]],
      ])
        out.push(await rows(q, v).catch(sqlstate))
      return out
    },
    named: async () => {
      const out = []
      for (const id of ['no:2294', 'fr:1077', 'nope'])
        out.push((await c.query({ name: 'by-id', text: 'SELECT id FROM docs WHERE id = $1', values: [id] })).rows)
      return out
    },
    fields: async () =>
      (await c.query('SELECT id, doc, 1 AS a, 1.5 AS b, now() AS c, true AS d FROM docs LIMIT 1')).fields.map((f) => [
        f.name,
        f.dataTypeID,
        f.format,
      ]),
    several: async () =>
      (await c.query('SELECT 1 AS a; SELECT 2 AS b, 3 AS c; SET application_name = x')).map((r) => [
        r.command,
        r.rowCount,
        r.rows,
      ]),
    cursor: async () => {
      const cur = c.query(new Cursor('SELECT id FROM docs WHERE id > $1 ORDER BY id', ['n']))
      const a = await cur.read(3)
      const b = await cur.read(4)
      await cur.close()
      return [a, b, await rows('SELECT 1')]
    },
    stream: async () => {
      let n = 0
      for await (const row of c.query(
        new QueryStream('SELECT id FROM docs ORDER BY id LIMIT 500', [], { batchSize: 50 }),
      ))
        n += row.id.length
      return n
    },
    copy: async () => {
      const out = []
      for (const q of [
        "COPY (SELECT id, doc->>'name' FROM docs ORDER BY id LIMIT 50) TO STDOUT",
        'COPY (SELECT id, NULL FROM docs ORDER BY id LIMIT 3) TO STDOUT (FORMAT csv, HEADER)',
        'COPY (SELECT id FROM docs ORDER BY id LIMIT 3) TO STDOUT (FORMAT binary)',
      ]) {
        const parts = []
        for await (const p of c.query(copyTo(q))) parts.push(p)
        out.push(Buffer.concat(parts).toString('latin1'))
      }
      return out
    },
    errors: async () => {
      const out = []
      for (const [q, v] of [
        ['SELECT nope FROM docs', []],
        ['SELECT 1/$1::int', [0]],
        ['SELEC', []],
        ['SELECT * FROM nope', []],
        ['SELECT $1::int', ['x']],
      ]) {
        await c.query(q, v).catch((e) => out.push([e.code, e.message, e.code === '22012' || e.position, e.severity]))
      }
      return out
    },
    transactions: async () => {
      await c.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const out = [await rows('SELECT count(*) FROM docs')]
      await c.query('SELECT 1/0').catch((e) => out.push(e.code))
      await c.query('SELECT 1').catch((e) => out.push(e.code))
      out.push((await c.query('COMMIT')).command)
      return out
    },
    notices: async () => {
      await c.query('ROLLBACK')
      return notices
    },
    cancel: async () => {
      const pool = new Pool({ max: 2 })
      const busy = await pool.connect()
      const pid = (await busy.query('SELECT pg_backend_pid() AS p')).rows[0].p
      const running = busy.query('SELECT count(*) FROM generate_series(1, 10000000000)').catch((e) => e.code)
      let done
      while (!done)
        done = (
          await pool.query(
            "SELECT pg_cancel_backend(pid) AS c FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE 'SELECT count%'",
            [pid],
          )
        ).rows[0]
      const code = await running
      busy.release()
      await pool.end()
      return [done.c, code]
    },
    timeout: async () => {
      const t = new Client({ statement_timeout: 200 })
      await t.connect()
      const code = await t.query('SELECT count(*) FROM generate_series(1, 10000000000)').catch((e) => e.code)
      await t.end()
      return code
    },
  })
  await c.end()
}
main().catch((e) => {
  console.error(e)
  process.exit(1)
})
