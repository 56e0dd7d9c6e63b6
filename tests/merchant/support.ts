/** A storefront on loopback, a stand-in for the gateway's signing key, and plain calls to the shops. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CatalogueMerchant, loadCatalogue } from '../../merchant/catalogue.ts'
import { type ListedMerchant, type Storefront, startStorefront } from '../../merchant/server.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { parseJws, signJws, verifyJws } from '../../runtime/core/jws.ts'
import { publicJwkSchema, publicKeyOf } from '../../runtime/core/keys.ts'
import type { Currency } from '../../runtime/core/money.ts'
import { type Quote, quoteSchema } from '../../runtime/core/quote.ts'
import type { Clock } from '../../runtime/core/time.ts'

export const NOW_SECONDS = 1_800_000_000

export interface TestGateway {
  readonly jwksFile: string
  readonly kid: string
  /** A receipt about this quote's text; `change` replaces claims, `signer` the key. */
  receipt(quote: string, change?: object, signer?: KeyObject): string
}

export interface World {
  readonly directory: string
  readonly gateway: TestGateway
  readonly clock: Clock & { seconds: number }
  storefront: Storefront
  shop(id: string): ListedMerchant
  restart(): Promise<void>
  close(): Promise<void>
}

export function createTestGateway(directory: string): TestGateway {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const kid = 'gateway-1'
  const jwksFile = join(directory, 'gateway.jwks.json')
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid }]
  writeFileSync(jwksFile, JSON.stringify({ keys }))
  return {
    jwksFile,
    kid,
    receipt(quote, change = {}, signer = privateKey) {
      const claims = { ...receiptFor(quote), ...change }
      return signJws({ typ: 'receipt+jwt', key: signer, kid, claims })
    },
  }
}

function receiptFor(text: string) {
  const quote = claimsOf(text)
  return {
    iss: 'gateway',
    jti: `rcpt_${sha256(text).slice(0, 27)}`,
    iat: NOW_SECONDS,
    payment: `pay_${sha256(text).slice(0, 27)}`,
    run: 'run_1',
    node: 'nd_1',
    payee: quote.payee,
    account: sha256('account'),
    amount: quote.amount,
    currency: quote.currency,
    quote: sha256(text),
    rail: 'simulated',
    railReference: 'sim_1',
    head: { stream: 'nd_1', seq: 1, hash: sha256('head') },
  }
}

/** The strict claims of a quote, whoever signed it. */
export function claimsOf(text: string): Quote {
  const jws = parseJws(text, 'quote+jwt')
  if (!jws) throw new Error('expected a quote')
  return quoteSchema.parse(jws.claims)
}

/** True when the quote verifies under the published key that it names. */
export function isSignedBy(text: string, { jwks }: ListedMerchant): boolean {
  const jws = parseJws(text, 'quote+jwt')
  const jwk = jwks.keys.find(({ kid }) => kid === jws?.header.kid)
  return jws !== undefined && jwk !== undefined && verifyJws(jws, publicKeyOf(jwk))
}

export async function openWorld(
  catalogue: readonly CatalogueMerchant[] = loadCatalogue(),
  gatewayJwks?: string,
  gatewayVerify?: string,
): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-'))
  const gateway = createTestGateway(directory)
  const clock = { seconds: NOW_SECONDS, nowMs: () => clock.seconds * 1000 }
  const start = () =>
    startStorefront({
      port: 0,
      directory,
      catalogue,
      gatewayId: 'gateway',
      gatewayJwks: gatewayJwks ?? gateway.jwksFile,
      ...(gatewayVerify === undefined ? {} : { gatewayVerify }),
      clock,
    })
  const world: World = {
    directory,
    gateway,
    clock,
    storefront: await start(),
    shop(id) {
      const found = world.storefront.merchants.find((merchant) => merchant.id === id)
      if (!found) throw new Error('expected a merchant of the catalogue')
      return found
    },
    async restart() {
      await world.storefront.close()
      world.storefront = await start()
    },
    async close() {
      await world.storefront.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return world
}

export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

export async function post(url: string, body: unknown): Promise<Answer> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

export async function get(url: string): Promise<Answer> {
  const answer = await fetch(url)
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** One quote of one line, as text. */
export async function quoteOf(
  shop: ListedMerchant,
  sku: string,
  quantity = 1,
  currency: Currency = 'INR',
): Promise<string> {
  const { status, body } = await post(`${shop.url}/quotes`, {
    currency,
    lines: [{ sku, quantity }],
  })
  if (status !== 200) throw new Error(`expected a quote, got ${status}`)
  return String(body.quote)
}

export const strangerKey = () => generateKeyPairSync('ed25519').privateKey

export const strangerJwk = (kid?: string) => {
  const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  return publicJwkSchema.parse(kid === undefined ? jwk : { ...jwk, kid })
}
