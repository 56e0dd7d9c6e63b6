/** Preferences: `preferably oak`, `from Desk Bazaar`, `the cheapest`. They rank offers and forbid nothing. */
import { phraseAt, phrases } from './phrases.ts'
import { quantityAt } from './quantities.ts'
import { type Token, textOf } from './tokens.ts'

const CHEAPEST = phrases(
  `cheapest, the cheapest, cheapest possible, the cheapest possible, cheapest available, the cheapest available, as cheap as possible,
  lowest price, the lowest price, at the lowest price, best price, at the best price, least expensive, the least expensive,
  the cheapest you can find, the cheapest one, the cheapest ones, as cheaply as possible`,
)
const PREFERABLY = phrases(
  `preferably, prefer, preferred, preference, preferences, ideally, i prefer, we prefer, i'd prefer, we'd prefer, we would prefer, if possible,
  where possible, preference for, it must be, they must be, it should be, they should be, must be, should be, they must all be, has to be,
  have to be, must have, should have, they should have, it should have, would be best, they should all be, best if, better if`,
)
const AFTERWARDS = phrases(
  'if possible, if available, where possible, when possible, would be nice, would be great, preferred, is preferred, are preferred, please if possible, if you can',
)
const NOT_FROM = phrases('not from, nothing from, avoid, never from, but not from, no orders from')
const STOPS_FROM = new Set('for with in that which because if'.split(' '))
const NOT_A_SHOP = new Set(['made', 'apart', 'away', 'different', 'straight'])

export interface WishFound {
  readonly next: number
  readonly text: string
}

export interface WishContext {
  /** Whether another clause begins at this index. */
  readonly stopsAt: (at: number) => boolean
  readonly hasItem: boolean
}

export const cheapestAt = (tokens: readonly Token[], at: number): number | undefined =>
  phraseAt(tokens, at, CHEAPEST)

export const afterwardsAt = (tokens: readonly Token[], at: number): number | undefined =>
  phraseAt(tokens, at, AFTERWARDS)

/** A preference that its own first word announces. */
export function wishAt(
  tokens: readonly Token[],
  at: number,
  context: WishContext,
): WishFound | undefined {
  const cheapest = cheapestAt(tokens, at)
  if (cheapest !== undefined) return { next: cheapest, text: 'cheapest' }
  const notFrom = phraseAt(tokens, at, NOT_FROM)
  if (notFrom !== undefined && isNamed(tokens, notFrom)) {
    return collect(tokens, notFrom, context, 'not from ')
  }
  const isFrom = tokens[at]?.low === 'from' && !NOT_A_SHOP.has(tokens[at - 1]?.low ?? '')
  if (isFrom) return collect(tokens, at + 1, context, 'from ')
  const preferably = phraseAt(tokens, at, PREFERABLY)
  if (preferably === undefined) return undefined
  const start = tokens[preferably]?.raw === ':' ? preferably + 1 : preferably
  if (tokens[start]?.low === 'from') return collect(tokens, start + 1, context, 'from ')
  const best = cheapestAt(tokens, start)
  if (best !== undefined) return { next: best, text: 'cheapest' }
  return collect(tokens, start, context, '')
}

/** `avoid` begins a shop’s name only when it is written like one. */
const isNamed = (tokens: readonly Token[], at: number): boolean => {
  const token = tokens[at]
  const before = tokens[at - 1]?.low
  return token !== undefined && (before === 'from' || /^\p{Lu}/u.test(token.raw))
}

function collect(
  tokens: readonly Token[],
  at: number,
  context: WishContext,
  prefix: string,
): WishFound | undefined {
  const isFrom = prefix !== ''
  let next = at
  while (next < tokens.length && !ends(tokens, next, at, context, isFrom)) next += 1
  if (next === at) return undefined
  const words = tokens.slice(at, next)
  const text = textOf(words).trim()
  return { next, text: `${prefix}${text}` }
}

const MARKS = new Set([',', ';', '(', ')', '|', '.', '!', '?', '[', ']'])

function ends(
  tokens: readonly Token[],
  at: number,
  start: number,
  context: WishContext,
  isFrom: boolean,
): boolean {
  const token = tokens[at]
  if (token === undefined) return true
  if (token.kind === 'quoted') return at !== start
  if (at > start && tokens[start]?.kind === 'quoted') return true
  if (token.kind === 'mark' && MARKS.has(token.raw)) return true
  if (at > start && isFrom && STOPS_FROM.has(token.low)) return true
  const isAnd = ['and', 'but', 'or', '&'].includes(token.low)
  if (isAnd) return startsClause(tokens, at + 1, context)
  return at > start && context.stopsAt(at)
}

const startsClause = (tokens: readonly Token[], at: number, context: WishContext): boolean =>
  context.stopsAt(at) ||
  quantityAt(tokens, at) !== undefined ||
  phraseAt(tokens, at, PREFERABLY) !== undefined ||
  tokens[at]?.low === 'from'
