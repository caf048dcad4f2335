const knex = require('knex')({ client: 'pg', connection: require('./check').env, pool: { min: 0, max: 2 } })
const { checks } = require('./check')

const real = () => knex('docs').whereNot('id', 'like', 'odd%')
checks({
  columns: async () => [await knex('docs').columnInfo(), await knex('country').withSchema('by').columnInfo()],
  tables: async () => [
    await knex.schema.hasTable('docs'),
    await knex.schema.hasTable('nope'),
    await knex.schema.hasColumn('docs', 'doc'),
    await knex.schema.withSchema('by').hasTable('country'),
  ],
  builder: async () => [
    await knex('docs').select('id').where('id', 'no:2294').first(),
    await knex('docs').whereIn('id', ['no:2294', 'fr:1077', 'x']).orderBy('id', 'desc').pluck('id'),
    await knex('docs').count({ n: '*' }),
    await real().whereRaw("doc->>'country' = ?", ['NO']).count('*').first(),
    await real().whereJsonSupersetOf('doc', { country: 'NO' }).count('*').first(),
    await real().whereJsonObject('doc', {}).count('*').first(),
    await real().whereJsonSubsetOf('doc', { country: 'NO' }).count('*').first(),
    await real()
      .select(knex.raw("doc->>'country' AS c"))
      .count('* as n')
      .groupBy(1)
      .havingRaw('count(*) > 80')
      .orderBy('n', 'desc')
      .orderBy('c'),
    await real()
      .select('id')
      .where((b) => b.where('id', '>', 'zm').orWhereNull('rev'))
      .andWhereBetween('id', ['a', 'zz'])
      .limit(3)
      .offset(1)
      .orderBy('id'),
    await knex
      .withSchema('by')
      .from('country')
      .where('key', JSON.stringify('IS'))
      .orderBy('id')
      .select('id', 'value')
      .limit(3),
    await knex('docs').distinct(knex.raw("doc->>'country' AS c")).orderBy('c').limit(3),
    await knex.with('no', knex('docs').whereRaw("doc->>'country' = 'NO'").select('id')).from('no').count('*').first(),
    await knex
      .union([knex('docs').select('id').where('id', 'no:2294'), knex('docs').select('id').where('id', 'fr:1077')])
      .orderBy('id'),
  ],
  paths: async () => [
    await real().whereJsonPath('doc', '$.n', '>', 3420).orderBy('id').pluck('id'),
    await knex('docs').jsonExtract('doc', '$.name', 'name').where('id', 'no:2294'),
  ],
  transaction: async () =>
    knex.transaction(
      async (trx) => {
        const n = await trx('docs').count('*').first()
        const sp = await trx.transaction((t) => t.raw('SELECT 1/0')).catch((e) => e.code)
        return [n, sp, (await trx.raw('SELECT 1 AS a')).rows]
      },
      { isolationLevel: 'repeatable read', readOnly: true },
    ),
  stream: async () => {
    let n = 0
    for await (const r of knex('docs').select('id').limit(300).stream()) n += r.id.length > 0
    return n
  },
  timeout: async () =>
    knex
      .raw('SELECT count(*) FROM generate_series(1, 10000000000)')
      .timeout(300, { cancel: true })
      .catch((e) => e.message),
}).then(
  () => knex.destroy(),
  (e) => {
    console.error(e)
    process.exit(1)
  },
)
