/** Text, money and time as people read them. Pure; money is only ever formatted, never parsed or computed here. */

/** Decimal places (ISO 4217) of the currencies that Headgate carries. */
const EXPONENTS = /** @type {Record<string, number>} */ ({ INR: 2, USD: 2, JPY: 0, KWD: 3 })

/**
 * `1,250.00` from 125000 minor units of INR. A currency that is not known is never guessed at.
 * @param {number} amount
 * @param {string} currency
 */
export function figures(amount, currency) {
  const places = EXPONENTS[currency]
  if (places === undefined) return `${amount} minor units`
  const digits = String(Math.abs(amount)).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places).replace(/\B(?=(\d{3})+$)/g, ',')
  const fraction = places === 0 ? '' : `.${digits.slice(digits.length - places)}`
  return `${amount < 0 ? '-' : ''}${whole}${fraction}`
}

/**
 * `INR 1,250.00`
 * @param {number} amount
 * @param {string} currency
 */
export const money = (amount, currency) => `${currency} ${figures(amount, currency)}`

/**
 * `12 calls, 34,000 tokens, 0.012300 US dollars`
 * @param {import('../runtime/core/wire.ts').ModelUseView} used
 */
export function modelsUsed({
  calls,
  inputTokens,
  outputTokens,
  costMicros,
  unanswered,
  fallbacks,
}) {
  const count = (/** @type {number} */ n, /** @type {string} */ word) =>
    `${n.toLocaleString('en-US')} ${word}${n === 1 ? '' : 's'}`
  return [
    count(calls, 'call'),
    count(inputTokens + outputTokens, 'token'),
    `${String(Math.floor(costMicros / 1_000_000))}.${String(costMicros % 1_000_000).padStart(6, '0')} US dollars`,
    ...(unanswered === 0 ? [] : [`${unanswered} without an answer`]),
    ...(fallbacks === 0 ? [] : [`${count(fallbacks, 'plan')} by the scripted planner`]),
  ].join(', ')
}

/** Controls, formats (bidi, zero width, tags), separators, surrogates, private use, unassigned, and blanks. */
const ODD = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Marks that may stack on one letter before the rest are shown as odd. */
const MARKS_IN_A_ROW = 3

/**
 * A text of many lines as one, for a title; what else is odd in it stays to be shown.
 * @param {string} text
 */
export const oneLine = (text) => text.trim().replace(/[ \t]*[\r\n]+[ \t\r\n]*/g, ' ')

/** @param {string} character */
const codePoint = (character) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/**
 * Cuts text into runs that are shown as they are and odd characters that are shown by their code point.
 * @param {string} text
 * @param {number} [cap] characters kept; the rest is counted
 * @returns {{ text: string, odd: boolean }[]}
 */
export function shown(text, cap = 200) {
  /** @type {{ text: string, odd: boolean }[]} */
  const parts = []
  const characters = [...text]
  let marks = 0
  for (const character of characters.slice(0, cap)) {
    marks = /\p{M}/u.test(character) ? marks + 1 : 0
    const odd = marks > MARKS_IN_A_ROW || ODD.test(character)
    const last = parts.at(-1)
    if (!odd && last && !last.odd) last.text += character
    else parts.push({ text: odd ? codePoint(character) : character, odd })
  }
  const more = characters.length - cap
  if (more > 0) parts.push({ text: `… and ${more} more`, odd: true })
  return parts
}

/**
 * As `shown`, for attributes and announcements.
 * @param {string} text
 * @param {number} [cap]
 */
export const plain = (text, cap) =>
  shown(text, cap)
    .map((part) => (part.odd ? `[${part.text}]` : part.text))
    .join('')

const local = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
  timeZoneName: 'short',
})

const localTime = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
  timeZoneName: 'short',
})

/**
 * @param {number} atSeconds
 * @returns {{ iso: string, local: string }}
 */
export function moment(atSeconds) {
  const date = new Date(atSeconds * 1000)
  return { iso: date.toISOString().replace('.000Z', 'Z'), local: local.format(date) }
}

/** @param {number} atMs */
export const clockTime = (atMs) => localTime.format(new Date(atMs))

/**
 * `4 min 05 s`; never less than zero.
 * @param {number} seconds
 */
export function duration(seconds) {
  const left = Math.max(0, Math.floor(seconds))
  const pad = (/** @type {number} */ n) => String(n).padStart(2, '0')
  if (left >= 86_400)
    return `${Math.floor(left / 86_400)} d ${Math.floor((left % 86_400) / 3600)} h`
  if (left >= 3600) return `${Math.floor(left / 3600)} h ${pad(Math.floor((left % 3600) / 60))} min`
  return left >= 60 ? `${Math.floor(left / 60)} min ${pad(left % 60)} s` : `${left} s`
}

/**
 * `1 node`, `2 nodes`.
 * @param {number} n
 * @param {string} one
 */
export const count = (n, one) => `${n} ${n === 1 ? one : `${one}s`}`
