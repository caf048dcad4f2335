const { Sequelize, DataTypes, Op, literal, fn, col } = require('sequelize')
const { checks, env, sqlstate } = require('./check')

const s = new Sequelize(env.database, env.user, env.password || '', {
  dialect: 'postgres',
  host: env.host,
  port: env.port,
  logging: false,
  pool: { max: 3 },
})
const Doc = s.define(
  'Doc',
  { id: { type: DataTypes.TEXT, primaryKey: true }, doc: { type: DataTypes.JSONB, allowNull: false } },
  { tableName: 'docs', timestamps: false },
)
const own = ({ _id, _rev, ...d }) => d
const stored = async (like = '%', o = {}) =>
  (await Doc.findAll({ where: { id: { [Op.like]: like } }, order: ['id'], ...o })).map((d) => [d.id, own(d.doc)])
const failure = (e) => [e.name, sqlstate(e), e.errors && e.errors.map((x) => [x.type, x.path])]
checks({
  create: async () => {
    const d = await Doc.create({ id: 'a', doc: { n: 1 } })
    const b = Doc.build({ id: 'b', doc: { n: 2 } })
    await b.save()
    return [d.id, own(d.doc), await stored()]
  },
  save: async () => {
    const d = await Doc.findByPk('b')
    d.doc = { ...d.doc, more: 1 }
    await d.save()
    await d.reload()
    d.set('doc.again', true)
    await d.save()
    await d.reload()
    await d.update({ doc: { last: 1 } })
    return stored('b')
  },
  bulk: async () => [
    (await Doc.bulkCreate(Array.from({ length: 20 }, (_, i) => ({ id: 'm' + i, doc: { i } })))).length,
    (
      await Doc.bulkCreate(
        [
          { id: 'm1', doc: {} },
          { id: 'new', doc: {} },
        ],
        { ignoreDuplicates: true },
      )
    ).length,
    (
      await Doc.bulkCreate(
        [
          { id: 'm1', doc: { up: 1 } },
          { id: 'new2', doc: {} },
        ],
        { updateOnDuplicate: ['doc'] },
      )
    ).map((d) => d.id),
    await stored('m1'),
    await stored('new%'),
  ],
  update: async () => [
    await Doc.update({ doc: literal('doc || \'{"u": 1}\'') }, { where: { id: { [Op.like]: 'm1%' } } }),
    (await Doc.update({ doc: { r: 1 } }, { where: { id: 'm2' }, returning: true })).map((x) =>
      Array.isArray(x) ? x.map((d) => [d.id, own(d.doc)]) : x,
    ),
    await Doc.update({ doc: fn('jsonb_set', col('doc'), '{i}', '7') }, { where: { 'doc.i': 3 } }),
    await stored('m3'),
  ],
  upsert: async () => [
    (await Doc.upsert({ id: 'a', doc: { over: 1 } }))[0].id,
    (await Doc.upsert({ id: 'up', doc: { n: 1 } }))[0].id,
    await stored('a'),
    await stored('up'),
    (await Doc.findCreateFind({ where: { id: 'foc' }, defaults: { doc: { made: 1 } } }))[1],
    (await Doc.findCreateFind({ where: { id: 'foc' }, defaults: { doc: {} } }))[1],
  ],
  destroy: async () => [
    await Doc.destroy({ where: { id: { [Op.like]: 'new%' } } }),
    await (await Doc.findByPk('up')).destroy().then((x) => !!x),
    await Doc.count(),
  ],
  transaction: async () => [
    await s.transaction(async (t) => {
      await Doc.create({ id: 't1', doc: {} }, { transaction: t })
      const code = await s
        .transaction({ transaction: t }, (n) => Doc.create({ id: 't1', doc: {} }, { transaction: n }))
        .catch(failure)
      const locked = await Doc.findByPk('t1', { transaction: t, lock: t.LOCK.UPDATE, skipLocked: true })
      return [code, locked.id, await stored('t%', { transaction: t })]
    }),
    await s
      .transaction(async (t) => {
        await Doc.destroy({ where: {}, transaction: t })
        throw new Error('mine')
      })
      .catch((e) => e.message),
    await stored('t%'),
  ],
  errors: async () => [
    await Doc.create({ id: 'a', doc: {} }).catch(failure),
    await s.query("INSERT INTO docs (id, doc) VALUES ('n', NULL)").catch(failure),
    await s.query("UPDATE docs SET doc = '{}' WHERE id = 'a'", { type: Sequelize.QueryTypes.UPDATE }),
    await s.query("INSERT INTO docs (id, doc) VALUES ('i1', '{}') RETURNING id", { type: Sequelize.QueryTypes.INSERT }),
    await s.query("DELETE FROM docs WHERE id = 'i1'", { type: Sequelize.QueryTypes.BULKDELETE }),
  ],
}).then(
  () => s.close(),
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
