/** A payment as tools and resources tell of it: its state, what it waits for, and when to look again. */
import { z } from 'zod'
import { CODES } from '../core/codes.ts'
import {
  holdIdSchema,
  nodeIdSchema,
  type PaymentId,
  paymentIdSchema,
  receiptIdSchema,
} from '../core/ids.ts'
import { currencySchema, minorSchema } from '../core/money.ts'
import { HOLD_STATES, SHOWN_STATES } from '../core/records.ts'
import { isoTime, seconds } from '../core/time.ts'
import { adviceSchema, type OwnNode, type OwnPayment } from '../core/wire.ts'

const PAYMENTS = 'headgate://payments/'

export const PAYMENT_TEMPLATE = `${PAYMENTS}{paymentId}`

export const uriOf = (payment: PaymentId): string => PAYMENTS + payment

/** The payment that a URI of the template names. */
export function paymentOfUri(uri: string): PaymentId | undefined {
  if (!uri.startsWith(PAYMENTS)) return undefined
  return paymentIdSchema.safeParse(uri.slice(PAYMENTS.length)).data
}

/** A person takes minutes, a rail seconds. */
const LOOK_AGAIN = { person: 30, rail: 5 } as const

export const paymentSchema = z.strictObject({
  paymentId: paymentIdSchema,
  node: nodeIdSchema,
  payee: z.string(),
  amount: minorSchema.optional(),
  currency: currencySchema,
  verdict: z.enum(['allow', 'hold', 'deny']),
  state: z.enum(SHOWN_STATES).optional(),
  railStatus: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  advice: adviceSchema.optional(),
  hold: z
    .strictObject({
      id: holdIdSchema,
      state: z.enum(HOLD_STATES),
      expiresAt: z.string(),
      expiresAtSeconds: z.number().int(),
    })
    .optional(),
  receiptId: receiptIdSchema.optional(),
  createdAtSeconds: z.number().int().optional(),
  endedAtSeconds: z.number().int().optional(),
  /** Where this can be read again. */
  resource: z.string(),
  /** Present while it is not final: read the resource again after so long. */
  readAgainSeconds: z.number().int().optional(),
  /** A person has agreed: send the same quote again. */
  payAgain: z.literal(true).optional(),
})
export type ShownPayment = z.input<typeof paymentSchema>

/** How soon it makes sense to look again; undefined once nothing more will come by waiting. */
export function lookAgain({
  verdict,
  state,
  hold,
}: Pick<OwnPayment, 'verdict' | 'state' | 'hold'>): number | undefined {
  if (verdict === 'hold')
    return hold === undefined || hold.state === 'open' ? LOOK_AGAIN.person : undefined
  if (verdict === 'deny' || state === 'settled' || state === 'released') return undefined
  return state === 'awaiting_payer' ? LOOK_AGAIN.person : LOOK_AGAIN.rail
}

export function shownPayment(
  payment: OwnPayment,
  { currency }: Pick<OwnNode, 'currency'>,
): ShownPayment {
  const { id, hold, receipt, code, ...rest } = payment
  const again = lookAgain(payment)
  return {
    ...rest,
    paymentId: id,
    currency,
    ...(code === undefined ? {} : { code, message: CODES[code].message }),
    ...(hold === undefined
      ? {}
      : { hold: { ...hold, expiresAt: isoTime(seconds(hold.expiresAtSeconds)) } }),
    ...(receipt === undefined ? {} : { receiptId: receipt }),
    resource: uriOf(id),
    ...(again === undefined ? {} : { readAgainSeconds: again }),
    ...(hold?.state === 'approved' && payment.verdict === 'hold'
      ? { payAgain: true as const }
      : {}),
  }
}
