const postgres = require('postgres')
const { checks, env, ssl, sqlstate } = require('./check')

const sql = postgres({ ...env, username: env.user, ssl, max: 3, onnotice: () => {} })
const stored = (like = '%', s = sql) =>
  s`SELECT id, doc - '_id' - '_rev' AS doc FROM docs WHERE id LIKE ${like} ORDER BY id`.then((l) =>
    l.map((r) => [r.id, r.doc]),
  )
const failure = (e) => [sqlstate(e), e.constraint_name, e.table_name, e.column_name]
checks({
  insert: async () => {
    const r = await sql`INSERT INTO docs (id, doc) VALUES (${'a'}, ${{ n: 1 }}) RETURNING id, doc->'n' AS n`
    return [r.count, r.command, [...r]]
  },
  helper: async () => {
    const r = await sql`INSERT INTO docs ${sql(
      [
        { id: 'h1', doc: sql.json({ x: 1 }) },
        { id: 'h2', doc: sql.json({ x: 2 }) },
      ],
      'id',
      'doc',
    )}`
    return [r.count, r.command, await stored('h%')]
  },
  update: async () => {
    const r = await sql`UPDATE docs SET ${sql({ doc: sql.json({ y: 1 }) })} WHERE id = 'h1'`
    return [
      r.count,
      r.command,
      await sql`DELETE FROM docs WHERE id IN ${sql(['h1', 'zz'])} RETURNING doc->'y' AS y`,
      await stored('h%'),
    ]
  },
  begin: async () => [
    await sql.begin(async (s) => {
      await s`INSERT INTO docs (id, doc) VALUES ('t1', '{}')`
      const code = await s.savepoint((x) => x`INSERT INTO docs (id, doc) VALUES ('t1', '{}')`).catch(failure)
      return [code, await stored('t%', s)]
    }),
    await sql
      .begin((s) => [
        s`INSERT INTO docs (id, doc) VALUES ('p1', '{}')`,
        s`UPDATE docs SET doc = '{"p": 1}' WHERE id = 'p1'`,
      ])
      .then((l) => l.map((r) => r.count)),
    await sql
      .begin(async (s) => {
        await s`DELETE FROM docs`
        throw new Error('mine')
      })
      .catch((e) => e.message),
    await stored(),
  ],
  cursor: async () => {
    let n = []
    await sql`INSERT INTO docs (id, doc) SELECT 'k' || i, '{}' FROM generate_series(1, 25) i RETURNING id`.cursor(
      10,
      (rows) => {
        n.push(rows.length)
      },
    )
    return n
  },
  copy: async () => {
    const w = await sql`COPY docs (id, doc) FROM STDIN`.writable()
    await new Promise((resolve, reject) => {
      w.on('finish', resolve)
      w.on('error', reject)
      w.write('c1\t{"c": 1}\n')
      w.end('c2\t{"c": 2}\n')
    })
    return stored('c%')
  },
  simple: async () =>
    (
      await sql`INSERT INTO docs (id) VALUES ('s1'); UPDATE docs SET doc = '{"s": 1}' WHERE id = 's1' RETURNING id`.simple()
    ).map((r) => [r.command, r.count, [...r]]),
  errors: async () => [
    await sql`INSERT INTO docs (id, doc) VALUES ('a', '{}')`.catch(failure),
    await sql`INSERT INTO docs (id, doc) VALUES (${null}, '{}')`.catch(failure),
  ],
  described: async () => {
    const d =
      await sql`INSERT INTO docs (id, doc) VALUES (${'zz'}, ${sql.json({})}) RETURNING id, length(id) AS n`.describe()
    return [d.types, d.columns.map((c) => [c.name, c.type])]
  },
}).then(
  () => sql.end(),
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
