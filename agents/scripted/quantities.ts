/** How many: digits, words, dozens, pairs, measures; a vague word is a problem, because money hangs on it. */
import { LIMITS } from '../../runtime/core/limits.ts'
import { COUNT_UNITS, PAIRED, SPEC_UNITS, WHOLE_MEASURES } from './lexicon.ts'
import { readDecimal, wordNumberAt } from './numbers.ts'
import { phraseAt, phrases } from './phrases.ts'
import { type Token, textOf } from './tokens.ts'

export type QuantityFound =
  | {
      readonly kind: 'quantity'
      readonly n: number
      readonly next: number
      /** False for `a` and `the`, which a later number may replace. */
      readonly isExplicit: boolean
      /** Words that the measure adds to the item: five kilos are five times `1 kg`. */
      readonly measure?: string
    }
  | { readonly kind: 'problem'; readonly sentence: string }

const VAGUE = phrases(
  `some, several, a few, few, many, enough, plenty of, lots of, a lot of, a number of, a bunch of, various, multiple, a set number of,
  loads of`,
)
const ARTICLES = phrases('a single, a, an, the, one more, another, our, your, just a, just one')
const APPROXIMATELY = phrases(
  'about, around, approximately, approx, roughly, circa, ca, ~, exactly, only, just, at least, up to',
)

/** A whole number at `at`, in digits or words, that is no measure such as `27 inch`. */
function countAt(
  tokens: readonly Token[],
  at: number,
): { n: number; next: number } | 'fraction' | undefined {
  const token = tokens[at]
  const after = tokens[at + 1]
  if (token?.kind !== 'number') {
    const words = wordNumberAt(tokens, at)
    return words
  }
  if (after?.kind === 'word' && SPEC_UNITS.has(after.low)) return undefined
  if (after?.glued && after.kind === 'word' && after.low !== 'x' && !COUNT_UNITS.has(after.low)) {
    return undefined
  }
  const decimal = readDecimal(token.raw)
  if (decimal === undefined || decimal.places > 0) return 'fraction'
  let [n, next] = [Number(decimal.units), at + 1]
  if (after?.low === 'dozen') [n, next] = [n * 12, at + 2]
  return { n, next }
}

const isRange = (tokens: readonly Token[], at: number): boolean =>
  ['-', '—', 'to', 'or'].includes(tokens[at]?.low ?? '') &&
  (tokens[at + 1]?.kind === 'number' || wordNumberAt(tokens, at + 1) !== undefined)

/** The quantity at the start of an item’s words. */
export function quantityAt(tokens: readonly Token[], at: number): QuantityFound | undefined {
  const vague = phraseAt(tokens, at, VAGUE)
  const said = textOf(tokens.slice(at, at + 6))
  if (vague !== undefined) {
    return { kind: 'problem', sentence: `"${said}" does not say how many: write a number` }
  }
  const start = phraseAt(tokens, at, APPROXIMATELY) ?? at
  const isCouple = phraseAt(tokens, start, COUPLE)
  if (isCouple !== undefined) return quantity(2, isCouple, true)
  const measured = measureAt(tokens, start)
  if (measured !== undefined) return measured
  const article = tokens[start]?.low === 'another' ? start + 1 : start
  const count = countAt(tokens, article)
  if (count === 'fraction') {
    return { kind: 'problem', sentence: `"${said}" needs a whole number of things` }
  }
  if (count !== undefined) return counted(tokens, count, said)
  const pair = phraseAt(tokens, start, A_PAIR)
  if (pair !== undefined) return pairs(tokens, 1, pair)
  const determiner = phraseAt(tokens, start, ARTICLES)
  return determiner === undefined ? undefined : quantity(1, determiner, false)
}

const COUPLE = phrases('a couple of, a couple, couple of')
const A_PAIR = phrases('a pair of, one pair of, pair of')

const quantity = (n: number, next: number, isExplicit: boolean): QuantityFound => ({
  kind: 'quantity',
  n,
  next,
  isExplicit,
})

function counted(
  tokens: readonly Token[],
  { n, next }: { n: number; next: number },
  said: string,
): QuantityFound {
  if (isRange(tokens, next)) {
    return { kind: 'problem', sentence: `"${said}" gives a range: write one number` }
  }
  if (n < 1 || n > LIMITS.quantity) {
    const sentence = `"${said}" is not a number of things that can be bought: write 1 to ${LIMITS.quantity}`
    return { kind: 'problem', sentence }
  }
  const ofPairs = phraseAt(tokens, next, PAIRS_OF)
  if (ofPairs !== undefined) return pairs(tokens, n, ofPairs)
  return quantity(n, afterCount(tokens, next), true)
}

const PAIRS_OF = phrases('pairs of, pair of, pairs')
const FILLERS = phrases('more, additional, extra, further, new units of, of the, of')

/** Past the marks that only say that a number was a count: `x`, `pcs`, `of`, `more`. */
function afterCount(tokens: readonly Token[], at: number): number {
  let next = at
  const unit = tokens[next]
  if (unit?.kind === 'word' && (unit.low === 'x' || isCountUnit(tokens, next))) next += 1
  if (tokens[next]?.raw === '.' && tokens[next]?.glued) next += 1
  return phraseAt(tokens, next, FILLERS) ?? next
}

/** `12 no` is a count only before a dot: `12 no more than` is not. */
export const isCountUnit = (tokens: readonly Token[], at: number): boolean => {
  const token = tokens[at]
  if (token?.kind !== 'word' || !COUNT_UNITS.has(token.low)) return false
  return token.low !== 'no' || (tokens[at + 1]?.raw === '.' && tokens[at + 1]?.glued === true)
}

function pairs(tokens: readonly Token[], n: number, next: number): QuantityFound {
  const rest = tokens.slice(next)
  const isPaired = rest.some((token) => PAIRED.has(token.low))
  return quantity(isPaired ? n : n * 2, next, true)
}

/** `5 kg of coffee` is five times one kilo; `2.5 kg` and `500 g` describe the thing. */
function measureAt(tokens: readonly Token[], at: number): QuantityFound | undefined {
  const token = tokens[at]
  const glued = /^(\d+)(\p{L}+)$/u.exec(token?.low ?? '')
  const unit = glued ? glued[2] : tokens[at + 1]?.low
  const digits = glued ? glued[1] : token?.kind === 'number' ? token.raw : undefined
  if (digits === undefined || unit === undefined || !WHOLE_MEASURES.has(unit)) return undefined
  const decimal = readDecimal(digits)
  if (decimal === undefined || decimal.places > 0 || decimal.units < 1n) return undefined
  const end = at + (glued ? 1 : 2)
  const next = tokens[end]?.low === 'of' ? end + 1 : end
  const measure = `1 ${singularMeasure(unit)}`
  return { kind: 'quantity', n: Number(decimal.units), next, isExplicit: true, measure }
}

const singularMeasure = (unit: string): string =>
  /^k/.test(unit) ? 'kg' : /^l/.test(unit) ? 'litre' : unit

/** Whether a row begins with a number, a count or an article. */
export const startsAsItem = (tokens: readonly Token[]): boolean =>
  tokens[0]?.low === 'x' || quantityAt(tokens, 0) !== undefined
