/** How an account on PayPal is written, and what of an order PayPal can be told at all. */
import type { Inexpressible, RailOrder } from '../../core/rail.ts'
import { carries, valueText } from './money.ts'

export type PaypalAccount =
  | { readonly kind: 'payout'; readonly type: 'EMAIL' | 'PAYPAL_ID'; readonly receiver: string }
  | { readonly kind: 'merchant'; readonly merchant: string }

const EMAIL = /^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}$/
const PAYPAL_ID = /^id:([A-Z0-9]{13})$/
/** PayPal leaves out what is misread: 0, 1, I and O. */
const MERCHANT = /^merchant:([2-9A-HJ-NP-Z]{13})$/

/** An e-mail address, `id:` or `merchant:` with PayPal's 13 characters; undefined for everything else. */
export function accountOf(text: string): PaypalAccount | undefined {
  const id = PAYPAL_ID.exec(text)?.[1]
  if (id !== undefined) return { kind: 'payout', type: 'PAYPAL_ID', receiver: id }
  const merchant = MERCHANT.exec(text)?.[1]
  if (merchant !== undefined) return { kind: 'merchant', merchant }
  if (text.length > 127 || !EMAIL.test(text)) return undefined
  return { kind: 'payout', type: 'EMAIL', receiver: text }
}

/** Which part of an order PayPal has no text for; undefined where it can be told all of it. */
export function inexpressible({
  account,
  amount,
  currency,
}: Pick<RailOrder, 'account' | 'amount' | 'currency'>): Inexpressible | undefined {
  if (accountOf(account) === undefined) return 'account'
  if (!carries(currency)) return 'currency'
  return valueText(amount, currency) === undefined ? 'amount' : undefined
}

/** What may stand in an address, in a request id with a suffix, and in every field of PayPal's that carries it. */
export const isKey = (text: string): boolean => /^[A-Za-z0-9_-]{4,60}$/.test(text)

/** An id of PayPal's, safe to stand in a path. */
export const isId = (text: string): boolean => /^[A-Za-z0-9-]{1,36}$/.test(text)
