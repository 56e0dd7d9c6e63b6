/** Reading payments that payers made, and their refunds: whole lists or none. */
import type { z } from 'zod'
import { currencySchema } from '../../core/money.ts'
import { type RailOutcome, type RailReversal, railStatusOf } from '../../core/rail.ts'
import { ourKeyIn, unknown } from '../words.ts'
import type { Ask, Sdk } from './client.ts'
import {
  collectionOf,
  type NoWord,
  orderSchema,
  type Payment,
  paymentSchema,
  type Refund,
  refundSchema,
  type Said,
  saidIn,
} from './wire.ts'

export const PAGE = 100
/** Of one list; a longer one is read in parts, or not at all. */
export const PAGES = 10

/** Everything that a list has, or `overflow` where that is more than may be read at once. */
export async function allOf<T>(
  ask: Ask,
  item: z.ZodType<T>,
  use: (sdk: Sdk, page: { count: number; skip: number }) => Promise<unknown>,
): Promise<Said<readonly T[]> | { readonly kind: 'overflow' }> {
  const items: T[] = []
  for (let page = 0; page < PAGES; page += 1) {
    const at = { count: PAGE, skip: page * PAGE }
    const said = saidIn(collectionOf(item), await ask((sdk) => use(sdk, at)))
    if (said.kind !== 'said') return said
    items.push(...said.value)
    if (said.value.length < PAGE) return { kind: 'said', value: items }
  }
  return { kind: 'overflow' }
}

/** The payment of this id: an answer about another one is none. */
export async function fetchPayment(ask: Ask, id: string): Promise<Said<Payment>> {
  const said = saidIn(paymentSchema, await ask(({ api }) => api.payments.fetch(id)))
  return said.kind === 'said' && said.value.id !== id ? unknown('answer_differs') : said
}

/** All payments of one order, or no word. */
export async function paymentsOfOrder(ask: Ask, id: string): Promise<Said<readonly Payment[]>> {
  const said = saidIn(
    collectionOf(paymentSchema),
    await ask(({ api }) => api.orders.fetchPayments(id)),
  )
  if (said.kind === 'said' && said.value.some(({ order_id: order }) => order !== id)) {
    return unknown('answer_differs')
  }
  return said
}

/** All refunds of one payment, or no word. */
export async function refundsOf(ask: Ask, payment: string): Promise<Said<readonly Refund[]>> {
  const said = await allOf(ask, refundSchema, ({ api }, page) => {
    const of = { ...page, payment_id: payment }
    return api.refunds.all(of)
  })
  if (said.kind === 'overflow') return unknown('list_too_long')
  if (said.kind === 'said' && said.value.some(({ payment_id: of }) => of !== payment)) {
    return unknown('answer_differs')
  }
  return said
}

/** The key of ours that a payment carries, on itself or on its order. */
export async function keyOfPayment(
  ask: Ask,
  { notes, order_id: order }: Payment,
): Promise<{ readonly kind: 'key'; readonly key: string | undefined } | NoWord> {
  const own = ourKeyIn(notes)
  if (own !== undefined || !order) return { kind: 'key', key: own }
  const said = saidIn(orderSchema, await ask(({ api }) => api.orders.fetch(order)))
  if (said.kind === 'refused') return unknown('lookup_refused')
  if (said.kind !== 'said') return said
  if (said.value.id !== order) return unknown('answer_differs')
  return { kind: 'key', key: ourKeyIn(said.value.receipt) }
}

/** A captured payment, with what came back of it by the rail's own ids. */
export async function settledBy(ask: Ask, payment: Payment): Promise<RailOutcome> {
  const { id: reference, amount } = payment
  const status = railStatusOf(payment.status)
  const currency = currencySchema.safeParse(payment.currency)
  if (!currency.success) return unknown('amount_differs', { reference, status })
  const settled = { kind: 'settled', reference, amount, currency: currency.data, status } as const
  if (payment.amount_refunded === 0) return settled
  const refunds = await refundsOf(ask, reference)
  if (refunds.kind === 'refused') return unknown('lookup_refused', { reference, status })
  if (refunds.kind !== 'said') return unknown(refunds.reason, { reference, status })
  const made = refunds.value.filter(({ status: state }) => state === 'processed')
  if (made.length === 0) return settled
  const back = made.map(
    ({ id, amount: sum }): RailReversal => ({ id, kind: 'refunded', amount: sum }),
  )
  const isWhole = made.reduce((sum, each) => sum + each.amount, 0) === amount
  return { ...settled, ...(isWhole ? { returned: true as const } : {}), back }
}
