/** Small judgements about the words of one thing, after its lead-in and its limits were lifted out. */
import { isNoise, type Lead } from './leads.ts'
import { readDecimal } from './numbers.ts'
import { phraseAt, phrases } from './phrases.ts'
import { quantityAt } from './quantities.ts'
import type { Segment } from './segments.ts'
import { endsInThing, isQuality, knownIn, stem } from './stems.ts'
import { type Token, textOf } from './tokens.ts'

export const BEING = phrases(
  'should be, must be, are to be, being, are, is, with, need to be, have to be, to be',
)
const TRAILING = new Set(
  'please too also thanks needed required wanted each apiece as well again urgently are is be will and'.split(
    ' ',
  ),
)

export const isArticle = (word: Token): boolean => ['a', 'an', 'the'].includes(word.low)

export const isKnown = (words: readonly Token[]): boolean => knownIn(textOf(words)) !== undefined

export const pastBeing = (words: readonly Token[], at: number): number =>
  phraseAt(words, at, BEING) ?? at

export function trimEnd(words: readonly Token[]): readonly Token[] {
  const isIdle = (word: Token | undefined) => TRAILING.has(word?.low ?? '') || isLoneMark(word)
  let end = words.length
  while (end > 0 && isIdle(words[end - 1])) end -= 1
  return words.slice(0, end)
}

const isLoneMark = (word: Token | undefined): boolean =>
  word?.kind === 'mark' && !['+', '%', '°', '#'].includes(word.raw)

/** Index of `that`, `which` or `without`, from which on words say how and not what. */
export const tailAt = (words: readonly Token[]): number =>
  words.findIndex((word, i) => i > 0 && ['that', 'which', 'who', 'without'].includes(word.low))

/** A sentence about something else, not a thing to buy. */
export function isSentence(words: readonly Token[], lead: Lead): boolean {
  if (lead.hasSubject) return true
  const at = tailAt(words)
  return isNoise(at < 0 ? words : words.slice(0, at))
}

/** All of them describe and none of them is a thing: `large`, `height adjustable`. */
export const areQualities = (words: readonly Token[]): boolean =>
  words.length > 0 &&
  words.every((word) => word.kind !== 'quoted' && (isQuality(word.raw) || word.kind === 'mark')) &&
  !endsInThing(words.map((word) => word.raw))

const MODIFIER_STARTS = new Set(
  'with without in for good suitable made not ones which that on'.split(' '),
)

/** Words after a thing that describe it. */
export function describes(words: readonly Token[]): boolean {
  const last = words[words.length - 1]
  if (MODIFIER_STARTS.has(words[0]?.low ?? '')) return true
  return last !== undefined && isQuality(last.raw) && !endsInThing([last.raw])
}

/** `chairs or lamps`, `chairs and lamps`: each alone. */
export function alternatives(words: readonly Token[]): readonly (readonly Token[])[] {
  const all: Token[][] = [[]]
  for (const word of words) {
    if (word.low === 'or' || word.low === 'and' || word.low === 'nor') all.push([])
    else all[all.length - 1]?.push(word)
  }
  return all.filter((one) => one.length > 0)
}

const PREPOSITIONS = new Set(
  'for with in to of no size model type version series number'.split(' '),
)

/** A bare number at the end counts, if nothing else does: `desks 12`, but not `a table for 6`. */
export function trailingCount(
  words: readonly Token[],
  isCounted: boolean,
  segment: Segment,
): { words: readonly Token[]; trailing: readonly number[] } {
  const last = words[words.length - 1]
  const before = words[words.length - 2]
  const isBare = last?.kind === 'number' && !last.glued && /^\d{1,7}$/.test(last.raw)
  const canCount = !isCounted && segment.counts.length === 0 && before?.kind === 'word'
  if (!isBare || !canCount || PREPOSITIONS.has(before.low)) return { words, trailing: [] }
  return { words: words.slice(0, -1), trailing: [Number(last.raw)] }
}

/** What is left in a name and would change the money if it were ignored. */
export function leftover(words: readonly Token[]): string | undefined {
  const said = `"${textOf(words)}"`
  const isBroken = (word: Token) => word.kind === 'number' && readDecimal(word.raw) === undefined
  if (words.some(isBroken)) {
    return `${said} holds a number that can be read in more than one way: write it without separators`
  }
  const isLimit = (word: Token, i: number) =>
    i > 0 && ['max', 'maximum', 'budget', 'costing', '@'].includes(word.raw)
  if (words.some(isLimit)) {
    return `${said} names a limit without an amount: write the most as a number`
  }
  return undefined
}

/** `12 desks and chairs`: how many chairs is anybody's guess. */
export function isUncounted(words: readonly Token[], segment: Segment): boolean {
  const last = words[words.length - 1]
  const isPlural = last !== undefined && stem(last.low) !== last.low
  return segment.after === 'and' && isPlural && quantityAt(words, 0) === undefined
}
