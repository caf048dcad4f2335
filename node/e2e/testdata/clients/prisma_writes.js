// Prisma's client, as in prisma_client.js.
const { PrismaPg } = require('@prisma/adapter-pg')
const runtime = require('@prisma/client/runtime/client.js')
const { checks, env, sqlstate } = require('./check')

const compiler = '@prisma/client/runtime/query_compiler_fast_bg.postgresql'
const wasm = () => new WebAssembly.Module(Buffer.from(require(compiler + '.wasm-base64.js').wasm, 'base64'))
const imported = WebAssembly.Module.imports(wasm())[0].module
const PrismaClient = runtime.getPrismaClient({
  ...require('./prisma_client.json'),
  compilerWasm: {
    getRuntime: async () => require(compiler + '.js'),
    getQueryCompilerWasmModule: async () => wasm(),
    importName: imported,
  },
})
const own = ({ _id, _rev, ...d }) => d

const main = async () => {
  const db = new PrismaClient({ adapter: new PrismaPg(env) })
  const stored = async (prefix = '', d = db) =>
    (await d.docs.findMany({ where: { id: { startsWith: prefix } }, orderBy: { id: 'asc' } })).map((r) => [
      r.id,
      own(r.doc),
    ])
  const failure = (e) => [
    e.code,
    e.meta?.driverAdapterError?.cause?.constraint ?? e.meta?.target,
    e.message.split('\n').pop(),
  ]
  const id = { select: { id: true } }
  await checks({
    create: async () => [
      await db.docs.create({ data: { id: 'a', doc: { n: 1 } }, ...id }),
      await db.docs.createMany({
        data: [
          { id: 'b', doc: { n: 2 } },
          { id: 'c', doc: {} },
        ],
      }),
      await db.docs.createMany({
        data: [
          { id: 'a', doc: {} },
          { id: 'd', doc: {} },
        ],
        skipDuplicates: true,
      }),
      await db.docs.createManyAndReturn({ data: [{ id: 'e', doc: {} }], ...id }),
      await stored(),
    ],
    update: async () => [
      await db.docs.update({ where: { id: 'a' }, data: { doc: { up: 1 } }, ...id }),
      await db.docs.updateMany({ where: { id: { in: ['b', 'c'] } }, data: { doc: { many: 1 } } }),
      await db.docs.updateManyAndReturn({ where: { id: 'd' }, data: { doc: { d: 1 } }, ...id }),
      await stored(),
    ],
    upsert: async () => [
      await db.docs.upsert({ where: { id: 'a' }, create: { id: 'a', doc: {} }, update: { doc: { up: 2 } }, ...id }),
      await db.docs.upsert({ where: { id: 'u' }, create: { id: 'u', doc: { made: 1 } }, update: { doc: {} }, ...id }),
      await stored('a'),
      await stored('u'),
    ],
    delete: async () => [
      await db.docs.delete({ where: { id: 'u' }, ...id }),
      await db.docs.deleteMany({ where: { doc: { path: ['many'], equals: 1 } } }),
      await db.docs.delete({ where: { id: 'u' } }).catch((e) => e.code),
      await db.docs.count(),
    ],
    batch: async () => [
      await db.$transaction([
        db.docs.create({ data: { id: 't1', doc: {} }, ...id }),
        db.docs.update({ where: { id: 't1' }, data: { doc: { t: 1 } }, ...id }),
      ]),
      await db
        .$transaction([
          db.docs.create({ data: { id: 't2', doc: {} } }),
          db.docs.create({ data: { id: 't1', doc: {} } }),
        ])
        .catch(failure),
      await stored('t'),
    ],
    interactive: async () => [
      await db.$transaction(
        async (tx) => {
          await tx.docs.create({ data: { id: 'i1', doc: {} } })
          return stored('i', tx)
        },
        { isolationLevel: 'Serializable' },
      ),
      await db
        .$transaction(async (tx) => {
          await tx.docs.deleteMany()
          throw new Error('mine')
        })
        .catch((e) => e.message),
      await stored('i'),
    ],
    raw: async () => [
      await db.$executeRaw`UPDATE docs SET doc = ${{ raw: 1 }}::jsonb WHERE id = ${'i1'}`,
      await db.$queryRaw`DELETE FROM docs WHERE id = 'i1' RETURNING id`,
    ],
    errors: async () => [
      await db.docs.create({ data: { id: 'a', doc: {} } }).catch(failure),
      await db.docs.update({ where: { id: 'nope' }, data: { doc: {} } }).catch((e) => e.code),
      await db.$executeRaw`INSERT INTO docs (id, doc) VALUES ('n', NULL)`.catch((e) => e.code),
    ],
  })
  await db.$disconnect()
}
main().catch((e) => {
  console.error(e)
  process.exit(1)
})
