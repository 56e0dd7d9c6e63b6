/** A quote: an issuer's signed, expiring offer, as strict claims. */
import { z } from 'zod'
import { identifierSchema } from './ids.ts'
import { LIMITS } from './limits.ts'
import { secondsSchema } from './mandate.ts'
import { currencySchema, positiveMinorSchema } from './money.ts'

const lineSchema = z.strictObject({
  sku: identifierSchema,
  title: z.string().min(1).max(LIMITS.titleChars),
  quantity: z.number().int().min(1).max(1_000_000),
  unitAmount: positiveMinorSchema,
})

export type QuoteLine = z.infer<typeof lineSchema>

/** `lines` must add up to `amount` exactly; whatever else an issuer wants to say lies under `ext`, unread. */
export const quoteSchema = z
  .strictObject({
    iss: identifierSchema,
    jti: identifierSchema,
    iat: secondsSchema,
    exp: secondsSchema,
    kind: z.literal('merchant'),
    payee: identifierSchema,
    lines: z.array(lineSchema).min(1).max(LIMITS.quoteLines),
    amount: positiveMinorSchema,
    currency: currencySchema,
    recurring: z.boolean().optional(),
    ext: z.unknown().optional(),
  })
  .refine(
    (quote) =>
      quote.lines.reduce((sum, line) => sum + line.quantity * line.unitAmount, 0) === quote.amount,
    { message: 'expected the lines to add up to the amount', path: ['amount'] },
  )

/** Amounts in minor units of `currency`; times in UTC seconds. */
export type Quote = z.infer<typeof quoteSchema>
