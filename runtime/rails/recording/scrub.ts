/**
 * Taking secrets out of what a rail and its adapter said to each other, before it is written anywhere: by the name under
 * which they stand, by the look of them, and by their value in whatever encoding. What was found under a name is
 * known by its value from then on. One word stands in their place, which rails' own patterns for ids and tokens take,
 * so that an adapter that is given it again goes the same way.
 */
import type { Json } from '../../core/json.ts'
import { jsonOf } from './lines.ts'

export const REMOVED = 'REMOVEDBYTHERECORDING'

/** Below this a text cannot be told from others by its value. */
export const SECRET_CHARS = 6

/** Names of members and parameters under which nothing but a credential stands. */
const NAMED =
  /(^|[_-])(token|secret|password|passwd|authorization|assertion|credentials?|api_?key|client_?id|key_?id|webhook_?id|vault_?id|security_code|cvv|nonce|app_id)$/i

const isNamed = (name: string): boolean => NAMED.test(name.replace(/([a-z])([A-Z])/g, '$1_$2'))

/** A credential wherever it stands. */
const SHAPED: readonly RegExp[] = [
  /\brzp_(?:test|live)_[A-Za-z0-9]{8,}/g,
  /\bA21AA[A-Za-z0-9_-]{20,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
]
const CARRIED = /\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,}/gi

const MEMBER = /"([^"\\]{1,80})"(\s*:\s*)"((?:[^"\\]|\\.)*)"/g
const PARAMETER = /(^|[?&])([^=&?\s]{1,80})=([^&\s"]*)/g

export class Scrubber {
  readonly #values = new Set<string>()
  #forms: readonly string[] = []

  constructor(values: readonly string[]) {
    for (const value of values) this.learn(value)
  }

  /** From now on this value is removed wherever it stands. */
  learn(value: string): void {
    if (value.length < SECRET_CHARS || value === REMOVED || this.#values.has(value)) return
    this.#values.add(value)
    this.#forms = formsOf([...this.#values])
  }

  /** What an `Authorization` header carries. */
  learnCredentials(header: string): void {
    const [, scheme = '', credentials = ''] = /^(\S+) +(\S+)$/.exec(header) ?? []
    this.learn(credentials)
    if (scheme.toLowerCase() !== 'basic') return
    for (const part of Buffer.from(credentials, 'base64').toString().split(':')) this.learn(part)
  }

  /** A body or part of one. What is not a secret stays as it is, byte for byte where that can be. */
  text(text: string): string {
    const json = jsonOf(text)
    if (json !== undefined) this.#learnIn(json)
    else for (const [, , name, value] of text.matchAll(PARAMETER)) this.#learnNamed(name, value)
    const cleaned = this.#value(this.#members(text))
    // Names and values can be written with escapes, and a secret can be an object: then its own text is given up.
    const left = jsonOf(cleaned)
    const strict = left === undefined ? undefined : JSON.stringify(this.json(left))
    return strict === undefined || strict === JSON.stringify(left) ? cleaned : strict
  }

  /** Of a query: the name decides, then the value. */
  parameter(name: string, value: string): string {
    this.#learnNamed(name, value)
    return isNamed(name) ? REMOVED : this.#value(value)
  }

  json(json: Json, isSecret = false): Json {
    if (Array.isArray(json)) return json.map((each: Json) => this.json(each, isSecret))
    if (typeof json === 'object' && json !== null) {
      const members = Object.entries(json).map(([name, value]) => [
        this.#value(name),
        this.json(value, isSecret || isNamed(name)),
      ])
      return Object.fromEntries(members)
    }
    if (typeof json === 'string') return isSecret && json !== '' ? REMOVED : this.#value(json)
    return isSecret && typeof json === 'number' ? REMOVED : json
  }

  #learnIn(json: Json, isSecret = false): void {
    if (typeof json === 'string' && isSecret) this.learn(json)
    if (typeof json !== 'object' || json === null) return
    for (const [name, value] of Object.entries(json)) {
      this.#learnIn(value, isSecret || (!Array.isArray(json) && isNamed(name)))
    }
  }

  #learnNamed(name = '', value = ''): void {
    if (isNamed(name)) this.learn(decoded(value))
  }

  #members(text: string): string {
    return text
      .replace(MEMBER, (all, name: string, colon: string) =>
        isNamed(name) ? `"${name}"${colon}"${REMOVED}"` : all,
      )
      .replace(PARAMETER, (all, before: string, name: string) =>
        // In an answer a link's parameters are the link's; a form begins the text.
        isNamed(name) && !text.startsWith('{') && !text.startsWith('[')
          ? `${before}${name}=${REMOVED}`
          : all,
      )
  }

  #value(text: string): string {
    let clean = text
    for (const form of this.#forms) clean = clean.replaceAll(form, REMOVED)
    for (const shape of SHAPED) clean = clean.replace(shape, REMOVED)
    return clean.replace(CARRIED, `$1 ${REMOVED}`)
  }
}

/** Each value in each way that it may be written, the longest first; two of them may be carried as a pair. */
function formsOf(values: readonly string[]): string[] {
  const pairs = values.flatMap((one) => values.map((other) => `${one}:${other}`))
  const forms = [...values, ...pairs].flatMap((value) => {
    const base64 = Buffer.from(value).toString('base64')
    return [
      value,
      base64,
      base64.replace(/=+$/, ''),
      Buffer.from(value).toString('base64url'),
      encodeURIComponent(value.toWellFormed()),
      JSON.stringify(value).slice(1, -1),
    ]
  })
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
