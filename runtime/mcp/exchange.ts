/**
 * One message over HTTP, answered by a server and a transport that live for it alone: no session, no stream, nothing kept.
 * The library's own web-standard transports serve both eras of the protocol; they are handed no header that holds a secret
 * and no sign that the caller has gone, because a payment goes on without one.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { errorMessage, type Message, plainError, SAID } from './message.ts'
import { createNodeServer, type NodeServerOptions } from './server.ts'

export interface Posted {
  /** Where it was posted; for the library's own reading of it. */
  readonly url: string
  /** As they came; only those that are about the protocol are looked at. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly message: Message
}

/** `text` is absent where a notification was taken. */
export interface Exchanged {
  readonly status: number
  readonly text?: string
}

const isAboutProtocol = (name: string): boolean =>
  name === 'accept' || name === 'content-type' || name.startsWith('mcp-')

/** Methods that would hold a stream open. */
const STREAMS = new Set(['subscriptions/listen', 'resources/subscribe', 'resources/unsubscribe'])

export async function exchange(
  { url, headers, message }: Posted,
  options: NodeServerOptions,
): Promise<Exchanged> {
  const { id, method, text } = message
  if (method === undefined) return refusal(400, errorMessage(null, -32600, SAID.shape))
  if (STREAMS.has(method)) return refusal(200, errorMessage(id ?? null, -32601, SAID.method))
  const known = headers.filter(([name]) => isAboutProtocol(name.toLowerCase()))
  const request = new Request(url, {
    method: 'POST',
    headers: known.map(([k, v]) => [k, v]),
    body: text,
  })
  const parsedBody: unknown = JSON.parse(text)
  const createServer = () => createNodeServer(options)
  const response = (await isLegacyRequest(request, parsedBody))
    ? await ofFirstEra(request, parsedBody, createServer())
    : await ofSecondEra(request, parsedBody, createServer)
  return plain(response)
}

/** Clients that open with `initialize`; without a session each request stands for itself. */
async function ofFirstEra(
  request: Request,
  parsedBody: unknown,
  server: Server,
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const response = await transport.handleRequest(request, { parsedBody })
    return new Response(await response.text(), { status: response.status })
  } finally {
    await server.close()
  }
}

async function ofSecondEra(
  request: Request,
  parsedBody: unknown,
  createServer: () => Server,
): Promise<Response> {
  const handler = createMcpHandler(createServer, { legacy: 'reject', keepAliveMs: 0 })
  try {
    const response = await handler.fetch(request, { parsedBody })
    return new Response(await response.text(), { status: response.status })
  } finally {
    await handler.close()
  }
}

async function plain(response: Response): Promise<Exchanged> {
  const text = await response.text()
  if (text === '') return { status: response.status }
  const body: unknown = JSON.parse(text)
  if (!isError(body)) return { status: response.status, text }
  return {
    status: response.status,
    text: JSON.stringify({ ...body, error: plainError(body.error) }),
  }
}

const isError = (body: unknown): body is { error: { code: number; message: string } } =>
  typeof body === 'object' && body !== null && 'error' in body

const refusal = (status: number, error: ReturnType<typeof errorMessage>): Exchanged => ({
  status,
  text: JSON.stringify(error),
})
