/** A payment's record as operators, and planners above it, read it. */
import type { z } from 'zod'
import { eventWord } from '../core/events.ts'
import type { MessageRecord, OutsideRecord } from '../core/inbox.ts'
import {
  type PaymentRecord,
  type RefundRecord,
  type Resolution,
  refundedOf,
  reversedOf,
  shownState,
} from '../core/records.ts'
import type { refundViewSchema } from '../core/wire.ts'
import type { outsideView, paymentView } from './shapes.ts'
import { trailLines } from './trail.ts'

type View = z.input<typeof paymentView>

/**
 * For a planner above it: exactly these fields, and of what the rail wrote its status and a reference that is one word.
 * Operators, and the leaf's own holder, see more.
 */
export const viewOfPayment = (payment: PaymentRecord): View => ({
  id: payment.id,
  run: payment.run,
  node: payment.node,
  payee: payment.payee,
  merchant: payment.merchant,
  lines: [...payment.lines],
  amount: payment.amount,
  currency: payment.currency,
  state: shownState(payment),
  ...(payment.railStatus === undefined ? {} : { railStatus: payment.railStatus }),
  ...(payment.settledAmount === undefined ? {} : { settledAmount: payment.settledAmount }),
  ...(payment.railReference === undefined
    ? {}
    : { railReference: eventWord(payment.railReference) }),
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
}: RefundRecord): z.input<typeof refundViewSchema> => refund

/** With where the payer agrees: for operators and the holder of its leaf, because whoever has the address may pay. */
export const withApproval = (payment: PaymentRecord): View => ({
  ...viewOfPayment(payment),
  ...(payment.approveUrl === undefined ? {} : { approveUrl: payment.approveUrl }),
})

/** Without the salt of the evidence's digest. */
export function viewOfOutside({
  acknowledged: said,
  ...outside
}: OutsideRecord): z.input<typeof outsideView> {
  if (said === undefined) return outside
  const { by, evidence, atSeconds } = said
  return { ...outside, acknowledged: { by, evidence, atSeconds } }
}

export const viewOfMessage = ({ rail, id, name, heardAtSeconds, attempts }: MessageRecord) => ({
  rail,
  id,
  name,
  heardAtSeconds,
  attempts,
})

/** With where it all came from, and what operators have said of it, in their own words. */
export const operatorsView = (payment: PaymentRecord): View => ({
  ...withApproval(payment),
  ...(payment.railReference === undefined ? {} : { railReference: payment.railReference }),
  ...(payment.monitor === undefined
    ? {}
    : { monitor: { answer: payment.monitor.answer, words: [...payment.monitor.words] } }),
  ...(payment.provenance === undefined
    ? {}
    : { provenance: payment.provenance, trail: trailLines(payment) }),
  ...(payment.resolution === undefined ? {} : { resolution: viewOf(payment.resolution) }),
})

const viewOf = ({ salt: _salt, confirmed, ...said }: Resolution): View['resolution'] => ({
  ...said,
  ...(confirmed === undefined ? {} : { confirmedBy: confirmed.by }),
})
