require('reflect-metadata')
const { DataSource, EntitySchema, In, Like, ILike, MoreThan, Raw, JsonContains } = require('typeorm')
const { checks, env, sqlstate } = require('./check')

const Doc = new EntitySchema({
  name: 'Doc',
  tableName: 'docs',
  columns: {
    id: { type: 'text', primary: true },
    rev: { type: 'text', nullable: true },
    doc: { type: 'jsonb', nullable: true },
  },
})
const Country = new EntitySchema({
  name: 'Country',
  tableName: 'country',
  schema: 'by',
  columns: { id: { type: 'text', primary: true }, key: { type: 'jsonb' }, value: { type: 'jsonb' } },
})
const ds = new DataSource({
  type: 'postgres',
  host: env.host,
  port: env.port,
  username: env.user,
  password: env.password,
  database: env.database,
  entities: [Doc, Country],
  extra: { max: 2 },
  installExtensions: false,
})

const main = async () => {
  await ds.initialize()
  const docs = ds.getRepository('Doc')
  await checks({
    schema: async () => {
      const q = ds.createQueryRunner()
      const t = await q.getTable('docs')
      const v = await q.getTable('by.country')
      const out = [
        t.columns.map((c) => [c.name, c.type, c.isNullable && c.name !== 'rev' && c.name !== 'doc', c.isPrimary]),
        t.foreignKeys.length,
        t.indices.length,
        v && v.columns.map((c) => [c.name, c.type]),
        await q.hasTable('docs'),
        await q.hasTable('nope'),
        await q.hasSchema('by'),
        await q.hasDatabase(env.database),
        await q.hasColumn('docs', 'doc'),
        await q.getCurrentDatabase(),
        await q.getCurrentSchema(),
        (await q.getDatabases()).length >= 0,
      ]
      await q.release()
      return out
    },
    finders: async () => [
      (await docs.findOneBy({ id: 'no:2294' })).doc.name,
      await docs.findOneBy({ id: 'nope' }),
      await docs.count(),
      await docs.countBy({ id: 'fr:1077' }),
      await docs.find({ where: { id: In(['no:2294', 'fr:1077']) }, order: { id: 'DESC' }, select: { id: true } }),
      (await docs.findAndCount({ where: { id: Like('no-%') }, order: { id: 'ASC' }, skip: 1, take: 2 })).map((x) =>
        Array.isArray(x) ? x.map((d) => d.id) : x,
      ),
      (
        await docs.find({
          where: [{ id: MoreThan('zm') }, { id: ILike('IS-%') }],
          order: { id: 'ASC' },
          select: { id: true },
        })
      ).length,
      await docs.exists({ where: { id: 'no:2294' } }),
      await docs.exists({ where: { id: 'nope' } }),
    ],
    json: async () => {
      const out = []
      for (const w of [
        { doc: JsonContains({ country: 'NO' }) },
        { doc: Raw((a) => `${a}->>'country' = :c`, { c: 'NO' }) },
        { doc: Raw((a) => `(${a}->>'n')::float8 BETWEEN :x AND :y`, { x: 3, y: 5 }) },
        { doc: Raw((a) => `${a}->'n' > :n`, { n: '3420' }) },
        { doc: Raw((a) => `${a} ? :k`, { k: 'tags' }) },
      ])
        out.push(
          await docs
            .findAndCount({ where: { ...w }, order: { id: 'ASC' }, take: 2 })
            .then(([d, n]) => [n, d.map((x) => x.id)], sqlstate),
        )
      return out
    },
    builder: async () => [
      await docs
        .createQueryBuilder('d')
        .select("d.doc->>'country'", 'c')
        .addSelect('COUNT(*)', 'n')
        .where("d.id NOT LIKE 'odd%'")
        .groupBy('c')
        .having('COUNT(*) > :m', { m: 150 })
        .orderBy('n', 'DESC')
        .addOrderBy('c')
        .getRawMany(),
      await docs.createQueryBuilder('d').where('d.id = :id', { id: 'no:2294' }).getCount(),
      await docs
        .createQueryBuilder('d')
        .where('d.doc @> :j', { j: { country: 'IS' } })
        .orderBy('d.id')
        .limit(2)
        .offset(1)
        .getMany()
        .then((l) => l.map((d) => d.id)),
      await ds
        .getRepository('Country')
        .createQueryBuilder('c')
        .where('c.key = :k', { k: '"IS"' })
        .orderBy('c.id')
        .select('c.id')
        .getMany(),
    ],
    transaction: async () =>
      ds.transaction('REPEATABLE READ', async (m) => {
        const n = await m.getRepository('Doc').count()
        const sp = await m.transaction((t) => t.query('SELECT 1/0')).catch(sqlstate)
        return [n, sp, await m.query('SELECT 1 AS one')]
      }),
    stream: async () => {
      let n = 0
      for await (const r of await docs.createQueryBuilder('d').select('d.id').limit(200).stream())
        n += r.d_id.length > 0
      return n
    },
    errors: async () => ds.query('SELECT nope FROM docs').catch((e) => [e.name, sqlstate(e), e.driverError.position]),
  })
  await ds.destroy()
}
main().catch((e) => {
  console.error(e)
  process.exit(1)
})
