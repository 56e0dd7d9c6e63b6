/** Client credentials: a form, Basic, a token that ends; and what each token may do. */
import { randomBytes } from 'node:crypto'
import type { Reply } from './refusals.ts'
import type { Ask } from './routes.ts'
import type { World } from './world.ts'

export const SCOPES = [
  'https://uri.paypal.com/payments/payouts',
  'https://uri.paypal.com/services/payments/payment',
  'https://uri.paypal.com/services/payments/payment/authcapture',
  'https://uri.paypal.com/services/payments/refund',
  'https://uri.paypal.com/services/reporting/search/read',
  'https://uri.paypal.com/services/vault/payment-tokens/readwrite',
  'https://uri.paypal.com/services/applications/webhooks',
]

export interface Client {
  readonly id: string
  readonly secret: string
}

export const freshClient = (): Client => ({
  id: `A${randomBytes(59).toString('base64url')}`,
  secret: `E${randomBytes(59).toString('base64url')}`,
})

export class Tokens {
  readonly #world: World
  readonly #client: Client
  readonly #scopes: readonly string[]
  readonly #lifeSeconds: number
  readonly #given = new Map<string, number>()
  count = 0

  constructor(world: World, client: Client, scopes: readonly string[], lifeSeconds: number) {
    this.#world = world
    this.#client = client
    this.#scopes = scopes
    this.#lifeSeconds = lifeSeconds
  }

  give({ headers, text }: Pick<Ask, 'headers' | 'text'>): Reply {
    this.count += 1
    const { id, secret } = this.#client
    const expected = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    if (headers.authorization !== expected) {
      return {
        status: 401,
        json: { error: 'invalid_client', error_description: 'Client Authentication failed' },
      }
    }
    const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false
    if (!isForm || new URLSearchParams(text).get('grant_type') !== 'client_credentials') {
      return {
        status: 400,
        json: { error: 'unsupported_grant_type', error_description: 'Grant Type is NULL' },
      }
    }
    const token = `A21AA${randomBytes(66).toString('base64url')}`
    this.#given.set(token, this.#world.nowMs() + this.#lifeSeconds * 1000)
    return {
      status: 200,
      json: {
        scope: this.#scopes.join(' '),
        access_token: token,
        token_type: 'Bearer',
        app_id: 'APP-80W284485P519543T',
        expires_in: this.#lifeSeconds,
        nonce: `${this.#world.iso()}${randomBytes(30).toString('base64url')}`,
      },
    }
  }

  accepts(authorization: string | undefined): boolean {
    const ends = this.#given.get(/^Bearer (\S+)$/.exec(authorization ?? '')?.[1] ?? '')
    return ends !== undefined && this.#world.nowMs() < ends
  }

  /** As when the account's owner ends all sessions. */
  revoke(): void {
    this.#given.clear()
  }
}
