/**
 * Reads sentences and rows into lines, one after the other: later words may limit, count, part or take back what
 * earlier ones named. What cannot be read safely becomes a problem in words; nothing about money is guessed.
 */
import { LIMITS } from '../../runtime/core/limits.ts'
import type { Currency, Minor } from '../../runtime/core/money.ts'
import { addWish, applyLimit, type Draft, least, partOff } from './drafts.ts'
import { isNoise, type Lead, leadAt } from './leads.ts'
import { wordNumberAt } from './numbers.ts'
import { phraseAt, phrases } from './phrases.ts'
import { quantityAt } from './quantities.ts'
import {
  alternatives,
  areQualities,
  describes,
  isArticle,
  isKnown,
  isSentence,
  isUncounted,
  leftover,
  pastBeing,
  tailAt,
  trailingCount,
  trimEnd,
} from './remains.ts'
import { type Limit, type Segment, segmentsOf } from './segments.ts'
import { isQuality, stems } from './stems.ts'
import { type Token, textOf } from './tokens.ts'

export interface Statement {
  readonly tokens: readonly Token[]
  readonly path: readonly string[]
  /** In a list a bare name is a thing to buy. */
  readonly isList: boolean
  /** It stands below the row before it. */
  readonly isChild: boolean
  /** A verb of buying stood in its lead-in. */
  readonly isAsked: boolean
}

const OF_THEM = phrases('of them, of these, of those, of which, of the ones, should be, must be')
const THE_REST = phrases(
  'the rest, the others, the remaining ones, the other ones, rest, the remainder',
)

interface Pending {
  readonly limits: Limit[]
  readonly wishes: string[]
  readonly adjectives: Token[]
  /** `12 large, sturdy desks`: the number that stands before the adjectives. */
  count?: { readonly n: number; readonly isExplicit: boolean }
}

const none = (): Pending => ({ limits: [], wishes: [], adjectives: [] })

export class Reader {
  readonly lines: Draft[] = []
  readonly problems: string[] = []
  readonly negations: string[] = []
  cap: Minor | undefined
  readonly currency: Currency
  private current: Draft | undefined
  private statement: Statement | undefined
  private made: Draft[] = []
  private isAsked = false
  private isNegating = false
  private pending = none()
  private loose: Limit[] = []

  constructor(currency: Currency) {
    this.currency = currency
  }

  problem(sentence: string): void {
    if (!this.problems.includes(sentence)) this.problems.push(sentence)
  }

  read(statement: Statement): void {
    this.statement = statement
    this.made = []
    this.loose = []
    this.isAsked = statement.isAsked
    this.isNegating = false
    const segments = segmentsOf(statement.tokens, {
      currency: this.currency,
      hasLine: this.current !== undefined,
      problem: (sentence) => this.problem(sentence),
    })
    for (const segment of segments) this.segment(segment)
    this.finish(statement)
  }

  /** Lines that nothing but their name speaks for count only in a list or beside others that are wanted. */
  private finish(statement: Statement): void {
    this.placeLoose(statement)
    if (this.pending.count !== undefined) {
      this.problem(`"${textOf(statement.tokens)}" does not name a thing to buy`)
      this.pending = none()
    }
    const isWanted = statement.isList || this.isAsked || this.made.some((line) => line.isEvident)
    if (isWanted) this.lines.push(...this.made)
    else this.current = this.lines[this.lines.length - 1]
  }

  /** Totals that stand in a sentence of their own bound everything; `altogether` bounds all that it follows. */
  private placeLoose(statement: Statement): void {
    for (const limit of this.loose) {
      const only = this.made.length === 1 ? this.made[0] : undefined
      const below = this.made.length === 0 && statement.isChild ? this.current : undefined
      const line = only ?? below
      if (line) applyLimit(line, { ...limit, scope: 'total' })
      else this.cap = least(this.cap, limit.amount)
    }
  }

  private segment(segment: Segment): void {
    if (segment.after === 'semicolon') this.isNegating = false
    const lead = leadAt(segment.words, 0)
    if (lead.isAsked) {
      this.isAsked = true
      this.isNegating = false
    }
    const words = trimEnd(segment.words.slice(lead.next))
    const isMoreNegation = this.isNegating && !lead.isAsked && quantityAt(words, 0) === undefined
    if (segment.inBrackets) this.brackets(segment, words)
    else if (lead.isNegated) this.negate(segment, words)
    else if (words.length === 0) this.modify(segment)
    else if (isMoreNegation) this.negate(segment, words)
    else if (!this.splitOff(segment, words)) this.named(segment, words, lead)
  }

  private named(segment: Segment, words: readonly Token[], lead: Lead): void {
    this.isNegating = false
    const quantity = quantityAt(words, 0)
    const isCounted = segment.counts.length > 0 || quantity !== undefined
    const isBare = quantity?.kind === 'quantity' && quantity.next === words.length
    const rest = phraseAt(words, 0, THE_REST)
    if (rest !== undefined && this.current) this.wish(segment, words.slice(pastBeing(words, rest)))
    else if (segment.isWish && !isCounted) this.wish(segment, words)
    else if (isBare && quantity.isExplicit) this.unnamed(segment, words, quantity.measure ?? '')
    else if (isSentence(words, lead)) this.modify(segment)
    else if (quantity?.kind === 'problem') this.problem(quantity.sentence)
    else if (!isCounted && this.isModifier(words, segment)) this.describe(segment, words)
    else this.line(segment, words, lead)
  }

  /** Words that describe the thing before them, or the one after. */
  private isModifier(words: readonly Token[], segment: Segment): boolean {
    if (areQualities(words)) return true
    if (segment.after === 'start' || this.current === undefined) return false
    return words.every((word) => word.kind !== 'quoted') && describes(words)
  }

  private describe(segment: Segment, words: readonly Token[]): void {
    const isBelow = this.made.length > 0 || this.statement?.isChild === true
    if (isBelow && this.current && this.pending.count === undefined) {
      this.wish(segment, words)
    } else {
      this.pending.adjectives.push(...words)
      this.modify(segment)
    }
  }

  private wish(segment: Segment, words: readonly Token[]): void {
    const start = pastBeing(words, 0)
    const text = textOf(words.slice(start).filter((word) => word.low !== 'ones'))
    if (text !== '') segment.wishes.push(text)
    this.modify(segment)
  }

  private brackets(segment: Segment, words: readonly Token[]): void {
    const quantity = words.length === 0 ? undefined : quantityAt(words, 0)
    if (quantity?.kind === 'quantity' && quantity.next === words.length) {
      segment.counts.push(quantity.n)
      this.modify(segment)
    } else if (words.length === 0) {
      this.modify(segment)
    } else if (!this.splitOff(segment, words)) {
      this.wish(segment, segment.words)
    }
  }

  /** Applies what stands beside a name, or alone, to the line that it means. */
  private modify(segment: Segment): void {
    const line = this.current
    for (const limit of segment.limits) {
      const isAlone = this.made.length === 0 && limit.scope === 'total'
      if (limit.scope === 'all' || isAlone) this.loose.push(limit)
      else if (line) this.limit(line, limit)
      else this.pending.limits.push(limit)
    }
    for (const wish of segment.wishes) {
      if (line) addWish(line, wish)
      else this.pending.wishes.push(wish)
    }
    for (const n of segment.counts) if (line) this.count(line, n)
  }

  private limit(line: Draft, limit: Limit): void {
    if (limit.isUnsure && !line.isCounted) {
      this.problem(
        `"${limit.raw}" can be a price or a number: say "at most ${limit.raw}" for a price`,
      )
    }
    applyLimit(line, limit)
  }

  private count(line: Draft, n: number): void {
    if (n < 1 || n > LIMITS.quantity) {
      this.problem(`"${line.text}" needs a number from 1 to ${LIMITS.quantity}`)
    } else if (line.isCounted && line.quantity !== n) {
      this.problem(`"${line.text}" has two numbers, ${line.quantity} and ${n}: keep one`)
    } else {
      Object.assign(line, { quantity: n, isCounted: true, isEvident: true })
    }
  }

  private line(segment: Segment, all: readonly Token[], lead: Lead): void {
    const quantity = quantityAt(all, 0)
    const found = quantity?.kind === 'quantity' ? quantity : this.pending.count
    const start = quantity?.kind === 'quantity' ? quantity.next : 0
    const named = this.cutTail(all.slice(start), segment)
    const { words, trailing } = trailingCount(named, found?.isExplicit === true, segment)
    if (found !== undefined && areQualities(words)) {
      this.pending.count = found
      this.pending.adjectives.push(...words)
      return
    }
    if (words.length === 0) {
      this.modify(segment)
      return
    }
    const measure = quantity?.kind === 'quantity' ? (quantity.measure ?? '') : ''
    const problem = leftover(words)
    if (problem !== undefined) this.problem(problem)
    const counted = this.made[this.made.length - 1]
    if (isUncounted(all, segment) && counted?.isCounted && segment.counts.length === 0) {
      this.problem(`"${textOf(all)}" does not say how many: write a number`)
    }
    const isEvident = lead.isAsked || found !== undefined || isKnown(words)
    this.open(words, { found, measure, isEvident })
    for (const n of [...segment.counts, ...trailing]) if (this.current) this.count(this.current, n)
    this.modify({ ...segment, counts: [] })
  }

  /** Begins a line, with what was said before it. */
  private open(
    words: readonly Token[],
    how: {
      found: { n: number; isExplicit: boolean } | undefined
      measure: string
      isEvident: boolean
    },
  ): void {
    const adjectives = this.pending.adjectives.filter((word) => !isArticle(word))
    const parts = [how.measure, textOf(adjectives), textOf(words)].filter((part) => part !== '')
    const draft: Draft = {
      text: parts.join(' ').trim().slice(0, 200).trim(),
      quantity: how.found?.n ?? 1,
      isCounted: how.found?.isExplicit === true,
      isEvident: how.isEvident,
      prefer: [],
      path: this.statement?.path ?? [],
    }
    this.current = draft
    this.made.push(draft)
    for (const limit of this.pending.limits) this.limit(draft, limit)
    for (const wish of this.pending.wishes) addWish(draft, wish)
    this.pending = none()
  }

  /** A number without a name, such as the `12` of `desks, 12` or the `5 kg` of `coffee, 5 kg`. */
  private unnamed(segment: Segment, words: readonly Token[], measure: string): void {
    const quantity = quantityAt(words, 0)
    if (this.current === undefined) {
      this.problem(`"${textOf(words)}" is a number without a thing`)
      return
    }
    if (measure !== '') this.current.text = `${measure} ${this.current.text}`
    if (quantity?.kind === 'quantity' && quantity.isExplicit) segment.counts.push(quantity.n)
    this.modify(segment)
  }

  /** `that are oak` and `without arms` say how, not what. */
  private cutTail(words: readonly Token[], segment: Segment): readonly Token[] {
    const at = tailAt(words)
    if (at < 0) return trimEnd(words)
    const isWithout = words[at]?.low === 'without'
    const text = textOf(words.slice(isWithout ? at + 1 : pastBeing(words, at + 1)))
    if (text !== '') segment.wishes.push(isWithout ? `no ${text}` : text)
    return trimEnd(words.slice(0, at))
  }

  /** `two of them standing`, after a line of more than two. */
  private splitOff(segment: Segment, words: readonly Token[]): boolean {
    const line = this.current
    const number = words[0]?.kind === 'number' ? Number(words[0].raw) : wordNumberAt(words, 0)?.n
    const next = words[0]?.kind === 'number' ? 1 : wordNumberAt(words, 0)?.next
    if (line === undefined || number === undefined || next === undefined) return false
    const after = phraseAt(words, next, OF_THEM)
    if (after === undefined) return false
    const start = pastBeing(words, after)
    if (!(number >= 1 && number < line.quantity)) {
      this.problem(`"${textOf(words)}" is more than there are of "${line.text}"`)
      return true
    }
    const part = partOff(line, number, textOf(words.slice(start)))
    this.current = part
    this.made.push(part)
    this.modify(segment)
    return true
  }

  private negate(segment: Segment, words: readonly Token[]): void {
    this.isNegating = true
    for (const name of alternatives(words)) {
      const isWhole = name.every((word) => isQuality(word.raw))
      const text = textOf(name)
      if (isWhole && text !== '') {
        if (this.current) addWish(this.current, `no ${text}`)
      } else if (text !== '' && !isNoise(name)) {
        this.negations.push(text)
      }
    }
    this.modify({ ...segment, limits: [], counts: [] })
  }

  /** The lines that are left when everything that was taken back is gone. */
  wanted(): readonly Draft[] {
    const unwanted = this.negations.map((text) => stems(text)).filter((all) => all.length > 0)
    return this.lines.filter((line) => {
      const has = new Set(stems(line.text))
      return !unwanted.some((all) => all.every((word) => has.has(word)))
    })
  }
}
