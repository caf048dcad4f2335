const { Sequelize, DataTypes, Op, QueryTypes } = require('sequelize')
const { checks, env, sqlstate } = require('./check')

const seq = new Sequelize(env.database, env.user, env.password || '', {
  dialect: 'postgres',
  host: env.host,
  port: env.port,
  logging: false,
  pool: { max: 2 },
})
const Doc = seq.define(
  'Doc',
  { id: { type: DataTypes.TEXT, primaryKey: true }, rev: DataTypes.TEXT, doc: DataTypes.JSONB },
  { tableName: 'docs', timestamps: false },
)
const Country = seq.define(
  'Country',
  { id: { type: DataTypes.TEXT, primaryKey: true }, key: DataTypes.JSONB, value: DataTypes.JSONB },
  { schema: 'by', tableName: 'country', timestamps: false },
)
const real = { id: { [Op.notLike]: 'odd%' } }

checks({
  connect: async () => {
    await seq.authenticate()
    return (await seq.databaseVersion()).split('.')[0]
  },
  describe: async () => [
    await seq.getQueryInterface().describeTable('docs'),
    await seq.getQueryInterface().describeTable({ tableName: 'country', schema: 'by' }),
  ],
  tables: async () => {
    const t = await seq.getQueryInterface().showAllTables()
    return t.map((x) => x.tableName || x).includes('docs')
  },
  indexes: async () =>
    (await seq.getQueryInterface().showIndex('docs')).map((i) => [
      i.primary,
      i.unique,
      i.fields.map((f) => f.attribute),
    ]),
  constraints: async () => seq.getQueryInterface().getForeignKeyReferencesForTable('docs'),
  finders: async () => [
    (await Doc.findByPk('no:2294')).doc.name,
    await Doc.findByPk('nope'),
    await Doc.count(),
    (await Doc.findAll({ where: { id: ['no:2294', 'fr:1077'] }, order: [['id', 'DESC']] })).map((d) => d.id),
    (await Doc.findAndCountAll({ where: { id: { [Op.startsWith]: 'no-' } }, limit: 2, offset: 1, order: ['id'] }))
      .count,
    (await Doc.findAll({ attributes: ['id', [seq.json('doc.name'), 'name']], where: { id: 'no:2294' } })).map((d) =>
      d.get(),
    ),
  ],
  json: async () => {
    const out = []
    for (const w of [
      { doc: { country: 'NO' } },
      { 'doc.country': 'NO' },
      { doc: { n: 2294 } },
      { doc: { n: { [Op.gt]: 3420 } } },
      { doc: { big: true } },
      { doc: { n: null } },
      { doc: { lat: { [Op.between]: [65.0, 66.0] } } },
      { doc: { nested: { a: { b: 3 } } } },
      { doc: { [Op.contains]: { country: 'NO' } } },
      { doc: { country: { [Op.in]: ['NO', 'IS'] } } },
      { doc: { name: { [Op.iLike]: 'os%' } } },
      { doc: { name: { [Op.ne]: null } } },
      { doc: { tags: { [Op.contains]: ['NO'] } } },
    ]) {
      try {
        out.push([
          await Doc.count({ where: { [Op.and]: [real, w] } }),
          (await Doc.findAll({ where: { [Op.and]: [real, w] }, order: ['id'], limit: 2 })).map((d) => d.id),
        ])
      } catch (e) {
        out.push(sqlstate(e) || e.message)
      }
    }
    return out
  },
  views: async () => [
    await Country.count({ where: { key: JSON.stringify('NO') } }).catch(sqlstate),
    await Country.findAll({ where: { value: { [Op.gt]: 3420 } }, order: ['id'] }).catch(sqlstate),
  ],
  aggregates: async () => [
    await Doc.max('id'),
    await Doc.min('id'),
    await Doc.findAll({
      raw: true,
      where: real,
      attributes: [
        [seq.json('doc.country'), 'c'],
        [seq.fn('COUNT', seq.col('id')), 'n'],
      ],
      group: [seq.json('doc.country')],
      having: seq.where(seq.fn('COUNT', seq.col('id')), Op.gt, 150),
      order: [
        [seq.literal('n'), 'DESC'],
        [seq.literal('c'), 'ASC'],
      ],
    }),
  ],
  raw: async () => [
    await seq.query('SELECT id FROM docs WHERE id = :id', { replacements: { id: 'no:2294' }, type: QueryTypes.SELECT }),
    await seq.query("SELECT id FROM docs WHERE doc->>'country' = $1 ORDER BY id LIMIT 2", {
      bind: ['NO'],
      type: QueryTypes.SELECT,
    }),
  ],
  transaction: async () =>
    seq.transaction({ isolationLevel: 'REPEATABLE READ', readOnly: true }, async (t) => {
      const n = await Doc.count({ transaction: t })
      const sp = await seq
        .transaction({ transaction: t }, (s) => seq.query('SELECT 1/0', { transaction: s }))
        .catch(sqlstate)
      return [n, sp, await Doc.count({ transaction: t })]
    }),
  errors: async () => seq.query('SELECT nope FROM docs').catch((e) => [e.name, sqlstate(e)]),
}).then(
  () => seq.close(),
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
