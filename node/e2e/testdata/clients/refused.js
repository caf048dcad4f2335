// Runs the statements that it is given with node-postgres, one after another on one connection, and prints the codes,
// or why it cannot connect.
const { Client } = require('pg')

const main = async () => {
  // It refuses more iterations than 100,000, and passwords that are set over HTTP have 600,000 if nothing else is said.
  const client = new Client({ scramMaxIterations: 600000 })
  try {
    await client.connect()
  } catch (e) {
    console.log(e.message)
    return
  }
  for (const text of JSON.parse(process.env.STATEMENTS)) {
    try {
      await client.query({ text, values: [] })
      console.log('ok')
    } catch (e) {
      console.log(e.code)
    }
  }
  await client.end()
}
main()
