/** Words reduced to what makes them comparable, and which known thing a phrase is about. */
import {
  CATEGORIES,
  type Category,
  CONTAINERS,
  FEATURES,
  OTHER,
  QUALITIES,
  QUALITY_ENDING,
  SAME_QUALITY,
  SYNONYMS,
  TAIL_WORDS,
} from './lexicon.ts'

const IRREGULAR: Readonly<Record<string, string>> = {
  shelves: 'shelf',
  knives: 'knife',
  scissors: 'scissors',
  glasses: 'glass',
  mice: 'mouse',
  batteries: 'battery',
  bookshelves: 'bookshelf',
  leaves: 'leaf',
}

/** Lower case, without marks, singular as far as a rule can tell. */
export function stem(word: string): string {
  const plain = word
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]s$/, '')
  const known = IRREGULAR[plain]
  if (known !== undefined && Object.hasOwn(IRREGULAR, plain)) return known
  if (plain.length > 4 && plain.endsWith('ies')) return `${plain.slice(0, -3)}y`
  if (plain.length > 4 && /(?:ch|sh|x|ss|zz)es$/.test(plain)) return plain.slice(0, -2)
  if (plain.length > 3 && plain.endsWith('s') && !/(?:ss|us|is)$/.test(plain)) {
    return plain.slice(0, -1)
  }
  return plain
}

const WORD = /[\p{L}\p{N}]+(?:[-'’.][\p{L}\p{N}]+)*/gu

export const stems = (text: string): readonly string[] => (text.match(WORD) ?? []).map(stem)

interface KnownNoun {
  readonly parts: readonly string[]
  readonly category: Category
}

const KNOWN = new Map<string, KnownNoun[]>()
for (const category of CATEGORIES) {
  for (const noun of category.nouns) {
    const parts = stems(noun)
    const last = parts[parts.length - 1] ?? ''
    KNOWN.set(last, [...(KNOWN.get(last) ?? []), { parts, category }])
  }
}

export interface KnownThing {
  readonly noun: string
  readonly category: Category
  /** Index just past its last word. */
  readonly end: number
}

/** The known noun that ends at word `end`, the longest first: `coffee machine` before `machine`. */
function knownEndingAt(parts: readonly string[], end: number): KnownThing | undefined {
  const candidates = KNOWN.get(parts[end - 1] ?? '') ?? []
  let best: KnownNoun | undefined
  for (const noun of candidates) {
    const start = end - noun.parts.length
    const fits = start >= 0 && noun.parts.every((part, i) => part === parts[start + i])
    if (fits && noun.parts.length > (best?.parts.length ?? 0)) best = noun
  }
  return best && { noun: best.parts.join(' '), category: best.category, end }
}

/** The words of a phrase that name the thing itself: before `for`, `with`, a bracket or a comma. */
export function mainPart(text: string): string {
  const cut = text.split(
    /\s(?:for|with|without|in|that|which|made|from|on|under|per|up to)\s|[,(|:;<[]|\s[-–—]\s/,
  )
  const main = (cut[0] ?? text).trim()
  const [before, after] = main.split(/ of (?:the |our )?(.+)/)
  if (before === undefined || after === undefined) return main
  if (CONTAINERS.has(before.split(' ').pop()?.toLowerCase() ?? '')) return after
  const parts = stems(before)
  return knownEndingAt(parts, parts.length) === undefined ? main : before
}

const SPEC_WORD = /\d|^\p{Lu}{1,2}$/u

/** A phrase’s words up to its head: sizes, colours and `set` at the end are dropped. */
function headWords(text: string): readonly string[] {
  const words = mainPart(text).match(WORD) ?? []
  let end = words.length
  for (; end > 1; end -= 1) {
    const word = words[end - 1] ?? ''
    const isKnown = knownEndingAt(words.slice(0, end).map(stem), end) !== undefined
    if (isKnown) break
    const isIdle = SPEC_WORD.test(word) || TAIL_WORDS.has(word.toLowerCase()) || isQuality(word)
    if (!isIdle) break
  }
  return words.slice(0, end).map(stem)
}

export interface Head {
  readonly noun: string
  readonly isKnown: boolean
}

/** The thing that a phrase is about: its last word that is not a size or a colour, as English puts the head last. */
export function headOf(text: string): Head | undefined {
  const words = headWords(text)
  const known = knownEndingAt(words, words.length)
  const last = words[words.length - 1]
  if (known !== undefined) return { noun: known.noun, isKnown: true }
  return last === undefined ? undefined : { noun: last, isKnown: false }
}

/** The last known thing anywhere in the main part: for grouping, where an unknown last word should not hide it. */
export function knownIn(text: string): KnownThing | undefined {
  const parts = stems(mainPart(text))
  for (let end = parts.length; end > 0; end -= 1) {
    const known = knownEndingAt(parts, end)
    if (known !== undefined) return known
  }
  return undefined
}

/** All words of a text as stems, and of `sit-stand` and `Wi-Fi` also the parts and the parts joined. */
export function wordSet(text: string): ReadonlySet<string> {
  const all = new Set(stems(text))
  for (const word of [...all]) {
    if (!word.includes('-')) continue
    all.add(word.replaceAll('-', ''))
    for (const part of word.split('-')) if (part !== '') all.add(stem(part))
  }
  return all
}

/** Whether a set of words holds a word, another name for it, or all parts of it. */
export function holds(words: ReadonlySet<string>, word: string): boolean {
  if ([...wordsLike(word)].some((like) => words.has(like))) return true
  const parts = word.split('-').filter((part) => part !== '')
  return parts.length > 1 && parts.every((part) => words.has(stem(part)))
}

/** True when a phrase ends with a known thing. */
export const endsInThing = (words: readonly string[]): boolean => {
  const parts = words.flatMap((word) => stems(word))
  return knownEndingAt(parts, parts.length) !== undefined
}

export const categoryOf = (text: string): Category => {
  const head = headWords(text)
  return knownEndingAt(head, head.length)?.category ?? knownIn(text)?.category ?? OTHER
}

/** `27-inch`, `4-port`, `120x60`: a number and what it measures. */
const SPEC = /^\d[\d.,x]*-?\p{L}/u

export const isQuality = (word: string): boolean => {
  const plain = word.toLowerCase()
  return (
    QUALITIES.has(plain) || FEATURES.has(plain) || QUALITY_ENDING.test(plain) || SPEC.test(plain)
  )
}

const grouped = (
  groups: readonly (readonly string[])[],
): ReadonlyMap<string, ReadonlySet<string>> => {
  const same = new Map<string, Set<string>>()
  for (const group of groups) {
    const all = group.map((noun) => stems(noun).join(' '))
    for (const noun of all) same.set(noun, new Set([...(same.get(noun) ?? []), ...all]))
  }
  return same
}

const THINGS = grouped(SYNONYMS)
const SAME_QUALITIES = grouped(SAME_QUALITY)

/** Two heads that mean the same: equal, synonyms, or one the plain form of the other (`table`, `meeting table`). */
export function sameThing(a: string, b: string): boolean {
  if (a === b || THINGS.get(a)?.has(b) === true) return true
  const isPlain = !a.includes(' ') || !b.includes(' ')
  return isPlain && a.split(' ').pop() === b.split(' ').pop()
}

/** The same text with another name for its thing, as written in the list of synonyms; undefined where we know none. */
export function otherName(text: string): string | undefined {
  const known = headOf(text)
  const group = SYNONYMS.find((names) =>
    names.some((name) => stems(name).join(' ') === known?.noun),
  )
  const other = group?.find((name) => stems(name).join(' ') !== known?.noun)
  if (known === undefined || other === undefined) return undefined
  const words = text.split(' ')
  const length = known.noun.split(' ').length
  const at = words.findLastIndex(
    (_, i) => stems(words.slice(i, i + length).join(' ')).join(' ') === known.noun,
  )
  if (at < 0) return undefined
  const mark = /[,;:)]*$/.exec(words[at + length - 1] ?? '')?.[0] ?? ''
  return words
    .toSpliced(at, length, other + mark)
    .join(' ')
    .slice(0, 200)
}

/** A word and what else it is called, as stems. */
export const wordsLike = (word: string): ReadonlySet<string> =>
  SAME_QUALITIES.get(word) ?? THINGS.get(word) ?? new Set([word])
