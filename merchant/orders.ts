/**
 * When a shop hands the goods over: only against its own quote and a receipt about exactly that quote, by the one gateway
 * that the shop deals with, under a key that this gateway publishes. All of that is decided offline. A quote that has
 * expired since is still honoured, because the receipt says that it was paid.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { freshId, sha256 } from '../runtime/core/ids.ts'
import { parseJws, verifyJws } from '../runtime/core/jws.ts'
import { openReceipt, parseReceipt, RECEIPT_FAULTS } from '../runtime/core/open-receipt.ts'
import { type Quote, quoteSchema } from '../runtime/core/quote.ts'
import type { Receipt } from '../runtime/core/receipt.ts'
import type { Seconds } from '../runtime/core/time.ts'
import type { Order } from './book.ts'
import type { GatewayKeys } from './gateway-keys.ts'

export interface OrderRefusal {
  readonly ok: false
  readonly code: 'quote_invalid' | 'receipt_invalid' | 'receipt_mismatch'
  /** A sentence for whoever brought the receipt. */
  readonly why: string
}

export type OrderVerdict = { readonly ok: true; readonly order: Order } | OrderRefusal

export interface OrderInput {
  readonly merchant: string
  /** The shop's own signing key. */
  readonly key: KeyObject
  readonly quote: string
  readonly receipt: string
  /** The one gateway whose receipts are taken: `iss`. */
  readonly gatewayId: string
  readonly gatewayKeys: GatewayKeys
  readonly now: Seconds
}

/** The order that this receipt earns, not yet written. Throws when the gateway's keys cannot be read. */
export async function judgeOrder(input: OrderInput): Promise<OrderVerdict> {
  const quote = readQuote(input)
  if (!quote) return refused('quote_invalid', 'this is not a quote that this shop has signed')
  const receipt = await readReceipt(input.receipt, input.gatewayKeys)
  if (typeof receipt === 'string') return refused('receipt_invalid', receipt)
  const quoteDigest = sha256(input.quote)
  const why = mismatch(receipt, { ...quote, digest: quoteDigest, gatewayId: input.gatewayId })
  if (why !== undefined) return refused('receipt_mismatch', why)
  const { payee, amount, currency, lines } = quote
  const order: Order = {
    id: `ord_${freshId()}`,
    merchant: input.merchant,
    quote: quote.jti,
    quoteDigest,
    receipt: receipt.jti,
    payee,
    amount,
    currency,
    lines,
    createdAtSeconds: input.now,
  }
  return { ok: true, order }
}

const refused = (code: OrderRefusal['code'], why: string): OrderRefusal => {
  return { ok: false, code, why }
}

interface Sale extends Pick<Quote, 'payee' | 'amount' | 'currency'> {
  readonly digest: string
  readonly gatewayId: string
}

/** What of the receipt is not about this sale; undefined where all of it is. */
function mismatch(receipt: Receipt, sale: Sale): string | undefined {
  if (receipt.iss !== sale.gatewayId) {
    return 'the receipt is of another gateway than the one that this shop deals with'
  }
  if (receipt.quote !== sale.digest) return 'the receipt is about another quote than this one'
  if (receipt.payee !== sale.payee) return 'the receipt says that somebody else was paid'
  if (receipt.currency !== sale.currency) return 'the receipt is in another currency than the quote'
  if (receipt.amount < sale.amount) return 'the receipt is for less than the quote'
  if (receipt.amount > sale.amount) return 'the receipt is for more than the quote'
  return undefined
}

function readQuote({ merchant, key, quote }: OrderInput): Quote | undefined {
  const jws = parseJws(quote, 'quote+jwt')
  if (!jws || !verifyJws(jws, createPublicKey(key))) return undefined
  const claims = quoteSchema.safeParse(jws.claims)
  return claims.success && claims.data.iss === merchant ? claims.data : undefined
}

/** The claims, or a sentence that says why there are none to believe. */
async function readReceipt(text: string, keys: GatewayKeys): Promise<Receipt | string> {
  const shown = parseReceipt(text)
  if (shown === undefined) return RECEIPT_FAULTS.form
  const receipt = openReceipt(shown, await keys.find(shown.kid))
  return typeof receipt === 'string' ? RECEIPT_FAULTS[receipt] : receipt
}
