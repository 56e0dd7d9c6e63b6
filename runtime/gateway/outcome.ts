/**
 * Writing down what the rail said of a payment. Only the rail's own definite word settles or releases; less than was
 * asked returns the rest, more or another currency is never clipped but kept as unknown, with an alarm.
 */
import { eventReason } from '../core/events.ts'
import type { PaymentId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import type { RailOutcome } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import type { Alarm } from './gate.ts'
import { unexpected } from './unexpected.ts'

export interface OutcomeDeps {
  readonly ledger: Ledger
  readonly onAlarm?: (alarm: Alarm) => void
}

/** The payment as it stands afterwards; if somebody else ended it first, theirs stands. */
export async function recordOutcome(
  deps: OutcomeDeps,
  payment: PaymentRecord,
  outcome: RailOutcome,
  now: Seconds,
): Promise<PaymentRecord> {
  const { ledger } = deps
  const { id } = payment
  switch (outcome.kind) {
    case 'settled': {
      const odd = oddity(payment, outcome)
      if (odd !== undefined) {
        if (payment.state !== 'unknown') deps.onAlarm?.({ kind: odd, payment: id })
        return ended(ledger, id, 'markUnknown', { payment: id, reason: odd, now })
      }
      const { amount, reference: railReference } = outcome
      return ended(ledger, id, 'settle', { payment: id, amount, railReference, now })
    }
    case 'declined':
    case 'notSent': {
      const reason = eventReason(
        outcome.reason,
        outcome.kind === 'declined' ? 'declined' : 'not_sent',
      )
      return ended(ledger, id, 'release', { payment: id, from: 'submitted', reason, now })
    }
    case 'unknown': {
      const reason = eventReason(outcome.reason, 'unknown')
      // An adapter that sees other money than was asked calls it unknown; a person must see that too, once.
      const isOdd = reason === 'amount_differs' && payment.state !== 'unknown'
      if (isOdd) deps.onAlarm?.({ kind: 'rail_amount', payment: id })
      return ended(ledger, id, 'markUnknown', { payment: id, reason, now })
    }
  }
}

function oddity(
  payment: PaymentRecord,
  { amount, currency }: Extract<RailOutcome, { kind: 'settled' }>,
): Alarm['kind'] | undefined {
  if (currency !== payment.currency) return 'rail_currency'
  const isPossible = Number.isSafeInteger(amount) && amount >= 1 && amount <= payment.amount
  return isPossible ? undefined : 'rail_amount'
}

type Ending = 'settle' | 'release' | 'markUnknown'

async function ended<K extends Ending>(
  ledger: Ledger,
  payment: PaymentId,
  command: K,
  input: Parameters<typeof ledger.execute<K>>[1],
): Promise<PaymentRecord> {
  const result = await ledger.execute(command, input)
  if (result.ok) return result.payment
  const now = await ledger.payment(payment)
  if (result.code === 'conflict' && now !== undefined) return now
  throw unexpected(command, result.code)
}
