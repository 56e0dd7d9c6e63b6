/** A payment's record as operators, and planners above it, read it. */
import type { z } from 'zod'
import type { PaymentRecord } from '../core/records.ts'
import type { paymentView } from './shapes.ts'

export const viewOfPayment = (payment: PaymentRecord): z.input<typeof paymentView> => ({
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
  ...(payment.overdue === undefined ? {} : { overdueAtSeconds: payment.overdue.atSeconds }),
})
