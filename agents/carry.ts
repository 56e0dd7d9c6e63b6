/**
 * One HTTP request to a provider, on a connection of its own. It knows no proxy, follows no redirect and reads no
 * environment; where it leads is pinned by whoever calls it, and so is all that it carries: the providers' libraries
 * compose an address and a body, and none of their headers leave.
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'

export interface CarryRequest {
  readonly url: URL
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export type Carried =
  | {
      readonly kind: 'answer'
      readonly status: number
      /** Names in lower case. */
      readonly headers: { readonly [name: string]: string }
      readonly body: Buffer
    }
  /** `cut`: it began to answer. `malformed`: it went on for longer than `maxBytes`. */
  | { readonly kind: 'none'; readonly failure: 'unreachable' | 'cut' | 'malformed' }

/** How a provider is reached: `carry`, or one that records it or plays it again. Never throws. */
export type Carry = (asked: CarryRequest) => Promise<Carried>

// Agents of our own: the global ones take a proxy from the environment where Node is told so.
const plain = { agent: new Agent({ keepAlive: false }), request }
const secure = {
  agent: new SecureAgent({ keepAlive: false, minVersion: 'TLSv1.2', rejectUnauthorized: true }),
  request: secureRequest,
}

/** Posts once. An abort of the signal ends it as `unreachable`. Never throws. */
export const carry: Carry = ({ url, headers, body, maxBytes, signal }) =>
  new Promise((resolve) => {
    const over = url.protocol === 'https:' ? secure : plain
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const sent = over.request(url, {
      method: 'POST',
      agent: over.agent,
      headers: { ...headers, ...length },
    })
    const end = (result: Carried) => {
      signal.removeEventListener('abort', stop)
      resolve(result)
      sent.destroy()
    }
    const stop = () => end({ kind: 'none', failure: 'unreachable' })
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    sent.on('error', stop)
    // Nobody asked for another protocol; without this it would be waited for until the deadline.
    sent.on('upgrade', stop)
    sent.on('response', (response) => collect(response, maxBytes, end))
    sent.end(body)
  })

function collect(response: IncomingMessage, maxBytes: number, end: (result: Carried) => void) {
  const chunks: Buffer[] = []
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxBytes) end({ kind: 'none', failure: 'malformed' })
    else chunks.push(chunk)
  })
  response.on('error', () => end({ kind: 'none', failure: 'cut' }))
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

/** Where a provider is, and what opens it. */
export interface Door {
  /** Scheme, host and port: the key goes nowhere else. */
  readonly origin: string
  /** The header that holds the key. */
  readonly auth: { readonly [name: string]: string }
  readonly carry: Carry
  readonly maxBytes: number
}

/** As a provider's library takes it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * A `fetch` for a provider's library that carries one request and no second one, to the door's origin and nowhere
 * else. What came of it is read here, not from the library.
 */
export function oneRequest(door: Door, signal: AbortSignal) {
  let times = 0
  let carried: Carried | undefined
  const fetch: Fetch = async (input, init) => {
    times += 1
    const url = URL.parse(String(input))
    const isOurs = times === 1 && url?.origin === door.origin
    if (!isOurs) throw new TypeError('this request is not to be sent')
    if (typeof init?.body !== 'string') throw new TypeError('expected a body of text')
    carried = await door.carry({
      url,
      headers: {
        ...door.auth,
        accept: 'application/json',
        'content-type': 'application/json',
        'user-agent': 'headgate',
      },
      body: init.body,
      maxBytes: door.maxBytes,
      signal,
    })
    if (carried.kind === 'none') throw new TypeError('no answer')
    const { status, headers } = carried
    const type = headers['content-type'] ?? 'application/octet-stream'
    return new Response(new Uint8Array(carried.body), {
      status,
      headers: { 'content-type': type },
    })
  }
  return { fetch, carried: () => carried, times: () => times }
}
