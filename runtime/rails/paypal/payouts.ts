/**
 * Payments to an e-mail address or an account: a payout batch of one item. PayPal takes a batch at once and pays it
 * later, so that only the item's own status says what became of it.
 */
import { z } from 'zod'
import { isCurrency } from '../../core/money.ts'
import {
  type RailKnown,
  type RailLookup,
  type RailOrder,
  type RailOutcome,
  type RailPending,
  railStatusOf,
} from '../../core/rail.ts'
import { type Clock, nowSeconds } from '../../core/time.ts'
import { declined, notSent, unknown } from '../words.ts'
import { accountOf, isId } from './accounts.ts'
import { errorIn, isNotFound, noAnswer, read, refusedBy, textSchema } from './answers.ts'
import type { Deadline, PaypalClient, Said } from './client.ts'
import { sumOf, valueText } from './money.ts'
import { batchRequest, cancelItemRequest, itemRequest, payoutRequest } from './requests.ts'
import { type Found, findByKey } from './search.ts'

const headerSchema = z.object({
  payout_batch_id: textSchema.refine(isId),
  batch_status: textSchema,
  sender_batch_header: z.object({ sender_batch_id: textSchema }),
})

export const itemSchema = z.object({
  payout_item_id: textSchema.refine(isId),
  payout_batch_id: textSchema.refine(isId),
  transaction_id: textSchema.optional(),
  transaction_status: textSchema.optional(),
  time_processed: textSchema.optional(),
  payout_item: z.object({
    receiver: textSchema,
    sender_item_id: textSchema.optional(),
    amount: z.object({ currency: textSchema, value: textSchema }),
  }),
})

const createdSchema = z.object({ batch_header: headerSchema })
export const batchSchema = z.object({
  batch_header: headerSchema,
  items: z.array(itemSchema).max(100).default([]),
})

export type PayoutItem = z.infer<typeof itemSchema>
type Batch = z.infer<typeof batchSchema>

export interface PayoutDeps {
  readonly client: PaypalClient
  readonly clock: Clock
}

/** Sends it as a batch of one, and says what became of the item. */
export async function payOut({ client }: PayoutDeps, order: RailOrder): Promise<RailOutcome> {
  const to = accountOf(order.account)
  const value = valueText(order.amount, order.currency)
  if (to?.kind !== 'payout' || value === undefined) return notSent('order_not_expressible')
  const deadline = client.deadline()
  const said = await client.call(payoutRequest(order, to, value), deadline)
  const made = read(createdSchema, said)?.batch_header
  if (made !== undefined) {
    if (made.sender_batch_header.sender_batch_id !== order.key) return unknown('answer_differs')
    // It has the payment: whatever becomes of the question what it did with it, that stays so.
    const taken = pendingAt(made.payout_batch_id, made.batch_status)
    const whole = await client.call(batchRequest(taken.reference), deadline)
    return judgePaid(order, taken.reference, whole, taken)
  }
  const earlier = earlierBatch(said)
  if (earlier === undefined) return refusedBy(said)
  const whole = await client.call(batchRequest(earlier), deadline)
  return judgePaid(order, earlier, whole, noAnswer(whole, earlier))
}

/** The batch that has our key already, named by the link in PayPal's refusal to take it twice. */
function earlierBatch(said: Said): string | undefined {
  if (said.kind !== 'said' || said.status < 400 || said.status >= 500) return undefined
  for (const { href } of errorIn(said.json)?.links ?? []) {
    const id = /\/v1\/payments\/payouts\/([A-Za-z0-9-]{1,36})(?:\?.*)?$/.exec(href)?.[1]
    if (id !== undefined) return id
  }
  return undefined
}

/** As `judgeBatch`, but what settled must be exactly what was asked. */
function judgePaid(
  order: RailOrder,
  reference: string,
  said: Said,
  otherwise: RailOutcome,
): RailOutcome {
  const batch = read(batchSchema, said)
  if (batch === undefined) return otherwise
  const outcome = judgeBatch(order, reference, batch)
  const [item] = isOf(order, reference, batch) ? batch.items : []
  if (item !== undefined && !isExactly(order, item)) return unknown('amount_differs', { reference })
  return outcome
}

function isExactly({ amount, currency }: RailOrder, { payout_item }: PayoutItem): boolean {
  const sum = sumOf(payout_item.amount.value, payout_item.amount.currency)
  return sum?.amount === amount && sum.currency === currency && !sum.isNegative
}

/** The batch that was asked about, with our key: any other says nothing of this payment, not even where to ask again. */
const isOf = ({ key }: RailOrder, reference: string, { batch_header: header }: Batch): boolean =>
  header.payout_batch_id === reference && header.sender_batch_header.sender_batch_id === key

function judgeBatch(order: RailOrder, reference: string, batch: Batch): RailOutcome {
  if (!isOf(order, reference, batch)) return unknown('answer_differs', { reference })
  const { batch_status } = batch.batch_header
  const status = railStatusOf(batch_status)
  const [item, ...more] = batch.items
  if (more.length > 0) return unknown('answer_differs', { reference })
  if (status === 'DENIED' || status === 'CANCELED') {
    const word = railStatusOf(item?.transaction_status ?? status)
    const isSame = NOT_PAID.has(word) || word === 'PENDING' || word === 'NEW'
    // A batch that is over and an item that is not, or was paid, are two words.
    return isSame
      ? declined(status.toLowerCase(), status)
      : unknown('answer_contradicts', { reference, status })
  }
  if (item !== undefined) return judgeItem(order, item, { reference, wasSettled: false })
  const isOpen = ['NEW', 'PENDING', 'PROCESSING'].includes(status)
  return isOpen ? pendingAt(reference, batch_status) : unknown('answer_malformed', { reference })
}

/** Final, and the money is where it was; after a success the last three mean that it came back. */
const NOT_PAID = new Set(['FAILED', 'BLOCKED', 'DENIED', 'CANCELED'])
const CAME_BACK = new Set(['RETURNED', 'REFUNDED', 'REVERSED'])
const OPEN = new Set(['NEW', 'PENDING', 'PROCESSING', 'UNCLAIMED', 'ONHOLD'])

function judgeItem(
  order: RailOrder,
  item: PayoutItem,
  { reference, wasSettled }: { readonly reference: string; readonly wasSettled: boolean },
): RailOutcome {
  const { payout_item_id: id, payout_item: asked } = item
  if (asked.sender_item_id !== order.key || !isFor(order, asked.receiver)) {
    return unknown('answer_differs', { reference })
  }
  const status = railStatusOf(item.transaction_status ?? 'PENDING')
  const sum = sumOf(asked.amount.value, asked.amount.currency)
  if (sum === undefined || sum.isNegative || !isCurrency(sum.currency)) {
    return unknown('amount_differs', { reference, status })
  }
  const { amount, currency } = sum
  const settled = { kind: 'settled', reference: id, amount, currency, status } as const
  if (status === 'SUCCESS') return settled
  if (CAME_BACK.has(status)) {
    return wasSettled ? { ...settled, returned: true } : declined(status.toLowerCase(), status)
  }
  if (wasSettled) return unknown('status_unexpected', { reference, status })
  if (NOT_PAID.has(status)) return declined(status.toLowerCase(), status)
  if (OPEN.has(status)) return pendingAt(reference, status)
  return unknown('status_unexpected', { reference, status })
}

/** PayPal may write an address in lower case. */
function isFor(order: RailOrder, receiver: string): boolean {
  const to = accountOf(order.account)
  return to?.kind === 'payout' && to.receiver.toLowerCase() === receiver.toLowerCase()
}

const pendingAt = (reference: string, word: string): RailPending => ({
  kind: 'pending',
  awaits: 'rail',
  reference,
  status: railStatusOf(word),
})

/**
 * By the batch or the item that PayPal named, else by the account's list. A reference that is an item's was given with a
 * success, so that a return it shows is one of settled money.
 */
export async function lookUpPayout(deps: PayoutDeps, known: RailKnown): Promise<RailLookup> {
  const { client } = deps
  const { order, reference } = known
  const deadline = client.deadline()
  if (reference === undefined || !isId(reference)) return listed(deps, known, deadline)
  const got = await client.call(batchRequest(reference), deadline)
  const batch = read(batchSchema, got)
  if (batch !== undefined) {
    // Where another batch is shown for it, the list may still show the payment by its key.
    return isOf(order, reference, batch)
      ? judgeBatch(order, reference, batch)
      : listed(deps, known, deadline)
  }
  if (!isNotFound(got)) return noAnswer(got, reference)
  const asked = await client.call(itemRequest(reference), deadline)
  const item = read(itemSchema, asked)
  if (item !== undefined) return judgeItem(order, item, { reference, wasSettled: true })
  // A reference that came from the list is a transaction's, which only the list knows.
  return isNotFound(asked) ? listed(deps, known, deadline) : noAnswer(asked, reference)
}

async function listed(
  { client, clock }: PayoutDeps,
  { order, submittedAtSeconds, reference }: RailKnown,
  deadline: Deadline,
): Promise<RailLookup> {
  const found = await findByKey(client, deadline, order.key, {
    submittedAtSeconds,
    nowSeconds: nowSeconds(clock),
  })
  return judgeFound(found, reference)
}

/** `reference` is what was known before: with one, the payment exists, whatever the list does not show. */
export function judgeFound(found: Found, reference: string | undefined): RailLookup {
  if (found.kind === 'unclear') return unknown(found.reason, reference ? { reference } : {})
  if (found.kind === 'absent') {
    return reference === undefined ? found : unknown('reference_not_found', { reference })
  }
  const { id, word, sum } = found
  if (!isCurrency(sum.currency)) return unknown('amount_differs', { reference: id })
  const { amount, currency } = sum
  const settled = { kind: 'settled', reference: id, amount, currency } as const
  if (word === 'S') return { ...settled, status: 'SUCCESS' }
  if (word === 'P') return pendingAt(id, 'PENDING')
  if (word === 'D') return declined('denied', 'DENIED')
  if (word !== 'V') return unknown('status_unexpected', { reference: id })
  return reference === id
    ? { ...settled, status: 'REVERSED', returned: true }
    : declined('reversed', 'REVERSED')
}

/** Only what nobody has claimed can be called back; everything else goes its way. */
export async function cancelPayout(deps: PayoutDeps, known: RailKnown): Promise<RailOutcome> {
  const { client } = deps
  const { order, reference } = known
  if (reference === undefined || !isId(reference)) return unknown('reference_needed')
  const deadline = client.deadline()
  const got = await client.call(batchRequest(reference), deadline)
  const batch = read(batchSchema, got)
  if (batch === undefined) return noAnswer(got, reference)
  const stands = judgeBatch(order, reference, batch)
  const [item] = batch.items
  if (stands.kind !== 'pending' || item?.transaction_status !== 'UNCLAIMED') return stands
  const said = await client.call(cancelItemRequest(item.payout_item_id), deadline)
  const after = read(itemSchema, said)
  if (after !== undefined) return judgeItem(order, after, { reference, wasSettled: false })
  // A refusal to cancel is no word on the payment: that stands as it stood.
  return said.kind === 'said' && said.status < 500 ? stands : noAnswer(said, reference)
}
