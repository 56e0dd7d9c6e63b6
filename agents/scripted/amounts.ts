/** Amounts of money in words, turned into minor units of the run’s currency, exactly or not at all. */
import { type Currency, EXPONENTS, type Minor, minor } from '../../runtime/core/money.ts'
import {
  CURRENCY_SIGNS,
  currencyOfWord,
  dollarOf,
  type MoneyCode,
  MULTIPLIERS,
  SUBUNITS,
} from './currencies.ts'
import { type Decimal, readDecimal, wordNumberAt } from './numbers.ts'
import type { Token } from './tokens.ts'

export interface Amount {
  /** Undefined: digits whose separators fit no number. */
  readonly decimal: Decimal | undefined
  /** Zeros that a word added: 3 for `k`. */
  readonly zeros: number
  /** Undefined: none was named, so the run's is meant. */
  readonly code?: MoneyCode
  /** The amount counts cents, paise or fils. */
  readonly isSub: boolean
  readonly next: number
}

interface Named {
  readonly code: MoneyCode
  readonly next: number
}

function currencyAt(tokens: readonly Token[], at: number): Named | undefined {
  const token = tokens[at]
  if (token?.kind === 'sign') {
    const code = CURRENCY_SIGNS.get(token.raw)
    return code === undefined ? undefined : { code, next: at + 1 }
  }
  if (token?.kind !== 'word') return undefined
  const after = tokens[at + 1]
  if (after?.raw === '$' && after.glued) {
    const code = dollarOf(token.low)
    return code === undefined ? undefined : { code, next: at + 2 }
  }
  const isHeld = token.low === 'us' || token.low === 'kuwaiti' || token.low === 'indian'
  const code = currencyOfWord(isHeld ? (after?.low ?? '') : token.low)
  if (code === undefined) return undefined
  const next = at + (isHeld ? 2 : 1)
  const hasDot = tokens[next]?.raw === '.' && tokens[next]?.glued === true
  const isAbbreviation = ['rs', 'k.d', 'kd', 're'].includes(token.low)
  return { code, next: hasDot && isAbbreviation ? next + 1 : next }
}

/** An amount at `at`: a number with a currency before, after or nowhere; undefined when no number is there. */
export function amountAt(tokens: readonly Token[], at: number): Amount | undefined {
  const before = currencyAt(tokens, at)
  const start = before?.next ?? at
  const number = numberAt(tokens, start)
  if (number === undefined) return undefined
  let next = number.next
  let zeros = 0
  for (;;) {
    const more =
      tokens[next]?.kind === 'word' ? MULTIPLIERS.get(tokens[next]?.low ?? '') : undefined
    if (more === undefined) break
    zeros += more
    next += 1
  }
  if (tokens[next]?.raw === '/-') next += 1
  const sub = before ? undefined : SUBUNITS.get(tokens[next]?.low ?? '')
  if (sub !== undefined) {
    return { decimal: number.decimal, zeros, code: sub, isSub: true, next: next + 1 }
  }
  const after = before ? undefined : currencyAt(tokens, next)
  const code = before?.code ?? after?.code
  return {
    decimal: number.decimal,
    zeros,
    isSub: false,
    next: after?.next ?? next,
    ...(code === undefined ? {} : { code }),
  }
}

function numberAt(
  tokens: readonly Token[],
  at: number,
): { decimal: Decimal | undefined; next: number } | undefined {
  const token = tokens[at]
  if (token?.kind === 'number') return { decimal: readDecimal(token.raw), next: at + 1 }
  const words = wordNumberAt(tokens, at)
  return words && { decimal: { units: BigInt(words.n), places: 0 }, next: words.next }
}

export type Converted =
  | { readonly ok: true; readonly minor: Minor }
  /** What is wrong, to follow the words that are meant. */
  | { readonly ok: false; readonly problem: string }

const no = (problem: string): Converted => ({ ok: false, problem })

/** Exact minor units of `currency`; never rounded, never another currency's. */
export function toMinor(amount: Amount, currency: Currency): Converted {
  const { decimal, zeros, code, isSub } = amount
  if (code !== undefined && code !== currency) {
    return no(`is in ${code}, but this run pays in ${currency}: give it in ${currency}`)
  }
  if (decimal === undefined) {
    return no('holds a number that can be read in more than one way: write it without separators')
  }
  const shift = (isSub ? 0 : EXPONENTS[currency]) + zeros - decimal.places
  const scale = 10n ** BigInt(Math.abs(shift))
  if (shift < 0 && decimal.units % scale !== 0n) {
    return no(`has more decimal places than ${currency} has`)
  }
  const value = shift < 0 ? decimal.units / scale : decimal.units * scale
  if (value === 0n) return no('leaves nothing to spend: give an amount above zero')
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) return no('is larger than any amount of money here')
  return { ok: true, minor: minor(Number(value)) }
}

/** An amount as the reader takes it back: `INR 1250.00`, `JPY 5000`. */
export function writeAmount(amount: number, currency: Currency): string {
  const places = EXPONENTS[currency]
  const digits = String(amount).padStart(places + 1, '0')
  const cut = digits.length - places
  return `${currency} ${digits.slice(0, cut)}${places === 0 ? '' : `.${digits.slice(cut)}`}`
}
