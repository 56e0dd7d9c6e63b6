/** What the simulated rail says and hears: the one place where its server and its adapter agree. */
import { z } from 'zod'
import { anyCurrencySchema, currencySchema, positiveMinorSchema } from '../../core/money.ts'
import { DIRECTIONS, railStatusSchema } from '../../core/rail.ts'

/** No dot: a key stands in a path, where `..` would be another route. */
export const payoutKeySchema = z.string().regex(/^[A-Za-z0-9_-]{1,80}$/)

const accountSchema = z.string().min(1).max(200)

/** The longest note that the rail takes, in UTF-16 units. */
export const NOTE_CHARS = 140

/** What is asked: `amount` in minor units of `currency`; `key` is the idempotency key. */
export const payoutBodySchema = z.strictObject({
  key: payoutKeySchema,
  account: accountSchema,
  amount: positiveMinorSchema,
  currency: currencySchema,
  note: z.string().max(NOTE_CHARS),
})
export type PayoutBody = z.infer<typeof payoutBodySchema>

/** A payout as the book has it: `amount` and `currency` are what really moved. */
export const payoutSchema = payoutBodySchema.extend({
  reference: z.string().regex(/^sim_[A-Za-z0-9_-]{1,60}$/),
  state: z.enum(['settled', 'declined', 'returned']),
  reason: z.string().max(80).optional(),
  createdAtSeconds: z.number().int().min(0),
})
export type Payout = z.infer<typeof payoutSchema>

/** `POST /payouts/{key}/refunds`: `key` is the refund's own idempotency key, `amount` is always stated. */
export const refundBodySchema = z.strictObject({
  key: payoutKeySchema,
  amount: positiveMinorSchema,
  currency: currencySchema,
})
export type RefundBody = z.infer<typeof refundBodySchema>

/** A refund as the book has it: what really came back of which payout. */
export const refundSchema = refundBodySchema.extend({
  payout: payoutKeySchema,
  reference: z.string().regex(/^simr_[A-Za-z0-9_-]{1,60}$/),
  state: z.enum(['refunded', 'declined']),
  reason: z.string().max(80).optional(),
  createdAtSeconds: z.number().int().min(0),
})
export type Refund = z.infer<typeof refundSchema>

/** The answer of `GET /payouts/{key}`: the payout and what of it was refunded. */
export const foundPayoutSchema = payoutSchema.extend({
  refunds: z.array(refundSchema).optional(),
})
export type FoundPayout = z.infer<typeof foundPayoutSchema>

/** The only answer that means that there is no such refund. */
export const absentRefundSchema = z.strictObject({
  code: z.literal('no_such_refund'),
  key: payoutKeySchema,
})

/** `GET /book`: `totals` is what left, less what came back; `calls` counts every payout request that arrived. */
export const bookSchema = z.strictObject({
  calls: z.number().int().min(0),
  /** Requests of any kind without the right key. */
  unauthorised: z.number().int().min(0),
  payouts: z.array(payoutSchema),
  refunds: z.array(refundSchema),
  totals: z.partialRecord(currencySchema, z.number().int().min(0)),
})
export type BookView = z.infer<typeof bookSchema>

/** The only answer that means absence: it names the key that was asked for. */
export const absentSchema = z.strictObject({
  code: z.literal('no_such_payout'),
  key: payoutKeySchema,
})

const secondsText = z
  .string()
  .regex(/^\d{1,12}$/)
  .transform(Number)

export const statementQuerySchema = z.object({
  from: secondsText,
  to: secondsText,
  after: z.string().optional(),
})

/** `GET /statement?from&to&after`: one page of what moved, oldest first; `key` is the payout's or the refund's. */
const entrySchema = z.strictObject({
  id: z.string().min(1).max(120),
  type: z.enum(['payout', 'refund', 'reversal', 'other']),
  key: payoutKeySchema.optional(),
  direction: z.enum(DIRECTIONS),
  amount: positiveMinorSchema,
  currency: anyCurrencySchema,
  status: railStatusSchema,
  atSeconds: z.number().int().min(0),
})

export const statementSchema = z.strictObject({
  entries: z.array(entrySchema),
  completeUntilSeconds: z.number().int().min(0),
  /** `after` of the next page. */
  next: z.string().max(200).optional(),
})
export type StatementView = z.infer<typeof statementSchema>

/** `POST /strays`: money moves on the account without anybody's request; not part of `totals`. */
export const straySchema = z.strictObject({
  direction: z.enum(DIRECTIONS),
  amount: positiveMinorSchema,
  currency: anyCurrencySchema,
})
export type Stray = z.infer<typeof straySchema>

export const healthSchema = z.strictObject({ rail: z.literal('simulated'), ok: z.literal(true) })
