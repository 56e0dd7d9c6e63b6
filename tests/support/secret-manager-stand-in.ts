/**
 * Stands in for Google Secret Manager's REST surface, `GET /v1/projects/P/secrets/S/versions/V:access`, on this machine.
 * It refuses what the real one refuses: who does not prove to be the service account, what that account may not read
 * (whether or not it is there), what is not there, and versions that are disabled or destroyed.
 */
import { type createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Version {
  readonly value: string | Buffer
  readonly state?: 'ENABLED' | 'DISABLED' | 'DESTROYED'
  /** What it says the checksum is; its own if absent. */
  readonly crc32c?: string
}

/** What the next request meets in the place of an answer. */
export type ManagerFault = 'hang' | 'reset' | 'unavailable' | 'quota' | 'html' | 'cut' | 'empty'

const EMAIL = 'headgate@acme-money.iam.gserviceaccount.com'
const PATH = /^\/v1\/(projects\/[^/]+\/secrets\/[^/]+)\/versions\/([^/:]+):access$/

const ERRORS = {
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  FAILED_PRECONDITION: 400,
  INVALID_ARGUMENT: 400,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
} as const

export async function startSecretManager() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const secrets = new Map<string, readonly Version[]>()
  const denied = new Set<string>()
  const faults: ManagerFault[] = []
  const asked: string[] = []

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '/', 'http://stand-in')
    asked.push(decodeURIComponent(pathname))
    const fault = faults.shift()
    if (fault !== undefined) return meet(fault, response)
    if (!isSigned(request.headers.authorization, publicKey)) {
      return refuse(response, 'UNAUTHENTICATED')
    }
    const [, secret = '', version = ''] = PATH.exec(decodeURIComponent(pathname)) ?? []
    if (request.method !== 'GET' || secret === '') return refuse(response, 'INVALID_ARGUMENT')
    if (denied.has(secret)) return refuse(response, 'PERMISSION_DENIED')
    const versions = secrets.get(secret) ?? []
    const at = version === 'latest' ? versions.length : Number(version)
    const found = versions[at - 1]
    if (found === undefined) return refuse(response, 'NOT_FOUND')
    if ((found.state ?? 'ENABLED') !== 'ENABLED') return refuse(response, 'FAILED_PRECONDITION')
    const data = Buffer.from(found.value)
    const payload = {
      data: data.toString('base64'),
      dataCrc32c: found.crc32c ?? String(crc32c(data)),
    }
    send(response, 200, { name: `${secret}/versions/${at}`, payload })
  }

  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return {
    secrets,
    denied,
    faults,
    /** Paths of all requests that came. */
    asked,
    standIn: { port, credentials: { client_email: EMAIL, private_key: pem } },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** A self-signed JWT of the service account (RFC 7523; AIP-4111): its key, its name, its time. */
function isSigned(header: string | undefined, publicKey: ReturnType<typeof createPublicKey>) {
  const [head = '', claims = '', signature = ''] = header?.replace(/^Bearer /, '').split('.') ?? []
  const signed = Buffer.from(`${head}.${claims}`)
  if (!verify('RSA-SHA256', signed, publicKey, Buffer.from(signature, 'base64url'))) return false
  const said: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const { iss, exp } = said as { iss?: string; exp?: number }
  return iss === EMAIL && Number(exp) > Date.now() / 1000
}

function meet(fault: ManagerFault, response: ServerResponse): void {
  if (fault === 'reset') response.socket?.destroy()
  if (fault === 'unavailable') refuse(response, 'UNAVAILABLE')
  if (fault === 'quota') refuse(response, 'RESOURCE_EXHAUSTED')
  if (fault === 'empty') send(response, 200, {})
  if (fault === 'html') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>')
  }
  if (fault === 'cut') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
    response.write('{"payload":{"data":"')
    setTimeout(() => response.socket?.destroy(), 20)
  }
}

function refuse(response: ServerResponse, status: keyof typeof ERRORS): void {
  const code = ERRORS[status]
  // The real one names the resource; a sentence of ours never does.
  const message = `${status} on projects/1/secrets/NAME-OF-THE-SECRET/versions/1`
  send(response, code, { error: { code, message, status } })
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** By a table, and so another way than the one that is tested. */
const TABLE = Array.from({ length: 256 }, (_, n) => {
  let c = n
  for (let k = 0; k < 8; k += 1) c = (c & 1) === 1 ? 0x82f63b78 ^ (c >>> 1) : c >>> 1
  return c >>> 0
})
const crc32c = (bytes: Uint8Array): number =>
  (bytes.reduce((crc, byte) => (TABLE[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8), 0xffffffff) ^
    0xffffffff) >>>
  0
