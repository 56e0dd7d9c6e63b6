/** What Razorpay's answers must look like before anything in them counts: ids, whole subunits, states. */
import { z } from 'zod'
import { anyCurrencySchema, minorSchema, positiveMinorSchema } from '../../core/money.ts'
import type { RailOutcomeOf } from '../../core/rail.ts'
import type { Exchange } from '../exchange.ts'
import { notSent, unknown } from '../words.ts'

const idOf = (prefix: string) => new RegExp(`^${prefix}_[A-Za-z0-9]{14}$`)

/** Prefix and 14 alphanumerics, case-sensitive; nothing else ever becomes a part of a path. */
export const IDS = {
  order: idOf('order'),
  payment: idOf('pay'),
  refund: idOf('rfnd'),
  link: idOf('plink'),
  contact: idOf('cont'),
  fundAccount: idOf('fa'),
  payout: idOf('pout'),
} as const

/** What every idempotency header and every reference of Razorpay takes. */
export const KEY = /^[A-Za-z0-9_-]{10,36}$/

/** The note under which our key travels where no field of Razorpay's shows it again. */
export const NOTE = 'headgate'

const notesSchema = z.unknown().transform((notes): unknown =>
  // An empty one comes back as a list.
  typeof notes === 'object' && notes !== null && !Array.isArray(notes)
    ? (notes as Record<string, unknown>)[NOTE]
    : undefined,
)

const seconds = z.number().int().min(0)
const state = z.string().max(80)

export const payoutSchema = z.looseObject({
  id: z.string().regex(IDS.payout),
  entity: z.literal('payout'),
  fund_account_id: z.string().regex(IDS.fundAccount),
  amount: positiveMinorSchema,
  currency: anyCurrencySchema,
  status: state,
  utr: z.string().nullish(),
  reference_id: z.string().nullish(),
  status_details: z.looseObject({ reason: z.string().nullish() }).nullish(),
  created_at: seconds,
})

export const orderSchema = z.looseObject({
  id: z.string().regex(IDS.order),
  entity: z.literal('order'),
  amount: positiveMinorSchema,
  currency: anyCurrencySchema,
  receipt: z.string().nullish(),
  status: state,
  created_at: seconds,
})

export const paymentSchema = z.looseObject({
  id: z.string().regex(IDS.payment),
  entity: z.literal('payment'),
  /** 0 where a payer only registers a means of payment. */
  amount: minorSchema,
  currency: anyCurrencySchema,
  status: state,
  order_id: z.string().regex(IDS.order).nullish(),
  amount_refunded: minorSchema,
  captured: z.boolean(),
  notes: notesSchema,
  created_at: seconds,
})

export const refundSchema = z.looseObject({
  id: z.string().regex(IDS.refund),
  entity: z.literal('refund'),
  amount: positiveMinorSchema,
  currency: anyCurrencySchema,
  payment_id: z.string().regex(IDS.payment),
  receipt: z.string().nullish(),
  notes: notesSchema,
  status: state,
  created_at: seconds,
})

export const linkSchema = z.looseObject({
  id: z.string().regex(IDS.link),
  amount: positiveMinorSchema,
  currency: anyCurrencySchema,
  reference_id: z.string().nullish(),
  status: state,
  short_url: z.string().max(500),
  order_id: z.string().regex(IDS.order).nullish(),
  payments: z.array(z.looseObject({ payment_id: z.string().regex(IDS.payment) })).nullish(),
  created_at: seconds,
})

export const fundAccountSchema = z.looseObject({
  id: z.string().regex(IDS.fundAccount),
  entity: z.literal('fund_account'),
  account_type: z.string(),
  active: z.boolean(),
})

export const contactSchema = z.looseObject({
  id: z.string().regex(IDS.contact),
  entity: z.literal('contact'),
})

export type Payout = z.infer<typeof payoutSchema>
export type Order = z.infer<typeof orderSchema>
export type Payment = z.infer<typeof paymentSchema>
export type Refund = z.infer<typeof refundSchema>
export type Link = z.infer<typeof linkSchema>

/** A list that says itself how long it is: one that was cut short is not one. */
export const collectionOf = <T>(item: z.ZodType<T>) =>
  z
    .looseObject({
      entity: z.literal('collection'),
      count: z.number().int().min(0),
      items: z.array(item),
    })
    .refine(({ count, items }) => count === items.length)
    .transform(({ items }) => items)

/** Payment links are listed in a shape of their own. */
export const linksSchema = z
  .looseObject({ payment_links: z.array(linkSchema) })
  .transform(({ payment_links: items }) => items)

export type NoWord = RailOutcomeOf<'notSent' | 'unknown'>

export type Said<T> =
  | { readonly kind: 'said'; readonly value: T }
  /** Razorpay's own refusal of the request; 409: of one whose key is in use. */
  | { readonly kind: 'refused'; readonly status: 400 | 409 }
  | NoWord

/** Only a whole and well-formed answer is a word; of a refusal, only that it is one. */
export function saidIn<T>(schema: z.ZodType<T>, got: Exchange): Said<T> {
  if (got.kind === 'notSent') return notSent(wordOf(got.reason))
  if (got.kind === 'lost') return unknown(wordOf(got.reason))
  if (got.status === 200) {
    const value = schema.safeParse(jsonOf(got.body))
    return value.success ? { kind: 'said', value: value.data } : unknown('answer_malformed')
  }
  const isRefusal =
    (got.status === 400 || got.status === 409) && refusalSchema.safeParse(jsonOf(got.body)).success
  if (isRefusal) return { kind: 'refused', status: got.status === 400 ? 400 : 409 }
  return unknown(NAMED[got.status] ?? `status_${got.status}`)
}

const NAMED: Readonly<Record<number, string>> = { 401: 'not_authenticated', 429: 'rate_limited' }

/** A bank's or a server's trouble (GATEWAY_ERROR, SERVER_ERROR) refuses nothing. */
const refusalSchema = z.looseObject({
  error: z.looseObject({ code: z.literal('BAD_REQUEST_ERROR') }),
})

const wordOf = (reason: string): string => reason.toLowerCase().replace(/[^a-z0-9]+/g, '_')

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Not `parseJson`: in fields that nobody reads here Razorpay may write fractions, and money is checked by its schema. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(UTF8.decode(body)) as unknown
  } catch {
    return undefined
  }
}
