// Runs the statements that it is given with node-postgres, one after another on one connection, and prints the codes,
// or why it cannot connect.
const { Client } = require('pg')

const main = async () => {
  // It refuses logins with more than 100,000 iterations, which passwords set over HTTP do not need.
  const client = new Client()
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
