import { describe, expect, it } from 'vitest'
import {
  formatMoney,
  minor,
  minorSchema,
  minus,
  plus,
  positiveMinorSchema,
  times,
} from '../../runtime/core/money.ts'

describe('minor units', () => {
  it.each([[-1], [1.5], [2 ** 53], [Number.NaN], [-0]])('refuses %s', (n) => {
    expect(() => minor(n)).toThrow(RangeError)
  })

  it('never leaves the safe range by adding, taking away or multiplying', () => {
    const most = minor(Number.MAX_SAFE_INTEGER)
    expect(() => plus(most, minor(1))).toThrow(RangeError)
    expect(() => minus(minor(1), minor(2))).toThrow(RangeError)
    expect(() => times(most, 2)).toThrow(RangeError)
  })

  it('takes no string, null or boolean for a number', () => {
    for (const value of ['100', null, true, [], '']) {
      expect(minorSchema.safeParse(value).success).toBe(false)
    }
    expect(positiveMinorSchema.safeParse(0).success).toBe(false)
    expect(minorSchema.safeParse(0).success).toBe(true)
  })

  it.each([
    [1_234_567, 'INR', 'INR 12,345.67'],
    [5, 'USD', 'USD 0.05'],
    [5_000, 'JPY', 'JPY 5,000'],
    [1_250, 'KWD', 'KWD 1.250'],
    [0, 'JPY', 'JPY 0'],
    [-150, 'USD', 'USD -1.50'],
  ] as const)('writes %d of %s as %s', (amount, currency, text) => {
    expect(formatMoney(amount, currency)).toBe(text)
  })
})
