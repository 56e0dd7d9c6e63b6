/**
 * The only call of the rail. It is made by the one attempt whose nonce the store has, within a few seconds of the
 * submit, or not at all: whoever comes later finds the payment on its way and the reconciler asks what became of it.
 */
import type { RailOutcome } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import type { Gate } from './gate.ts'
import { within } from './timers.ts'

/** True if this attempt, and so no other, may call the rail, and still in time. */
export function mayCallRail(gate: Gate, payment: PaymentRecord, nonce: string): boolean {
  const { state, submittedAtMs } = payment
  if (state !== 'submitted' || payment.nonce !== nonce || submittedAtMs === undefined) return false
  return gate.clock.nowMs() - submittedAtMs <= gate.timings.submitStartMs
}

/** Never throws: whatever is not the rail's own word is `unknown`, because money may have moved. */
export async function callRail(gate: Gate, payment: PaymentRecord): Promise<RailOutcome> {
  const { id, railKey, account, amount, currency, quoteJti } = payment
  const order = { payment: id, key: railKey, account, amount, currency, note: quoteJti }
  try {
    const outcome = await within(gate.rail.pay(order), gate.timings.railMs, gate.timers)
    return outcome === 'late' ? { kind: 'unknown', reason: 'late' } : outcome
  } catch {
    return { kind: 'unknown', reason: 'threw' }
  }
}
