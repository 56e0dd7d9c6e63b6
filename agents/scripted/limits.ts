/**
 * Limits in words: `up to 150 each`, `under ₹500 a piece`, `for at most 20000 in total`. A limit that is named but
 * cannot be read is a problem, never ignored: ignoring it would spend more than was meant.
 */
import { type Currency, type Minor, minor } from '../../runtime/core/money.ts'
import { type Amount, amountAt, toMinor, writeAmount } from './amounts.ts'
import { SPEC_UNITS, WHOLE_MEASURES } from './lexicon.ts'
import { phraseAt, phrases } from './phrases.ts'
import { prefixScopeAt, type Scope, type ScopeKind, scopeAt } from './scopes.ts'
import { type Token, textOf } from './tokens.ts'

export type LimitScope = 'unit' | 'total' | 'all' | 'open'

export type LimitFound =
  | {
      readonly kind: 'limit'
      readonly next: number
      readonly scope: LimitScope
      readonly amount: Minor
      /** A bare number with `each` and nothing else that says money: it may be a count. */
      readonly isUnsure: boolean
      readonly raw: string
    }
  /** At least so much: a wish, never a limit. */
  | { readonly kind: 'floor'; readonly next: number; readonly text: string }
  /** Words that belong to a quantity or a date and say nothing by themselves. */
  | { readonly kind: 'swallow'; readonly next: number }
  | { readonly kind: 'problem'; readonly next: number; readonly sentence: string }

/** Each says that money follows; without a readable amount it is a problem. */
const HARD = phrases(
  `up to, at most, at the most, no more than, not more than, no higher than, not over, not above, not exceeding, not to exceed,
  must not exceed, should not exceed, may not exceed, cannot exceed, never more than, maximum of, a maximum of,
  max of, a max of, limited to, capped at, a limit of, limit of, a budget of, budget of, a cap of, cap of, ceiling of,
  a ceiling of, the limit is, budget is, the budget is, our budget is, limit is, budget for this is, must cost at most,
  maximum price, max price, maximum is, max is`,
)
const STRICT = phrases(
  'under, below, less than, lower than, cheaper than, <, no more expensive than',
)
const SOFT = phrases(
  'max, maximum, limit, budget, cap, ceiling, <=, @, ≤, =, price, unit price, costs, cost',
)
const NEEDS_MONEY = phrases(
  'for, at, about, around, approx, approximately, roughly, circa, ca, ~, within, priced at, costing, of',
)
const FLOOR = phrases(
  'at least, minimum, min, minimum of, min of, more than, over, above, not less than, no less than, starting at, >, >=',
)
const LEADS = phrases(
  `for, at, costing, priced, with, spend, spending, to spend, that cost, which cost, that costs, which costs, and cost, cost,
  costs, should cost, it should cost, they should cost, they should each cost, for a total of, and spend, price, priced at`,
)
const POSTFIXES = phrases(
  `or less, or under, or below, or cheaper, or lower, or so, max, maximum, tops, at most, only, at the most, at maximum,
  as a maximum, at best`,
)
const TIME_UNITS = new Set(
  `day days week weeks month months year years hour hours minute minutes min business working o'clock pm am percent %`.split(
    /\s+/,
  ),
)
const IMPLIES_TOTAL = new Set(['for', 'spend', 'spending', 'and spend', 'to spend', 'budget'])

type Bound = 'hard' | 'strict' | 'soft' | 'needs-money' | 'floor'

interface BoundFound {
  readonly bound: Bound
  readonly next: number
  readonly impliesTotal: boolean
}

const BOUNDS: readonly (readonly [Bound, readonly (readonly string[])[]])[] = [
  ['floor', FLOOR],
  ['hard', HARD],
  ['strict', STRICT],
  ['soft', SOFT],
  ['needs-money', NEEDS_MONEY],
]

function boundAt(tokens: readonly Token[], at: number): BoundFound | undefined {
  const lead = phraseAt(tokens, at, LEADS)
  for (const start of lead === undefined ? [at] : [lead, at]) {
    for (const [bound, list] of BOUNDS) {
      const next = phraseAt(tokens, start, list)
      if (next === undefined || (start === lead && bound === 'needs-money')) continue
      const words = tokens.slice(at, next).map((token) => token.low)
      const impliesTotal = words.some((word) => IMPLIES_TOTAL.has(word))
      return { bound, next: skipLinks(tokens, next), impliesTotal }
    }
  }
  return undefined
}

/** `limit: 150`, `budget of 150`, `budget is at most 150`. */
function skipLinks(tokens: readonly Token[], at: number): number {
  let next = at
  while ([':', '=', 'of', 'is', 'be', 'a'].includes(tokens[next]?.low ?? '')) next += 1
  return next
}

export interface LimitContext {
  readonly currency: Currency
  /** Stems of the words of the item so far. */
  readonly things: ReadonlySet<string>
  /** This segment has named its item, so a number that follows `up to` is money. */
  readonly hasItem: boolean
  /** Some item has been named before, in this segment or another. */
  readonly hasLine: boolean
}

/** The limit that begins at `at`, if one does. */
export function limitAt(
  tokens: readonly Token[],
  at: number,
  context: LimitContext,
): LimitFound | undefined {
  const prefix = prefixScopeAt(tokens, at)
  const start = prefix === undefined ? at : skipLinks(tokens, prefix.next)
  const bound = boundAt(tokens, start)
  const amountStart = bound === undefined ? start : betweenAt(tokens, bound.next)
  const amount = upperAmountAt(tokens, amountStart)
  if (amount === undefined) return withoutAmount(tokens, at, bound, context)
  const tail = tailAt(tokens, amount.next, context.things)
  const found: Parts = { at, prefix, bound, amount, amountStart, tail }
  if (isOtherMeasure(tokens, found)) {
    const isDate = TIME_UNITS.has(tokens[amount.next]?.low ?? '')
    return isDate && bound ? { kind: 'swallow', next: amount.next + 1 } : undefined
  }
  if (isQuantity(tokens, found, context)) {
    return bound === undefined ? undefined : { kind: 'swallow', next: amountStart }
  }
  if (!saysMoney(tokens, found, context)) return undefined
  return finish(tokens, found, context)
}

interface Parts {
  readonly at: number
  readonly prefix: Scope | undefined
  readonly bound: BoundFound | undefined
  readonly amount: Amount
  readonly amountStart: number
  readonly tail: { readonly scope: ScopeKind | undefined; readonly next: number }
}

const betweenAt = (tokens: readonly Token[], at: number): number =>
  tokens[at]?.low === 'between' ? at + 1 : at

/** Of a range the upper end: `100-150`, `100 to 150`, `between 100 and 150`. */
function upperAmountAt(tokens: readonly Token[], at: number): Amount | undefined {
  const isBetween = tokens[at - 1]?.low === 'between' || tokens[at]?.low === 'between'
  const first = amountAt(tokens, tokens[at]?.low === 'between' ? at + 1 : at)
  if (first === undefined) return undefined
  const link = tokens[first.next]?.low ?? ''
  if (!['-', '—', 'to', ...(isBetween ? ['and'] : [])].includes(link)) return first
  const second = amountAt(tokens, first.next + 1)
  if (second === undefined) return first
  const code = second.code ?? first.code
  return code === undefined ? second : { ...second, code }
}

function withoutAmount(
  tokens: readonly Token[],
  at: number,
  bound: BoundFound | undefined,
  context: LimitContext,
): LimitFound | undefined {
  if (bound?.bound !== 'hard') return undefined
  const next = tokens[bound.next]
  const isCount =
    next?.kind === 'word' && ['a', 'an', 'half'].includes(tokens[bound.next - 1]?.low ?? '')
  if (!context.hasItem && (isCount || next?.low === 'dozen')) {
    return { kind: 'swallow', next: bound.next - 1 }
  }
  const raw = textOf(tokens.slice(at, bound.next + 1))
  return {
    kind: 'problem',
    next: bound.next,
    sentence: `"${raw}" names a limit without an amount: write the most as a number`,
  }
}

/** `150 each max`: what follows the amount, in any order. */
function tailAt(tokens: readonly Token[], at: number, things: ReadonlySet<string>): Parts['tail'] {
  let next = phraseAt(tokens, at, POSTFIXES) ?? at
  const scope = scopeAt(tokens, next, things)
  next = scope?.next ?? next
  next = phraseAt(tokens, next, POSTFIXES) ?? next
  return { scope: scope?.kind, next }
}

/** A number of days, inches or percent is no money. */
function isOtherMeasure(tokens: readonly Token[], { amount }: Parts): boolean {
  if (amount.code !== undefined) return false
  const after = tokens[amount.next]
  if (after === undefined || (after.kind !== 'word' && after.raw !== '%')) return false
  return TIME_UNITS.has(after.low) || SPEC_UNITS.has(after.low) || WHOLE_MEASURES.has(after.low)
}

const FUNCTION_WORDS = new Set(
  `and or plus preferably prefer ideally if from for with in but please each per not no max at on to by as it they the
  while when where cheapest apiece altogether too also`.split(/\s+/),
)

/** `up to 12 desks` counts desks: no item before, a bare number, and a content word right after it. */
function isQuantity(
  tokens: readonly Token[],
  { amount, prefix, tail }: Parts,
  context: LimitContext,
): boolean {
  if (context.hasItem || amount.code !== undefined || prefix !== undefined) return false
  if (tail.scope !== undefined || tail.next !== amount.next) return false
  const after = tokens[amount.next]
  if (after?.kind === 'quoted') return true
  return after?.kind === 'word' && !FUNCTION_WORDS.has(after.low)
}

const LEAST_BARE = 100n

/** Whether the words around a number make it money; `for 6` seats people, `for 400` spends. */
function saysMoney(tokens: readonly Token[], found: Parts, context: LimitContext): boolean {
  const { amount, bound, prefix, tail } = found
  if (bound !== undefined && bound.bound !== 'needs-money') return true
  const hasScope = tail.scope !== undefined || prefix !== undefined
  if (bound === undefined) {
    if (amount.code !== undefined)
      return context.hasLine || endsClause(tokens, tail.next) || hasScope
    return hasScope && tail.scope !== 'recurring' && context.hasLine
  }
  if (amount.code !== undefined || hasScope || amount.zeros > 0) return true
  const { decimal } = amount
  const isLarge =
    decimal === undefined || decimal.units >= LEAST_BARE * 10n ** BigInt(decimal.places)
  return isLarge && context.hasLine && endsClause(tokens, tail.next)
}

const endsClause = (tokens: readonly Token[], at: number): boolean => {
  const token = tokens[at]
  return token === undefined || token.kind === 'mark' || FUNCTION_WORDS.has(token.low)
}

function finish(tokens: readonly Token[], found: Parts, context: LimitContext): LimitFound {
  const { at, bound, prefix, amount, tail } = found
  const raw = textOf(tokens.slice(at, tail.next))
  const next = tail.next
  if (tail.scope === 'recurring' || prefix?.kind === 'recurring') {
    const sentence = `"${raw}" is a price per period: only things that are paid once can be bought`
    return { kind: 'problem', next, sentence }
  }
  const converted = toMinor(amount, context.currency)
  if (!converted.ok) return { kind: 'problem', next, sentence: `"${raw}" ${converted.problem}` }
  const scope = tail.scope ?? prefix?.kind ?? (bound?.impliesTotal ? 'total' : 'open')
  if (bound?.bound === 'floor') {
    const text = `at least ${writeAmount(converted.minor, context.currency)}`
    return { kind: 'floor', next, text: scope === 'unit' ? `${text} each` : text }
  }
  const most = bound?.bound === 'strict' ? converted.minor - 1 : converted.minor
  if (most === 0) {
    const sentence = `"${raw}" leaves nothing to spend: give an amount above zero`
    return { kind: 'problem', next, sentence }
  }
  const isUnsure = bound === undefined && amount.code === undefined && scope === 'unit'
  return { kind: 'limit', next, scope, amount: minor(most), isUnsure, raw }
}
