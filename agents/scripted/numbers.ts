/** Numbers as people write them: digits with thousand separators (Western and Indian), and words. */
import type { Token } from './tokens.ts'

/** An exact decimal: `units / 10^places`. */
export interface Decimal {
  readonly units: bigint
  readonly places: number
}

const PLAIN = /^(\d+)(?:\.(\d+))?$/
const WESTERN = /^(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?$/
const INDIAN = /^(\d{1,2}(?:,\d{2})*,\d{3})(?:\.(\d+))?$/
const SWISS = /^(\d{1,3}(?:'\d{3})+)(?:\.(\d+))?$/
const EUROPEAN = /^(\d{1,3}(?:\.\d{3})+),(\d{1,3})$/

/** Undefined when the separators fit no way of writing a number: guessing would change the amount. */
export function readDecimal(raw: string): Decimal | undefined {
  for (const form of [PLAIN, WESTERN, INDIAN, SWISS, EUROPEAN]) {
    const found = form.exec(raw)
    if (found) {
      const whole = (found[1] ?? '').replace(/\D/g, '')
      const fraction = found[2] ?? ''
      return { units: BigInt(whole + fraction), places: fraction.length }
    }
  }
  return undefined
}

const ONES: Readonly<Record<string, number>> = {
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  thirteen: 13,
  fourteen: 14,
  fifteen: 15,
  sixteen: 16,
  seventeen: 17,
  eighteen: 18,
  nineteen: 19,
  twenty: 20,
  thirty: 30,
  forty: 40,
  fourty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90,
}

const SCALES: Readonly<Record<string, number>> = {
  hundred: 100,
  thousand: 1000,
  dozen: 12,
  score: 20,
}

const lookUp = (table: Readonly<Record<string, number>>, word: string): number | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined

/** One word, or two joined by a hyphen: `twenty-four`. */
function oneWord(low: string): number | undefined {
  const simple = lookUp(ONES, low)
  if (simple !== undefined) return simple
  const [tens, ones, more] = low.split('-')
  if (tens === undefined || ones === undefined || more !== undefined) return undefined
  const [a, b] = [lookUp(ONES, tens), lookUp(ONES, ones)]
  return a !== undefined && b !== undefined && a >= 20 && b < 10 ? a + b : undefined
}

export interface Counted {
  readonly n: number
  /** Index just past the number. */
  readonly next: number
}

/** `twelve`, `one hundred and twenty`, `a dozen`, `two dozen`, `half a dozen`, `a hundred`. */
export function wordNumberAt(tokens: readonly Token[], at: number): Counted | undefined {
  const low = (i: number): string => (tokens[i]?.kind === 'word' ? (tokens[i]?.low ?? '') : '')
  if (low(at) === 'half' && low(at + 1) === 'a' && low(at + 2) === 'dozen') {
    return { n: 6, next: at + 3 }
  }
  const isScaled = (low(at) === 'a' || low(at) === 'an') && lookUp(SCALES, low(at + 1))
  const first = isScaled ? 1 : oneWord(low(at))
  if (first === undefined) return undefined
  let [total, current, next] = [0, first, at + 1]
  for (;;) {
    const scale = lookUp(SCALES, low(next))
    const isAnd = low(next) === 'and' && (total > 0 || current >= 100)
    const more = oneWord(low(isAnd ? next + 1 : next))
    if (scale === 1000) {
      total += current * scale
      current = 0
      next += 1
    } else if (scale !== undefined) {
      current *= scale
      next += 1
    } else if (more !== undefined && fitsAfter(total + current, more)) {
      current += more
      next += isAnd ? 2 : 1
    } else {
      return { n: total + current, next }
    }
  }
}

/** `twenty` may be followed by `four`, `one hundred` by `twenty`; `two` by nothing. */
const fitsAfter = (before: number, more: number): boolean =>
  before >= 100 ? before % 100 === 0 : before >= 20 && before % 10 === 0 && more < 10
