/**
 * Structured queries of the double: equality, ranges, `array-contains`, order and limit. Anything else is refused, and
 * so is what the real store answers only with a composite index, because nobody has made one.
 */
import { collectionOf, type Document, type Documents } from './documents.ts'
import { refuse, STATUS } from './refusal.ts'
import { compare, comparePaths, equal, parsePath, type Value, valueAt } from './values.ts'

interface FieldReference {
  readonly fieldPath?: string
}

interface Filter {
  readonly compositeFilter?: { readonly op?: string; readonly filters?: readonly Filter[] }
  readonly fieldFilter?: {
    readonly field?: FieldReference
    readonly op?: string
    readonly value?: Value
  }
  readonly unaryFilter?: unknown
}

export interface StructuredQuery {
  readonly from?: readonly { readonly collectionId?: string; readonly allDescendants?: boolean }[]
  readonly where?: Filter
  readonly orderBy?: readonly { readonly field?: FieldReference; readonly direction?: string }[]
  readonly limit?: { readonly value?: number }
}

/** Parts of a query that the double knows; with any other it would answer something else than was asked. */
const KNOWN = new Set(['from', 'where', 'orderBy', 'limit'])

interface Condition {
  readonly path: string
  readonly op: string
  readonly value: Value
}

interface Order {
  readonly path: string
  readonly isDescending: boolean
}

export interface Query {
  readonly collection: string
  readonly conditions: readonly Condition[]
  readonly orders: readonly Order[]
  readonly limit: number | undefined
}

const NAME = '__name__'
const RANGES = new Set(['LESS_THAN', 'LESS_THAN_OR_EQUAL', 'GREATER_THAN', 'GREATER_THAN_OR_EQUAL'])
const EXACT = new Set(['EQUAL', 'ARRAY_CONTAINS'])

/** Reads a query, or refuses it. */
export function readQuery(parent: string, query: StructuredQuery): Query {
  for (const [part, value] of Object.entries(query)) {
    const isUsed = value !== null && !(Array.isArray(value) && value.length === 0)
    if (isUsed && !KNOWN.has(part)) refuse(STATUS.UNIMPLEMENTED, `no ${part} in the double`)
  }
  const [from, ...more] = query.from ?? []
  if (!from?.collectionId || from.allDescendants || more.length > 0) {
    refuse(STATUS.UNIMPLEMENTED, 'the double queries one collection at a time')
  }
  const conditions = query.where ? conditionsOf(query.where) : []
  const orders = (query.orderBy ?? []).map(({ field, direction }) => ({
    path: field?.fieldPath ?? '',
    isDescending: direction === 'DESCENDING',
  }))
  const read = {
    collection: `${parent}/${from.collectionId}`,
    conditions,
    orders: withImplied(conditions, orders),
    limit: query.limit?.value,
  }
  assertIndexed(conditions, orders)
  return read
}

function conditionsOf(filter: Filter): Condition[] {
  if (filter.compositeFilter) {
    if (filter.compositeFilter.op !== 'AND') refuse(STATUS.UNIMPLEMENTED, 'no OR in the double')
    return (filter.compositeFilter.filters ?? []).flatMap(conditionsOf)
  }
  const { field, op = '', value } = filter.fieldFilter ?? {}
  if (!field?.fieldPath || value === undefined || !(RANGES.has(op) || EXACT.has(op))) {
    return refuse(STATUS.UNIMPLEMENTED, `no filter ${op} in the double`)
  }
  return [{ path: field.fieldPath, op, value }]
}

/** A range orders by its own field, and names break every tie, in the direction of the last order. */
function withImplied(conditions: readonly Condition[], orders: readonly Order[]): Order[] {
  const range = conditions.find(({ op }) => RANGES.has(op))
  const first =
    range && orders.length === 0 ? [{ path: range.path, isDescending: false }] : [...orders]
  const isDescending = first.at(-1)?.isDescending ?? false
  return first.some(({ path }) => path === NAME) ? first : [...first, { path: NAME, isDescending }]
}

/** Equalities may be merged; a range or an order has to be alone on one field. */
function assertIndexed(conditions: readonly Condition[], orders: readonly Order[]): void {
  const ordered = new Set([
    ...conditions.filter(({ op }) => RANGES.has(op)).map(({ path }) => path),
    ...orders.map(({ path }) => path),
  ])
  const hasExact = conditions.some(({ op }) => EXACT.has(op))
  const needsComposite = ordered.size > 1 || (ordered.size === 1 && hasExact)
  if (needsComposite) refuse(STATUS.FAILED_PRECONDITION, 'The query requires an index.')
}

const fieldOf = (document: Document, path: string): Value | undefined =>
  path === NAME ? { referenceValue: document.name } : valueAt(document.fields, parsePath(path))

/** Whether a document is among what a query asks for, its limit aside. */
export function matches(query: Query, document: Document | undefined): boolean {
  if (document === undefined) return false
  if (collectionOf(document.name) !== query.collection) return false
  return (
    query.conditions.every((condition) => holds(condition, document)) &&
    query.orders.every(({ path }) => fieldOf(document, path) !== undefined)
  )
}

function holds({ path, op, value }: Condition, document: Document): boolean {
  const found = fieldOf(document, path)
  if (found === undefined) return false
  if (op === 'ARRAY_CONTAINS') {
    return (found.arrayValue?.values ?? []).some((item) => equal(item, value))
  }
  if (op === 'EQUAL') return equal(found, value)
  // A range compares within one type only.
  const isSameType = Object.keys(found).some((kind) => kind.endsWith('Value') && kind in value)
  if (!isSameType) return false
  const by = compare(found, value)
  if (op === 'LESS_THAN') return by < 0
  if (op === 'LESS_THAN_OR_EQUAL') return by <= 0
  return op === 'GREATER_THAN' ? by > 0 : by >= 0
}

export function runQuery(query: Query, documents: Documents, at?: bigint): Document[] {
  const found = [...documents.all(query.collection, at)].filter((document) =>
    matches(query, document),
  )
  found.sort((a, b) => byOrders(query.orders, a, b))
  return query.limit === undefined ? found : found.slice(0, query.limit)
}

function byOrders(orders: readonly Order[], a: Document, b: Document): number {
  for (const { path, isDescending } of orders) {
    const [left, right] = [fieldOf(a, path), fieldOf(b, path)]
    const by =
      path === NAME ? comparePaths(a.name, b.name) : left && right ? compare(left, right) : 0
    if (by !== 0) return isDescending ? -by : by
  }
  return 0
}

/** What a result was made of: equal prints, equal results. */
export const printOf = (found: readonly Document[]): string =>
  found.map(({ name, updateTime }) => `${name}@${updateTime}`).join('\n')
