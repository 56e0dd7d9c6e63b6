/** What is sent to the ledger about a refund that we ask the rail for. */
import type { PaymentId, RefundId } from './ids.ts'
import type { Minor } from './money.ts'
import type { PaymentRecord, RefundRecord } from './records.ts'
import type { Seconds } from './time.ts'

/** Takes the right to give back so much of a settled payment, before the rail is asked. */
export interface Refund {
  readonly payment: PaymentId
  /** Derives from the payment and the caller's own key: the same request is the same refund. */
  readonly id: RefundId
  readonly amount: Minor
  readonly by: string
  /** Of the attempt that may call the rail, if this command makes the refund. */
  readonly nonce: string
  readonly nowMs: number
  readonly now: Seconds
}

export interface AskedRefund {
  readonly payment: PaymentRecord
  readonly refund: RefundRecord
  /** For the one attempt that may call the rail. */
  readonly created: boolean
}

/** What happens to the budget once a refund was made: a person puts it to use again, or the operator's policy does. */
export const REFUND_BUDGETS = ['hold', 'return'] as const
export type RefundBudget = (typeof REFUND_BUDGETS)[number]

/** The rail's word that it made a refund. */
export interface RefundMade {
  readonly payment: PaymentId
  readonly refund: RefundId
  readonly amount: Minor
  /** The rail's own id of it, by which it also tells of it as something that came back. */
  readonly railReference: string
  /** `return`: the operator's policy puts it to use again at once, where there is something that may use it. */
  readonly budget?: RefundBudget
  readonly now: Seconds
}

/** The rail's word that it makes none, or that nobody knows. */
export interface RefundEnd {
  readonly payment: PaymentId
  readonly refund: RefundId
  readonly reason: string
  readonly now: Seconds
}
