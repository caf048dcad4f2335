// Runs the statements that it is given with node-postgres, one after another on one connection, and prints the codes,
// or why it cannot connect.
const { Client } = require('pg')

const main = async () => {
  // It refuses log-ins of more than 100,000 iterations, which passwords that are set over HTTP do not ask for.
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
