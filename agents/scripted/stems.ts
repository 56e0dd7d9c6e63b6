/** Words reduced to what makes them comparable, and which known thing a phrase is about. */
import {
  CATEGORIES,
  type Category,
  FEATURES,
  OTHER,
  QUALITIES,
  QUALITY_ENDING,
  SYNONYMS,
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
export const mainPart = (text: string): string =>
  text.split(/\s(?:for|with|without|in|to|that|which|made|from|on|under)\s|[,(|:;]|\s[-–—]\s/)[0] ??
  text

/** The thing that a phrase is about: the last known noun of its main part, as English puts the head last. */
export function headOf(text: string): KnownThing | undefined {
  const parts = stems(mainPart(text))
  for (let end = parts.length; end > 0; end -= 1) {
    const known = knownEndingAt(parts, end)
    if (known !== undefined) return known
  }
  return undefined
}

/** True when a phrase ends with a known thing. */
export const endsInThing = (words: readonly string[]): boolean => {
  const parts = words.flatMap((word) => stems(word))
  return knownEndingAt(parts, parts.length) !== undefined
}

export const categoryOf = (text: string): Category => headOf(text)?.category ?? OTHER

/** `27-inch`, `4-port`, `120x60`: a number and what it measures. */
const SPEC = /^\d[\d.,x]*-?\p{L}/u

export const isQuality = (word: string): boolean => {
  const plain = word.toLowerCase()
  return (
    QUALITIES.has(plain) || FEATURES.has(plain) || QUALITY_ENDING.test(plain) || SPEC.test(plain)
  )
}

const SAME = new Map<string, Set<string>>()
for (const group of SYNONYMS) {
  const all = group.map((noun) => stems(noun).join(' '))
  for (const noun of all) SAME.set(noun, new Set([...(SAME.get(noun) ?? []), ...all]))
}

export const sameThing = (a: string, b: string): boolean => a === b || SAME.get(a)?.has(b) === true
