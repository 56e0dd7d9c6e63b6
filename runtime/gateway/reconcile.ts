/**
 * Asking the rail what became of payments that nobody has ended. Money moves here only on the rail's own word, and no
 * payment is asked about before its call could no longer begin, would have been answered, and be visible: until
 * then `absent` proves nothing. Since clocks are stepped, and are set while nobody runs, `absent` is believed only
 * when this process has itself waited that long, and one step longer. Reservations that were never submitted are simply
 * given back. A payment is leased before the rail is asked, so that of several gateways on one store one asks; what the
 * rail stays silent about for too long raises an alarm, once.
 */

import { Rejected } from '../core/errors.ts'
import { freshId, type PaymentId } from '../core/ids.ts'
import type { Ledger, Result } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Rail, RailMessage } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import type { RefundBudget } from '../core/refund.ts'
import { type Clock, nowSeconds, type Seconds, type Timers } from '../core/time.ts'
import { isAwaited } from '../ledger/rules.ts'
import { askRail, isLeased, lookup } from './asking.ts'
import { tendAuthorisations } from './authorisations.ts'
import type { Alarm } from './gate.ts'
import { createInbox, type HearingOutcome, type Inbox } from './inbox.ts'
import type { ObjectDeps } from './objects.ts'
import { askAboutRefunds } from './refunds.ts'
import { watchReversals } from './reversals.ts'
import { type Comparison, compareStatement } from './statement.ts'
import { repeat } from './timers.ts'
import { inTurn, type WithOthers } from './turns.ts'
import { unexpected } from './unexpected.ts'

/** All but `everyMs` protect money; shorter ones are for tests that control rail and clock. */
export interface ReconcileDelays {
  /** A call may begin this long after its submit. */
  readonly submitStartMs: number
  /** A call has ended this long after it began. */
  readonly railMs: number
  /** The rail shows a payment this long after its call; the rail's own declaration if absent. */
  readonly visibilityMs: number
  /** The clock may have been stepped by this much meanwhile: so much longer until `absent` is believed. */
  readonly clockStepMs: number
  /** A reservation older than this will not be submitted any more. */
  readonly reservedMs: number
  /** A payment that is still waiting this long after its submit raises an alarm. */
  readonly overdueMs: number
  /** Between two rounds of `start`. */
  readonly everyMs: number
}

export interface ReconcileDeps {
  readonly ledger: Ledger
  readonly rail: Rail
  readonly clock: Clock
  /** For deadlines and rounds; the machine's own if absent. */
  readonly timers?: Timers
  readonly delays?: Partial<ReconcileDelays>
  /** What happens to the budget once a refund was made; `hold` if absent. */
  readonly refundBudget?: RefundBudget
  readonly onAlarm?: (alarm: Alarm) => void
  /** Told of what a round of `start` could not do; the next round tries again. Must not throw. */
  readonly onError?: (error: unknown) => void
}

/** What one round did, as payment ids; `waiting` are those that the rail has no word on, oldest first. */
export interface Round {
  readonly settled: readonly PaymentId[]
  readonly released: readonly PaymentId[]
  readonly waiting: readonly PaymentId[]
  /** Of those, the ones whose alarm this round has raised. */
  readonly overdue: readonly PaymentId[]
  /** Settled ones of which the rail says, as never before, that money came back, by a refund of ours too. */
  readonly reversed: readonly PaymentId[]
}

export type Settlement = Result<{ readonly payment: PaymentRecord }>

export interface Reconciler {
  /**
   * Asks the rail about one payment now, and writes down what it says. `conflict` where it was never sent, or while
   * somebody else asks. Throws Rejected for one that went over another rail.
   */
  settlement(payment: PaymentId): Promise<Settlement>
  /** One round. Throws the first Fault after having tried every payment. */
  runOnce(): Promise<Round>
  /** A message of the rail: written down, and taken up after this has resolved. */
  hear(message: RailMessage): Promise<HearingOutcome>
  /** The rail's own list against the ledger, on from the last time or from then; undefined at a rail without one. */
  compare(from?: Seconds): Promise<Comparison | undefined>
  /** Messages since the start, by what became of them. */
  heard(): ReadonlyMap<HearingOutcome, number>
  /** Rounds until `close`; one at a time. */
  start(): void
  /** Resolves when no round is under way any more. */
  close(): Promise<void>
}

/** Asks nobody until `runOnce` or `start`. */
export function createReconciler(deps: ReconcileDeps): Reconciler {
  const delays: ReconcileDelays = {
    submitStartMs: LIMITS.submitStartMs,
    railMs: LIMITS.railMs,
    visibilityMs: deps.rail.truth.visibilitySeconds * 1000,
    clockStepMs: LIMITS.clockStepMs,
    reservedMs: 60_000,
    overdueMs: LIMITS.overdueMs,
    everyMs: 5_000,
    ...deps.delays,
  }
  const [id, sinceMs] = [freshId(), deps.clock.nowMs()]
  const { patienceMs, proofMs } = timesOf(delays)
  const objects: ObjectDeps = {
    ...deps,
    ...{ railMs: delays.railMs, patienceMs, proofMs, sinceMs },
    lookup: (payment) => lookup(deps, payment, delays.railMs),
    isLeased: (payment) => isLeased(deps, payment, id),
  }
  const self = {
    id,
    sinceMs,
    asking: new Set<PaymentId>(),
    waiting: inTurn(deps.ledger, { states: ['submitted', 'unknown'], is: isAwaited }),
    refunding: inTurn(deps.ledger, {
      states: ['settled'],
      is: ({ refunding }) => refunding === true,
    }),
    watch: watchReversals({
      ...deps,
      lookup: (payment) => lookup(deps, payment, delays.railMs),
    }),
    inbox: createInbox({ ...deps, ...objects }),
  }
  let end: (() => Promise<void>) | undefined
  return {
    settlement: (payment) => settlement(deps, delays, self, payment),
    runOnce: () => round(deps, delays, self),
    start: () => {
      end ??= repeat(
        delays.everyMs,
        () => round(deps, delays, self),
        (error) => deps.onError?.(error),
        deps.timers,
      )
    },
    hear: self.inbox.hear,
    compare: (from) => compareStatement(objects, from),
    heard: self.inbox.totals,
    close: async () => {
      await end?.()
      await self.inbox.close()
    },
  }
}

/** One reconciler, from its start to its end: whose leases are its own, and how long it has been watching. */
interface Self {
  readonly id: string
  readonly sinceMs: number
  /** Payments that this very process asks about now, beside the leases that tell others. */
  readonly asking: Set<PaymentId>
  readonly waiting: WithOthers
  readonly refunding: WithOthers
  readonly watch: () => Promise<readonly PaymentId[]>
  readonly inbox: Inbox
}

/** How long after its submit a payment is asked about, and how long after it `absent` is believed. */
function timesOf({ submitStartMs, railMs, visibilityMs, clockStepMs }: ReconcileDelays) {
  const patienceMs = submitStartMs + railMs + visibilityMs
  return { patienceMs, proofMs: patienceMs + clockStepMs }
}

/** Undefined while somebody else asks, here or elsewhere. */
async function ask(
  deps: ReconcileDeps,
  delays: ReconcileDelays,
  { id: holder, sinceMs, asking }: Self,
  payment: PaymentRecord,
): Promise<PaymentRecord | undefined> {
  if (asking.has(payment.id)) return undefined
  asking.add(payment.id)
  try {
    if (!(await isLeased(deps, payment, holder))) return undefined
    const nowMs = deps.clock.nowMs()
    const { submittedAtMs = nowMs } = payment
    const { railMs, submitStartMs } = delays
    const { proofMs } = timesOf(delays)
    const isPast = (beganMs: number) => nowMs - Math.max(beganMs, sinceMs) > proofMs
    const isProof = isPast(submittedAtMs)
    return await askRail(deps, payment, { holder, railMs, submitStartMs, isProof, isPast })
  } finally {
    asking.delete(payment.id)
  }
}

async function settlement(
  deps: ReconcileDeps,
  delays: ReconcileDelays,
  self: Self,
  id: PaymentId,
): Promise<Settlement> {
  const payment = await deps.ledger.payment(id)
  if (payment === undefined) return { ok: false, code: 'not_found' }
  if (payment.rail !== deps.rail.name) {
    throw new Rejected('settlement_rejected', 'expected a payment by this gateway’s rail', 'rail')
  }
  if (payment.state === 'reserved') return { ok: false, code: 'conflict' }
  // Nothing that the rail might say changes what its own word, or two operators, have ended without money.
  if (payment.state === 'released') return { ok: true, payment }
  const after = await ask(deps, delays, self, payment)
  return after === undefined ? { ok: false, code: 'conflict' } : { ok: true, payment: after }
}

/** Each state has its own list, and a full one is followed by others in turn: what nobody can clear holds up none. */
async function round(deps: ReconcileDeps, delays: ReconcileDelays, self: Self): Promise<Round> {
  const { id: holder, sinceMs, waiting, refunding, watch, inbox } = self
  const { railMs } = delays
  const nowMs = deps.clock.nowMs()
  const { patienceMs, proofMs } = timesOf(delays)
  const of = { reservedMs: delays.reservedMs, patienceMs, nowMs, waiting }
  const { stale, silent } = await toEnd(deps, of)
  const ends: PaymentRecord[] = []
  const overdue: PaymentId[] = []
  const faults: unknown[] = []
  const each = async (act: () => Promise<void>) => {
    try {
      await act()
    } catch (error) {
      faults.push(error)
    }
  }
  for (const payment of stale) await each(async () => void ends.push(await giveBack(deps, payment)))
  for (const payment of silent) {
    await each(async () => {
      const after = await ask(deps, delays, self, payment)
      if (after === undefined) return
      ends.push(after)
      const { submittedAtMs = nowMs } = payment
      // Whoever waits for a payer has heard from the rail.
      const isSilent = isAwaited(after) && after.awaits !== 'payer'
      const isOverdue = isSilent && nowMs - submittedAtMs > delays.overdueMs
      if (isOverdue && (await raise(deps, payment))) overdue.push(payment.id)
    })
  }
  await each(() => inbox.round())
  const reversed = new Set<PaymentId>()
  const hear = (ask: () => Promise<readonly PaymentId[]>) =>
    each(async () => {
      for (const id of await ask()) reversed.add(id)
    })
  await hear(watch)
  const lease = (payment: PaymentRecord) => isLeased(deps, payment, holder)
  const times = { railMs, sinceMs, patienceMs, proofMs }
  const refundRound = { ...deps, ...times, refunding, isLeased: lease }
  await hear(() => askAboutRefunds(refundRound))
  const drawMs = delays.submitStartMs + railMs
  await each(() => tendAuthorisations({ ...deps, ...times, drawMs }))
  if (faults.length > 0) throw faults[0]
  const idsOf = (is: (payment: PaymentRecord) => boolean) => ends.filter(is).map(({ id }) => id)
  return {
    settled: idsOf(({ state }) => state === 'settled'),
    released: idsOf(({ state }) => state === 'released'),
    waiting: idsOf(isAwaited),
    overdue,
    reversed: [...reversed],
  }
}

/** Each state has its own list, so that old unknowns that nobody can clear hold up no others. */
async function toEnd(
  { ledger }: ReconcileDeps,
  of: {
    readonly reservedMs: number
    readonly patienceMs: number
    readonly nowMs: number
    readonly waiting: WithOthers
  },
) {
  const { reservedMs, patienceMs, nowMs, waiting } = of
  const limit = LIMITS.pageItems
  const list = (state: PaymentRecord['state']) => ledger.payments({ states: [state], limit })
  const reserved = await list('reserved')
  const sent = await waiting(await list('submitted'), await list('unknown'))
  return {
    stale: reserved.filter((each) => nowMs - each.createdAtSeconds * 1000 > reservedMs),
    silent: sent.filter(
      // What the rail has said that it has is visible.
      ({ submittedAtMs = nowMs, awaits }) =>
        awaits !== undefined || nowMs - submittedAtMs > patienceMs,
    ),
  }
}

/** True for the one call that raised the alarm, which is the one that tells of it. */
async function raise(
  { ledger, clock, onAlarm }: ReconcileDeps,
  { id: payment, overdue }: PaymentRecord,
): Promise<boolean> {
  if (overdue !== undefined) return false
  const now = nowSeconds(clock)
  const marked = await ledger.execute('markOverdue', { payment, attempt: freshId(), now })
  // A conflict is a payment that has been ended meanwhile.
  if (!marked.ok && marked.code !== 'conflict') throw unexpected('markOverdue', marked.code)
  if (!marked.ok || !marked.raised) return false
  onAlarm?.({ kind: 'overdue', payment })
  return true
}

async function giveBack(
  { ledger, clock }: ReconcileDeps,
  payment: PaymentRecord,
): Promise<PaymentRecord> {
  const result = await ledger.execute('release', {
    payment: payment.id,
    from: 'reserved',
    reason: 'never_submitted',
    now: nowSeconds(clock),
  })
  // A conflict is an attempt that was submitted after all; it is asked about in its own time.
  return result.ok ? result.payment : payment
}
