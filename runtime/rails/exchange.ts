/**
 * One HTTP exchange whose end says how far it came. Built on `node:http` with a connection of its own each time,
 * because that shows the one thing that a payment needs and `fetch` hides: whether a byte could have left. It follows no
 * redirect and knows no proxy; whoever calls it has pinned the host.
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly url: URL
  readonly headers: { readonly [name: string]: string }
  readonly body?: string
  /** For everything, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
  readonly maxBytes: number
}

export type Exchange =
  | {
      readonly kind: 'answer'
      readonly status: number
      /** Names in lower case. */
      readonly headers: { readonly [name: string]: string }
      readonly body: Buffer
    }
  /** The connection was never established. */
  | { readonly kind: 'notSent'; readonly reason: string }
  /** The request may have arrived; there is no whole answer. */
  | { readonly kind: 'lost'; readonly reason: string }

/** How an adapter reaches its rail: `exchange`, or one that records it or plays it again. Never throws. */
export type Transport = (asked: ExchangeRequest) => Promise<Exchange>

// No reuse: a request that meets a connection just being closed would look like one that was never sent.
const plain = { agent: new Agent({ keepAlive: false }), request, standing: 'connect' }
const secure = {
  agent: new SecureAgent({ keepAlive: false, minVersion: 'TLSv1.2', rejectUnauthorized: true }),
  request: secureRequest,
  standing: 'secureConnect',
}

/** Sends once: no retry, no redirect. Never throws. */
export function exchange(asked: ExchangeRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    const over = asked.url.protocol === 'https:' ? secure : plain
    let connected = false
    let sent: ClientRequest | undefined
    const end = (result: Exchange) => {
      clearTimeout(deadline)
      resolve(result)
      sent?.destroy()
    }
    const fail = (reason: string) => end({ kind: connected ? 'lost' : 'notSent', reason })
    const deadline = setTimeout(() => fail('deadline'), asked.timeoutMs)
    try {
      const { url, method, body } = asked
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const { agent, request } = over
      sent = request(url, { method, agent, headers: { ...asked.headers, ...length } })
    } catch {
      fail('request could not be formed')
      return
    }
    sent.on('socket', (socket) => {
      // Without a socket of an earlier request there is none that stands already; bytes wait until it does.
      connected = false
      socket.once(over.standing, () => {
        connected = true
      })
    })
    sent.on('error', (error: NodeJS.ErrnoException) => fail(reasonOf(error)))
    sent.on('response', (response) => collect(response, asked.maxBytes, end, fail))
    sent.end(asked.body)
  })
}

function collect(
  response: IncomingMessage,
  maxBytes: number,
  end: (result: Exchange) => void,
  fail: (reason: string) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxBytes) fail('answer too large')
    else chunks.push(chunk)
  })
  response.on('error', (error) => fail(reasonOf(error)))
  // Comes only after a whole message: one that is cut short ends in an error.
  response.on('end', () => {
    const { statusCode: status = 0, headers } = response
    end({ kind: 'answer', status, headers: textOf(headers), body: Buffer.concat(chunks) })
  })
}

const textOf = (headers: IncomingMessage['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  )

/** A system error's code, which is one of a known few; never its message. */
const reasonOf = (error: NodeJS.ErrnoException): string =>
  /^[A-Z_]{1,40}$/.test(error.code ?? '') ? String(error.code) : 'connection failed'
