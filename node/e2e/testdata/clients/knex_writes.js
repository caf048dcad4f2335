const knex = require('knex')({ client: 'pg', connection: require('./check').env, pool: { min: 0, max: 3 } })
const { checks, sqlstate } = require('./check')

const own = ({ _id, _rev, ...d }) => d
const stored = async (like = '%', k = knex) =>
  (await k('docs').where('id', 'like', like).orderBy('id')).map((r) => [r.id, own(r.doc)])
checks({
  insert: async () => [
    await knex('docs')
      .insert({ id: 'a', doc: { n: 1 } })
      .returning('id'),
    (await knex('docs').insert([{ id: 'b', doc: { n: 2 } }, { id: 'c' }])).rowCount,
    await stored(),
  ],
  uneven: async () => [
    await knex('docs').insert([{ id: 'd' }, { id: 'e', doc: { e: 1 } }], ['id']),
    await stored('d'),
    await stored('e'),
  ],
  batch: async () => [
    (
      await knex
        .batchInsert(
          'docs',
          Array.from({ length: 25 }, (_, i) => ({ id: 'm' + i, doc: { i } })),
          10,
        )
        .returning('id')
    ).length,
    await stored('m2%'),
  ],
  upsert: async () => [
    await knex('docs')
      .insert({ id: 'a', doc: { over: 1 } })
      .onConflict('id')
      .merge()
      .returning('id'),
    await knex('docs').insert({ id: 'a', doc: {} }).onConflict('id').ignore().returning('id'),
    await knex('docs')
      .insert({ id: 'b', doc: { x: 1 } })
      .onConflict('id')
      .merge({ doc: knex.raw('docs.doc || excluded.doc') })
      .where('docs.id', 'b')
      .returning(knex.raw("doc->'x' AS x")),
    await stored('a'),
    await stored('b'),
  ],
  update: async () => [
    await knex('docs')
      .where({ id: 'b' })
      .update({ doc: { new: true } }),
    await knex('docs')
      .where('id', 'like', 'm1%')
      .update({ doc: knex.jsonSet('doc', '$.i', 100) }),
    await knex('docs')
      .where('id', 'm2')
      .update('doc', knex.jsonInsert('doc', '$.j', '5'), ['id']),
    await knex('docs').where('id', 'm2').update('doc', knex.jsonRemove('doc', '$.i'), ['id']),
    await stored('m1'),
    await stored('m2'),
    await stored('b'),
  ],
  delete: async () => [
    await knex('docs').where('id', 'like', 'm%').whereRaw("(doc->>'i')::int > 15").del(),
    await knex('docs').where('id', 'a').del(['id']),
    await knex('docs').count('*'),
  ],
  transaction: async () => [
    await knex.transaction(async (trx) => {
      await trx('docs').insert({ id: 't1', doc: {} })
      const code = await trx.transaction((t) => t('docs').insert({ id: 't1', doc: {} })).catch(sqlstate)
      await trx('docs').where('id', 't1').forUpdate().first()
      return [code, await stored('t%', trx)]
    }),
    await knex
      .transaction(async (trx) => {
        await trx('docs').del()
        throw new Error('mine')
      })
      .catch((e) => e.message),
    await stored('t%'),
  ],
  errors: async () => [
    await knex('docs')
      .insert({ id: 't1', doc: {} })
      .catch((e) => [e.code, e.constraint]),
    await knex('docs')
      .insert({ id: 'n', doc: null })
      .catch((e) => [e.code, e.column]),
    await knex('docs')
      .insert({ id: 'n', doc: [1] })
      .catch((e) => e.code),
  ],
}).then(
  () => knex.destroy(),
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
