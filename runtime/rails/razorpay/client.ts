/**
 * The `razorpay` package, used for what it knows (which path, which field) and for nothing else. Its network is replaced by
 * our `Transport`, and what that saw is the answer: the package takes any page for a success, hides whether a request was
 * sent, follows redirects, waits forever, drops idempotency headers and writes ids into paths as they come. So here every
 * request is built anew from a closed list of paths, at one pinned host, within one deadline.
 */
import Razorpay from 'razorpay'
import type { Exchange, Transport } from '../exchange.ts'
import { standInAt, unconfigured } from '../words.ts'

export interface ClientOptions {
  readonly mode: 'test' | 'live'
  readonly keyId: string
  readonly keySecret: string
  /** `http://127.0.0.1:PORT` of a stand-in; absent: Razorpay. */
  readonly url?: string
  readonly transport: Transport
  readonly timeoutMs: number
}

/** The package's own HTTP client, which its types do not show; the one way to send a header of a request. */
interface Requests {
  readonly defaults: { adapter: unknown }
  get(path: string, config?: { readonly params: Query }): Promise<unknown>
  post(
    path: string,
    body: unknown,
    config?: { readonly headers: { readonly [name: string]: string } },
  ): Promise<unknown>
}

type Query = { readonly [name: string]: string | number | undefined }

export interface Sdk {
  readonly api: Razorpay
  readonly rq: Requests
}

/** One request. Never throws. */
export type Ask = (use: (sdk: Sdk) => Promise<unknown>) => Promise<Exchange>

export interface Client {
  /** Requests that share one deadline. */
  begin(): Ask
}

const ID = '[a-z]+_[A-Za-z0-9]{14}'
const PATHS = {
  get: new RegExp(
    `^/v1/(?:(?:orders|payments|refunds|payouts|payment_links|fund_accounts)(?:/${ID})?|orders/${ID}/payments|payments/${ID}/refunds)$`,
  ),
  post: new RegExp(
    `^/v1/(?:orders|payment_links|payouts|contacts|fund_accounts|payments/${ID}/(?:capture|refund)|(?:payment_links|payouts)/${ID}/cancel)$`,
  ),
} as const

const OWN_HEADERS = ['X-Payout-Idempotency', 'X-Refund-Idempotency']

/** A page of a hundred payments, each with long notes. */
const ANSWER_BYTES = 2 * 1024 * 1024

/** Throws Fault `rail_unconfigured` for keys or a host that are not of this mode. */
export function createClient(options: ClientOptions): Client {
  const base = baseOf(options.url)
  assertKeys(options)
  const { keyId: key_id, keySecret: key_secret, transport } = options
  const authorization = `Basic ${Buffer.from(`${key_id}:${key_secret}`).toString('base64')}`

  const begin = (): Ask => {
    const endsAtMs = performance.now() + options.timeoutMs
    return async (use) => {
      let came: Exchange | undefined
      let sent = false
      const api = new Razorpay({ key_id, key_secret })
      const { rq } = api.api as unknown as { readonly rq: Requests }
      rq.defaults.adapter = async (config: Config) => {
        if (sent) throw new Error('a second request')
        const timeoutMs = Math.ceil(endsAtMs - performance.now())
        const asked = requestOf(config, base)
        if (timeoutMs <= 0) came = { kind: 'notSent', reason: 'deadline' }
        if (asked === undefined || timeoutMs <= 0) throw new Error('not sent')
        sent = true
        const headers = { ...asked.headers, authorization }
        came = await transport({ ...asked, headers, timeoutMs, maxBytes: ANSWER_BYTES })
        return { data: null, status: 200, statusText: '', headers: {}, config }
      }
      try {
        await use({ api, rq })
      } catch {
        // Whatever shape the package's error has: what the transport saw is the answer.
      }
      return came ?? noWordOf(sent)
    }
  }
  return { begin }
}

const noWordOf = (sent: boolean): Exchange =>
  sent
    ? { kind: 'lost', reason: 'transport_failed' }
    : { kind: 'notSent', reason: 'request_not_formed' }

interface Config {
  readonly method?: unknown
  readonly url?: unknown
  readonly params?: unknown
  readonly data?: unknown
  readonly headers?: unknown
}

/** Undefined for what is not one of our requests: then nothing is sent. */
function requestOf({ method, url: path, params, data, headers }: Config, base: URL) {
  if (method !== 'get' && method !== 'post') return undefined
  if (typeof path !== 'string' || !PATHS[method].test(path)) return undefined
  const url = new URL(path, base)
  for (const [name, value] of Object.entries(params ?? {})) {
    if (value === undefined) continue
    if (typeof value !== 'string' && typeof value !== 'number') return undefined
    url.searchParams.set(name, String(value))
  }
  if (url.origin !== base.origin || url.pathname !== path) return undefined
  if (data !== undefined && typeof data !== 'string') return undefined
  const own = Object.entries(headers ?? {}).filter(([name]) => OWN_HEADERS.includes(name))
  return {
    method: method === 'get' ? ('GET' as const) : ('POST' as const),
    url,
    headers: {
      accept: 'application/json',
      'user-agent': 'headgate',
      ...(data === undefined ? {} : { 'content-type': 'application/json' }),
      ...Object.fromEntries(own.map(([name, value]) => [name, String(value)])),
    },
    ...(data === undefined ? {} : { body: data }),
  }
}

function baseOf(text: string | undefined): URL {
  const base = text === undefined ? new URL('https://api.razorpay.com') : standInAt(text)
  if (base !== undefined) return base
  throw unconfigured('expected Razorpay itself, or a stand-in at http://127.0.0.1:PORT')
}

function assertKeys({ mode, keyId, keySecret, url }: ClientOptions): void {
  const kind = /^rzp_(test|live)_[A-Za-z0-9]{14}$/.exec(keyId)?.[1]
  if (kind === undefined) {
    throw unconfigured('expected a Razorpay key id: rzp_test_ or rzp_live_ and 14 characters')
  }
  if (kind !== mode) throw unconfigured(`expected a key of ${mode} mode, not of ${kind} mode`)
  if (mode === 'live' && url !== undefined) {
    throw unconfigured(
      'expected test mode at a stand-in, because live keys are sent to Razorpay only',
    )
  }
  if (!/^[\x21-\x7e]{8,200}$/.test(keySecret)) {
    throw unconfigured('expected a Razorpay key secret: 8 to 200 printable characters')
  }
}
