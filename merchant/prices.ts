/** One base price in paise gives the price in every currency: fixed rates, then the rounding that shops use there. */
import { CURRENCIES, type Currency, type Minor, minor } from '../runtime/core/money.ts'

export type Prices = Readonly<Record<Currency, Minor>>

interface Rate {
  /** Minor units for `per` paise, as whole numbers, so that no price depends on floating point. */
  readonly units: number
  readonly per: number
  /** Prices are multiples of `step`, less `charm`; from `from` minor units on. The last that fits counts. */
  readonly rounding: readonly { from: number; step: number; charm: number }[]
}

const RATES: Readonly<Record<Currency, Rate>> = {
  INR: { units: 1, per: 1, rounding: [{ from: 0, step: 1, charm: 0 }] },
  USD: {
    units: 1,
    per: 85,
    rounding: [
      { from: 0, step: 5, charm: 0 },
      { from: 950, step: 100, charm: 1 },
    ],
  },
  JPY: {
    units: 177,
    per: 10_000,
    rounding: [
      { from: 0, step: 10, charm: 0 },
      { from: 10_000, step: 100, charm: 0 },
    ],
  },
  KWD: {
    units: 36,
    per: 1_000,
    rounding: [
      { from: 0, step: 50, charm: 0 },
      { from: 10_000, step: 250, charm: 0 },
    ],
  },
}

/** The whole number nearest to `a / b`, halves up. */
const divide = (a: number, b: number): number => Math.floor((2 * a + b) / (2 * b))

/** The price of something that costs `paise`, in minor units of `currency`; at least one step. */
export function priceIn(currency: Currency, paise: number): Minor {
  const { units, per, rounding } = RATES[currency]
  const plain = divide(paise * units, per)
  const rule = rounding.findLast(({ from }) => plain >= from)
  if (!rule) return minor(plain)
  return minor(Math.max(1, divide(plain, rule.step)) * rule.step - rule.charm)
}

/** All four prices; what the catalogue states for a currency wins over what follows from the base. */
export function pricesOf(paise: number, stated: Partial<Record<Currency, number>> = {}): Prices {
  const entries = CURRENCIES.map((currency) => {
    return [currency, minor(stated[currency] ?? priceIn(currency, paise))] as const
  })
  return Object.fromEntries(entries) as Record<Currency, Minor>
}
