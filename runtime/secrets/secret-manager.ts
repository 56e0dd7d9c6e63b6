/**
 * Google Secret Manager: one call for each reference, by Google's own client in its REST mode, with the credentials that
 * the service already has. Never repeated, never longer than the deadline, never kept anywhere but in memory. Of what the
 * other side says in words nothing passes.
 */
import type { SecretManagerServiceClient } from '@google-cloud/secret-manager'
import { Secret } from './secret.ts'

const REFERENCE =
  /^sm:\/\/(projects\/(?:[a-z][a-z0-9-]{4,28}[a-z0-9]|[0-9]{1,20})\/secrets\/[A-Za-z0-9_-]{1,255})\/versions\/(latest|[1-9][0-9]{0,9}|[A-Za-z][A-Za-z0-9_-]{0,62})$/

/** Whether a value names a version in Secret Manager, well or badly, and so is no value itself. */
export const isReference = (value: string): boolean => value.startsWith('sm://')

export type SecretRead =
  | { readonly kind: 'value'; readonly secret: Secret }
  | { readonly kind: 'refused'; readonly reason: string }

export interface SecretManager {
  /** Never throws; `reason` is a sentence of ours. */
  access(reference: string): Promise<SecretRead>
  close(): Promise<void>
}

export interface SecretManagerOptions {
  readonly deadlineMs?: number
  /** Of a stand-in on this machine, spoken to without TLS. */
  readonly standIn?: {
    readonly port: number
    readonly credentials: { readonly client_email: string; readonly private_key: string }
  }
}

const DEADLINE_MS = 10_000
/** Secret Manager's own limit of a payload is 64 KiB. */
const MOST_BYTES = 64 * 1024

/** The client is loaded on the first access: it takes a while, and most gateways never need it. */
export function createSecretManager(options: SecretManagerOptions = {}): SecretManager {
  const { deadlineMs = DEADLINE_MS } = options
  let made: Promise<SecretManagerServiceClient> | undefined
  const client = () => {
    made ??= connect(options)
    return made
  }
  return {
    access: async (reference) => {
      const [, secret, version] = REFERENCE.exec(reference) ?? []
      if (secret === undefined) return refused(MALFORMED)
      return within(deadlineMs, async () => {
        const sm = await client()
        const name = `${secret}/versions/${version}`
        const once = { timeout: deadlineMs, retry: { retryCodes: [] } }
        const [answer] = await sm.accessSecretVersion({ name }, once)
        return readPayload(answer.payload ?? {})
      })
    },
    close: async () => {
      const open = await made?.catch(() => undefined)
      await open?.close()
    },
  }
}

async function connect({ standIn }: SecretManagerOptions): Promise<SecretManagerServiceClient> {
  const { SecretManagerServiceClient } = await import('@google-cloud/secret-manager')
  const { port, credentials } = standIn ?? {}
  return new SecretManagerServiceClient({
    fallback: true,
    // The client takes another one from the environment, and sends its credentials there.
    universeDomain: 'googleapis.com',
    ...(port === undefined || credentials === undefined
      ? {}
      : { credentials, protocol: 'http', servicePath: '127.0.0.1', port }),
  })
}

const refused = (reason: string): SecretRead => ({ kind: 'refused', reason })

const MALFORMED = 'expected sm://projects/PROJECT/secrets/SECRET/versions/VERSION'

async function within(ms: number, ask: () => Promise<SecretRead>): Promise<SecretRead> {
  const late = Promise.withResolvers<SecretRead>()
  const timer = setTimeout(() => late.resolve(refused(reasonOf(4))), ms)
  try {
    return await Promise.race([
      ask().catch((error) => refused(reasonOf(codeOf(error)))),
      late.promise,
    ])
  } finally {
    clearTimeout(timer)
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** By code of gRPC (google.rpc.Code). */
function reasonOf(code: unknown): string {
  switch (code) {
    case 3:
      return MALFORMED
    case 4:
      return 'it did not answer in time'
    case 5:
      return 'there is no such secret, or no such version of it'
    case 7:
      return 'it is denied: expected roles/secretmanager.secretAccessor on it for this service account'
    case 8:
      return 'the quota of the project is used up'
    case 9:
      return 'the version is disabled or destroyed'
    case 16:
      return 'the credentials of this service were not accepted'
    default:
      return 'it could not be reached, or there are no credentials to reach it with'
  }
}

interface Payload {
  readonly data?: Uint8Array | string | null
  readonly dataCrc32c?: unknown
}

/** The value without the line end that `--data-file` brings along, if it came whole. */
function readPayload({ data, dataCrc32c }: Payload): SecretRead {
  const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : Buffer.from(data ?? [])
  if (
    dataCrc32c !== undefined &&
    dataCrc32c !== null &&
    String(dataCrc32c) !== String(crc32c(bytes))
  )
    return refused('what came is not what is kept there, by its checksum')
  if (bytes.length > MOST_BYTES) return refused('what is kept there is too large for a secret')
  const text = bytes.toString('utf8').replace(/\r?\n$/, '')
  if (text === '' || !Buffer.from(text, 'utf8').equals(bytes.subarray(0, Buffer.byteLength(text))))
    return refused('what is kept there is empty or no text')
  if (isReference(text)) return refused('what is kept there is a reference again')
  return { kind: 'value', secret: new Secret(text) }
}

/** CRC-32C (RFC 3720, appendix B.4), which is what Secret Manager states. */
function crc32c(bytes: Uint8Array): number {
  let crc = 0xffff_ffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f6_3b78 : crc >>> 1
  }
  return (crc ^ 0xffff_ffff) >>> 0
}
