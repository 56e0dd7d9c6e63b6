/** Transitions while a rail is silent: who asks it, and the alarm about one that stays so. They move no money. */
import type { Commands, Lease, MarkOverdue } from '../core/ledger.ts'
import type { PaymentRecord } from '../core/records.ts'
import { later, seconds } from '../core/time.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { isAwaited, refused } from './rules.ts'

/** Renewed once half of it is gone, so that a payment that nobody can end is not written at every question. */
export function* lease(input: Lease, draft: Draft): Steps<Commands['lease']['result']> {
  const { holder, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const held = payment.lease
  const end = later(now, input.seconds)
  // One that would end later than any given now was given by a clock that has been put back since.
  const isHeld = held !== undefined && held.untilSeconds > now && held.untilSeconds <= end
  if (isHeld && held.holder !== holder) return refused('conflict')
  if (isHeld && held.untilSeconds - now > input.seconds / 2) return { ok: true, payment }
  const leased: PaymentRecord = { ...payment, lease: { holder, untilSeconds: end } }
  draft.put(keys.payment(payment.id), leased)
  return { ok: true, payment: leased }
}

export function* markOverdue(
  input: MarkOverdue,
  draft: Draft,
): Steps<Commands['markOverdue']['result']> {
  const { attempt, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const { overdue } = payment
  if (overdue !== undefined) return { ok: true, payment, raised: overdue.attempt === attempt }
  if (!isAwaited(payment)) return refused('conflict')
  yield [keys.account(payment.node)]
  const marked: PaymentRecord = { ...payment, overdue: { atSeconds: now, attempt } }
  draft.put(keys.payment(payment.id), marked)
  const since = seconds(Math.floor((payment.submittedAtMs ?? 0) / 1000))
  draft.append(payment.node, 'overdue', { payment: payment.id, since })
  return { ok: true, payment: marked, raised: true }
}
