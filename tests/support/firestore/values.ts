/** Firestore's values as they travel: kept in wire form, so that no integer is rounded; their order; field paths. */
import { refuse, STATUS } from './refusal.ts'

export interface Time {
  readonly seconds?: string
  readonly nanos?: number
}

export interface Value {
  readonly nullValue?: unknown
  readonly booleanValue?: boolean
  readonly integerValue?: string
  readonly doubleValue?: number
  readonly timestampValue?: Time
  readonly stringValue?: string
  readonly bytesValue?: Buffer
  readonly referenceValue?: string
  readonly arrayValue?: { readonly values?: readonly Value[] }
  readonly mapValue?: { readonly fields?: Fields }
}

export type Fields = { readonly [name: string]: Value }

/** In Firestore's order of types. */
const KINDS = [
  'nullValue',
  'booleanValue',
  'integerValue',
  'doubleValue',
  'timestampValue',
  'stringValue',
  'bytesValue',
  'referenceValue',
  'arrayValue',
  'mapValue',
] as const

type Kind = (typeof KINDS)[number]

function kindOf(value: Value): Kind {
  const kind = KINDS.find((name) => value[name] !== undefined)
  return kind ?? refuse(STATUS.UNIMPLEMENTED, 'the double does not know this type of value')
}

const isNumber = (kind: Kind): boolean => kind === 'integerValue' || kind === 'doubleValue'

const rank = (kind: Kind): number => (isNumber(kind) ? 2 : KINDS.indexOf(kind))

const order = <T extends string | number | bigint | boolean>(a: T, b: T): number =>
  a < b ? -1 : a > b ? 1 : 0

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8')

/** Strings by their UTF-8 bytes, integers exactly, different types by their rank. */
export function compare(a: Value, b: Value): number {
  const [left, right] = [kindOf(a), kindOf(b)]
  if (rank(left) !== rank(right)) return order(rank(left), rank(right))
  if (left === 'integerValue' && right === 'integerValue') {
    return order(BigInt(a.integerValue ?? 0), BigInt(b.integerValue ?? 0))
  }
  if (isNumber(left)) return order(numberOf(a), numberOf(b))
  if (left === 'booleanValue') return order(Boolean(a.booleanValue), Boolean(b.booleanValue))
  if (left === 'stringValue') {
    return Buffer.compare(bytes(a.stringValue ?? ''), bytes(b.stringValue ?? ''))
  }
  if (left === 'referenceValue') {
    return comparePaths(a.referenceValue ?? '', b.referenceValue ?? '')
  }
  if (left === 'timestampValue') return order(nanosOf(a.timestampValue), nanosOf(b.timestampValue))
  if (left === 'nullValue') return 0
  return refuse(STATUS.UNIMPLEMENTED, 'the double does not order values of this type')
}

/** Segment by segment, as document names are ordered. */
export function comparePaths(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')]
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const by = Buffer.compare(bytes(left[i] ?? ''), bytes(right[i] ?? ''))
    if (by !== 0) return by
  }
  return order(left.length, right.length)
}

export const equal = (a: Value, b: Value): boolean =>
  rank(kindOf(a)) === rank(kindOf(b)) && compare(a, b) === 0

const numberOf = (value: Value): number => value.doubleValue ?? Number(value.integerValue)

const nanosOf = (time: Time = {}): bigint =>
  BigInt(time.seconds ?? 0) * 1_000_000_000n + BigInt(time.nanos ?? 0)

export const microsOf = (time: Time): bigint => nanosOf(time) / 1_000n

export const timeOf = (micros: bigint): Time => ({
  seconds: String(micros / 1_000_000n),
  nanos: Number(micros % 1_000_000n) * 1_000,
})

/** `a.b`, with back-ticks around what is not a plain word. */
export function parsePath(path: string): string[] {
  const parts = path.match(/`(?:[^`\\]|\\.)*`|[^.`]+/g) ?? []
  return parts.map((part) =>
    part.startsWith('`') ? part.slice(1, -1).replace(/\\(.)/g, '$1') : part,
  )
}

export function valueAt(
  fields: Fields,
  [first = '', ...rest]: readonly string[],
): Value | undefined {
  const value = Object.hasOwn(fields, first) ? fields[first] : undefined
  if (rest.length === 0 || value === undefined) return value
  return valueAt(value.mapValue?.fields ?? {}, rest)
}

/** A copy with the value put there, or taken away. */
export function withValue(
  fields: Fields,
  [first = '', ...rest]: readonly string[],
  value: Value | undefined,
): Fields {
  const { [first]: before, ...others } = fields
  if (rest.length > 0) {
    const inner = withValue(before?.mapValue?.fields ?? {}, rest, value)
    return { ...others, [first]: { mapValue: { fields: inner } } }
  }
  return value === undefined ? others : { ...others, [first]: value }
}
