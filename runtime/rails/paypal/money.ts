/** Amounts as PayPal writes them: texts with as many decimals as PayPal gives the currency, never a float. */
import { type Currency, type Minor, minorSchema } from '../../core/money.ts'

/** Decimals on this rail. KWD is not taken by PayPal; INR only within India, which an account abroad is not. */
const PLACES: Readonly<Partial<Record<Currency, 0 | 2>>> = { USD: 2, JPY: 0 }

/** ISO 4217 decimals of what may turn up on the account, for reading only; two unless named. */
const ISO_PLACES: Readonly<Record<string, number>> = { JPY: 0, KRW: 0, CLP: 0, VND: 0, KWD: 3 }

export const carries = (currency: Currency): boolean => PLACES[currency] !== undefined

/** `1250.00` or `1250`; undefined where the rail has no text for it. */
export function valueText(amount: Minor, currency: Currency): string | undefined {
  const places = PLACES[currency]
  // PayPal's own limit is 999,999,999,999,999.99, which is more than a safe count of cents.
  if (places === undefined || amount < 1) return undefined
  if (places === 0) return String(amount)
  const digits = String(amount).padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

export interface Sum {
  readonly amount: Minor
  /** ISO 4217, of ours or not. */
  readonly currency: string
}

/** An amount of PayPal's, without its sign, in ISO 4217 minor units; undefined for what is none. */
export function sumOf(
  value: string,
  currency: string,
): (Sum & { isNegative: boolean }) | undefined {
  const read = /^(-?)([0-9]{1,15})(?:\.([0-9]{1,3}))?$/.exec(value)
  if (read === null || !/^[A-Z]{3}$/.test(currency)) return undefined
  const [, sign, whole = '', decimals = ''] = read
  const places = ISO_PLACES[currency] ?? 2
  const digits = decimals.padEnd(places, '0')
  // `10.00` of a currency without decimals is ten of it; `10.50` is nothing that can be.
  if (/[1-9]/.test(digits.slice(places))) return undefined
  const amount = minorSchema.safeParse(Number(`${whole}${digits.slice(0, places)}`))
  return amount.success ? { amount: amount.data, currency, isNegative: sign === '-' } : undefined
}
