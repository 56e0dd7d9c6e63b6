/** Runs the storefront as a process of its own. */
import { parseArgs } from 'node:util'
import { loadCatalogue } from './catalogue.ts'
import { startStorefront } from './server.ts'

const USAGE = `Usage: node merchant/main.ts --data DIR --gateway-id ID --gateway-jwks URL_OR_FILE [--port N] [--catalogue FILE]

A storefront of many shops, some of them hostile, for demos and tests.
Prints one JSON line {"url", "merchants": [...]} when it is ready.

  --data DIR          keys and orders (made if missing)
  --gateway-id ID     the one gateway whose receipts are taken, as it names itself in them
  --gateway-jwks SRC  the gateway's published keys, URL or file; read when the first receipt comes
  --gateway-verify URL  its POST /receipts/verify, asked once more before anything is handed over (off by default)
  --port N            0 (the default) takes a free port
  --host HOST         default 127.0.0.1
  --public-url URL    how others reach it, if not by host and port
  --catalogue FILE    merchants and products, instead of the built-in ones
  --help

  GET /catalogue
  GET /m/{merchant}/search?text=&currency=&limit=     POST /m/{merchant}/quotes {currency, lines}
  GET /m/{merchant}/products?sku=&currency=
  GET /m/{merchant}/.well-known/jwks.json             POST /m/{merchant}/orders {quote, receipt}
  GET /m/{merchant}/orders
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      'gateway-id': { type: 'string' },
      'gateway-jwks': { type: 'string' },
      'gateway-verify': { type: 'string' },
      port: { type: 'string', default: '0' },
      host: { type: 'string', default: '127.0.0.1' },
      'public-url': { type: 'string' },
      catalogue: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return
  }
  const { data, 'gateway-jwks': gatewayJwks, 'public-url': publicUrl, port } = values
  const { 'gateway-id': gatewayId, 'gateway-verify': gatewayVerify } = values
  if (!data || !gatewayId || !gatewayJwks || !/^\d{1,5}$/.test(port)) {
    throw new TypeError(
      'expected --data DIR, --gateway-id ID, --gateway-jwks URL_OR_FILE and a port number',
    )
  }
  const storefront = await startStorefront({
    port: Number(port),
    host: values.host,
    directory: data,
    gatewayId,
    gatewayJwks,
    ...(gatewayVerify === undefined ? {} : { gatewayVerify }),
    catalogue: loadCatalogue(values.catalogue),
    clock: { nowMs: () => Date.now() },
    ...(publicUrl === undefined ? {} : { publicUrl: publicUrl.replace(/\/+$/, '') }),
  })
  const stop = () => void storefront.close()
  process.on('SIGTERM', stop).on('SIGINT', stop)
  // Started by a parent with an IPC channel: do not outlive it.
  process.once('disconnect', stop)
  const { url, merchants } = storefront
  process.stdout.write(`${JSON.stringify({ url, merchants })}\n`)
}

main().catch((error: unknown) => {
  const isUsage = error instanceof TypeError
  process.stderr.write(
    `${error instanceof Error ? error.message : 'failed'}\n${isUsage ? USAGE : ''}`,
  )
  process.exitCode = isUsage ? 2 : 1
})
