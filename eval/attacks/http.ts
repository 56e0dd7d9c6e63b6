/**
 * A client without manners: bytes to a loopback socket, exactly as given, so that a case can send what no HTTP
 * library would. One request per connection; whatever came back before the end is the answer.
 */
import { connect } from 'node:net'

export interface Send {
  readonly method: string
  /** With its query, exactly as it shall stand on the request line. */
  readonly path: string
  /** In order and with repeats. `Host`, `Content-Length` and `Connection` are added where they are not given. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: Uint8Array | string
  /** Ends the wait: for answers without an end (event streams) and for bodies that are never finished. */
  readonly giveUpMs?: number
}

export interface Received {
  /** 0 when the connection ended without an answer. */
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
  /** The body as JSON, if it is. */
  readonly json?: unknown
}

const GIVE_UP_MS = 20_000

export function send(origin: string, request: Send): Promise<Received> {
  const { hostname, port, host } = new URL(origin)
  const body = Buffer.from(request.body ?? '')
  const given = new Set((request.headers ?? []).map(([name]) => name.toLowerCase()))
  const lines = [`${request.method} ${request.path} HTTP/1.1`]
  if (!given.has('host')) lines.push(`Host: ${host}`)
  for (const [name, value] of request.headers ?? []) lines.push(`${name}: ${value}`)
  const bodiless = request.body === undefined || given.has('transfer-encoding')
  if (!bodiless && !given.has('content-length')) lines.push(`Content-Length: ${body.length}`)
  if (!given.has('connection')) lines.push('Connection: close')
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)

  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
    const timer = setTimeout(() => socket.destroy(), request.giveUpMs ?? GIVE_UP_MS)
    socket.on('data', (chunk) => chunks.push(chunk))
    // A server that refuses early closes while we still write; its answer was read by then.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(parse(Buffer.concat(chunks)))
    })
    socket.write(head)
    if (body.length > 0) socket.write(body)
  })
}

function parse(bytes: Buffer): Received {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return { status: 0, headers: new Map(), text: '' }
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  const rest = bytes.subarray(end + 4)
  const chunked = headers.get('transfer-encoding')?.toLowerCase() === 'chunked'
  const text = (chunked ? unchunk(rest) : rest).toString('utf8')
  const status = Number(first.split(' ')[1] ?? '0')
  return { status, headers, text, json: tryJson(text) }
}

function unchunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  let at = 0
  for (;;) {
    const eol = bytes.indexOf('\r\n', at)
    if (eol < 0) break
    const size = Number.parseInt(bytes.subarray(at, eol).toString('latin1'), 16)
    if (!Number.isInteger(size) || size === 0) break
    parts.push(bytes.subarray(eol + 2, eol + 2 + size))
    at = eol + 2 + size + 2
  }
  return Buffer.concat(parts)
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
