/**
 * Refunds of captures. The capture is read first: what it says of itself decides whether anything is asked at all, and
 * the amount is always stated, because PayPal takes a missing one for everything that is left.
 */
import {
  type RailOutcomeOf,
  type RailRefund,
  type RailRefundOutcome,
  railStatusOf,
} from '../../core/rail.ts'
import { declined, notSent, unknown } from '../words.ts'
import { accountOf, isId, isKey } from './accounts.ts'
import { noAnswer, read, refusedBy } from './answers.ts'
import {
  type Capture,
  captureSchema,
  isExactly,
  isTaken,
  orderSchema,
  type Refund,
  refundSchema,
  refundsOf,
} from './captures.ts'
import type { Deadline, PaypalClient } from './client.ts'
import { sumOf, valueText } from './money.ts'
import { getCaptureRequest, getOrderRequest, refundRequest } from './requests.ts'

interface Books {
  readonly kind: 'books'
  readonly capture: Capture
  readonly refunds: readonly Refund[]
}

/** Asks for it unless it is there already; not sent where the capture could not bear it. */
export async function refundCapture(
  client: PaypalClient,
  asked: RailRefund,
): Promise<RailRefundOutcome> {
  const { key, currency, paymentAccount, paymentReference } = asked
  const value = valueText(asked.amount, currency)
  // A payout is its receiver's money: nobody but they can send it back.
  if (accountOf(paymentAccount)?.kind !== 'merchant') return notSent('payout_not_refundable')
  if (!isKey(key) || !isId(paymentReference) || value === undefined) {
    return notSent('order_not_expressible')
  }
  const deadline = client.deadline()
  const books = await readBooks(client, paymentReference, deadline)
  if (books.kind !== 'books') return notSent(books.reason)
  const earlier = books.refunds.find(({ invoice_id }) => invoice_id === key)
  if (earlier !== undefined) return judge(asked, earlier)
  const against = objection(asked, books)
  if (against !== undefined) return notSent(against)
  const said = await client.call(
    refundRequest(paymentReference, { key, currency, value }),
    deadline,
  )
  const refund = read(refundSchema, said)
  return refund === undefined ? refusedBy(said) : judge(asked, refund)
}

/** Why the capture cannot be what is asked back of, or not so much of it. */
function objection(asked: RailRefund, { capture, refunds }: Books): string | undefined {
  if (capture.invoice_id !== asked.paymentKey) return 'payment_differs'
  if (!isTaken(capture)) return 'payment_not_settled'
  const paid = sumOf(capture.amount.value, capture.amount.currency_code)
  if (paid === undefined || paid.currency !== asked.currency) return 'currency_differs'
  let sum: number = asked.amount
  for (const { status, amount } of refunds) {
    if (status === 'FAILED' || status === 'CANCELLED') continue
    const back = sumOf(amount.value, amount.currency_code)
    if (back === undefined) return 'answer_malformed'
    sum += back.amount
  }
  return sum > paid.amount ? 'amount_exceeds_remaining' : undefined
}

async function readBooks(
  client: PaypalClient,
  reference: string,
  deadline: Deadline,
): Promise<Books | RailOutcomeOf<'unknown'>> {
  const got = await client.call(getCaptureRequest(reference), deadline)
  const capture = read(captureSchema, got)
  if (capture === undefined) return noAnswer(got)
  const orderId = capture.supplementary_data?.related_ids?.order_id
  if (orderId === undefined) return unknown('answer_malformed')
  const said = await client.call(getOrderRequest(orderId), deadline)
  const order = read(orderSchema, said)
  if (order === undefined) return noAnswer(said)
  return { kind: 'books', capture, refunds: refundsOf(order, capture.id) }
}

function judge(asked: RailRefund, refund: Refund): RailRefundOutcome {
  const { id: reference } = refund
  const status = railStatusOf(refund.status)
  if (refund.invoice_id !== asked.key) return unknown('answer_differs', { reference, status })
  if (status === 'FAILED' || status === 'CANCELLED') return declined(status.toLowerCase(), status)
  if (!isExactly(asked, refund.amount)) return unknown('amount_differs', { reference, status })
  if (status !== 'COMPLETED') return unknown('refund_pending', { reference, status })
  const { amount, currency } = asked
  return { kind: 'refunded', reference, amount, currency }
}

/** Among the refunds of the order, which are shown at once; one that is not there was not made. */
export async function lookUpRefund(
  client: PaypalClient,
  asked: RailRefund,
): Promise<RailRefundOutcome | { readonly kind: 'absent' }> {
  if (accountOf(asked.paymentAccount)?.kind !== 'merchant') return { kind: 'absent' }
  if (!isId(asked.paymentReference)) return unknown('order_not_expressible')
  const books = await readBooks(client, asked.paymentReference, client.deadline())
  if (books.kind !== 'books') return books
  if (books.capture.invoice_id !== asked.paymentKey) return unknown('answer_differs')
  const refund = books.refunds.find(({ invoice_id }) => invoice_id === asked.key)
  return refund === undefined ? { kind: 'absent' } : judge(asked, refund)
}
