/**
 * Calling the rail. A payment is sent by the one attempt whose nonce the store has, within a few seconds of the submit, or
 * not at all: whoever comes later finds the payment on its way and the reconciler asks what became of it.
 */
import { receiptIdOf, shortReceiptIdOf } from '../core/ids.ts'
import type { RailKnown, RailOrder, RailOutcomeOf } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import type { Timers } from '../core/time.ts'
import type { Gate } from './gate.ts'
import { within } from './timers.ts'

/** True if this attempt, and so no other, may call the rail, and still in time. */
export function mayCallRail(gate: Gate, payment: PaymentRecord, nonce: string): boolean {
  const { state, submittedAtMs } = payment
  if (state !== 'submitted' || payment.nonce !== nonce || submittedAtMs === undefined) return false
  return gate.clock.nowMs() - submittedAtMs <= gate.timings.submitStartMs
}

/** What the rail is asked to pay, the same at every question about it. */
export function orderOf({ id, railKey, account, amount, currency }: PaymentRecord): RailOrder {
  const note = shortReceiptIdOf(receiptIdOf(id))
  return { payment: id, key: railKey, account, amount, currency, note }
}

/** With what was learned of it since. */
export function knownOf(payment: PaymentRecord): RailKnown {
  const { railReference: reference, submittedAtMs, createdAtSeconds } = payment
  return {
    order: orderOf(payment),
    submittedAtSeconds:
      submittedAtMs === undefined ? createdAtSeconds : Math.floor(submittedAtMs / 1000),
    ...(reference === undefined ? {} : { reference }),
    ...(payment.drawn === undefined ? {} : { authorisation: payment.drawn.reference }),
  }
}

/** Never throws: whatever is not the rail's own word, in time, is `unknown`, because money may have moved. */
export async function wordOf<T>(
  ask: () => Promise<T>,
  ms: number,
  timers: Timers | undefined,
  failed = 'threw',
): Promise<T | RailOutcomeOf<'unknown'>> {
  try {
    const word = await within(ask(), ms, timers)
    return word === 'late' ? { kind: 'unknown', reason: 'late' } : word
  } catch {
    return { kind: 'unknown', reason: failed }
  }
}
