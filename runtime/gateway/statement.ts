/**
 * The rail's own list of what moved, held against the ledger: object by object, both ways. What is ours and equal needs no
 * word; what is ours and not ended is looked up; what is nobody's is money from outside; and what we call settled and a list
 * that is whole past it does not have is an alarm. Read on from where the last comparison ended, so that each second of the
 * list counts in one comparison, and around it by as much as two clocks may differ.
 */

import { Fault } from '../core/errors.ts'
import type { OutsideId, PaymentId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import type { RailObject, RailPage } from '../core/rail.ts'
import { type PaymentRecord, reversedOf } from '../core/records.ts'
import { nowSeconds, type Seconds, seconds } from '../core/time.ts'
import { everyRun } from '../ledger/reads.ts'
import { isAwaited } from '../ledger/rules.ts'
import { judgeObject, type ObjectDeps, paymentOf } from './objects.ts'
import { within } from './timers.ts'
import { unexpected } from './unexpected.ts'

/** Why a line is not equal on both sides. `waiting`: ours, and its word is still awaited. */
export const LINE_KINDS = ['outside', 'late_settlement', 'amount', 'missing', 'waiting'] as const

/** Minor units; what came in is less than nothing. */
export interface StatementLine {
  readonly kind: (typeof LINE_KINDS)[number]
  readonly currency: string
  readonly ours: number
  readonly rail: number
  readonly atSeconds: number
  readonly object?: string
  readonly payment?: PaymentId
  readonly outside?: OutsideId
  /** A person knows of it: it is no difference any more. */
  readonly acknowledged?: true
}

/** `difference` is what the rail has, less ours, less what was acknowledged. */
export interface StatementTotal {
  readonly currency: string
  readonly ours: number
  readonly acknowledged: number
  readonly rail: number
  readonly difference: number
}

export interface Comparison {
  readonly fromSeconds: Seconds
  readonly untilSeconds: Seconds
  /** What moved by the list in that time. */
  readonly objects: number
  readonly totals: readonly StatementTotal[]
  /** Those that are not equal, the oldest first, as many as `LIMITS.statementLines`. */
  readonly lines: readonly StatementLine[]
  readonly unequal: number
  /** Whether a sum is not equal, or something is neither equal, nor acknowledged, nor waiting. */
  readonly differs: boolean
}

/** Undefined at a rail without a list. Throws Fault when the list, or the ledger, cannot be read. */
export async function compareStatement(
  deps: ObjectDeps,
  from?: Seconds,
): Promise<Comparison | undefined> {
  const { ledger, rail, clock } = deps
  if (rail.statement === undefined) return undefined
  const now = nowSeconds(clock)
  const before = (await ledger.walk(rail.name))?.untilSeconds
  const fromSeconds = from ?? before ?? (await firstRunAt(deps)) ?? now
  const due = await settledSince(deps, fromSeconds)
  const readFrom = Math.min(fromSeconds, ...due.map((each) => submittedAt(each) - SKEW))
  const walk: Walk = {
    ...{ deps, fromSeconds, lines: [] },
    ...{ told: new Set<string>(), seen: new Set<PaymentId>(), back: new Map<PaymentId, number>() },
  }
  const whole = await readAll(walk, { fromSeconds: Math.max(0, readFrom), toSeconds: now })
  const untilSeconds = seconds(Math.max(fromSeconds, Math.min(whole, now)))
  for (const payment of due) addMissing(walk, payment, untilSeconds)
  // A gap that nobody asked for is left for the next.
  if (before === undefined || fromSeconds <= before) {
    const walked = await ledger.execute('walked', { rail: rail.name, untilSeconds, now })
    if (!walked.ok) throw unexpected('walked', walked.code)
  }
  return summary(walk, untilSeconds)
}

const SKEW = LIMITS.statementSkewSeconds

interface Line extends Omit<StatementLine, 'kind'> {
  readonly kind: StatementLine['kind'] | 'equal'
}

interface Walk {
  readonly deps: ObjectDeps
  readonly fromSeconds: number
  readonly lines: Line[]
  /** What the list has said: pages shift while they are read, and what comes again is the same movement. */
  readonly told: Set<string>
  /** Payments that the list has. */
  readonly seen: Set<PaymentId>
  /** What the list says came back, by payment. */
  readonly back: Map<PaymentId, number>
}

async function firstRunAt({ ledger }: ObjectDeps): Promise<Seconds | undefined> {
  let first: Seconds | undefined
  for await (const { createdAtSeconds } of everyRun(ledger)) first = createdAtSeconds
  return first
}

const submittedAt = ({ submittedAtMs, createdAtSeconds }: PaymentRecord): number =>
  submittedAtMs === undefined ? createdAtSeconds : Math.floor(submittedAtMs / 1000)

const endedAt = ({ endedAtSeconds, createdAtSeconds }: PaymentRecord): number =>
  endedAtSeconds ?? createdAtSeconds

/** Settled payments that no comparison before `from` could have missed: they must be in a list that is whole past them. */
async function settledSince({ ledger, rail }: ObjectDeps, from: number): Promise<PaymentRecord[]> {
  const due: PaymentRecord[] = []
  for await (const { id: run } of everyRun(ledger)) {
    const listed = await ledger.payments({ run, states: ['settled'], limit: LIMITS.nodes })
    due.push(...listed.filter((each) => each.rail === rail.name && endedAt(each) + SKEW > from))
  }
  return due
}

/** Returns until when what was read is whole, UTC seconds. */
async function readAll(
  walk: Walk,
  of: { readonly fromSeconds: number; readonly toSeconds: number },
): Promise<number> {
  let after: string | undefined
  let whole = of.fromSeconds
  for (let pages = 0; pages < LIMITS.statementPages; pages += 1) {
    const page = await pageOf(walk.deps, { ...of, ...(after === undefined ? {} : { after }) })
    for (const object of page.objects) {
      const { id, type, direction, amount, currency, moved } = object
      const word = JSON.stringify([id, type, direction, amount, currency, moved])
      if (!walk.told.has(word)) await addObject(walk, object)
      walk.told.add(word)
    }
    after = page.next
    if (after === undefined) return page.completeUntilSeconds
    whole = Math.min(page.objects.at(-1)?.atSeconds ?? whole, page.completeUntilSeconds)
  }
  return whole
}

async function pageOf(
  { rail, railMs, timers }: ObjectDeps,
  of: { readonly fromSeconds: number; readonly toSeconds: number; readonly after?: string },
): Promise<RailPage> {
  const { statement } = rail
  if (statement === undefined) throw new Fault('internal', 'expected a rail with a list')
  const page = await within(statement(of), railMs, timers)
  if (page === 'late') throw new Fault('internal', 'the rail’s list came too late')
  return page
}

const signed = ({ direction, amount }: RailObject): number =>
  direction === 'out' ? amount : -amount

async function addObject(walk: Walk, object: RailObject): Promise<void> {
  const { deps } = walk
  const payment = await paymentOf(deps, object)
  if (!object.moved) {
    if (payment !== undefined && isAwaited(payment)) await judgeObject(deps, object)
    return
  }
  if (payment === undefined) return addForeign(walk, object)
  if (object.direction === 'in') return addBack(walk, object, payment)
  if (payment.state === 'settled') return addSettled(walk, object, payment)
  const judged = await judgeObject(deps, object)
  const after = (await deps.ledger.payment(payment.id)) ?? payment
  if (after.state === 'settled') return addSettled(walk, object, after)
  if (judged.kind === 'done' && judged.outside !== undefined) return addForeign(walk, object)
  walk.seen.add(payment.id)
  const ours = after.state === 'released' ? 0 : after.amount
  add(walk, object, { kind: 'waiting', ours, payment: payment.id })
}

/** Recorded already, or now for the first time. */
async function addForeign(walk: Walk, object: RailObject): Promise<void> {
  const judged = await judgeObject(walk.deps, object)
  const outside = judged.kind === 'done' ? judged.outside : undefined
  if (outside === undefined) return add(walk, object, { kind: 'waiting', ours: 0 })
  const { id, payment, acknowledged } = outside
  add(walk, object, {
    kind: payment === undefined ? 'outside' : 'late_settlement',
    ours: 0,
    outside: id,
    ...(payment === undefined ? {} : { payment }),
    ...(acknowledged === undefined ? {} : { acknowledged: true }),
  })
}

function addSettled(walk: Walk, object: RailObject, payment: PaymentRecord): void {
  const { id, currency, settledAmount = 0 } = payment
  const isFirst = !walk.seen.has(id)
  walk.seen.add(id)
  const ours = currency === object.currency && isFirst ? settledAmount : 0
  const isEqual = ours === object.amount
  if (!isEqual) walk.deps.onAlarm?.({ kind: 'rail_amount', payment: id })
  add(walk, object, { kind: isEqual ? 'equal' : 'amount', ours, payment: id })
}

/**
 * What came back is noted by the rail's id, or by what a look-up calls it; then all that the list says came back of a
 * payment must be noted of it.
 */
async function addBack(walk: Walk, object: RailObject, payment: PaymentRecord): Promise<void> {
  const { deps, back } = walk
  const { id, amount } = object
  const before = back.get(payment.id) ?? 0
  back.set(payment.id, before + amount)
  const isKnown = payment.reversals?.some((each) => each.id === id && each.amount === amount)
  if (isKnown) return add(walk, object, { kind: 'equal', ours: -amount, payment: payment.id })
  const judged = await judgeObject(deps, object)
  if (judged.kind === 'done' && judged.outside !== undefined) return addForeign(walk, object)
  const after = (await deps.ledger.payment(payment.id)) ?? payment
  const noted = Math.min(amount, Math.max(0, reversedOf(after) - before))
  const isEqual = noted === amount && object.currency === payment.currency
  const otherwise = judged.kind === 'later' ? 'waiting' : 'amount'
  add(walk, object, { kind: isEqual ? 'equal' : otherwise, ours: 0 - noted, payment: payment.id })
}

type Side = Omit<Line, 'currency' | 'rail' | 'atSeconds' | 'object'>

function add({ lines }: Walk, object: RailObject, side: Side): void {
  const { id, currency, atSeconds } = object
  lines.push({ ...side, currency, rail: signed(object), atSeconds, object: id })
}

/** The list is whole past whatever the rail may have dated this payment with, and does not have it. */
function addMissing(walk: Walk, payment: PaymentRecord, until: number): void {
  const ended = endedAt(payment)
  if (walk.seen.has(payment.id) || ended + SKEW > until) return
  walk.deps.onAlarm?.({ kind: 'missing_at_rail', payment: payment.id })
  const { id, currency, settledAmount = 0 } = payment
  const atSeconds = Math.max(ended, walk.fromSeconds)
  walk.lines.push({
    kind: 'missing',
    currency,
    ours: settledAmount,
    rail: 0,
    atSeconds,
    payment: id,
  })
}

function summary({ lines, fromSeconds }: Walk, untilSeconds: Seconds): Comparison {
  // What lies outside the time of this comparison counts in another one.
  const own = lines.filter(({ atSeconds, kind }) => {
    return kind === 'missing' || (atSeconds >= fromSeconds && atSeconds < untilSeconds)
  })
  const unequal = own.filter((line): line is Line & StatementLine => line.kind !== 'equal')
  const isOpen = (line: Line) => line.kind !== 'waiting' && line.acknowledged === undefined
  const totals = totalsOf(own)
  return {
    fromSeconds: seconds(fromSeconds),
    untilSeconds,
    objects: own.filter(({ object }) => object !== undefined).length,
    totals,
    lines: unequal.sort((a, b) => a.atSeconds - b.atSeconds).slice(0, LIMITS.statementLines),
    unequal: unequal.length,
    differs: unequal.some(isOpen) || totals.some(({ difference }) => difference !== 0),
  }
}

function totalsOf(lines: readonly Line[]): StatementTotal[] {
  const byCurrency = Map.groupBy(lines, ({ currency }) => currency)
  return [...byCurrency].sort().map(([currency, all]) => {
    const sum = (of: (line: Line) => number) => all.reduce((total, line) => total + of(line), 0)
    const [ours, rail] = [sum((line) => line.ours), sum((line) => line.rail)]
    const acknowledged = sum((line) => (line.acknowledged ? line.rail : 0))
    return { currency, ours, acknowledged, rail, difference: rail - ours - acknowledged }
  })
}
