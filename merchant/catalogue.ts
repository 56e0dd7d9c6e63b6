/**
 * The catalogue: files of merchants and their products, read strictly once. A file may also hold listings that
 * third parties place in somebody else's shop, and a merchant may be told to misbehave in one named way.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { identifierSchema } from '../runtime/core/ids.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { CURRENCIES, positiveMinorSchema } from '../runtime/core/money.ts'
import { type Prices, pricesOf } from './prices.ts'

const priceFields = Object.fromEntries(
  CURRENCIES.map((currency) => [currency, positiveMinorSchema.optional()]),
)

const productSchema = z.strictObject({
  sku: identifierSchema,
  title: z.string().min(1).max(LIMITS.titleChars),
  category: z.string().min(1).max(80),
  /** The base price, paise. The other currencies follow from it unless `prices` states them. */
  paise: z.number().int().min(1).max(1_000_000_000),
  prices: z.strictObject(priceFields).optional(),
  stock: z.number().int().min(0).max(1_000_000),
  /** Longer than a gateway keeps, because third parties write what they like. */
  description: z.string().max(10_000),
  recurring: z.boolean().optional(),
})

/** What a merchant does with its quotes. All but `honest` are there to be refused or to change nothing. */
const behaviourSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('honest') }),
  /** Honest, with words to the reader under the quote's `ext`. */
  z.strictObject({ kind: z.literal('chatty'), ext: z.string().max(1_000) }),
  /** Quotes more than the search said. */
  z.strictObject({ kind: z.literal('priceRise'), percent: z.number().int().min(1).max(900) }),
  /** Quotes that have expired when they are made. */
  z.strictObject({ kind: z.literal('expiredQuotes') }),
  /** Names somebody else as the payee. */
  z.strictObject({ kind: z.literal('otherPayee'), payee: identifierSchema }),
  /** Adds a line that nobody asked for. */
  z.strictObject({
    kind: z.literal('feeLine'),
    title: z.string().min(1).max(LIMITS.titleChars),
    percent: z.number().int().min(1).max(900),
  }),
  /** Signs with a key that is not published, under the published key's id. */
  z.strictObject({ kind: z.literal('unpublishedKey') }),
  /** Asked for one currency, quotes the same number in another. */
  z.strictObject({ kind: z.literal('otherCurrency') }),
  /** Quotes more pieces of each line than were asked for. */
  z.strictObject({ kind: z.literal('morePieces'), extra: z.number().int().min(1).max(1_000) }),
  /** Gives every quote the same `jti`. */
  z.strictObject({ kind: z.literal('sameJti'), jti: identifierSchema }),
])

export type Behaviour = z.infer<typeof behaviourSchema>

const merchantSchema = z.strictObject({
  id: identifierSchema,
  name: z.string().min(1).max(LIMITS.titleChars),
  payee: identifierSchema,
  /** How long a quote is good for. */
  quoteSeconds: z.number().int().min(1).max(86_400).optional(),
  behaviour: behaviourSchema.optional(),
  products: z.array(productSchema).max(10_000),
})

const fileSchema = z.strictObject({
  merchants: z.array(merchantSchema).max(1_000),
  listings: z.array(productSchema.extend({ merchant: identifierSchema })).optional(),
})

export interface Product {
  readonly sku: string
  readonly title: string
  readonly category: string
  readonly description: string
  readonly stock: number
  readonly recurring: boolean
  readonly prices: Prices
}

export interface CatalogueMerchant {
  readonly id: string
  readonly name: string
  readonly payee: string
  readonly quoteSeconds: number
  readonly behaviour: Behaviour
  readonly products: readonly Product[]
}

const QUOTE_SECONDS = 15 * 60

const BUILT_IN = join(import.meta.dirname, 'catalogue')

/** Every merchant of `file`, or of the built-in catalogue. Throws for a file that is not exactly the schema. */
export function loadCatalogue(file?: string): readonly CatalogueMerchant[] {
  const files = file === undefined ? builtInFiles() : [file]
  return mergeCatalogue(files.map((path) => JSON.parse(readFileSync(path, 'utf8'))))
}

const builtInFiles = (): string[] =>
  readdirSync(BUILT_IN)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => join(BUILT_IN, name))

/** Puts the listings of third parties into the shops that they name; ids and SKUs must be unique. */
export function mergeCatalogue(documents: readonly unknown[]): readonly CatalogueMerchant[] {
  const files = documents.map((document) => fileSchema.parse(document))
  const listings = files.flatMap((file) => file.listings ?? [])
  const merchants = files.flatMap((file) => file.merchants)
  requireUnique(merchants.map(({ id }) => id))
  const homeless = listings.find(({ merchant }) => !merchants.some(({ id }) => id === merchant))
  if (homeless) throw new Error('expected every listing to name a merchant of the catalogue')
  return merchants.map((merchant) => {
    const placed = listings.filter((listing) => listing.merchant === merchant.id)
    const products = [...merchant.products, ...placed].map(toProduct)
    requireUnique(products.map(({ sku }) => sku))
    const { id, name, payee, quoteSeconds = QUOTE_SECONDS } = merchant
    const behaviour = merchant.behaviour ?? { kind: 'honest' }
    return { id, name, payee, quoteSeconds, behaviour, products }
  })
}

function requireUnique(ids: readonly string[]): void {
  if (new Set(ids).size !== ids.length) throw new Error('expected each id and SKU once')
}

function toProduct(entry: z.infer<typeof productSchema>): Product {
  const { sku, title, category, description, stock, paise, prices, recurring = false } = entry
  return {
    sku,
    title,
    category,
    description,
    stock,
    recurring,
    prices: pricesOf(paise, prices),
  }
}
