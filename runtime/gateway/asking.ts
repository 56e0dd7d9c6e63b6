/**
 * One question to the rail about one payment, and writing down what it says. Whoever asks holds the payment's lease. Only
 * the rail's own word moves money; `absent` is believed where the caller has waited long enough, and never of a payment
 * that the rail has once said it has. What a payer agreed to is taken only while everything above the payment is live.
 */
import { LIMITS } from '../core/limits.ts'
import type { Rail, RailKnown, RailLookup, RailOutcome } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import { type Clock, nowSeconds, type Timers } from '../core/time.ts'
import { type OutcomeDeps, recordOutcome } from './outcome.ts'
import { knownOf, wordOf } from './rail.ts'
import { noteReversals } from './reversals.ts'
import { unexpected } from './unexpected.ts'

export interface AskDeps extends OutcomeDeps {
  readonly rail: Rail
  readonly clock: Clock
  readonly timers?: Timers
}

/** How long one question may take, and when its answer says something. */
export interface Patience {
  readonly railMs: number
  /** Nothing is asked about so soon after it was sent. */
  readonly patienceMs: number
  /** `absent` is believed no sooner after it was sent, and after this process began to watch. */
  readonly proofMs: number
  readonly sinceMs: number
}

/** Whether the rail’s `absent` would be proof by now. */
export const isProofBy = (
  nowMs: number,
  sentAtMs: number,
  { sinceMs, proofMs }: Patience,
): boolean => nowMs - Math.max(sentAtMs, sinceMs) > proofMs

export interface Asked {
  /** Whose lease it is. */
  readonly holder: string
  readonly railMs: number
  /** What is judged live is taken within this time or not at all. */
  readonly submitStartMs: number
  /** Whether `absent` may be believed by now. */
  readonly isProof: boolean
  /** Whether a call that began then has ended by now, and is visible at the rail. */
  readonly isPast: (beganMs: number) => boolean
}

/** False while another gateway asks about this payment: it will write down what it hears. */
export async function isLeased(
  { ledger, clock }: Pick<AskDeps, 'ledger' | 'clock'>,
  { id: payment }: PaymentRecord,
  holder: string,
): Promise<boolean> {
  const [seconds, now] = [LIMITS.leaseSeconds, nowSeconds(clock)]
  const leased = await ledger.execute('lease', { payment, holder, seconds, now })
  if (!leased.ok && leased.code !== 'conflict') throw unexpected('lease', leased.code)
  return leased.ok
}

/** Never throws what the rail throws. A payment that went over another rail is none of this one's. */
export async function lookup(
  { rail, timers }: Pick<AskDeps, 'rail' | 'timers'>,
  payment: PaymentRecord,
  ms: number,
): Promise<RailLookup> {
  if (payment.rail !== rail.name) return { kind: 'unknown', reason: 'other_rail' }
  if (!rail.truth.lookupByReference) return { kind: 'unknown', reason: 'no_lookup' }
  const ask = () => rail.lookup(payment.railKey, knownOf(payment))
  return wordOf(ask, ms, timers, 'lookup_failed')
}

/** The payment as it stands after the rail was asked about it. Throws Fault. */
export async function askRail(
  deps: AskDeps,
  payment: PaymentRecord,
  asked: Asked,
): Promise<PaymentRecord> {
  const found = await lookup(deps, payment, asked.railMs)
  const now = nowSeconds(deps.clock)
  switch (found.kind) {
    case 'settled': {
      const after = await recordOutcome(deps, payment, found, now)
      const isNoted = await noteReversals(deps, after, found, now)
      return isNoted ? ((await deps.ledger.payment(after.id)) ?? after) : after
    }
    case 'declined':
    case 'unknown':
      return recordOutcome(deps, payment, found, now)
    case 'pending':
      return goOn(deps, await recordOutcome(deps, payment, found, now), asked)
    case 'absent': {
      if (!asked.isProof || payment.awaits !== undefined) return payment
      const word = { kind: 'declined', reason: 'absent_at_rail' } as const
      return recordOutcome(deps, payment, word, now)
    }
    // Of a look-up this says only that the question did not get there.
    case 'notSent':
      return payment
  }
}

/** What the payer agreed to is taken, or ended where the run may not pay any more; until then it waits. */
async function goOn(deps: AskDeps, payment: PaymentRecord, asked: Asked): Promise<PaymentRecord> {
  const { ledger, clock, rail } = deps
  if (payment.awaits !== 'payer' && payment.awaits !== 'capture') return payment
  // A look-up and a call are longer than what a lease may have left.
  if (!(await isLeased(deps, payment, asked.holder))) return payment
  const judgedMs = clock.nowMs()
  const judged = await ledger.execute('complete', {
    payment: payment.id,
    now: nowSeconds(clock),
  })
  if (judged.ok) {
    const isInTime = clock.nowMs() - judgedMs <= asked.submitStartMs
    if (payment.awaits !== 'capture' || !isInTime) return judged.payment
    return tell(deps, judged.payment, asked, async (known) => rail.complete?.(known))
  }
  switch (judged.code) {
    // It may be resumed; and what somebody has ended meanwhile is over.
    case 'frozen':
    case 'conflict':
      return payment
    case 'revoked':
    case 'run_closed':
    case 'expired':
      // What we have asked for may be on its way still: that it is not taken yet is no word that it will not be.
      if (!isQuiet(payment, asked)) return payment
      return tell(deps, payment, asked, async (known) => rail.cancel?.(known))
    default:
      throw unexpected('complete', judged.code)
  }
}

const isQuiet = ({ completingAtSeconds: at }: PaymentRecord, { isPast }: Asked): boolean =>
  // To the end of the second.
  at === undefined || isPast((at + 1) * 1000)

async function tell(
  deps: AskDeps,
  payment: PaymentRecord,
  { railMs }: Asked,
  say: (known: RailKnown) => Promise<RailOutcome | undefined>,
): Promise<PaymentRecord> {
  const word = await wordOf(() => say(knownOf(payment)), railMs, deps.timers)
  // Not sent, it says nothing of a payment that the rail has had before.
  if (word === undefined || word.kind === 'notSent') return payment
  return recordOutcome(deps, payment, word, nowSeconds(deps.clock))
}
