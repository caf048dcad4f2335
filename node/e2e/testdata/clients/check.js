// What the Node.js clients' scripts share: a check prints its name and what it found, as JSON.
const sorted = (v) => {
  if (typeof v === 'bigint') return String(v)
  if (v instanceof Date) return v.toISOString()
  if (Buffer.isBuffer(v)) return v.toString('hex')
  if (Array.isArray(v)) return v.map(sorted)
  if (v && typeof v === 'object') {
    const plain = typeof v.toJSON === 'function' ? v.toJSON() : v
    if (plain === null || typeof plain !== 'object') return plain
    return Object.fromEntries(
      Object.keys(plain)
        .sort()
        .map((k) => [k, sorted(plain[k])]),
    )
  }
  return v === undefined ? null : v
}

const sqlstate = (e) => {
  for (let i = 0; e && i < 5; i++) {
    if (typeof e.code === 'string' && /^[0-9A-Z]{5}$/.test(e.code)) return e.code
    e = e.original || e.driverError || e.cause || (e.meta && e.meta.driverAdapterError)
  }
}

exports.checks = async (list) => {
  for (const [name, f] of Object.entries(list)) {
    let found
    try {
      found = await f()
    } catch (e) {
      found = 'error ' + (sqlstate(e) || e.stack)
    }
    console.log(name + '\t' + JSON.stringify(sorted(found)))
  }
}
exports.sqlstate = sqlstate
const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE } = process.env
exports.url = `postgres://${PGUSER}${PGPASSWORD ? ':' + PGPASSWORD : ''}@${PGHOST}:${PGPORT}/${PGDATABASE}`
// node-postgres takes the mode of TLS from the environment; postgres.js is told.
exports.ssl = { disable: false, require: 'require', 'verify-full': 'verify-full' }[PGSSLMODE]
exports.env = { host: PGHOST, port: +PGPORT, user: PGUSER, password: PGPASSWORD, database: PGDATABASE }
