/**
 * Requests to PayPal with a token that all of them share. It is asked for once, however many wait for it, renewed
 * before it ends and once after it was refused; neither it nor the credentials stand in anything that is returned.
 */
import { z } from 'zod'
import { type Json, parseJson } from '../../core/json.ts'
import { LIMITS } from '../../core/limits.ts'
import type { Clock } from '../../core/time.ts'
import type { Transport } from '../exchange.ts'

export interface PaypalRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** With its query; every part of it was checked or encoded. */
  readonly path: string
  readonly body?: string
  /** `PayPal-Request-Id`, 108 characters at most. */
  readonly requestId?: string
  /** Asks for the whole object and not for its id alone. */
  readonly whole?: true
  /** What an answer may take; `LIMITS.bodyBytes` if absent. */
  readonly maxBytes?: number
}

export type Said =
  /** Whole; `json` is undefined where it was no JSON. */
  | { readonly kind: 'said'; readonly status: number; readonly json: Json | undefined }
  | { readonly kind: 'notSent'; readonly reason: string }
  | { readonly kind: 'lost'; readonly reason: string }

export interface Deadline {
  leftMs(): number
}

export interface PaypalClient {
  /** For the requests of one call together. */
  deadline(): Deadline
  /** Never throws. Sends once, and once more only after a 401 that is the token's. */
  call(request: PaypalRequest, deadline: Deadline): Promise<Said>
  /** What the account's token may do. */
  scopes(): Promise<readonly string[] | Exclude<Said, { kind: 'said' }> | 'refused'>
}

const grantSchema = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{1,4000}$/),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z
    .number()
    .int()
    .min(1)
    .max(366 * 24 * 3600),
  scope: z.string().max(20_000).default(''),
})

interface Grant {
  readonly kind: 'granted'
  readonly token: string
  readonly scopes: readonly string[]
  readonly renewAtMs: number
}

type Granted = Grant | { readonly kind: 'notSent'; readonly reason: string }

/** Renewed this long before its end, so that a token never ends on its way; a short one at half of its life. */
const RENEW_BEFORE_MS = 5 * 60 * 1000

export function createClient(options: {
  readonly base: URL
  readonly clientId: string
  readonly clientSecret: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly transport: Transport
}): PaypalClient {
  const { base, clock, timeoutMs, transport } = options
  const basic = Buffer.from(`${options.clientId}:${options.clientSecret}`).toString('base64')
  let grant: Grant | undefined
  let asking: Promise<Granted> | undefined

  const deadline = (): Deadline => {
    const endsAtMs = clock.nowMs() + timeoutMs
    return { leftMs: () => Math.min(timeoutMs, endsAtMs - clock.nowMs()) }
  }

  async function ask(leftMs: number): Promise<Granted> {
    const askedAtMs = clock.nowMs()
    const got = await transport({
      method: 'POST',
      url: new URL('/v1/oauth2/token', base),
      headers: {
        authorization: `Basic ${basic}`,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
      timeoutMs: leftMs,
      maxBytes: LIMITS.bodyBytes,
    })
    // Whatever became of it: nothing that moves money was sent.
    if (got.kind !== 'answer') return { kind: 'notSent', reason: `token_${got.kind}` }
    if (got.status !== 200) return { kind: 'notSent', reason: `token_status_${got.status}` }
    const read = grantSchema.safeParse(jsonIn(got.body)).data
    if (read === undefined) return { kind: 'notSent', reason: 'token_malformed' }
    const lifeMs = read.expires_in * 1000
    const renewAtMs = askedAtMs + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2)
    const scopes = read.scope.split(' ').filter(Boolean)
    grant = { kind: 'granted', token: read.access_token, scopes, renewAtMs }
    return grant
  }

  /** Not `refused`, if that was given before. */
  async function token(leftMs: number, refused?: string): Promise<Granted> {
    if (grant && grant.token !== refused && clock.nowMs() < grant.renewAtMs) return grant
    asking ??= ask(leftMs).finally(() => {
      asking = undefined
    })
    return asking
  }

  async function send(request: PaypalRequest, bearer: string, leftMs: number): Promise<Said> {
    const { method, path, body, requestId, whole, maxBytes = LIMITS.bodyBytes } = request
    const got = await transport({
      method,
      url: new URL(path, base),
      headers: {
        authorization: `Bearer ${bearer}`,
        accept: 'application/json',
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...(requestId === undefined ? {} : { 'paypal-request-id': requestId }),
        ...(whole ? { prefer: 'return=representation' } : {}),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: leftMs,
      maxBytes,
    })
    if (got.kind !== 'answer') return got
    return { kind: 'said', status: got.status, json: jsonIn(got.body) }
  }

  return {
    deadline,

    async call(request, deadline) {
      let refused: string | undefined
      for (;;) {
        if (deadline.leftMs() <= 0) return { kind: 'notSent', reason: 'deadline' }
        const granted = await token(deadline.leftMs(), refused)
        if (granted.kind !== 'granted') return granted
        const leftMs = deadline.leftMs()
        if (leftMs <= 0) return { kind: 'notSent', reason: 'deadline' }
        const said = await send(request, granted.token, leftMs)
        // A token may be ended before its time. What was refused for it has done nothing, so it is sent again, once.
        if (said.kind !== 'said' || said.status !== 401 || refused !== undefined) return said
        refused = granted.token
      }
    },

    async scopes() {
      const granted = await token(timeoutMs)
      if (granted.kind === 'granted') return granted.scopes
      return granted.reason === 'token_status_401' ? 'refused' : granted
    },
  }
}

function jsonIn(body: Buffer): Json | undefined {
  try {
    return parseJson(body)
  } catch {
    return undefined
  }
}
