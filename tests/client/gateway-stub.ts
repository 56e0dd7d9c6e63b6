/** A server that records what it was sent and answers what it was told. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Reply {
  readonly status: number
  readonly body: unknown
  readonly type?: string
  readonly headers?: Record<string, string>
}

export interface GatewayStub {
  readonly url: string
  readonly received: Received[]
  /** The next answer; `silence` never comes. */
  reply: Reply | 'silence' | 'reset'
  close(): Promise<void>
}

export async function startStub(): Promise<GatewayStub> {
  const received: Received[] = []
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      received.push({ method, path: url, headers, body: Buffer.concat(chunks).toString() })
      const { reply } = stub
      if (reply === 'silence') return
      if (reply === 'reset') {
        request.socket.destroy()
        return
      }
      const { status, body, type = 'application/json', headers: extra = {} } = reply
      response.writeHead(status, { 'content-type': type, ...extra })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stub: GatewayStub = {
    url: `http://127.0.0.1:${port}`,
    received,
    reply: { status: 200, body: {} },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return stub
}
