/**
 * Asking the rail what became of payments that nobody has ended. Money moves here only on the rail's own word, and no
 * payment is asked about before its call could no longer begin, would have been answered, and be visible: until
 * then `absent` proves nothing. Since clocks are stepped, and are set while nobody runs, `absent` is believed only
 * when this process has itself waited that long, and one step longer. Reservations that were never submitted are simply
 * given back. A payment is leased before the rail is asked, so that of several gateways on one store one asks; what the
 * rail stays silent about for too long raises an alarm, once.
 */
import { freshId, type PaymentId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Rail, RailLookup } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import { type Clock, nowSeconds, type Timers } from '../core/time.ts'
import { isAwaited } from '../ledger/rules.ts'
import type { Alarm } from './gate.ts'
import { recordOutcome } from './outcome.ts'
import { wordOf } from './rail.ts'
import { askAboutRefunds } from './refunds.ts'
import { noteReversals, watchReversals } from './reversals.ts'
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

export interface Reconciler {
  /** One round. Throws the first Fault after having tried every payment. */
  runOnce(): Promise<Round>
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
  const self = {
    id: freshId(),
    sinceMs: deps.clock.nowMs(),
    waiting: inTurn(deps.ledger, { states: ['submitted', 'unknown'], is: isAwaited }),
    refunding: inTurn(deps.ledger, {
      states: ['settled'],
      is: ({ refunding }) => refunding === true,
    }),
    watch: watchReversals({
      ...deps,
      lookup: (payment) => lookup(deps, payment, delays.railMs),
    }),
  }
  let end: (() => Promise<void>) | undefined
  return {
    runOnce: () => round(deps, delays, self),
    start: () => {
      end ??= repeat(
        delays.everyMs,
        () => round(deps, delays, self),
        (error) => deps.onError?.(error),
        deps.timers,
      )
    },
    close: async () => end?.(),
  }
}

/** One reconciler, from its start to its end: whose leases are its own, and how long it has been watching. */
interface Self {
  readonly id: string
  readonly sinceMs: number
  readonly waiting: WithOthers
  readonly refunding: WithOthers
  readonly watch: () => Promise<readonly PaymentId[]>
}

/** Each state has its own list, and a full one is followed by others in turn: what nobody can clear holds up none. */
async function round(
  deps: ReconcileDeps,
  delays: ReconcileDelays,
  { id: holder, sinceMs, waiting, refunding, watch }: Self,
): Promise<Round> {
  const { railMs } = delays
  const nowMs = deps.clock.nowMs()
  const patienceMs = delays.submitStartMs + railMs + delays.visibilityMs
  const proofMs = patienceMs + delays.clockStepMs
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
      if (!(await isLeased(deps, payment, holder))) return
      const { submittedAtMs = nowMs } = payment
      const isProof = nowMs - Math.max(submittedAtMs, sinceMs) > proofMs
      const after = await askRail(deps, payment, { railMs, isProof })
      ends.push(after)
      const isOverdue = isAwaited(after) && nowMs - submittedAtMs > delays.overdueMs
      if (isOverdue && (await raise(deps, payment))) overdue.push(payment.id)
    })
  }
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
    silent: sent.filter(({ submittedAtMs = nowMs }) => nowMs - submittedAtMs > patienceMs),
  }
}

/** False while another gateway asks about this payment: it will write down what it hears. */
async function isLeased(
  { ledger, clock }: ReconcileDeps,
  { id: payment }: PaymentRecord,
  holder: string,
): Promise<boolean> {
  const [seconds, now] = [LIMITS.leaseSeconds, nowSeconds(clock)]
  const leased = await ledger.execute('lease', { payment, holder, seconds, now })
  if (!leased.ok && leased.code !== 'conflict') throw unexpected('lease', leased.code)
  return leased.ok
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

interface Asked {
  readonly railMs: number
  /** Whether `absent` may be believed by now. */
  readonly isProof: boolean
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

async function askRail(
  deps: ReconcileDeps,
  payment: PaymentRecord,
  { railMs, isProof }: Asked,
): Promise<PaymentRecord> {
  const found = await lookup(deps, payment, railMs)
  const now = nowSeconds(deps.clock)
  switch (found.kind) {
    case 'settled': {
      const after = await recordOutcome(deps, payment, found, now)
      await noteReversals(deps, after, found, now)
      return after
    }
    case 'declined':
    case 'pending':
    case 'unknown':
      return recordOutcome(deps, payment, found, now)
    case 'absent': {
      if (!isProof) return payment
      const word = { kind: 'declined', reason: 'absent_at_rail' } as const
      return recordOutcome(deps, payment, word, now)
    }
    // Of a look-up this says only that the question did not get there.
    case 'notSent':
      return payment
  }
}

async function lookup(
  { rail, timers }: ReconcileDeps,
  { railKey }: PaymentRecord,
  ms: number,
): Promise<RailLookup> {
  if (!rail.truth.lookupByReference) return { kind: 'unknown', reason: 'no_lookup' }
  return wordOf(() => rail.lookup(railKey), ms, timers, 'lookup_failed')
}
