/** One movement or promise of money as Razorpay has it now, by whichever way it was heard of. */
import { type RailObject, railStatusOf } from '../../core/rail.ts'
import { ourKeyIn, unknown } from '../words.ts'
import type { Ask } from './client.ts'
import { fetchPayment, keyOfPayment } from './payments.ts'
import { fetchPayout, reversalOf } from './payouts.ts'
import {
  IDS,
  linkSchema,
  type NoWord,
  type Payment,
  type Payout,
  type Refund,
  refundSchema,
  saidIn,
} from './wire.ts'

const keyed = (key: string | undefined) => (key === undefined ? {} : { key })

export const ofPayout = (payout: Payout): RailObject => ({
  id: payout.id,
  type: 'payout',
  ...keyed(ourKeyIn(payout.reference_id)),
  direction: 'out',
  amount: payout.amount,
  currency: payout.currency,
  status: railStatusOf(payout.status),
  // A reversed one had left, and has come back by its reversal.
  moved: payout.status === 'processed' || payout.status === 'reversed',
  atSeconds: payout.created_at,
})

export const ofReversal = (payout: Payout): RailObject => ({
  ...ofPayout(payout),
  id: reversalOf(payout.id),
  type: 'reversal',
  of: payout.id,
  direction: 'in',
})

/** A payment of ours is money that a payer of ours spent; any other has only come into the account. */
const ofPayment = (payment: Payment, key: string | undefined): RailObject => ({
  id: payment.id,
  type: 'payment',
  ...keyed(key),
  direction: key === undefined ? 'in' : 'out',
  amount: payment.amount,
  currency: payment.currency,
  status: railStatusOf(payment.status),
  moved: payment.captured,
  atSeconds: payment.created_at,
})

/** With the key that it carries, for which its order may have to be asked about. */
export async function paymentObject(ask: Ask, payment: Payment): Promise<RailObject | NoWord> {
  const carried = await keyOfPayment(ask, payment)
  return carried.kind === 'key' ? ofPayment(payment, carried.key) : carried
}

/** Of a payment that was never captured nothing goes back: the rail only lets the payer's money be. */
export async function refundObject(ask: Ask, refund: Refund): Promise<RailObject | NoWord> {
  const said = await fetchPayment(ask, refund.payment_id)
  if (said.kind !== 'said') return noWord(said)
  const payment = await paymentObject(ask, said.value)
  if (!('type' in payment)) return payment
  return {
    id: refund.id,
    type: 'refund',
    ...keyed(ourKeyIn(refund.notes) ?? ourKeyIn(refund.receipt)),
    of: refund.payment_id,
    direction: payment.direction === 'out' ? 'in' : 'out',
    amount: refund.amount,
    currency: refund.currency,
    status: railStatusOf(refund.status),
    moved: refund.status === 'processed' && payment.moved,
    atSeconds: refund.created_at,
  }
}

const noWord = (said: NoWord | { readonly kind: 'refused' }): NoWord =>
  said.kind === 'refused' ? unknown('lookup_refused') : said

/** `ref` is an id, or a payout's and `.reversal`. That something is absent Razorpay says in no definite words. */
export async function fetchObject(ask: Ask, ref: string): Promise<RailObject | NoWord> {
  const payout = ref.replace(/\.reversal$/, '')
  if (IDS.payout.test(payout)) {
    const said = await fetchPayout(ask, payout)
    if (said.kind !== 'said') return noWord(said)
    if (said.value.id !== payout) return unknown('answer_differs')
    const isBack = ref !== payout && said.value.status === 'reversed'
    return isBack ? ofReversal(said.value) : ofPayout(said.value)
  }
  if (IDS.payment.test(ref)) {
    const said = await fetchPayment(ask, ref)
    return said.kind === 'said' ? paymentObject(ask, said.value) : noWord(said)
  }
  if (IDS.refund.test(ref)) {
    const said = saidIn(refundSchema, await ask(({ api }) => api.refunds.fetch(ref)))
    if (said.kind !== 'said') return noWord(said)
    return said.value.id === ref ? refundObject(ask, said.value) : unknown('answer_differs')
  }
  return IDS.link.test(ref) ? fetchLink(ask, ref) : unknown('reference_not_expressible')
}

/** A promise: what moves by it is a payment of its own. */
async function fetchLink(ask: Ask, id: string): Promise<RailObject | NoWord> {
  const said = saidIn(linkSchema, await ask(({ api }) => api.paymentLink.fetch(id)))
  if (said.kind !== 'said') return noWord(said)
  const link = said.value
  if (link.id !== id) return unknown('answer_differs')
  return {
    id,
    type: 'other',
    ...keyed(ourKeyIn(link.reference_id)),
    direction: 'in',
    amount: link.amount,
    currency: link.currency,
    status: railStatusOf(link.status),
    moved: false,
    atSeconds: link.created_at,
  }
}
