/**
 * JSON at a boundary. `parseJson` accepts RFC 8259 text and nothing looser: no duplicate or dangerous keys, no
 * number that changes on the way, bounded nesting. `canonicalJson` writes RFC 8785 (JCS) for values that
 * survive a round trip and refuses the others, so that what is hashed is what is stored.
 */
import { LIMITS } from './limits.ts'

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

export const isObject = (json: Json | undefined): json is { readonly [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

/** Why a text is not acceptable JSON. The message never quotes the text. */
export class JsonError extends Error {
  readonly reason: 'syntax' | 'duplicate_key' | 'dangerous_key' | 'number' | 'depth'

  constructor(reason: JsonError['reason'], message: string) {
    super(message)
    this.name = 'JsonError'
    this.reason = reason
  }
}

const DANGEROUS = new Set(['__proto__', 'constructor', 'prototype'])
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const PLAIN_NUMBER = /^(?:0|-?[1-9][0-9]*)$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids raw control characters in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

class Reader {
  readonly text: string
  at = 0

  constructor(text: string) {
    this.text = text
  }

  value(depth: number): Json {
    if (depth > LIMITS.jsonDepth) throw new JsonError('depth', 'JSON is nested too deeply')
    this.space()
    const c = this.text[this.at]
    if (c === '{') return this.object(depth)
    if (c === '[') return this.array(depth)
    if (c === '"') return this.string()
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length
        return value
      }
    }
    return this.number()
  }

  /** Whole numbers of safe size in plain notation: everything that Headgate reads is one. */
  number(): number {
    const raw = this.match(NUMBER)
    if (raw === undefined) throw new JsonError('syntax', 'expected a JSON value')
    const n = Number(raw)
    if (!PLAIN_NUMBER.test(raw) || !Number.isSafeInteger(n)) {
      throw new JsonError('number', 'numbers must be whole, safe integers in plain notation')
    }
    return n
  }

  string(): string {
    const raw = this.match(STRING)
    if (raw === undefined) throw new JsonError('syntax', 'expected a JSON string')
    const text = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
    if (!text.isWellFormed()) throw new JsonError('syntax', 'a string holds a lone surrogate')
    return text
  }

  array(depth: number): Json[] {
    this.at += 1
    const items: Json[] = []
    this.space()
    if (this.take(']')) return items
    for (;;) {
      items.push(this.value(depth + 1))
      this.space()
      if (this.take(']')) return items
      this.expect(',')
    }
  }

  object(depth: number): { [key: string]: Json } {
    this.at += 1
    const object: { [key: string]: Json } = Object.create(null)
    this.space()
    if (this.take('}')) return object
    for (;;) {
      this.space()
      const key = this.string()
      if (DANGEROUS.has(key)) throw new JsonError('dangerous_key', 'a key has a reserved name')
      if (Object.hasOwn(object, key)) throw new JsonError('duplicate_key', 'a key is given twice')
      this.space()
      this.expect(':')
      object[key] = this.value(depth + 1)
      this.space()
      if (this.take('}')) return object
      this.expect(',')
    }
  }

  space(): void {
    for (;;) {
      const c = this.text[this.at]
      if (c !== ' ' && c !== '\n' && c !== '\r' && c !== '\t') return
      this.at += 1
    }
  }

  match(pattern: RegExp): string | undefined {
    const from = this.at
    pattern.lastIndex = from
    if (!pattern.test(this.text)) return undefined
    this.at = pattern.lastIndex
    return this.text.slice(from, this.at)
  }

  take(c: string): boolean {
    if (this.text[this.at] !== c) return false
    this.at += 1
    return true
  }

  expect(c: string): void {
    if (!this.take(c)) throw new JsonError('syntax', 'unexpected character in JSON')
  }
}

/** Parses one JSON value from text or UTF-8 bytes (no byte-order mark); throws JsonError. */
export function parseJson(input: string | Uint8Array): Json {
  const reader = new Reader(typeof input === 'string' ? input : decodeUtf8(input))
  const value = reader.value(1)
  reader.space()
  if (reader.at !== reader.text.length) throw new JsonError('syntax', 'text after the JSON value')
  return value
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new JsonError('syntax', 'expected UTF-8')
  }
}

/**
 * RFC 8785. Throws TypeError for what `parseJson` would not give back: undefined, unsafe or fractional numbers, lone
 * surrogates, reserved keys.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || Object.is(value, -0))
      throw new TypeError('not a safe integer')
    return String(value)
  }
  if (typeof value === 'string') return canonicalText(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object') {
    let fields = ''
    for (const key of Object.keys(value).sort()) {
      if (DANGEROUS.has(key)) throw new TypeError('a key has a reserved name')
      const comma = fields === '' ? '' : ','
      const field = canonicalJson((value as Record<string, unknown>)[key])
      fields += `${comma}${canonicalText(key)}:${field}`
    }
    return `{${fields}}`
  }
  throw new TypeError(`not JSON: ${typeof value}`)
}

/** What JSON writes as it is: printable ASCII but for the quote and the backslash. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/

function canonicalText(text: string): string {
  if (PLAIN_TEXT.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new TypeError('lone surrogate')
  return JSON.stringify(text)
}
