/**
 * The merchants of the configuration, over HTTP: the untrusted world. Whatever they answer is data and never an
 * instruction. An answer is taken whole and strictly or not at all; each item carries the merchant that was
 * asked, never the one that it names; keys are those that the operator pinned. A merchant that is late, large,
 * elsewhere or malformed is a Fault `merchant_unavailable`, and no text of its answer enters the message.
 */
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { identifierSchema, type MerchantId } from '../core/ids.ts'
import { type Json, parseJson } from '../core/json.ts'
import { type Jwks, publicKeyOf, thumbprint } from '../core/keys.ts'
import { LIMITS } from '../core/limits.ts'
import type { Item, Merchants, SearchQuery } from '../core/merchants.ts'
import { currencySchema, positiveMinorSchema } from '../core/money.ts'

export interface MerchantOptions {
  readonly merchants: readonly {
    readonly id: MerchantId
    /** Where `search`, `quotes` and `orders` are, with or without a final slash. */
    readonly url: string
    /** As the operator pinned them; a key without `kid` is known by its thumbprint (RFC 7638). */
    readonly jwks: Jwks
  }[]
  readonly fetch?: typeof fetch
  /** For one call, the body included; `LIMITS.merchantMs` if absent. */
  readonly timeoutMs?: number
}

interface Merchant {
  readonly base: URL
  readonly keys: ReadonlyMap<string, KeyObject>
}

/** Text of a stranger: kept as it is, control characters and all, but never longer than `max` UTF-16 units. */
const cappedText = (max: number) =>
  z.string().transform((text) => {
    if (text.length <= max) return text
    const cut = text.slice(0, max)
    return cut.isWellFormed() ? cut : cut.slice(0, -1)
  })

const CATEGORY_CHARS = 80

const itemOf = (descriptionChars: number) => ({
  /** Read and ignored. */
  merchant: z.unknown().optional(),
  sku: identifierSchema,
  title: cappedText(LIMITS.titleChars),
  description: cappedText(descriptionChars),
  category: cappedText(CATEGORY_CHARS),
  unitAmount: positiveMinorSchema,
  currency: currencySchema,
  stock: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
})

const listingSchema = z.strictObject(itemOf(LIMITS.descriptionChars))
const searchAnswerSchema = z.strictObject({ items: z.array(listingSchema).max(LIMITS.searchItems) })
const productAnswerSchema = z.strictObject({
  product: z.strictObject(itemOf(LIMITS.productChars)),
})
const quoteAnswerSchema = z.strictObject({ quote: z.string().min(1).max(LIMITS.bodyBytes) })
const orderAnswerSchema = z.strictObject({ order: z.strictObject({ id: identifierSchema }) })

/** The `Merchants` port. Throws Fault `config_invalid` for two merchants, or two keys of one, of the same name. */
export function createMerchants(options: MerchantOptions): Merchants {
  const merchants = new Map<MerchantId, Merchant>()
  for (const { id, url, jwks } of options.merchants) {
    if (merchants.has(id)) throw invalid('expected each merchant once')
    merchants.set(id, { base: baseOf(url), keys: keysOf(jwks) })
  }
  const call = async <T>(id: MerchantId, schema: z.ZodType<T>, path: string, body?: Json) => {
    const merchant = merchants.get(id)
    if (!merchant) throw unavailable('expected a merchant of the configuration', false)
    const url = new URL(path, merchant.base)
    return read(schema, await exchange({ ...options, url, body }))
  }

  return {
    ids: [...merchants.keys()],

    async search(merchant, { text, currency, limit }: SearchQuery) {
      const query = new URLSearchParams({ text, currency, limit: String(limit) })
      const { items } = await call(merchant, searchAnswerSchema, `search?${query}`)
      if (items.length > limit) throw unavailable('expected no more items than were asked for')
      if (items.some((item) => item.currency !== currency)) {
        throw unavailable('expected prices in the currency that was asked for')
      }
      return items.map((item): Item => ({ ...item, merchant }))
    },

    async product(merchant, currency, sku) {
      // A SKU may be `..`, which in a path would lead elsewhere.
      const query = new URLSearchParams({ sku, currency })
      const { product } = await call(merchant, productAnswerSchema, `products?${query}`)
      if (product.sku !== sku || product.currency !== currency) {
        throw unavailable('expected the product and the currency that were asked for')
      }
      return { ...product, merchant }
    },

    async quote(merchant, currency, lines) {
      const asked = lines.map(({ sku, quantity }) => ({ sku, quantity }))
      return (await call(merchant, quoteAnswerSchema, 'quotes', { currency, lines: asked })).quote
    },

    async order(merchant, quote, receipt) {
      return (await call(merchant, orderAnswerSchema, 'orders', { quote, receipt })).order.id
    },

    keys: (merchant) => [...(merchants.get(merchant)?.keys.values() ?? [])],
    keyById: (merchant, kid) => merchants.get(merchant)?.keys.get(kid),
  }
}

function baseOf(text: string): URL {
  const url = URL.parse(text.endsWith('/') ? text : `${text}/`)
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (!isHttp || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw invalid('expected a merchant’s plain http or https URL')
  }
  return url
}

function keysOf(jwks: Jwks): ReadonlyMap<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const jwk of jwks.keys) {
    const kid = jwk.kid ?? thumbprint(jwk)
    if (keys.has(kid)) throw invalid('expected each key id of a merchant once')
    keys.set(kid, publicKeyOf(jwk))
  }
  return keys
}

interface Call extends Pick<MerchantOptions, 'fetch' | 'timeoutMs'> {
  readonly url: URL
  readonly body: Json | undefined
}

async function exchange(call: Call): Promise<Uint8Array> {
  const { url, body, fetch: send = fetch, timeoutMs = LIMITS.merchantMs } = call
  try {
    const answer = await send(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (answer.ok) return await readCapped(answer, LIMITS.merchantBytes)
    await answer.body?.cancel()
    const isOurs = answer.status >= 400 && answer.status < 500 && answer.status !== 429
    throw unavailable(`the merchant answered with status ${answer.status}`, !isOurs)
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault('merchant_unavailable', 'the merchant could not be reached in time', { cause })
  }
}

async function readCapped(answer: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop by a throw cancels the stream, so no more of it is read.
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw unavailable('expected a smaller answer from the merchant')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function read<T>(schema: z.ZodType<T>, bytes: Uint8Array): T {
  try {
    const parsed = schema.safeParse(parseJson(bytes))
    if (parsed.success) return parsed.data
  } catch {
    // What was wrong with it is a stranger's text; that it was wrong is all we say.
  }
  throw unavailable('expected the merchant’s answer in the documented shape')
}

const unavailable = (message: string, retryable = true) =>
  new Fault('merchant_unavailable', message, { retryable })

const invalid = (message: string) => new Fault('config_invalid', message, { retryable: false })
