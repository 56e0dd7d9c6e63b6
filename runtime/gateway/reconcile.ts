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
import { askRail, isLeased, isProofBy, lookup } from './asking.ts'
import { tendAuthorisations } from './authorisations.ts'
import { forEach } from './each.ts'
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
  const { ledger, clock } = deps
  const id = freshId()
  const patienceMs = delays.submitStartMs + delays.railMs + delays.visibilityMs
  const objects: ObjectDeps = {
    ...deps,
    railMs: delays.railMs,
    patienceMs,
    proofMs: patienceMs + delays.clockStepMs,
    sinceMs: clock.nowMs(),
    lookup: (payment) => lookup(deps, payment, delays.railMs),
    isLeased: (payment) => isLeased(deps, payment, id),
  }
  const isRefunding = ({ refunding }: PaymentRecord) => refunding === true
  const self: Self = {
    id,
    delays,
    objects,
    asking: new Set(),
    waiting: inTurn(ledger, { states: ['submitted', 'unknown'], is: isAwaited }),
    refunding: inTurn(ledger, { states: ['settled'], is: isRefunding }),
    watch: watchReversals(objects),
    inbox: createInbox({ ...deps, ...objects }),
  }
  let end: (() => Promise<void>) | undefined
  return {
    settlement: (payment) => settlement(self, payment),
    runOnce: () => round(self),
    start: () => {
      const failed = (error: unknown) => deps.onError?.(error)
      end ??= repeat(delays.everyMs, () => round(self), failed, deps.timers)
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

/** One reconciler, from its start to its end. */
interface Self {
  /** Whose its leases are. */
  readonly id: string
  readonly delays: ReconcileDelays
  readonly objects: ObjectDeps
  /** Payments that this very process asks about now, beside the leases that tell others. */
  readonly asking: Set<PaymentId>
  readonly waiting: WithOthers
  readonly refunding: WithOthers
  readonly watch: () => Promise<readonly PaymentId[]>
  readonly inbox: Inbox
}

/** Undefined while somebody else asks, here or elsewhere. */
async function ask(
  { id: holder, delays, objects, asking }: Self,
  payment: PaymentRecord,
): Promise<PaymentRecord | undefined> {
  if (asking.has(payment.id)) return undefined
  asking.add(payment.id)
  try {
    if (!(await objects.isLeased(payment))) return undefined
    const nowMs = objects.clock.nowMs()
    const { railMs, submitStartMs } = delays
    const isPast = (beganMs: number) => isProofBy(nowMs, beganMs, objects)
    const isProof = isPast(payment.submittedAtMs ?? nowMs)
    const asked = { holder, railMs, submitStartMs, isProof, isPast }
    return await askRail(objects, payment, asked)
  } finally {
    asking.delete(payment.id)
  }
}

async function settlement(self: Self, id: PaymentId): Promise<Settlement> {
  const { ledger, rail } = self.objects
  const payment = await ledger.payment(id)
  if (payment === undefined) return { ok: false, code: 'not_found' }
  if (payment.rail !== rail.name) {
    throw new Rejected('settlement_rejected', 'expected a payment by this gateway’s rail', 'rail')
  }
  if (payment.state === 'reserved') return { ok: false, code: 'conflict' }
  // Nothing that the rail might say changes what its own word, or two operators, have ended without money.
  if (payment.state === 'released') return { ok: true, payment }
  const after = await ask(self, payment)
  return after === undefined ? { ok: false, code: 'conflict' } : { ok: true, payment: after }
}

async function round(self: Self): Promise<Round> {
  const { delays, objects, refunding, watch, inbox } = self
  const nowMs = objects.clock.nowMs()
  const { stale, silent } = await toEnd(self, nowMs)
  const ends: PaymentRecord[] = []
  const overdue: PaymentId[] = []
  const reversed = new Set<PaymentId>()
  const hear = async (back: Promise<readonly PaymentId[]>) => {
    for (const id of await back) reversed.add(id)
  }
  const drawMs = delays.submitStartMs + delays.railMs
  const steps = [
    () => forEach(stale, async (payment) => ends.push(await giveBack(objects, payment))),
    () =>
      forEach(silent, async (payment) => {
        const after = await ask(self, payment)
        if (after === undefined) return
        ends.push(after)
        const ageMs = nowMs - (payment.submittedAtMs ?? nowMs)
        // Whoever waits for a payer has heard from the rail.
        const isSilent = isAwaited(after) && after.awaits !== 'payer'
        const isOverdue = isSilent && ageMs > delays.overdueMs
        if (isOverdue && (await raise(objects, payment))) overdue.push(payment.id)
      }),
    () => inbox.round(),
    () => hear(watch()),
    () => hear(askAboutRefunds({ ...objects, refunding })),
    () => tendAuthorisations({ ...objects, drawMs }),
  ]
  await forEach(steps, (step) => step())
  const idsOf = (is: (payment: PaymentRecord) => boolean) => ends.filter(is).map(({ id }) => id)
  return {
    settled: idsOf(({ state }) => state === 'settled'),
    released: idsOf(({ state }) => state === 'released'),
    waiting: idsOf(isAwaited),
    overdue,
    reversed: [...reversed],
  }
}

/** Each state has its own list, and a full one is followed by others in turn: what nobody can clear holds up none. */
async function toEnd({ delays, objects, waiting }: Self, nowMs: number) {
  const { ledger, patienceMs } = objects
  const limit = LIMITS.pageItems
  const list = (state: PaymentRecord['state']) => ledger.payments({ states: [state], limit })
  const reserved = await list('reserved')
  const sent = await waiting(await list('submitted'), await list('unknown'))
  return {
    stale: reserved.filter((each) => nowMs - each.createdAtSeconds * 1000 > delays.reservedMs),
    silent: sent.filter(
      // What the rail has said that it has is visible.
      ({ submittedAtMs = nowMs, awaits }) =>
        awaits !== undefined || nowMs - submittedAtMs > patienceMs,
    ),
  }
}

/** True for the one call that raised the alarm, which is the one that tells of it. */
async function raise(
  { ledger, clock, onAlarm }: ObjectDeps,
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
  { ledger, clock }: ObjectDeps,
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
