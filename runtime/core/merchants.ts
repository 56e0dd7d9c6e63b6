/** The merchants’ port: the untrusted world that lookers read. */
import type { KeyObject } from 'node:crypto'
import type { MerchantId } from './ids.ts'
import type { Currency, Minor } from './money.ts'

/** One listing as a merchant shows it: every text in it is hostile until proved otherwise. */
export interface Item {
  readonly merchant: MerchantId
  readonly sku: string
  readonly title: string
  readonly description: string
  readonly category: string
  readonly unitAmount: Minor
  readonly currency: Currency
  readonly stock: number
}

export interface SearchQuery {
  readonly text: string
  readonly currency: Currency
  readonly limit: number
}

/** The merchants of the configuration, over HTTP. Answers are parsed strictly; failures are thrown Faults. */
export interface Merchants {
  readonly ids: readonly MerchantId[]
  search(merchant: MerchantId, query: SearchQuery): Promise<readonly Item[]>
  /** One listing by its SKU, with as much of its description as is kept of one (`LIMITS.productChars`). */
  product(merchant: MerchantId, currency: Currency, sku: string): Promise<Item>
  /** The quote's compact JWS, not yet verified. */
  quote(
    merchant: MerchantId,
    currency: Currency,
    lines: readonly { sku: string; quantity: number }[],
  ): Promise<string>
  /** Hands a receipt over for fulfilment; the merchant's order reference. */
  order(merchant: MerchantId, quote: string, receipt: string): Promise<string>
  /** The issuer's keys, as the operator pinned them. */
  keys(merchant: MerchantId): readonly KeyObject[]
  keyById(merchant: MerchantId, kid: string): KeyObject | undefined
}
