/**
 * The amounts that a principal wrote: limits of the mandate, and sums of money in the words of its task. Only what stands
 * right beside a currency's sign or name is one. Where a sum can be read in two ways the smaller counts, and one that
 * cannot be read, or is in another currency, counts as nothing: what is larger than every one of them goes to a person.
 */
import type { Mandate } from '../core/mandate.ts'
import { type Currency, EXPONENTS, type Minor, minor, ZERO } from '../core/money.ts'

/** By name or sign, lower case. A currency that no payment of ours has is nobody's. */
const MARKS: Readonly<Record<string, Currency | 'other'>> = {
  ...{ '₹': 'INR', inr: 'INR', rs: 'INR', re: 'INR', rupee: 'INR', rupees: 'INR' },
  ...{ $: 'USD', usd: 'USD', dollar: 'USD', dollars: 'USD' },
  ...{ '¥': 'JPY', jpy: 'JPY', yen: 'JPY', 円: 'JPY' },
  ...{ kwd: 'KWD', kd: 'KWD', dinar: 'KWD', dinars: 'KWD' },
  ...{ '€': 'other', eur: 'other', euro: 'other', euros: 'other', '£': 'other', gbp: 'other' },
}

/** What one minor unit is called. */
const SMALL: Readonly<Record<string, Currency>> = {
  ...{ paise: 'INR', paisa: 'INR', cent: 'USD', cents: 'USD', fils: 'KWD' },
}

/** Numbers with what may group or split them, words, signs; whatever else stands between them says nothing. */
const PIECES = /\d[\d.,]*|[₹$¥€£円]|[\p{L}\p{M}]+/gu

/** As people write them: `1200`, `1,200.50`, `1,20,000`. */
const NUMBER = /^(\d+|\d{1,3}(?:,\d{2,3})*,\d{3})(?:\.(\d+))?$/

/** Minor units with so many places; what is finer is dropped. */
function read(text: string, places: number): Minor {
  const found = NUMBER.exec(text.replace(/[.,]+$/, ''))
  const [whole = '', fraction = ''] = [found?.[1]?.replaceAll(',', ''), found?.[2]]
  const digits = whole + fraction.slice(0, places).padEnd(places, '0')
  return found === null || digits.length > 15 ? ZERO : minor(Number(digits))
}

const isNumber = (piece: string | undefined): piece is string => /^\d/.test(piece ?? '')

/** What the mark at this place says: the smaller of the numbers on its sides. */
function sumAt(pieces: readonly string[], at: number, currency: Currency): Minor | undefined {
  const mark = pieces[at]?.toLowerCase() ?? ''
  const small = Object.hasOwn(SMALL, mark) ? SMALL[mark] : undefined
  const of = small ?? (Object.hasOwn(MARKS, mark) ? MARKS[mark] : undefined)
  if (of === undefined) return undefined
  if (of !== currency) return ZERO
  const places = small === undefined ? EXPONENTS[currency] : 0
  // After a comma something new begins.
  const before = /[.,]$/.test(pieces[at - 1] ?? '') ? undefined : pieces[at - 1]
  const sums = [before, pieces[at + 1]].filter(isNumber).map((text) => read(text, places))
  return sums.length === 0 ? ZERO : minor(Math.min(...sums))
}

/** Sums of money in a text, in minor units of this currency; 0 for one that says nothing certain. */
export function sumsIn(text: string, currency: Currency): readonly Minor[] {
  const pieces = text.match(PIECES) ?? []
  return pieces.flatMap((_, at) => sumAt(pieces, at, currency) ?? [])
}

/** The largest of them; undefined where the principal wrote none. The ceiling is about the whole tree, and is none. */
export function writtenBy({
  task,
  currency,
  perPayment,
  approvalAbove,
}: Pick<Mandate, 'task' | 'currency' | 'perPayment' | 'approvalAbove'>): Minor | undefined {
  const limits = [perPayment, approvalAbove].filter((limit) => limit !== undefined)
  const all = [...limits, ...sumsIn(task, currency)]
  return all.length === 0 ? undefined : minor(Math.max(...all))
}
