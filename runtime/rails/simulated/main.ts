/** Runs the simulated rail as a process of its own. */
import { parseArgs } from 'node:util'
import { startSimulatedRail } from './server.ts'

const USAGE = `Usage: node runtime/rails/simulated/main.ts --data DIR [--port N] [--key-file FILE]

A payment rail for tests and demos, on 127.0.0.1, with a durable book in DIR.
Prints one JSON line {"url", "keyFile"} when it is ready; every request needs the key as a bearer token.

  --data DIR       where the book is kept (made if missing)
  --port N         0 (the default) takes a free port
  --key-file FILE  the API key; made with mode 0600 if missing (default: DIR/api-key)
  --help

  POST /payouts {key, account, amount, currency, note}    GET /payouts/{key}    GET /book
  POST /payouts/{key}/refunds {key, amount, currency}    GET /refunds/{key}
  POST /payouts/{key}/return    GET /statement?from&to    POST /strays {direction, amount, currency}    POST /script {on?, match?, outcome, times?, ...}    DELETE /script

What the next payout meets is POST /script {"outcome": "..."}, one of settle, decline, lostReply, lostRequest, lateCommit,
slow, lateReversal, garbage, error500AfterSettle, wrongAmount; script.ts beside this file says what each does. On a rail
that is stopped (kill -STOP) or that moved a wrong amount, a payment stays unknown.
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      port: { type: 'string', default: '0' },
      'key-file': { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return
  }
  if (!values.data || !/^\d{1,5}$/.test(values.port)) {
    throw new TypeError('expected --data DIR and a port number')
  }
  const keyFile = values['key-file']
  const server = await startSimulatedRail({
    port: Number(values.port),
    directory: values.data,
    ...(keyFile === undefined ? {} : { keyFile }),
  })
  const stop = () => void server.close()
  process.on('SIGTERM', stop).on('SIGINT', stop)
  // Started by a parent with an IPC channel: do not outlive it.
  process.once('disconnect', stop)
  process.stdout.write(`${JSON.stringify({ url: server.url, keyFile: server.keyFile })}\n`)
}

main().catch((error: unknown) => {
  const isUsage = error instanceof TypeError
  process.stderr.write(
    `${error instanceof Error ? error.message : 'failed'}\n${isUsage ? USAGE : ''}`,
  )
  process.exitCode = isUsage ? 2 : 1
})
