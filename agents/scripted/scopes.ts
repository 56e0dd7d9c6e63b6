/** What an amount counts for: one unit, the whole line, or everything that was named. */
import { phraseAt, phrases } from './phrases.ts'
import { stem } from './stems.ts'
import type { Token } from './tokens.ts'

export type ScopeKind = 'unit' | 'total' | 'all' | 'recurring'

export interface Scope {
  readonly kind: ScopeKind
  readonly next: number
}

const UNIT = phrases(
  `each, each one, apiece, a piece, a pop, the piece, for each, for each one, for one, ea, a unit, an item, a pc,
  for each of them, each of them, per each`,
)
const TOTAL = phrases(
  `in total, total, in all, for all, for all of them, for the lot, for both, for the set, for the line, all in,
  for the whole lot, for them all, in sum, for both of them, for the pair, as a total`,
)
const ALL = phrases(
  `altogether, all together, overall, combined, all told, for everything, all in all, for the whole order, for it all,
  taken together`,
)
const RECURRING = phrases(
  'monthly, yearly, annually, weekly, a month, a year, a week, a day, an hour',
)
const PERIODS = new Set('month year week day hour annum quarter mo yr night'.split(' '))

/** The scope that stands at `at`. `things` are stems of the words before, so that `90 a chair` is seen. */
export function scopeAt(
  tokens: readonly Token[],
  at: number,
  things: ReadonlySet<string>,
): Scope | undefined {
  const all = phraseAt(tokens, at, ALL)
  if (all !== undefined) return { kind: 'all', next: all }
  const total = phraseAt(tokens, at, TOTAL)
  if (total !== undefined) return { kind: 'total', next: total }
  const recurring = phraseAt(tokens, at, RECURRING)
  if (recurring !== undefined) return { kind: 'recurring', next: recurring }
  const unit = phraseAt(tokens, at, UNIT)
  if (unit !== undefined) return { kind: 'unit', next: unit }
  return perAt(tokens, at, things)
}

function perAt(
  tokens: readonly Token[],
  at: number,
  things: ReadonlySet<string>,
): Scope | undefined {
  const [first, second] = [tokens[at], tokens[at + 1]]
  if (first === undefined || second?.kind !== 'word') return undefined
  if (first.low === 'per' || first.raw === '/') {
    return { kind: PERIODS.has(stem(second.low)) ? 'recurring' : 'unit', next: at + 2 }
  }
  const isArticle = first.low === 'a' || first.low === 'an' || first.low === 'every'
  return isArticle && things.has(stem(second.low)) ? { kind: 'unit', next: at + 2 } : undefined
}

const PREFIX_UNIT = phrases(
  'each, per unit, per piece, per item, unit, each one, apiece, unit price',
)
const PREFIX_TOTAL = phrases(
  'in total, total, line, line total, the total, total cost, total price',
)
const PREFIX_ALL = phrases(
  'altogether, all together, overall, combined, the whole order, everything together, all in all',
)

/** A scope before its amount: `each at most 150`, `total budget 5000`. */
export function prefixScopeAt(tokens: readonly Token[], at: number): Scope | undefined {
  const all = phraseAt(tokens, at, PREFIX_ALL)
  if (all !== undefined) return { kind: 'all', next: all }
  const total = phraseAt(tokens, at, PREFIX_TOTAL)
  if (total !== undefined) return { kind: 'total', next: total }
  const unit = phraseAt(tokens, at, PREFIX_UNIT)
  if (unit !== undefined) return { kind: 'unit', next: unit }
  const per = tokens[at]?.low === 'per' ? perAt(tokens, at, new Set()) : undefined
  return per
}
