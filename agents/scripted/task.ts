/** A task in words becomes lines, under headings and caps, or a sentence that says what to change. */
import type { Currency, Minor } from '../../runtime/core/money.ts'
import { withoutDates } from './dates.ts'
import { least } from './drafts.ts'
import { leadAt } from './leads.ts'
import { limitAt } from './limits.ts'
import { ABBREVIATIONS } from './phrases.ts'
import { quantityAt } from './quantities.ts'
import { Reader, type Statement } from './reader.ts'
import { type Row, rowsOf } from './rows.ts'
import { plainText, type Token, textOf, tokenise } from './tokens.ts'

/** One thing to buy. Limits are minor units of the run’s currency. */
export interface TaskLine {
  readonly text: string
  readonly quantity: number
  readonly maxUnit?: Minor
  readonly maxTotal?: Minor
  readonly prefer: readonly string[]
  /** Headings that it stands under, outermost first. */
  readonly path: readonly string[]
}

/** The most for everything under one heading. */
export interface Cap {
  readonly path: readonly string[]
  readonly most: Minor
}

export type TaskReading =
  | {
      readonly kind: 'lines'
      readonly lines: readonly TaskLine[]
      readonly caps: readonly Cap[]
      /** The most for the whole task, if it says so. */
      readonly most?: Minor
    }
  | { readonly kind: 'unreadable'; readonly reason: string }

const NOTHING =
  'found nothing to buy in the task: write one thing per line with its number, such as "12 x desk lamp, at most 40 each"'

/** Headings below headings: as many as `#` can write. */
const MOST_LEVELS = 6

/** Reads a task; the same words always give the same lines. */
export function readTask(task: string, currency: Currency): TaskReading {
  const reader = new Reader(currency)
  const headings = new Headings(reader)
  let indent = 0
  for (const row of rowsOf(withoutDates(plainText(task)))) {
    const path = headings.plain(row.path)
    for (const statement of statementsOf(row, path, row.indent > indent)) reader.read(statement)
    indent = row.indent
  }
  const lines = inOrder(reader.wanted().map(finished), 0)
  const [problem] = reader.problems
  if (problem !== undefined) return { kind: 'unreadable', reason: `${problem}.` }
  if (lines.length === 0) return { kind: 'unreadable', reason: `${NOTHING}.` }
  const most = reader.cap
  const caps = headings.caps
  return { kind: 'lines', lines, caps, ...(most === undefined ? {} : { most }) }
}

/** As a tree is written: what stands directly under a heading before what stands under headings below it. */
function inOrder(lines: readonly TaskLine[], depth: number): readonly TaskLine[] {
  const own = lines.filter((line) => line.path.length === depth)
  const below = new Map<string, TaskLine[]>()
  for (const line of lines) {
    const name = line.path[depth]
    if (name !== undefined) below.set(name, [...(below.get(name) ?? []), line])
  }
  return [...own, ...[...below.values()].flatMap((group) => inOrder(group, depth + 1))]
}

function finished(draft: TaskLine): TaskLine {
  const { text, quantity, maxUnit, maxTotal, prefer, path } = draft
  return {
    text,
    quantity,
    ...(maxUnit === undefined ? {} : { maxUnit }),
    ...(maxTotal === undefined ? {} : { maxTotal }),
    prefer,
    path,
  }
}

/** Headings without the limits that stand in them: `Kitchen (at most 5000 in total)`. */
class Headings {
  readonly caps: Cap[] = []
  private readonly reader: Reader
  private readonly names = new Map<string, { name: string; most: Minor | undefined }>()

  constructor(reader: Reader) {
    this.reader = reader
  }

  plain(path: readonly string[]): readonly string[] {
    const names: string[] = []
    for (const heading of path) {
      const { name, most } = this.read(heading)
      names.push(name)
      if (most !== undefined) this.cap([...names], most)
    }
    return names.slice(0, MOST_LEVELS)
  }

  private cap(path: readonly string[], most: Minor): void {
    const isKnown = this.caps.some((cap) => cap.path.join('\n') === path.join('\n'))
    if (!isKnown) this.caps.push({ path, most })
  }

  private read(heading: string): { name: string; most: Minor | undefined } {
    const known = this.names.get(heading)
    if (known) return known
    const tokens = tokenise(heading)
    const kept: Token[] = []
    let most: Minor | undefined
    for (let at = 0; at < tokens.length; ) {
      const token = tokens[at]
      const context = { things: new Set<string>(), hasItem: true, hasLine: true }
      const limit = limitAt(tokens, at, { ...context, currency: this.reader.currency })
      if (limit?.kind === 'problem') this.reader.problem(limit.sentence)
      if (limit?.kind === 'limit') most = least(most, limit.amount)
      if (limit === undefined && token) kept.push(token)
      at = limit?.next ?? at + 1
    }
    const name = textOf(kept)
      .replace(/\(\s*\)|\[\s*\]/g, '')
      .replace(/["#]/g, '')
      .replace(/[\s,;:—-]+$/, '')
      .trim()
      .slice(0, 120)
    const read = { name: name === '' ? 'Other' : name, most }
    this.names.set(heading, read)
    return read
  }
}

/** A row is one statement or, where it holds sentences, several; a label before a colon is a heading or a lead-in. */
function statementsOf(row: Row, path: readonly string[], isChild: boolean): readonly Statement[] {
  const statements: Statement[] = []
  for (const tokens of sentences(tokenise(row.text))) {
    const labelled = label(tokens)
    if (labelled === undefined) continue
    statements.push({
      tokens: labelled.tokens,
      path: labelled.heading === undefined ? path : [...path, labelled.heading],
      isList: row.isList || labelled.heading !== undefined,
      isChild,
      isAsked: labelled.isAsked,
    })
  }
  return statements
}

function sentences(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const all: Token[][] = [[]]
  tokens.forEach((token, i) => {
    const [before, next] = [tokens[i - 1], tokens[i + 1]]
    const isEnd = ['.', '!', '?'].includes(token.raw) && token.kind === 'mark' && !next?.glued
    const isAbbreviation = token.raw === '.' && ABBREVIATIONS.has(before?.low ?? '')
    if (isEnd && !isAbbreviation) all.push([])
    else all[all.length - 1]?.push(token)
  })
  return all.filter((sentence) => sentence.length > 0)
}

interface Labelled {
  readonly tokens: readonly Token[]
  readonly heading?: string
  readonly isAsked: boolean
}

const LEADING =
  /\b(?:need|needs|want|buy|order|purchase|get|following|list|items?|below|required|require|shopping|things|like)\b/
const ASIDE =
  /^(?:note|notes|delivery|deliver to|deadline|address|ship to|shipping|contact|ps|subject|from|to|date|re|attn|cc|due|when|where|who|phone|email|reference|ref|project|cost centre|cost center|department|requested by|approved by)$/
const WISHES = /^(?:preference|preferences|prefer|preferred|ideally|preferably)$/
const COUNTS = /^(?:qty|quantity|number|count)$/

/** What a label before a colon does to the rest; undefined when the rest is an aside. */
function label(tokens: readonly Token[]): Labelled | undefined {
  const at = tokens.findIndex((token) => token.raw === ':' && token.kind === 'mark')
  if (at <= 0 || at > 8 || tokens[at + 1]?.glued === true) {
    return placed(tokens) ?? { tokens, isAsked: false }
  }
  const before = tokens.slice(0, at)
  const after = tokens.slice(at + 1)
  const text = before.map((token) => token.low).join(' ')
  const whole = { tokens: [...before, ...after], isAsked: false }
  if (ASIDE.test(text)) return undefined
  if (WISHES.test(text) || COUNTS.test(text) || hasLimit(tokens, at))
    return { tokens, isAsked: false }
  if (LEADING.test(text) || leadAt(before, 0).next === before.length) {
    return { tokens: after, isAsked: true }
  }
  const count = quantityAt(after, 0)
  const isCount = count?.kind === 'quantity' && count.isExplicit && endsThing(after, count.next)
  if (isCount || quantityAt(before, 0) !== undefined || before.some(isNumber)) return whole
  return { tokens: after, heading: placeName(before), isAsked: false }
}

/** `for the kitchen` is the heading `kitchen`. */
const placeName = (tokens: readonly Token[]): string =>
  textOf(tokens)
    .replace(/["#]/g, '')
    .replace(/^(?:for|in) (?:the |our |a )?/i, '')
    .trim()

/** `In the kitchen we need a kettle`: what is wanted stands under the place. */
function placed(tokens: readonly Token[]): Labelled | undefined {
  const isPlace = ['for', 'in'].includes(tokens[0]?.low ?? '') && isArticle(tokens[1])
  if (!isPlace) return undefined
  for (let at = 3; at <= 5 && at < tokens.length; at += 1) {
    const start = tokens[at]?.raw === ',' ? at + 1 : at
    const isAsked = leadAt(tokens, start).isAsked && leadAt(tokens, start).next > start
    if (isAsked || start > at) {
      const heading = placeName(tokens.slice(0, at))
      return { tokens: tokens.slice(start), heading, isAsked: true }
    }
  }
  return undefined
}

const isArticle = (token: Token | undefined): boolean =>
  ['the', 'our', 'a'].includes(token?.low ?? '')

const isNumber = (token: Token): boolean => token.kind === 'number' || token.kind === 'quoted'

const endsThing = (tokens: readonly Token[], at: number): boolean => {
  const next = tokens[at]
  return (
    next === undefined || next.kind === 'mark' || ['at', 'max', 'up', 'under'].includes(next.low)
  )
}

/** `Budget: 5000`: the colon belongs to a limit. */
function hasLimit(tokens: readonly Token[], colon: number): boolean {
  const context = {
    currency: 'INR',
    things: new Set<string>(),
    hasItem: true,
    hasLine: true,
  } as const
  for (let at = 0; at < colon; at += 1) {
    const limit = limitAt(tokens, at, context)
    if (limit !== undefined && limit.next > colon) return true
  }
  return false
}
