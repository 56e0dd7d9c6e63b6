/** Matching fixed phrases in tokens, the longest first. */
import type { Token } from './tokens.ts'

/** Phrases from text: one per comma, sorted so that the longest is tried first. */
export const phrases = (text: string): readonly (readonly string[])[] =>
  text
    .split(',')
    .map((phrase) => phrase.trim().split(/\s+/))
    .sort((a, b) => b.length - a.length)

/** Index just past `words` if they stand at `at`; a dot glued to an abbreviation is part of it. */
export function wordsAt(
  tokens: readonly Token[],
  at: number,
  words: readonly string[],
): number | undefined {
  let next = at
  for (const word of words) {
    if (tokens[next]?.low !== word || tokens[next]?.kind === 'quoted') return undefined
    next += 1
    const isDotted = tokens[next]?.raw === '.' && tokens[next]?.glued === true
    if (isDotted && ABBREVIATIONS.has(word)) next += 1
  }
  return next
}

export const ABBREVIATIONS: ReadonlySet<string> = new Set(
  'max min approx ca no nos pcs pc qty ea rs incl e.g i.e etc u'.split(' '),
)

export function phraseAt(
  tokens: readonly Token[],
  at: number,
  list: readonly (readonly string[])[],
): number | undefined {
  for (const words of list) {
    const next = wordsAt(tokens, at, words)
    if (next !== undefined) return next
  }
  return undefined
}
