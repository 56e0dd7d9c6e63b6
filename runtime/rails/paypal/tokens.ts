/**
 * The account's access token, which all requests share: asked for once, however many wait for it, and renewed before it
 * ends. What goes wrong with it is told without it.
 */
import { z } from 'zod'
import { type Json, parseJson } from '../../core/json.ts'
import { LIMITS } from '../../core/limits.ts'
import type { Clock } from '../../core/time.ts'
import type { Transport } from '../exchange.ts'

export interface ClientOptions {
  readonly base: URL
  readonly clientId: string
  readonly clientSecret: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly transport: Transport
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

export class Tokens {
  readonly #options: ClientOptions
  readonly #basic: string
  #grant: Grant | undefined
  #asking: Promise<Granted> | undefined

  constructor(options: ClientOptions) {
    this.#options = options
    const { clientId, clientSecret } = options
    this.#basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  }

  /** Another one than `refused`. Never throws for what PayPal does. */
  get(leftMs: number, refused?: string): Promise<Granted> {
    const grant = this.#grant
    const isGood = grant !== undefined && this.#options.clock.nowMs() < grant.renewAtMs
    if (isGood && grant.token !== refused) return Promise.resolve(grant)
    this.#asking ??= this.#ask(leftMs).finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(leftMs: number): Promise<Granted> {
    const { base, clock, transport } = this.#options
    const askedAtMs = clock.nowMs()
    const got = await transport({
      method: 'POST',
      url: new URL('/v1/oauth2/token', base),
      headers: {
        authorization: `Basic ${this.#basic}`,
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
    this.#grant = { kind: 'granted', token: read.access_token, scopes, renewAtMs }
    return this.#grant
  }
}

/** Undefined for what `parseJson` does not take. */
export function jsonIn(body: Buffer): Json | undefined {
  try {
    return parseJson(body)
  } catch {
    return undefined
  }
}
