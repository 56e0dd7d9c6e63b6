/** A payment's record as operators, and planners above it, read it. */
import type { z } from 'zod'
import {
  type PaymentRecord,
  type RefundRecord,
  type Resolution,
  refundedOf,
  reversedOf,
} from '../core/records.ts'
import type { paymentView, refundView } from './shapes.ts'

type View = z.input<typeof paymentView>

export const viewOfPayment = (payment: PaymentRecord): View => ({
  id: payment.id,
  run: payment.run,
  node: payment.node,
  payee: payment.payee,
  merchant: payment.merchant,
  lines: [...payment.lines],
  amount: payment.amount,
  currency: payment.currency,
  state: payment.state,
  ...(payment.settledAmount === undefined ? {} : { settledAmount: payment.settledAmount }),
  ...(payment.railReference === undefined ? {} : { railReference: payment.railReference }),
  ...(payment.reason === undefined ? {} : { reason: payment.reason }),
  createdAtSeconds: payment.createdAtSeconds,
  ...(payment.endedAtSeconds === undefined ? {} : { endedAtSeconds: payment.endedAtSeconds }),
  ...(payment.submittedAtMs === undefined
    ? {}
    : { submittedAtSeconds: Math.floor(payment.submittedAtMs / 1000) }),
  ...(payment.reversals === undefined ? {} : { reversedAmount: reversedOf(payment) }),
  ...(payment.regained === undefined ? {} : { regainedAmount: payment.regained.amount }),
  ...(payment.refunds === undefined
    ? {}
    : { refundedAmount: refundedOf(payment), refunds: payment.refunds.map(viewOfRefund) }),
  ...(payment.overdue === undefined ? {} : { overdueAtSeconds: payment.overdue.atSeconds }),
})

export const viewOfRefund = ({
  nonce: _nonce,
  submittedAtMs: _at,
  ...refund
}: RefundRecord): z.input<typeof refundView> => refund

/** With what operators have said of it, in their own words. */
export const operatorsView = (payment: PaymentRecord): View => ({
  ...viewOfPayment(payment),
  ...(payment.resolution === undefined ? {} : { resolution: viewOf(payment.resolution) }),
})

const viewOf = ({ salt: _salt, confirmed, ...said }: Resolution): View['resolution'] => ({
  ...said,
  ...(confirmed === undefined ? {} : { confirmedBy: confirmed.by }),
})
