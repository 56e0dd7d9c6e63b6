/**
 * Refunds that an operator asks for: a part of a settled payment, back to where it was paid from. The ledger takes the
 * right to it first; then the one attempt that took it calls the rail, within a few seconds or not at all. Whatever is not
 * the rail's own word is unknown and keeps that right, and the reconciler asks what became of it: nothing is sent twice.
 */
import { Rejected } from '../core/errors.ts'
import { freshId, type PayeeId, type PaymentId, refundIdOf, refundKeyOf } from '../core/ids.ts'
import type { Result } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Minor } from '../core/money.ts'
import type { RailRefund, RailRefundOutcome } from '../core/rail.ts'
import type { PaymentRecord, RefundRecord } from '../core/records.ts'
import type { RefundBudget } from '../core/refund.ts'
import { nowSeconds, type Seconds } from '../core/time.ts'
import { isOpenRefund } from '../ledger/refunds.ts'
import { type AskDeps, isProofBy, type Patience } from './asking.ts'
import { forEach } from './each.ts'
import type { Gate } from './gate.ts'
import { asItStands, type OutcomeDeps, reasonOf, written } from './outcome.ts'
import { wordOf } from './rail.ts'
import type { WithOthers } from './turns.ts'

export interface RefundWord {
  readonly payment: PaymentId
  readonly amount: Minor
  /** The caller's own: the same again is the same refund. */
  readonly idempotencyKey: string
  readonly by: string
  /** Whoever names one means the payment's: money goes back to nobody else. */
  readonly payee?: PayeeId | undefined
}

export type RefundedPayment = Result<{
  readonly payment: PaymentRecord
  readonly refund: RefundRecord
  /** It was asked for before: this is what has become of it. */
  readonly replayed: boolean
}>

/** Throws Rejected where this gateway's rail makes no refunds, or is not the one that the payment went through. */
export async function refundPayment(gate: Gate, word: RefundWord): Promise<RefundedPayment> {
  const { ledger, clock, rail } = gate
  const { payment: of, amount, idempotencyKey, by } = word
  const paid = await ledger.payment(of)
  if (paid === undefined) return { ok: false, code: 'not_found' }
  if (word.payee !== undefined && word.payee !== paid.payee) {
    const sentence = 'expected the payee of this payment, or none: a refund goes nowhere else'
    throw new Rejected('refund_rejected', sentence, 'payee')
  }
  if (rail.refunds === undefined || paid.rail !== gate.facts.railName) {
    throw new Rejected('refund_rejected', 'expected a payment by a rail that makes refunds', 'rail')
  }
  const asked = await ledger.execute('refund', {
    payment: of,
    id: refundIdOf(of, idempotencyKey),
    amount,
    by,
    nonce: freshId(),
    nowMs: clock.nowMs(),
    now: nowSeconds(clock),
  })
  if (!asked.ok) return asked
  const { payment, refund, created } = asked
  if (!created) return { ok: true, payment, refund, replayed: true }
  const isInTime = clock.nowMs() - refund.submittedAtMs <= gate.timings.submitStartMs
  const outcome: RailRefundOutcome = isInTime
    ? await sendRefund(gate, payment, refund)
    : { kind: 'notSent', reason: 'too_late' }
  const after = await recordRefund(gate, { payment, refund, outcome, now: nowSeconds(clock) })
  return { ok: true, payment: after, refund: refundOf(after, refund), replayed: false }
}

const refundOf = ({ refunds = [] }: PaymentRecord, refund: RefundRecord): RefundRecord =>
  refunds.find(({ id }) => id === refund.id) ?? refund

const orderOf = (payment: PaymentRecord, { id, amount }: RefundRecord): RailRefund => ({
  payment: payment.id,
  key: refundKeyOf(id),
  paymentKey: payment.railKey,
  paymentAccount: payment.account,
  paymentReference: payment.railReference ?? '',
  amount,
  currency: payment.currency,
})

async function sendRefund(
  { rail, timings, timers }: Gate,
  payment: PaymentRecord,
  refund: RefundRecord,
): Promise<RailRefundOutcome> {
  const ask = async () => rail.refunds?.make(orderOf(payment, refund))
  const outcome = await wordOf(ask, timings.railMs, timers)
  return outcome ?? { kind: 'notSent', reason: 'no_refunds' }
}

interface RefundDeps extends OutcomeDeps {
  /** `hold` if absent. */
  readonly refundBudget?: RefundBudget
}

interface Ended {
  readonly payment: PaymentRecord
  readonly refund: RefundRecord
  readonly outcome: RailRefundOutcome
  readonly now: Seconds
}

/** The payment as it stands afterwards; what somebody else wrote down first stands. */
async function recordRefund(deps: RefundDeps, ended: Ended): Promise<PaymentRecord> {
  const { payment, refund, outcome, now } = ended
  const of = { payment: payment.id, refund: refund.id, now }
  const odd = (reason: 'rail_amount' | 'rail_currency') => {
    if (refund.state !== 'unknown') deps.onAlarm?.({ kind: reason, payment: payment.id })
    return written(deps.ledger, 'refundUnknown', { ...of, reason })
  }
  switch (outcome.kind) {
    case 'refunded': {
      const { amount, reference: railReference } = outcome
      if (outcome.currency !== payment.currency) return odd('rail_currency')
      if (amount !== refund.amount) return odd('rail_amount')
      const { refundBudget: budget } = deps
      const word = { ...of, amount, railReference, ...(budget === undefined ? {} : { budget }) }
      const made = await deps.ledger.execute('refunded', word)
      if (made.ok) return made.payment
      // More than was settled would have come back: the rail's word, but nothing that the sums can hold.
      if (made.code === 'insufficient') return odd('rail_amount')
      const now = await asItStands(deps.ledger, payment.id, 'refunded', made.code)
      // The rail's id for it is one that is noted for other money already: one of the two cannot be so.
      return isOpenRefund(refundOf(now, refund)) ? odd('rail_amount') : now
    }
    case 'declined':
    case 'notSent':
      return written(deps.ledger, 'refundFailed', { ...of, reason: reasonOf(outcome) })
    case 'unknown': {
      const reason = reasonOf(outcome)
      if (reason === 'amount_differs') return odd('rail_amount')
      return written(deps.ledger, 'refundUnknown', { ...of, reason })
    }
  }
}

export interface RefundRound extends AskDeps, RefundDeps, Patience {
  /** More of them than one list has. */
  readonly refunding: WithOthers
  /** False for a payment that another gateway asks about now. */
  readonly isLeased: (payment: PaymentRecord) => Promise<boolean>
}

/**
 * Asks the rail about refunds that have no end yet; returns payments of which more was refunded than before. Throws the
 * first Fault after having tried every payment.
 */
export async function askAboutRefunds(round: RefundRound): Promise<readonly PaymentId[]> {
  const { ledger, rail, clock } = round
  if (rail.refunds === undefined) return []
  const made: PaymentId[] = []
  const ask = async (payment: PaymentRecord, refund: RefundRecord, nowMs: number) => {
    const outcome = await lookedUp(round, payment, refund, nowMs)
    if (outcome === undefined) return
    const after = await recordRefund(round, { payment, refund, outcome, now: nowSeconds(clock) })
    if (refundOf(after, refund).state === 'made') made.push(payment.id)
  }
  const payments = await round.refunding(await ledger.refunding(LIMITS.pageItems))
  await forEach(payments, async (payment) => {
    const nowMs = clock.nowMs()
    const silent = (payment.refunds ?? []).filter(
      (refund) => isOpenRefund(refund) && nowMs - refund.submittedAtMs > round.patienceMs,
    )
    if (silent.length === 0 || !(await round.isLeased(payment))) return
    await forEach(silent, (refund) => ask(payment, refund, nowMs))
  })
  return made
}

/**
 * Undefined where nothing was learned. Its call has ended by now, one way or the other, so a rail that does not answer
 * leaves it unknown, as it leaves a payment: it is shown as such.
 */
async function lookedUp(
  round: RefundRound,
  payment: PaymentRecord,
  refund: RefundRecord,
  nowMs: number,
): Promise<RailRefundOutcome | undefined> {
  const { rail, timers, railMs } = round
  const ask = async () => rail.refunds?.lookup(orderOf(payment, refund))
  const found = await wordOf(ask, railMs, timers, 'lookup_failed')
  if (found?.kind === 'notSent') return { kind: 'unknown', reason: 'late' }
  if (found?.kind !== 'absent') return found
  return isProofBy(nowMs, refund.submittedAtMs, round)
    ? { kind: 'declined', reason: 'absent_at_rail' }
    : undefined
}
