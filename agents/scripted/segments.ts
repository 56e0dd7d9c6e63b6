/**
 * One sentence or row cut into segments: a thing’s words, with the limits, counts and wishes that stand among
 * them lifted out. Commas, semicolons, brackets, dashes and some `and`s cut; thousand separators do not.
 */
import type { Currency, Minor } from '../../runtime/core/money.ts'
import { leadAt, negationAt } from './leads.ts'
import { type LimitContext, type LimitFound, type LimitScope, limitAt } from './limits.ts'
import { readDecimal, wordNumberAt } from './numbers.ts'
import { isCountUnit, quantityAt } from './quantities.ts'
import { endsInThing, isQuality, stem } from './stems.ts'
import { type Token, textOf } from './tokens.ts'
import { afterwardsAt, cheapestAt, wishAt } from './wishes.ts'

export interface Limit {
  readonly scope: LimitScope
  readonly amount: Minor
  readonly isUnsure: boolean
  readonly raw: string
}

export interface Segment {
  readonly words: Token[]
  readonly counts: number[]
  readonly limits: Limit[]
  readonly wishes: string[]
  /** `oak if possible`: the words themselves are the wish. */
  isWish: boolean
  readonly inBrackets: boolean
  /** What stood before it. */
  readonly after: 'start' | 'comma' | 'semicolon' | 'and' | 'bracket'
}

export interface SegmentContext {
  readonly currency: Currency
  readonly hasLine: boolean
  readonly problem: (sentence: string) => void
}

const CUTS: Readonly<Record<string, Segment['after']>> = {
  ',': 'comma',
  ';': 'semicolon',
  '|': 'comma',
}
const OPEN = new Set(['(', '['])
const CLOSE = new Set([')', ']'])
const KEPT_MARKS = new Set(['%', '#', '°', '/', '+', '=', '-', '.', '*', "'"])

/** Words of one thing: more are a text that is no list. */
const MOST_WORDS = 60

class Cutter {
  readonly tokens: readonly Token[]
  readonly context: SegmentContext
  readonly done: Segment[] = []
  depth = 0
  current: Segment

  constructor(tokens: readonly Token[], context: SegmentContext) {
    this.tokens = tokens
    this.context = context
    this.current = this.open('start')
  }

  open(after: Segment['after']): Segment {
    const inBrackets = this.depth > 0
    return { words: [], counts: [], limits: [], wishes: [], isWish: false, inBrackets, after }
  }

  cut(after: Segment['after']): void {
    const { words, counts, limits, wishes } = this.current
    if (words.length + counts.length + limits.length + wishes.length > 0) {
      this.done.push(this.current)
    }
    this.current = this.open(after)
  }

  limits(): LimitContext {
    const things = new Set(this.current.words.map((word) => stem(word.low)))
    const named = this.current.words.slice(leadAt(this.current.words, 0).next)
    const quantity = quantityAt(named, 0)
    const rest = quantity?.kind === 'quantity' ? named.slice(quantity.next) : named
    const hasItem = rest.length > 0
    return {
      currency: this.context.currency,
      things,
      hasItem,
      hasLine: hasItem || this.context.hasLine || this.done.some((one) => one.words.length > 0),
    }
  }

  run(): readonly Segment[] {
    let at = 0
    while (at < this.tokens.length) at = this.step(at)
    this.cut('start')
    return this.done
  }

  step(at: number): number {
    const token = this.tokens[at]
    if (token === undefined) return at + 1
    const limit = limitAt(this.tokens, at, this.limits())
    if (limit !== undefined) return this.limit(limit)
    if (token.kind === 'mark') return this.mark(token, at)
    const counted = this.countAt(at)
    if (counted !== undefined) return counted
    const afterwards = this.current.words.length > 0 ? afterwardsAt(this.tokens, at) : undefined
    if (afterwards !== undefined) {
      this.current.isWish = true
      return afterwards
    }
    const wish = this.wishAt(at)
    if (wish !== undefined) {
      this.current.wishes.push(wish.text)
      return wish.next
    }
    if (this.takesBackAt(at)) {
      this.cut('comma')
      this.current.words.push(token)
      return at + 1
    }
    if (token.low === 'or' && this.isChoiceAt(at + 1)) this.choice(at)
    if ((token.low === 'and' || token.low === 'plus') && this.splitsAt(at + 1)) {
      this.cut('and')
      return at + 1
    }
    this.current.words.push(token)
    if (this.current.words.length > MOST_WORDS) this.tooLong()
    return at + 1
  }

  tooLong(): void {
    const said = textOf(this.current.words.slice(0, 6))
    this.context.problem(`"${said} …" is too long for one thing: write each thing on a line`)
    this.cut('comma')
  }

  limit(found: LimitFound): number {
    if (found.kind === 'problem') this.context.problem(found.sentence)
    if (found.kind === 'floor') this.current.wishes.push(found.text)
    if (found.kind === 'limit') this.current.limits.push(found)
    return found.next
  }

  wishAt(at: number): ReturnType<typeof wishAt> {
    const stopsAt = (index: number) => this.startsClause(index)
    return wishAt(this.tokens, at, { stopsAt, hasItem: this.current.words.length > 0 })
  }

  /** A limit, the cheapest, a count or a trailing `if possible` ends a wish before it. */
  startsClause(at: number): boolean {
    const context = { ...this.limits(), hasItem: true, hasLine: true }
    return (
      limitAt(this.tokens, at, context) !== undefined ||
      cheapestAt(this.tokens, at) !== undefined ||
      afterwardsAt(this.tokens, at) !== undefined ||
      this.tokens[at]?.low === 'from'
    )
  }

  mark(token: Token, at: number): number {
    const cut = CUTS[token.raw]
    const next = this.tokens[at + 1]
    if (cut !== undefined) this.cut(this.depth > 0 ? 'bracket' : cut)
    else if (OPEN.has(token.raw)) this.bracket(1)
    else if (CLOSE.has(token.raw)) this.bracket(-1)
    else if ((token.raw === '-' || token.raw === '—') && !token.glued && !next?.glued)
      this.cut('comma')
    else if (token.raw === '&' && this.splitsAt(at + 1)) this.cut('and')
    else if (token.raw === '&' || (KEPT_MARKS.has(token.raw) && this.isInside(at))) {
      this.current.words.push(token)
    }
    return at + 1
  }

  /** A mark within a word, such as `1/2` or `50 %`, belongs to it; a lone one says nothing. */
  isInside(at: number): boolean {
    const [token, next] = [this.tokens[at], this.tokens[at + 1]]
    if (this.current.words.length === 0) return token?.raw === '#' && next?.glued === true
    if (token?.raw === '%' || token?.raw === '°' || token?.raw === '+') return true
    return token?.glued === true && next?.glued === true
  }

  bracket(by: number): void {
    this.cut('bracket')
    this.depth = Math.max(0, this.depth + by)
    this.current = this.open('bracket')
  }

  /** `12 x`, `x 12`, `12 pcs`, `qty 12`: an explicit count, wherever it stands. */
  countAt(at: number): number | undefined {
    const [token, next] = [this.tokens[at], this.tokens[at + 1]]
    if (token === undefined || token.kind === 'quoted') return undefined
    if (token.low === 'x' || token.low === 'qty' || token.low === 'quantity') return this.after(at)
    const isTimes = next?.low === 'x' && next.kind === 'word'
    if (token.kind !== 'number' || !(isTimes || isCountUnit(this.tokens, at + 1))) return undefined
    const isDimension =
      isTimes && this.tokens[at + 2]?.kind === 'number' && this.current.words.length > 0
    const n = isDimension ? undefined : whole(token.raw)
    if (n === undefined) return undefined
    const isDotted = this.tokens[at + 2]?.raw === '.' && this.tokens[at + 2]?.glued === true
    this.current.counts.push(n)
    const end = at + (isDotted ? 3 : 2)
    return this.tokens[end]?.low === 'of' ? end + 1 : end
  }

  /** The number after `x` or `qty`. */
  after(at: number): number | undefined {
    let next = at + 1
    while ([':', '=', '.', 'of'].includes(this.tokens[next]?.low ?? '')) next += 1
    const token = this.tokens[next]
    const n = token?.kind === 'number' ? whole(token.raw) : undefined
    if (n === undefined || this.tokens[at - 1]?.kind === 'number') return undefined
    this.current.counts.push(n)
    return isCountUnit(this.tokens, next + 1) ? next + 2 : next + 1
  }

  /** Whether an `and` before `at` parts two things rather than naming one, as in `black and white printer`. */
  splitsAt(at: number): boolean {
    const rest = this.tokens
    for (let back = 2; back <= 5; back += 1) {
      if ((wordNumberAt(rest, at - back)?.next ?? 0) > at) return false
    }
    const lead = leadAt(rest, at)
    const isPhrase = lead.isAsked || lead.isNegated || negationAt(rest, at) !== undefined
    const start = rest[at]?.low === 'also' ? at + 1 : at
    if (isPhrase || quantityAt(rest, start) !== undefined || rest[start]?.low === 'x') return true
    if (rest[start]?.low === 'qty' || this.startsClause(start)) return true
    if (this.wishAt(start) !== undefined) return true
    const left = this.current.words
    const right = this.untilCut(at)
    if (left.length === 0 || right.length === 0) return left.length === 0
    if (left.every((word) => isQuality(word.raw))) return false
    if (/^(?:set|kit|combo|bundle|pack)s?$/.test(right[right.length - 1]?.low ?? '')) return false
    const isThing = (tokens: readonly Token[]) => endsInThing(tokens.map((word) => word.raw))
    if (isThing(left)) return isThing(right) || this.done.length > 0
    return this.done.length > 0 && !isThing(right)
  }

  /** `desks but no chairs`, `desks except lamps`. */
  takesBackAt(at: number): boolean {
    const low = this.tokens[at]?.low ?? ''
    if (this.current.words.length === 0) return false
    if (['except', 'excluding'].includes(low)) return true
    return low === 'but' && negationAt(this.tokens, at + 1) !== undefined
  }

  isChoiceAt(at: number): boolean {
    return this.current.words.length > 0 && quantityAt(this.tokens, at)?.kind === 'quantity'
  }

  choice(at: number): void {
    const said = textOf(this.tokens.slice(at, at + 4))
    this.context.problem(`"${said}" leaves a choice between two things: name the one to buy`)
  }

  untilCut(at: number): readonly Token[] {
    const words: Token[] = []
    for (let i = at; i < this.tokens.length; i += 1) {
      const token = this.tokens[i]
      if (token === undefined || token.kind === 'mark' || token.low === 'and') break
      if (i > at && this.startsClause(i)) break
      words.push(token)
    }
    return words
  }
}

function whole(raw: string): number | undefined {
  const decimal = readDecimal(raw)
  if (decimal === undefined || decimal.places > 0) return undefined
  return Number(decimal.units)
}

/** `12 (twelve) desks` says its number once. */
function withoutEchoes(tokens: readonly Token[]): readonly Token[] {
  const kept: Token[] = []
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at]
    if (token === undefined) continue
    kept.push(token)
    const inside = tokens[at + 1]?.raw === '(' ? wordNumberAt(tokens, at + 2) : undefined
    const isEcho = inside !== undefined && tokens[inside.next]?.raw === ')'
    if (token.kind === 'number' && isEcho && whole(token.raw) === inside.n) at = inside.next
  }
  return kept
}

/** The segments of one sentence or row, in order. */
export const segmentsOf = (tokens: readonly Token[], context: SegmentContext): readonly Segment[] =>
  new Cutter(withoutEchoes(tokens), context).run()
