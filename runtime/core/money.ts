/** Money is an integer count of a currency's minor unit; the currency always travels beside it. */
import { z } from 'zod'

declare const minorUnit: unique symbol

/** Integer minor units (paise, cents, yen, fils), 0 to 2^53 - 1. */
export type Minor = number & { readonly [minorUnit]: true }

/** Decimal places of the currencies that Headgate carries (ISO 4217). */
export const EXPONENTS = { INR: 2, USD: 2, JPY: 0, KWD: 3 } as const

export type Currency = keyof typeof EXPONENTS

export const CURRENCIES = Object.keys(EXPONENTS) as [Currency, ...Currency[]]

export const currencySchema = z.enum(CURRENCIES)

export const isCurrency = (code: string): code is Currency => currencySchema.safeParse(code).success

/** ISO 4217's three letters: on a rail's account also currencies move that no payment of ours has. */
export const anyCurrencySchema = z.string().regex(/^[A-Z]{3}$/)

/** Minor units from outside: a safe integer of at least 0; anything else is refused, never coerced. */
export const minorSchema = z
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .transform((n) => n as Minor)

/** As `minorSchema`, but at least 1: what a ceiling or a price must be. */
export const positiveMinorSchema = z
  .number()
  .int()
  .min(1)
  .max(Number.MAX_SAFE_INTEGER)
  .transform((n) => n as Minor)

/** Asserts that `n` is a whole, safe, non-negative count of minor units; throws RangeError otherwise. */
export function minor(n: number): Minor {
  if (!Number.isSafeInteger(n) || n < 0 || Object.is(n, -0)) {
    throw new RangeError('expected minor units: a safe integer of at least 0')
  }
  return n as Minor
}

export const plus = (a: Minor, b: Minor): Minor => minor(a + b)

export const minus = (a: Minor, b: Minor): Minor => minor(a - b)

export const times = (a: Minor, count: number): Minor => minor(a * count)

export const ZERO = minor(0)

/** `INR 1,250.00`, `JPY 5,000`, `KWD 1.250`: for people, never parsed back. */
export function formatMoney(amount: number, currency: Currency): string {
  const places = EXPONENTS[currency]
  const digits = String(Math.abs(amount)).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places).replace(/\B(?=(\d{3})+$)/g, ',')
  const fraction = places === 0 ? '' : `.${digits.slice(digits.length - places)}`
  return `${currency} ${amount < 0 ? '-' : ''}${whole}${fraction}`
}
