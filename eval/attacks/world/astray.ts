/** A rail that answers every request with a redirect, and the host that it names. Both only count. */
import { createServer, type Server } from 'node:http'

export interface Astray {
  readonly url: string
  readonly asked: number
  readonly elsewhere: number
  close(): Promise<void>
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('expected a port')
  return `http://127.0.0.1:${address.port}`
}

const end = (server: Server) =>
  new Promise<void>((resolve) => {
    server.closeAllConnections()
    server.close(() => resolve())
  })

export async function startAstray(): Promise<Astray> {
  let asked = 0
  let elsewhere = 0
  const other = createServer((_request, response) => {
    elsewhere += 1
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const target = await listen(other)
  const rail = createServer((request, response) => {
    if (request.method === 'POST') asked += 1
    response.writeHead(307, { location: `${target}${request.url ?? '/'}` }).end()
  })
  const url = await listen(rail)
  return {
    url,
    get asked() {
      return asked
    },
    get elsewhere() {
      return elsewhere
    },
    close: async () => {
      await end(rail)
      await end(other)
    },
  }
}
