/**
 * When a shop hands the goods over: only against its own quote and a receipt of the gateway about exactly that
 * quote. A quote that has expired since is still honoured, because the receipt says that it was paid.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { freshId, sha256 } from '../runtime/core/ids.ts'
import { parseJws, verifyJws } from '../runtime/core/jws.ts'
import { type Quote, quoteSchema } from '../runtime/core/quote.ts'
import { type Receipt, receiptSchema } from '../runtime/core/receipt.ts'
import type { Seconds } from '../runtime/core/time.ts'
import type { Order } from './book.ts'
import type { GatewayKeys } from './gateway-keys.ts'

type OrderRefusal = 'quote_invalid' | 'receipt_invalid' | 'receipt_mismatch'

export type OrderVerdict =
  | { readonly ok: true; readonly order: Order }
  | { readonly ok: false; readonly code: OrderRefusal }

export interface OrderInput {
  readonly merchant: string
  /** The shop's own signing key. */
  readonly key: KeyObject
  readonly quote: string
  readonly receipt: string
  readonly gatewayKeys: GatewayKeys
  readonly now: Seconds
}

/** The order that this receipt earns, not yet written. Throws when the gateway's keys cannot be read. */
export async function judgeOrder(input: OrderInput): Promise<OrderVerdict> {
  const quote = readQuote(input)
  if (!quote) return { ok: false, code: 'quote_invalid' }
  const receipt = await readReceipt(input.receipt, input.gatewayKeys)
  if (!receipt) return { ok: false, code: 'receipt_invalid' }
  const quoteDigest = sha256(input.quote)
  const isForThis =
    receipt.quote === quoteDigest &&
    receipt.amount === quote.amount &&
    receipt.currency === quote.currency &&
    receipt.payee === quote.payee
  if (!isForThis) return { ok: false, code: 'receipt_mismatch' }
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

function readQuote({ merchant, key, quote }: OrderInput): Quote | undefined {
  const jws = parseJws(quote, 'quote+jwt')
  if (!jws || !verifyJws(jws, createPublicKey(key))) return undefined
  const claims = quoteSchema.safeParse(jws.claims)
  return claims.success && claims.data.iss === merchant ? claims.data : undefined
}

async function readReceipt(text: string, keys: GatewayKeys): Promise<Receipt | undefined> {
  const jws = parseJws(text, 'receipt+jwt')
  if (jws?.header.kid === undefined) return undefined
  const key = await keys.find(jws.header.kid)
  if (!key || !verifyJws(jws, key)) return undefined
  return receiptSchema.safeParse(jws.claims).data
}
