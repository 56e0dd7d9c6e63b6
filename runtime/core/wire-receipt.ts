/** Shapes on the wire of a receipt: its page, and the question whether it holds. */
import { z } from 'zod'
import { digestSchema, identifierSchema, nodeIdSchema, receiptIdSchema } from './ids.ts'
import { LIMITS } from './limits.ts'
import { currencySchema, minorSchema } from './money.ts'
import { checkResultSchema } from './wire.ts'

const at = z.number().int()

/**
 * A receipt as whoever knows its id may read it: the signed text, what it says in plain fields, and what came after, which
 * it does not say. Of the payee's account at most the last four characters.
 */
export const receiptViewSchema = z.strictObject({
  id: receiptIdSchema,
  /** What the payee's bank or wallet shows of it. */
  shortId: z.string(),
  receipt: z.string(),
  state: z.enum(['settled']),
  gateway: z.string(),
  payee: z.strictObject({ id: identifierSchema, name: z.string(), account: z.string() }),
  merchant: identifierSchema,
  amount: minorSchema,
  currency: currencySchema,
  settledAtSeconds: at,
  rail: z.string(),
  railReference: z.string(),
  /** Whose word it is that it settled: the rail's, or that of two operators where the rail had none. */
  settledBy: z.enum(['rail', 'operators']),
  checks: z.array(checkResultSchema.omit({ ms: true })),
  /** Version of the operator's rules that check 7 decided by; absent where that was not recorded. */
  policy: digestSchema.optional(),
  /** The settlement in the leaf's log, with the hash before it. */
  head: z.strictObject({
    stream: nodeIdSchema,
    seq: z.number().int(),
    hash: digestSchema,
    previous: digestSchema.optional(),
  }),
  /** What was refunded since because we asked; the receipt itself never changes. */
  refundedAmount: minorSchema.optional(),
  /** All that came back since, refunds among it. */
  returnedAmount: minorSchema.optional(),
  back: z
    .array(
      z.strictObject({
        kind: z.enum(['reversed', 'refunded']),
        /** `pending`: asked for, and the rail has no last word on it. */
        state: z.enum(['made', 'pending']),
        amount: minorSchema,
        atSeconds: at,
      }),
    )
    .optional(),
  /** The run's personal values were erased: of the account nothing is left here. */
  erased: z.literal(true).optional(),
})
export type ReceiptView = z.infer<typeof receiptViewSchema>

/** A receipt, its text or its id, and what whoever shows it says of it: exactly these are compared. */
export const receiptClaimBody = z.strictObject({
  receipt: z.string().min(1).max(LIMITS.receiptChars),
  amount: minorSchema,
  currency: currencySchema,
  merchant: identifierSchema,
})

/**
 * What holds of a receipt now. `approved`: this gateway made the payment and all nine checks passed. `settled`: it is
 * settled, and not all of it has come back. `amount`: amount and currency are the receipt's. `merchant`: it was that
 * merchant's quote. `logIntact`: the leaf's log verifies up to the receipt's head. Of a receipt that is not this gateway's
 * all five are false.
 */
export const receiptVerdictSchema = z.strictObject({
  approved: z.boolean(),
  settled: z.boolean(),
  amount: z.boolean(),
  merchant: z.boolean(),
  logIntact: z.boolean(),
})
export type ReceiptVerdict = z.infer<typeof receiptVerdictSchema>
