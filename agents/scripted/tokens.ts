/** Words, numbers and marks of a text, in order: the only place where characters are looked at. */

import { CURRENCY_SIGNS, currencyOfWord, MULTIPLIERS } from './currencies.ts'
import { COUNT_UNITS } from './lexicon.ts'

export interface Token {
  readonly kind: 'number' | 'word' | 'quoted' | 'sign' | 'mark'
  /** As written; a quoted token without its quotes. */
  readonly raw: string
  /** Lower case, for matching; of a quoted token it begins with a quote, so that it matches no word. */
  readonly low: string
  /** Nothing stands between it and the token before. */
  readonly glued: boolean
}

/** One spelling for what looks alike: spaces, dashes, quotes, the multiplication sign, full-width digits. */
export const plainText = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/\r\n?|\u2028|\u2029/g, '\n')
    .replace(/[^\S\n\t]/g, ' ')
    .replace(/[\u200b-\u200d\u2060\ufeff\u00ad]/g, '')
    .replace(/[‘’ʼ]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/[‐‑]/g, '-')
    .replace(/[‒–—―−]/g, '—')
    .replace(/[×✕✖]/g, 'x')
    .replace(/\*\*|__/g, '')

const SPACE = /[\s]+/y
const QUOTED = /"([^"\n]*)"/y
const MEASURE = /\d+(?:[.,]\d+)?x\d[\p{L}\d.x]*/uy
const HYPHENATED = /\d[\d.,]*(?:-\p{L}[\p{L}\p{N}]*)+/uy
const NUMBER = /\d+(?:[.,']\d+)*/y
const LETTERS = /\p{L}+/uy
const REST = /[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/uy
const TIMES = /x(?=\d)/y
const CODE = /\p{L}{2,3}(?=\.?\d)/uy
const INITIALS = /\p{L}(?:\.\p{L})+(?![\p{L}\p{N}])/uy
const WORD = /[\p{L}\p{M}][\p{L}\p{M}\p{N}]*(?:[-'+#&/][\p{L}\p{N}]+)*/uy
const MARK = /<=|>=|\/-|./suy

const splitsFromNumber = (letters: string): boolean =>
  letters === 'x' ||
  MULTIPLIERS.has(letters) ||
  COUNT_UNITS.has(letters) ||
  currencyOfWord(letters) !== undefined

class Scanner {
  readonly text: string
  readonly tokens: Token[] = []
  at = 0
  glued = false

  constructor(text: string) {
    this.text = text
  }

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    return pattern.exec(this.text)
  }

  take(
    kind: Token['kind'],
    length: number,
    raw = this.text.slice(this.at, this.at + length),
  ): void {
    const low = kind === 'quoted' ? `"${raw}` : raw.toLowerCase()
    this.tokens.push({ kind, raw, low, glued: this.glued })
    this.at += length
    this.glued = true
  }

  number(raw: string): void {
    const start = this.at
    this.at += raw.length
    const letters = this.match(LETTERS)?.[0].toLowerCase() ?? ''
    const rest = this.match(REST)?.[0] ?? ''
    this.at = start
    if (letters === '' || (splitsFromNumber(letters) && rest.length === letters.length)) {
      this.take('number', raw.length)
    } else {
      this.take('word', raw.length + rest.length)
    }
  }

  /** Whether an `x` here can be a multiplication sign: not inside a word. */
  times(): RegExpExecArray | null {
    const afterMark = this.tokens[this.tokens.length - 1]?.kind === 'mark'
    return this.glued && !afterMark ? null : this.match(TIMES)
  }

  code(): RegExpExecArray | null {
    const code = this.match(CODE)
    return code && currencyOfWord(code[0].toLowerCase()) ? code : null
  }

  next(): void {
    const space = this.match(SPACE)
    if (space) {
      this.at += space[0].length
      this.glued = false
      return
    }
    const quoted = this.match(QUOTED)
    const number = this.match(NUMBER)
    const whole = this.match(MEASURE) ?? this.match(HYPHENATED)
    const isSign = CURRENCY_SIGNS.has(this.text[this.at] ?? '')
    const word = this.times() ?? this.code() ?? this.match(INITIALS) ?? this.match(WORD)
    if (quoted) this.take('quoted', quoted[0].length, quoted[1])
    else if (whole) this.take('word', whole[0].length)
    else if (number) this.number(number[0])
    else if (isSign) this.take('sign', 1)
    else if (word) this.take('word', word[0].length)
    else this.take('mark', this.match(MARK)?.[0].length ?? 1)
  }
}

/** The tokens of a text that went through `plainText`. */
export function tokenise(text: string): readonly Token[] {
  const scanner = new Scanner(text)
  while (scanner.at < text.length) scanner.next()
  return scanner.tokens
}

/** The text of some tokens again, spaced as it was written. */
export const textOf = (tokens: readonly Token[]): string =>
  tokens.map((token, i) => (i > 0 && !token.glued ? ` ${token.raw}` : token.raw)).join('')
