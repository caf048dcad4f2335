// Prisma's client over its adapter for node-postgres. Its generator wants a binary from a server of Prisma's, so what it
// makes of the schema is in prisma_client.json:
//   PRISMA_SCHEMA_ENGINE_BINARY=/bin/true npx prisma@7.10.1 generate
const { PrismaPg } = require('@prisma/adapter-pg')
const runtime = require('@prisma/client/runtime/client.js')
const { checks, env, sqlstate } = require('./check')

const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql'
const wasm = () => new WebAssembly.Module(Buffer.from(require(compiler + '.wasm-base64.js').wasm, 'base64'))
const imported = WebAssembly.Module.imports(wasm())[0].module
const config = {
  ...require('./prisma_client.json'),
  compilerWasm: {
    getRuntime: async () => require(compiler + '.js'),
    getQueryCompilerWasmModule: async () => wasm(),
    importName: imported,
  },
}
const PrismaClient = runtime.getPrismaClient(config)

const main = async () => {
  const db = new PrismaClient({ adapter: new PrismaPg(env) })
  const ids = (rows) => rows.map((r) => r.id)
  const where = (doc, more) =>
    db.docs.findMany({ where: { doc }, select: { id: true }, orderBy: { id: 'asc' }, take: 4, ...more }).then(ids)
  await checks({
    unique: async () => (await db.docs.findUnique({ where: { id: 'fr:1077' } })).doc.name,
    missing: () => db.docs.findUnique({ where: { id: 'nope' } }),
    several: () =>
      db.docs.findMany({
        where: { id: { in: ['no:2294', 'fr:1077', 'nope'] } },
        orderBy: { id: 'desc' },
        select: { id: true, doc: true },
      }),
    filters: async () => {
      const out = []
      for (const doc of [
        { path: ['country'], equals: 'NO' },
        { path: ['country'], not: 'NO' },
        { path: ['n'], equals: 5 },
        { path: ['n'], gt: 2990 },
        { path: ['n'], gte: 10, lt: 12 },
        { path: ['nested', 'a', 'b'], equals: 3 },
        { path: ['name'], string_starts_with: 'Os' },
        { path: ['name'], string_contains: 'ville' },
        { path: ['name'], string_ends_with: 'é' },
        { path: ['tags'], array_contains: ['NO'] },
        { path: ['tags'], array_starts_with: 'FR' },
        { path: ['tags'], array_ends_with: 3 },
        { path: ['big'], equals: true },
        { path: ['s'], equals: 'a "quoted" \\ back\nline\ttab' },
        { path: ['nested'], equals: { s: 'x1', a: { b: 4 } } },
      ])
        out.push(await where(doc).catch((e) => sqlstate(e) || e.message))
      return out
    },
    nothing: async () => [
      await where({ equals: runtime.DbNull }),
      await where({ path: ['n'], equals: runtime.JsonNull }),
      await where({ path: ['n'], equals: runtime.AnyNull }),
    ],
    logic: () =>
      db.docs
        .findMany({
          where: {
            OR: [
              { id: { startsWith: 'no:2' } },
              { AND: [{ doc: { path: ['n'], lt: 3 } }, { NOT: { id: { contains: 'odd' } } }] },
            ],
          },
          select: { id: true },
          orderBy: { id: 'asc' },
          skip: 1,
          take: 5,
        })
        .then(ids),
    insensitive: () =>
      db.docs.findMany({ where: { id: { endsWith: 'R:1077', mode: 'insensitive' } }, select: { id: true } }).then(ids),
    count: async () => [
      await db.docs.count(),
      await db.docs.count({ where: { doc: { path: ['country'], equals: 'FR' } } }),
      await db.docs.count({ select: { _all: true, rev: true } }),
    ],
    view: async () => [
      await db.country.count({ where: { key: { equals: 'NO' } } }),
      await db.country.findMany({ where: { key: { equals: 'NO' } }, orderBy: { id: 'asc' }, take: 3 }),
    ],
    cursor: () =>
      db.docs
        .findMany({ cursor: { id: 'fr:1077' }, skip: 1, take: 3, orderBy: { id: 'asc' }, select: { id: true } })
        .then(ids),
    aggregate: () => db.docs.aggregate({ _min: { id: true }, _max: { id: true }, _count: { id: true } }),
    groups: () =>
      db.docs.groupBy({
        by: ['id'],
        where: { id: { startsWith: 'odd' } },
        _count: { _all: true },
        orderBy: { id: 'asc' },
      }),
    raw: async () => [
      await db.$queryRaw`SELECT id, doc->'n' AS n, 2::int8 AS big, 1.50 AS d, NULL AS nothing, ARRAY[1,2] AS a, true AS t, date '2024-02-29' AS day FROM docs WHERE id = ${'fr:1077'}`,
      await db.$queryRawUnsafe("SELECT count(*) FROM docs WHERE doc->'n' = $1::jsonb", '5'),
    ],
    batch: () =>
      db.$transaction([db.docs.count(), db.docs.findFirst({ orderBy: { id: 'asc' }, select: { id: true } })]),
    interactive: () =>
      db.$transaction(async (tx) => [await tx.docs.count(), await tx.$queryRaw`SHOW transaction_isolation`], {
        isolationLevel: 'RepeatableRead',
      }),
    errors: async () => [
      await db.$queryRaw`SELECT nope FROM docs`.catch((e) => [e.code, e.meta?.driverAdapterError?.cause?.originalCode]),
      await db.$queryRaw`SELECT 1 / ${0}::int`.catch((e) => [e.code, e.meta?.driverAdapterError?.cause?.originalCode]),
    ],
  })
  await db.$disconnect()
}
main().catch((e) => {
  console.error(e)
  process.exit(1)
})
