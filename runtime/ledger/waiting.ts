/** Transitions about who does what: who asks a silent rail, who raises its alarm, who carries a run out. No money moves. */
import type { Lease, MarkOverdue } from '../core/late.ts'
import type { Commands } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { PaymentRecord } from '../core/records.ts'
import { later, type Seconds, seconds } from '../core/time.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { isAwaited, refused } from './rules.ts'

/** Renewed once half of it is gone, so that a payment that nobody can end is not written at every question. */
export function* lease(input: Lease, draft: Draft): Steps<Commands['lease']['result']> {
  const { holder, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const held = payment.lease
  const isHeld = held !== undefined && isInForce(held, input)
  if (isHeld && held.holder !== holder) return refused('conflict')
  if (isHeld && held.untilSeconds - now > input.seconds / 2) return { ok: true, payment }
  const untilSeconds = later(now, input.seconds)
  const leased: PaymentRecord = { ...payment, lease: { holder, untilSeconds } }
  draft.put(keys.payment(payment.id), leased)
  return { ok: true, payment: leased }
}

/**
 * One that would end much later than any given now was given by a clock that has been put back since. A third of a lease
 * later is only the clock of another machine, and is what a holder that stops at two thirds leaves room for.
 */
const isInForce = (
  { untilSeconds }: { untilSeconds: Seconds },
  { now, seconds }: { now: Seconds; seconds: number },
): boolean => untilSeconds > now && untilSeconds <= later(now, seconds + Math.floor(seconds / 3))

/** A lease of any length is in force for its own length: nobody can shorten another's by asking for less. */
export function* leaseRun(
  input: Commands['leaseRun']['input'],
  draft: Draft,
): Steps<Commands['leaseRun']['result']> {
  const { run: id, holder, seconds, now } = input
  yield [keys.run(id)]
  const run = draft.get(keys.run(id))
  if (run === undefined) return refused('not_found')
  const held = run.lease
  const isOwn = held?.holder === holder
  const isHeld = held !== undefined && isInForce(held, { now, seconds: LIMITS.leaseSeconds })
  if (isHeld && !isOwn) return refused('conflict')
  const untilSeconds = later(now, seconds)
  const isSame = seconds === 0 ? !isHeld : isOwn && held.untilSeconds === untilSeconds
  if (isSame) return { ok: true, run }
  const leased = { ...run, lease: { holder, untilSeconds } }
  draft.put(keys.run(id), leased)
  return { ok: true, run: leased }
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
