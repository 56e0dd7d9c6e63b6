/**
 * The scripted looker: what to search for, what to read, and which listings are what the need asks for. It compares words
 * and numbers and follows none of them: whatever a listing says to its reader only counts as words that do not match.
 */
import type { Need } from '../../runtime/core/agents.ts'
import type { Action, LookInput, Pick, ShownItem } from '../shapes.ts'
import { limitOf } from './budget.ts'
import { CONTAINERS, GENERAL, SPEC_UNITS, STOP_WORDS, WHOLE_MEASURES } from './lexicon.ts'
import { headOf, holds, mainPart, sameThing, stems, wordSet } from './stems.ts'

const MOST_PICKS = 4
const PICKS_OF_ONE_MERCHANT = 2
const MOST_READS = 2

/**
 * First the need’s own words, where the need says if it does; then what fits is picked. If nothing does, listings of the
 * same thing whose description was cut are read to their end, and then the thing alone is searched for, everywhere.
 */
export function nextActions(input: LookInput): { actions: Action[] } {
  const searches = input.calls.filter(({ tool }) => tool === 'search')
  const [first, second] = searchesFor(input)
  if (searches.length === 0) return { actions: [first] }
  const picks = picksFor(input)
  if (picks.length > 0) return { actions: [{ kind: 'picks', picks }] }
  const reads = readsFor(input)
  if (reads.length > 0) return { actions: reads }
  const isNew = second !== undefined && searches.length === 1 && input.left.steps > 0
  return { actions: isNew ? [second] : [{ kind: 'picks', picks }] }
}

type Search = Extract<Action, { kind: 'search' }>

/** The second only if it asks for something else than the first. */
function searchesFor({ need, merchants }: LookInput): readonly [Search, Search?] {
  const named = preferred(need, merchants)
  const text = searchText(need.text)
  const all: Search = { kind: 'search', text: headOf(need.text)?.noun ?? need.text }
  if (named.length > 0) return [{ kind: 'search', text, merchants: named }, all]
  return all.text === text.toLowerCase() ? [all] : [{ kind: 'search', text }, all]
}

/** Listings that would fit but for a word that may stand in what was cut off, the best first. */
function readsFor({ need, items, calls, left }: LookInput): Action[] {
  const head = headOf(need.text)?.noun
  if (head === undefined || left.steps === 0) return []
  const wasRead = (index: number) =>
    calls.some((call) => call.tool === 'read' && call.item === index)
  return items
    .filter(({ item, more }) => more === true && !wasRead(item))
    .map((item) => ({ item, score: scoreOf({ ...need, text: head }, item, item.unitAmount) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.item.item - b.item.item)
    .slice(0, Math.min(MOST_READS, left.reads))
    .map(({ item }) => ({ kind: 'read', item: item.item }))
}

/** The words that a shop’s search needs, without articles and the like. */
function searchText(text: string): string {
  const words = text.split(/\s+/).filter((word) => !STOP_WORDS.has(word.toLowerCase()))
  return (words.length > 0 ? words.join(' ') : text).slice(0, 200)
}

/** Merchants that the need prefers by name: none, if it prefers none that may be searched. */
function preferred(need: Need, merchants: readonly string[]): string[] {
  const wishes = need.prefer.filter((wish) => /^from /i.test(wish))
  return merchants.filter((id) => wishes.some((wish) => names(wish.slice(5), id)))
}

const refused = (need: Need, merchant: string): boolean =>
  need.prefer.some((wish) => /^not from /i.test(wish) && names(wish.slice(9), merchant))

/** Whether words name a merchant: all words of its id are among them. */
const names = (words: string, merchant: string): boolean => {
  const said = new Set(stems(words.replace(/-/g, ' ')))
  const own = stems(merchant.replace(/[-_.]/g, ' '))
  return own.length > 0 && own.every((word) => said.has(word))
}

interface Scored {
  readonly item: number
  readonly score: number
  readonly merchant: string
  readonly total: number
}

/** The best few listings, at most two of one merchant; if none is within the ceiling, the cheapest that fits. */
function picksFor({ need, ceiling, items }: LookInput): Pick[] {
  const cheapest = Math.min(...items.map((item) => item.unitAmount))
  const scored = items
    .flatMap((item): Scored[] => {
      const score = scoreOf(need, item, cheapest)
      const { item: index, merchant, total } = item
      return score === 0 ? [] : [{ item: index, score, merchant, total }]
    })
    .sort((a, b) => b.score - a.score || a.total - b.total || a.item - b.item)
  const within = scored.filter(({ total }) => total <= ceiling)
  if (within.length > 0) return few(within)
  const dear = [...scored].sort((a, b) => a.total - b.total || a.item - b.item)
  return few(dear.slice(0, 1))
}

function few(scored: readonly Scored[]): Pick[] {
  const counts = new Map<string, number>()
  const picked = scored.filter(({ merchant }) => {
    const count = (counts.get(merchant) ?? 0) + 1
    counts.set(merchant, count)
    return count <= PICKS_OF_ONE_MERCHANT
  })
  return picked
    .slice(0, MOST_PICKS)
    .map(({ item, score }) => ({ item, reason: 'its words match the need', score }))
}

/** 0 for what is something else, sold out, over the need’s limits or of a merchant it refuses; else up to 1000. */
function scoreOf(need: Need, item: ShownItem, cheapest: number): number {
  const { total } = item
  if (!item.enough || item.unitAmount < 1) return 0
  if (item.unitAmount > (need.maxUnit ?? Number.MAX_SAFE_INTEGER)) return 0
  if (total > (limitOf(need) ?? Number.MAX_SAFE_INTEGER)) return 0
  if (refused(need, item.merchant)) return 0
  const match = matchOf(need.text, item)
  if (match === 0) return 0
  const isCheapest = need.prefer.includes('cheapest')
  const price = (isCheapest ? 300 : 60) * (cheapest / item.unitAmount)
  return Math.max(1, Math.min(1000, Math.round(match + wishes(need, item) + price)))
}

/** How far a listing is what the words ask for: 0 for another thing or one that lacks a word, up to 600. */
function matchOf(said: string, { words: item }: ShownItem): number {
  const text = withMeasures(said)
  const wanted = headOf(text)
  const offered = headOf(item.title)
  if (wanted === undefined || offered === undefined) return 0
  if (!sameThing(wanted.noun, offered.noun)) return 0
  const title = wordSet(item.title)
  const main = mainPart(text)
  // `keyboard and mouse set`: a shelf for both does not make a mouse a set.
  const shelf = / and /.test(main) ? '' : item.category
  const elsewhere = wordSet(`${shelf} ${item.description}`)
  const asked = terms(main).filter((word) => !wanted.noun.split(' ').includes(word))
  let met = HEAD_WEIGHT
  for (const word of asked) {
    if (holds(title, word)) met += 1
    else if (holds(elsewhere, word)) met += 0.6
    else if (!isOptional(word)) return 0
  }
  const everything = new Set([...title, ...elsewhere])
  const lacks = (word: string) => !isOptional(word) && !holds(everything, word)
  if (terms(withPart(text)).some(lacks)) return 0
  const rest = terms(text).filter((word) => !asked.includes(word) && !wanted.noun.includes(word))
  for (const word of rest) if (holds(title, word)) met += REST_WEIGHT
  const most = HEAD_WEIGHT + asked.length + rest.length * REST_WEIGHT
  return 500 * (met / most) + plainness(text, item.title)
}

/** Up to 100 for a title that says nothing else; words beside the name itself cost little. */
function plainness(text: string, title: string): number {
  const said = wordSet(text)
  const unsaid = (words: string) => terms(words).filter((word) => !isSaid(word, said)).length
  return 100 / (1 + unsaid(mainPart(title))) - Math.min(30, 2 * unsaid(title))
}

/** What a thing must come with, as in `movers with a truck`; what it is for is only a wish. */
const withPart = (text: string): string =>
  / with (?:an? |the )?(.+?)(?: for .*)?$/.exec(mainEnd(text))?.[1] ?? ''

const mainEnd = (text: string): string => text.split(/[,(;]/)[0] ?? text

/** `27 inch` as one word, so that the number is not optional. */
const withMeasures = (text: string): string =>
  text.replace(/(\d+(?:\.\d+)?) (\p{L}+)/gu, (whole, n: string, unit: string) =>
    SPEC_UNITS.has(unit.toLowerCase()) || WHOLE_MEASURES.has(unit.toLowerCase())
      ? `${n}-${unit}`
      : whole,
  )

const HEAD_WEIGHT = 2
/** Words after `for` or `with` say less about the thing. */
const REST_WEIGHT = 0.5

const isOptional = (word: string): boolean => GENERAL.has(word) || /^\d+$/.test(word)

const NUMBERS = new Set('one two three four five six seven eight nine ten'.split(' '))

const isSaid = (word: string, said: ReadonlySet<string>): boolean =>
  NUMBERS.has(word) || isOptional(word) || holds(said, word)

/** Stems that carry meaning: no articles, no containers. */
const terms = (text: string): readonly string[] => {
  if (text === '') return []
  const words = stems(text).filter((word) => !STOP_WORDS.has(word))
  const telling = words.filter((word) => !CONTAINERS.has(word))
  return telling.length > 0 ? telling : words
}

/** Up to 240 for preferences that the listing’s words meet; a `no …` that they break costs. */
function wishes(need: Need, item: ShownItem): number {
  const { title, category, description } = item.words
  const words = wordSet(`${title} ${category} ${description}`)
  let [kinds, met] = [0, 0]
  for (const wish of need.prefer) {
    if (wish === 'cheapest' || /^(?:at least|not from) /i.test(wish)) continue
    kinds += 1
    if (/^from /i.test(wish)) met += names(wish.slice(5), item.merchant) ? 1 : 0
    else if (/^(?:no|without) /i.test(wish))
      met += hasAny(wish.replace(/^\S+ /, ''), words) ? -1 : 1
    else met += shareOf(wish, words)
  }
  return kinds === 0 ? 0 : (240 * met) / kinds
}

const hasAny = (wish: string, words: ReadonlySet<string>): boolean =>
  terms(wish).some((word) => words.has(word))

/** Alternatives count once: `black or white` is met by either. */
function shareOf(wish: string, words: ReadonlySet<string>): number {
  const options = wish.split(/\s+or\s+/i).map((option) => terms(option))
  const shares = options.map((option) => {
    const met = option.filter((word) => holds(words, word))
    return option.length === 0 ? 0 : met.length / option.length
  })
  return Math.max(0, ...shares)
}
