/**
 * What a capture says, wherever it is met: in an order, by its own id, or drawn from an authorisation. An order may be
 * COMPLETED while its capture is PENDING, so only the capture's own status counts.
 */
import { z } from 'zod'
import { isCurrency, minor } from '../../core/money.ts'
import {
  type RailOrder,
  type RailOutcome,
  type RailReversal,
  railStatusOf,
} from '../../core/rail.ts'
import { declined, unknown } from '../words.ts'
import { isId } from './accounts.ts'
import { textSchema } from './answers.ts'
import { sumOf } from './money.ts'
import { timeSchema } from './search.ts'

export const amountSchema = z.object({ currency_code: textSchema, value: textSchema })

const paypalIdSchema = textSchema.refine(isId)

const linksSchema = z
  .array(z.object({ href: textSchema, rel: textSchema }))
  .max(100)
  .default([])

const relatedSchema = z
  .object({ related_ids: z.object({ order_id: paypalIdSchema.optional() }).optional() })
  .optional()

export const captureSchema = z.object({
  id: paypalIdSchema,
  status: textSchema,
  amount: amountSchema,
  invoice_id: textSchema.optional(),
  custom_id: textSchema.optional(),
  supplementary_data: relatedSchema,
  create_time: timeSchema.optional(),
})

export const refundSchema = z.object({
  id: paypalIdSchema,
  status: textSchema,
  amount: amountSchema,
  invoice_id: textSchema.optional(),
  custom_id: textSchema.optional(),
  links: linksSchema,
  create_time: timeSchema.optional(),
})

export const authorizationSchema = z.object({
  id: paypalIdSchema,
  status: textSchema,
  amount: amountSchema,
  custom_id: textSchema.optional(),
  expiration_time: timeSchema.optional(),
  supplementary_data: relatedSchema,
  create_time: timeSchema.optional(),
})

export const orderSchema = z.object({
  id: paypalIdSchema,
  status: textSchema,
  intent: textSchema.optional(),
  purchase_units: z
    .array(
      z.object({
        amount: amountSchema,
        custom_id: textSchema.optional(),
        invoice_id: textSchema.optional(),
        payee: z.object({ merchant_id: textSchema.optional() }).optional(),
        payments: z
          .object({
            captures: z.array(captureSchema).max(100).default([]),
            authorizations: z.array(authorizationSchema).max(100).default([]),
            refunds: z.array(refundSchema).max(1_000).default([]),
          })
          .optional(),
      }),
    )
    .length(1),
  links: linksSchema,
  create_time: timeSchema.optional(),
})

export type Capture = z.infer<typeof captureSchema>
export type Refund = z.infer<typeof refundSchema>
export type Authorization = z.infer<typeof authorizationSchema>
export type Order = z.infer<typeof orderSchema>

export const unitOf = ({ purchase_units: [unit] }: Order) => unit

export const capturesIn = (order: Order): readonly Capture[] =>
  unitOf(order)?.payments?.captures ?? []

/** Refunds name their capture by the last part of a link. */
export const refundsOf = (order: Order, capture: string): readonly Refund[] =>
  (unitOf(order)?.payments?.refunds ?? []).filter(({ links }) =>
    links.some(({ rel, href }) => rel === 'up' && href.endsWith(`/captures/${capture}`)),
  )

/** Whether PayPal names this very sum, in this currency. */
export function isExactly(
  { amount, currency }: Pick<RailOrder, 'amount' | 'currency'>,
  said: z.infer<typeof amountSchema>,
): boolean {
  const sum = sumOf(said.value, said.currency_code)
  return sum?.amount === amount && sum.currency === currency && !sum.isNegative
}

/** Paid, whatever came back of it afterwards. */
export const isTaken = ({ status }: Pick<Capture, 'status'>): boolean =>
  ['COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED'].includes(status)

/**
 * `refunds` are those of this capture, where they were read; `pendingAs` is what a look-up is given of a capture that is
 * not final. An amount that is not the order's is said as it is: whoever paid compares it.
 */
export function judgeCapture(
  capture: Capture,
  { refunds, pendingAs }: { readonly refunds?: readonly Refund[]; readonly pendingAs: string },
): RailOutcome {
  const { id: reference, amount: said } = capture
  const status = railStatusOf(capture.status)
  if (status === 'DECLINED' || status === 'FAILED') return declined(status.toLowerCase(), status)
  if (status === 'PENDING') return { kind: 'pending', awaits: 'rail', reference: pendingAs, status }
  const sum = sumOf(said.value, said.currency_code)
  if (!isTaken(capture) || sum === undefined || sum.isNegative || !isCurrency(sum.currency)) {
    return unknown('answer_malformed', { reference, status })
  }
  const { amount, currency } = sum
  const settled = { kind: 'settled', reference, amount, currency, status } as const
  if (status === 'COMPLETED') return settled
  const back = (refunds ?? []).flatMap((refund) => reversalOf(refund, currency))
  const sumBack = back.reduce((all, one) => all + one.amount, 0)
  // What is on its way back will be said by its own id, and is never noted without it.
  const isUnderWay = refunds?.some(({ status: word }) => word === 'PENDING') ?? false
  // More came back than its parts say: all of it did, by PayPal's own word.
  if (status === 'REFUNDED' && sumBack !== amount && !isUnderWay) {
    return { ...settled, returned: true }
  }
  return back.length > 0 ? { ...settled, back } : settled
}

function reversalOf(refund: Refund, currency: string): RailReversal[] {
  const sum = sumOf(refund.amount.value, refund.amount.currency_code)
  if (refund.status !== 'COMPLETED' || sum === undefined || sum.currency !== currency) return []
  return [{ id: refund.id, kind: 'refunded', amount: minor(sum.amount) }]
}
