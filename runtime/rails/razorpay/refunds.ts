/**
 * Refunds of payments that payers made. The payment is read first and must be the one that was paid by our key, captured, in
 * this currency, with so much left; the amount is always stated, because Razorpay takes a missing one for the whole. A
 * payout cannot be asked back.
 */
import { type RailRefund, type RailRefundOutcome, railStatusOf } from '../../core/rail.ts'
import { declined, notSent, unknown } from '../words.ts'
import type { Ask } from './client.ts'
import { isAmount, kindOf } from './currencies.ts'
import { fetchPayment, keyOfPayment, refundsOf } from './payments.ts'
import { IDS, KEY, NOTE, type Refund, refundSchema, saidIn } from './wire.ts'

/** Asks for it unless it is there already; not sent where the payment could not bear it. */
export async function refund(ask: Ask, order: RailRefund): Promise<RailRefundOutcome> {
  const { key, amount, paymentReference: id } = order
  const cannot = whyNot(order)
  if (cannot !== undefined) return notSent(cannot)
  const earlier = await findRefund(ask, order)
  if (earlier.kind !== 'absent') {
    // Until now nothing was sent: what could not be read is no refund under way.
    return earlier.kind === 'said' ? judge(earlier.value, order) : notSent(earlier.reason)
  }
  const unfit = await unfitness(ask, order)
  if (unfit !== undefined) return notSent(unfit)
  const body = { amount, speed: 'normal', receipt: key, notes: { [NOTE]: key } }
  const headers = { 'X-Refund-Idempotency': key }
  const got = await ask(({ rq }) => rq.post(`/v1/payments/${id}/refund`, body, { headers }))
  const said = saidIn(refundSchema, got)
  if (said.kind === 'said') return judge(said.value, order)
  if (said.kind !== 'refused') return said
  // Refused, unless it is there all the same. A low balance is said in the words of a bad request: no other key helps.
  const found = await findRefund(ask, order)
  if (found.kind === 'said') return judge(found.value, order)
  if (found.kind === 'absent' && said.status === 400) {
    return declined('refused_by_rail')
  }
  return unknown('key_in_use')
}

function whyNot({ key, paymentAccount, paymentReference, amount, currency }: RailRefund) {
  if (kindOf(paymentAccount) === 'payout') return 'payout_not_refundable'
  const isSayable = KEY.test(key) && IDS.payment.test(paymentReference)
  return isSayable && isAmount(amount, currency) ? undefined : 'order_not_expressible'
}

/** Why the payment, as Razorpay has it now, is not one of which this may be refunded. */
async function unfitness(ask: Ask, order: RailRefund): Promise<string | undefined> {
  const { paymentKey, paymentReference, amount, currency } = order
  const said = await fetchPayment(ask, paymentReference)
  if (said.kind === 'refused') return 'payment_unknown'
  if (said.kind !== 'said') return said.reason
  const payment = said.value
  if (!payment.captured) return 'payment_not_settled'
  if (payment.currency !== currency) return 'currency_differs'
  if (amount > payment.amount - payment.amount_refunded) return 'amount_exceeds_remaining'
  const carried = await keyOfPayment(ask, payment)
  if (carried.kind !== 'key') return carried.reason
  return carried.key === paymentKey ? undefined : 'payment_differs'
}

type Found =
  | { readonly kind: 'said'; readonly value: Refund }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown' | 'notSent'; readonly reason: string }

/** Absent only by a whole list that has none. */
async function findRefund(ask: Ask, { key, paymentReference }: RailRefund): Promise<Found> {
  const said = await refundsOf(ask, paymentReference)
  if (said.kind === 'refused') return unknown('lookup_refused')
  if (said.kind !== 'said') return said
  const [made, ...more] = said.value.filter(
    ({ receipt, notes }) => receipt === key || notes === key,
  )
  if (made === undefined) return { kind: 'absent' }
  return more.length === 0 ? { kind: 'said', value: made } : unknown('more_than_one')
}

/** Less or more than was asked back is money that nobody asked for. */
function judge(made: Refund, order: RailRefund): RailRefundOutcome {
  const { id: reference } = made
  const status = railStatusOf(made.status)
  if (made.payment_id !== order.paymentReference) return unknown('answer_differs')
  if (made.status === 'failed') return declined('failed', status)
  if (made.amount !== order.amount || made.currency !== order.currency) {
    return unknown('amount_differs', { reference, status })
  }
  if (made.status !== 'processed') return unknown('refund_pending', { reference, status })
  const { amount, currency } = order
  return { kind: 'refunded', reference, amount, currency }
}

/** Among the refunds of the payment. */
export async function lookUpRefund(
  ask: Ask,
  order: RailRefund,
): Promise<RailRefundOutcome | { readonly kind: 'absent' }> {
  // Never sent, so never there.
  if (whyNot(order) !== undefined) return { kind: 'absent' }
  const found = await findRefund(ask, order)
  if (found.kind === 'said') return judge(found.value, order)
  return found.kind === 'notSent' ? unknown(found.reason) : found
}
