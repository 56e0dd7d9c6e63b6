/** What can be expressed on Razorpay at all: which accounts, which currencies, which amounts. Never rounded. */
import type { Currency } from '../../core/money.ts'
import type { Inexpressible, RailOrder } from '../../core/rail.ts'
import { IDS } from './wire.ts'

/** Razorpay's own decimal places; of those in use all are as ISO 4217 has them. */
const EXPONENTS: Readonly<Record<Currency, number>> = { INR: 2, USD: 2, JPY: 0, KWD: 3 }

/** Razorpay refuses less than one rupee, in paise. */
const LEAST_PAISE = 100

export type AccountKind = 'payout' | 'order' | 'link'

/** Undefined for what is no account of ours at Razorpay. */
export function kindOf(account: string): AccountKind | undefined {
  if (account === 'order' || account === 'link') return account
  return IDS.fundAccount.test(account) ? 'payout' : undefined
}

/** A payout is in rupees. Of a currency with three decimals the last digit must be 0. */
export function inexpressible({
  account,
  amount,
  currency,
}: Pick<RailOrder, 'account' | 'amount' | 'currency'>): Inexpressible | undefined {
  const kind = kindOf(account)
  if (kind === undefined) return 'account'
  if (kind === 'payout' && currency !== 'INR') return 'currency'
  return isAmount(amount, currency) ? undefined : 'amount'
}

/** Whether Razorpay takes this many minor units. */
export function isAmount(amount: number, currency: Currency): boolean {
  if (!Number.isSafeInteger(amount) || amount < 1) return false
  if (currency === 'INR' && amount < LEAST_PAISE) return false
  return EXPONENTS[currency] !== 3 || amount % 10 === 0
}

const LAKH_PAISE = 100_000 * 100

/** How money reaches a fund account of this kind, or undefined where no way carries so much. */
export function modeOf(accountType: string, amount: number): string | undefined {
  if (accountType === 'vpa') return amount <= LAKH_PAISE ? 'UPI' : undefined
  if (accountType !== 'bank_account') return undefined
  return amount <= 5 * LAKH_PAISE ? 'IMPS' : 'RTGS'
}
