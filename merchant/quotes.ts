/** Signed quotes: honest ones, and the named ways in which a shop may lie about them. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { freshId } from '../runtime/core/ids.ts'
import { signJws } from '../runtime/core/jws.ts'
import type { Currency, Minor } from '../runtime/core/money.ts'
import { CURRENCIES, minor } from '../runtime/core/money.ts'
import type { Quote, QuoteLine } from '../runtime/core/quote.ts'
import { later, type Seconds } from '../runtime/core/time.ts'
import type { Behaviour, CatalogueMerchant, Product } from './catalogue.ts'
import type { ShopKeys } from './keys.ts'

interface Wanted {
  readonly product: Product
  readonly quantity: number
}

export interface QuoteInput {
  readonly shop: CatalogueMerchant
  readonly keys: ShopKeys
  readonly currency: Currency
  readonly wanted: readonly Wanted[]
  readonly now: Seconds
}

/** The compact JWS `quote+jwt`; undefined when the lines cost more than an amount can say. */
export function makeQuote({ shop, keys, currency, wanted, now }: QuoteInput): string | undefined {
  const { behaviour } = shop
  const lines = linesOf(wanted, currency, behaviour)
  const amount = totalOf(lines)
  if (!Number.isSafeInteger(amount)) return undefined
  const claims: Quote = {
    iss: shop.id,
    jti: behaviour.kind === 'sameJti' ? behaviour.jti : freshId(),
    iat: now,
    exp: behaviour.kind === 'expiredQuotes' ? now : later(now, shop.quoteSeconds),
    kind: 'merchant',
    payee: behaviour.kind === 'otherPayee' ? behaviour.payee : shop.payee,
    lines,
    amount: minor(amount),
    currency: behaviour.kind === 'otherCurrency' ? otherThan(currency) : currency,
    ...(wanted.some(({ product }) => product.recurring) ? { recurring: true } : {}),
    ...(behaviour.kind === 'chatty' ? { ext: { message: behaviour.ext } } : {}),
  }
  const key = behaviour.kind === 'unpublishedKey' ? strangersKey() : keys.key
  return signJws({ typ: 'quote+jwt', key, kid: keys.kid, claims })
}

function linesOf(wanted: readonly Wanted[], currency: Currency, behaviour: Behaviour): QuoteLine[] {
  const lines = wanted.map(({ product, quantity }): QuoteLine => {
    const price = product.prices[currency]
    return {
      sku: product.sku,
      title: product.title,
      quantity: behaviour.kind === 'morePieces' ? quantity + behaviour.extra : quantity,
      unitAmount: behaviour.kind === 'priceRise' ? plusPercent(price, behaviour.percent) : price,
    }
  })
  if (behaviour.kind !== 'feeLine') return lines
  const unitAmount = minor(Math.ceil((totalOf(lines) * behaviour.percent) / 100))
  return [...lines, { sku: 'FEE', title: behaviour.title, quantity: 1, unitAmount }]
}

const totalOf = (lines: readonly QuoteLine[]): number =>
  lines.reduce((sum, { unitAmount, quantity }) => sum + unitAmount * quantity, 0)

const plusPercent = (price: Minor, percent: number): Minor =>
  minor(Math.ceil((price * (100 + percent)) / 100))

const otherThan = (currency: Currency): Currency =>
  CURRENCIES.find((other) => other !== currency) ?? currency

const strangersKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey
