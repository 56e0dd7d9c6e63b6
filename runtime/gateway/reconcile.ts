/**
 * Asking the rail what became of payments that nobody has ended. Money moves here only on the rail's own word, and no
 * payment is asked about before its call could no longer begin, would have been answered, and be visible: until
 * then `absent` proves nothing. Since clocks are stepped, and are set while nobody runs, `absent` is believed only
 * when this process has itself waited that long, and one step longer. Reservations that were never submitted are simply given back.
 */
import type { PaymentId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Rail, RailLookup } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import { type Clock, nowSeconds, type Timers } from '../core/time.ts'
import type { Alarm } from './gate.ts'
import { recordOutcome } from './outcome.ts'
import { repeat, within } from './timers.ts'

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
    everyMs: 5_000,
    ...deps.delays,
  }
  const sinceMs = deps.clock.nowMs()
  let end: (() => Promise<void>) | undefined
  return {
    runOnce: () => round(deps, delays, sinceMs),
    start: () => {
      end ??= repeat(
        delays.everyMs,
        () => round(deps, delays, sinceMs),
        (error) => deps.onError?.(error),
        deps.timers,
      )
    },
    close: async () => end?.(),
  }
}

/** Each state has its own list, so that old unknowns that nobody can clear hold up no others. */
async function round(
  deps: ReconcileDeps,
  delays: ReconcileDelays,
  sinceMs: number,
): Promise<Round> {
  const limit = LIMITS.pageItems
  const list = (state: PaymentRecord['state']) => deps.ledger.payments({ states: [state], limit })
  const nowMs = deps.clock.nowMs()
  const patienceMs = delays.submitStartMs + delays.railMs + delays.visibilityMs
  const stale = (await list('reserved')).filter(
    ({ createdAtSeconds }) => nowMs - createdAtSeconds * 1000 > delays.reservedMs,
  )
  const silent = [...(await list('submitted')), ...(await list('unknown'))].filter(
    ({ submittedAtMs }) => submittedAtMs !== undefined && nowMs - submittedAtMs > patienceMs,
  )
  const ends: PaymentRecord[] = []
  const faults: unknown[] = []
  const isProof = ({ submittedAtMs = nowMs }: PaymentRecord) =>
    nowMs - Math.max(submittedAtMs, sinceMs) > patienceMs + delays.clockStepMs
  const each = async (payment: PaymentRecord, end: typeof giveBack) => {
    try {
      ends.push(await end(deps, payment, { railMs: delays.railMs, isProof: isProof(payment) }))
    } catch (error) {
      faults.push(error)
    }
  }
  for (const payment of stale) await each(payment, giveBack)
  for (const payment of silent) await each(payment, askRail)
  if (faults.length > 0) throw faults[0]
  const inState = (...states: PaymentRecord['state'][]) =>
    ends.filter(({ state }) => states.includes(state)).map(({ id }) => id)
  return {
    settled: inState('settled'),
    released: inState('released'),
    waiting: inState('submitted', 'unknown'),
  }
}

interface Asked {
  readonly railMs: number
  /** Whether `absent` may be believed by now. */
  readonly isProof: boolean
}

async function giveBack(
  { ledger, clock }: ReconcileDeps,
  payment: PaymentRecord,
  _asked: Asked,
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
    case 'settled':
    case 'declined':
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
  try {
    const found = await within(rail.lookup(railKey), ms, timers)
    return found === 'late' ? { kind: 'unknown', reason: 'late' } : found
  } catch {
    return { kind: 'unknown', reason: 'lookup_failed' }
  }
}
