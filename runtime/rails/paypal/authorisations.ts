/**
 * Money of a saved instrument held for one merchant and drawn in parts. PayPal lets its captures add up to 115 % of what
 * was authorised; here a draw is refused that would go above it.
 */
import type {
  RailAuthorisation,
  RailAuthorisations,
  RailAuthorised,
  RailOrder,
  RailOutcome,
} from '../../core/rail.ts'
import { railStatusOf } from '../../core/rail.ts'
import { nowSeconds } from '../../core/time.ts'
import { declined, notSent, safely, unknown } from '../words.ts'
import { accountOf, inexpressible, isId, isKey } from './accounts.ts'
import { errorIn, isNotFound, noAnswer, read, refusedBy } from './answers.ts'
import {
  type Authorization,
  authorizationSchema,
  type Capture,
  captureSchema,
  capturesIn,
  isExactly,
  judgeCapture,
  type Order,
  orderSchema,
  refundsOf,
  unitOf,
} from './captures.ts'
import type { Deadline } from './client.ts'
import { carries, sumOf, valueText } from './money.ts'
import { makeOrder, type OrderDeps } from './orders.ts'
import {
  drawRequest,
  getAuthorizationRequest,
  getOrderRequest,
  takeOrderRequest,
  voidRequest,
} from './requests.ts'

/** PayPal's: valid for 29 days, but honoured for the first three. */
const HONOURED_SECONDS = 3 * 24 * 3600

export const createAuthorisations = (deps: OrderDeps): RailAuthorisations => ({
  takes: ({ account, currency }) =>
    deps.instrument !== undefined && accountOf(account)?.kind === 'merchant' && carries(currency),
  place: (authorisation) => safely(() => place(deps, authorisation)),
  lookup: (authorisation, reference) => safely(() => lookUp(deps, authorisation, reference)),
  draw: (order, reference) => safely(() => draw(deps, order, reference)),
  void: (reference) => safely(() => giveBack(deps, reference)),
})

async function place(deps: OrderDeps, asked: RailAuthorisation): Promise<RailAuthorised> {
  const { client, instrument } = deps
  if (instrument === undefined || !isKey(asked.key) || inexpressible(asked)) {
    return notSent('order_not_expressible')
  }
  const deadline = client.deadline()
  const made = await makeOrder(deps, 'AUTHORIZE', asked, deadline)
  if ('kind' in made) return made
  const { id } = made
  if (authorizationIn(made) !== undefined) return judgePlaced(deps, asked, id, made)
  const said = await client.call(
    takeOrderRequest('authorize', { id, key: asked.key, instrument }),
    deadline,
  )
  const taken = read(orderSchema, said)
  if (taken !== undefined) return judgePlaced(deps, asked, id, taken)
  const before =
    said.kind === 'said' && errorIn(said.json)?.issues.includes('ORDER_ALREADY_AUTHORIZED')
  if (!before) return refusedBy(said, id)
  const now = await client.call(getOrderRequest(id), deadline)
  const stands = read(orderSchema, now)
  return stands === undefined ? noAnswer(now, id) : judgePlaced(deps, asked, id, stands)
}

const authorizationIn = (order: Order): Authorization | undefined =>
  unitOf(order)?.payments?.authorizations[0]

function judgePlaced(
  deps: OrderDeps,
  asked: RailAuthorisation,
  reference: string,
  made: Order,
): RailAuthorised {
  const held = authorizationIn(made)
  if (held === undefined) return unknown('answer_malformed', { reference })
  if (unitOf(made)?.custom_id !== asked.key) return unknown('answer_differs', { reference })
  if (!isExactly(asked, held.amount)) return unknown('amount_differs', { reference: held.id })
  const stands = judge(deps, asked, held, reference)
  return stands.kind === 'voided' ? declined('voided', 'VOIDED') : stands
}

/** `order` is the order's id, by which one that is not final is looked up. */
function judge(
  { clock }: OrderDeps,
  asked: RailAuthorisation,
  held: Authorization,
  order: string,
): RailAuthorised | { readonly kind: 'voided' } {
  const status = railStatusOf(held.status)
  if (status === 'VOIDED' || status === 'EXPIRED') return { kind: 'voided' }
  if (status === 'DENIED') return declined('denied', status)
  if (status === 'PENDING') return { kind: 'pending', awaits: 'rail', reference: order, status }
  if (!['CREATED', 'PARTIALLY_CAPTURED', 'CAPTURED'].includes(status)) {
    return unknown('status_unexpected', { reference: held.id, status })
  }
  if (!isExactly(asked, held.amount)) return unknown('amount_differs', { reference: held.id })
  const from = held.create_time ?? nowSeconds(clock)
  const untilSeconds = Math.min(
    from + HONOURED_SECONDS,
    held.expiration_time ?? Number.MAX_SAFE_INTEGER,
  )
  const { amount, currency } = asked
  return { kind: 'authorised', reference: held.id, amount, currency, untilSeconds }
}

async function lookUp(
  deps: OrderDeps,
  asked: RailAuthorisation,
  reference: string | undefined,
): ReturnType<RailAuthorisations['lookup']> {
  const { client } = deps
  if (reference === undefined || !isId(reference)) return unknown('reference_needed')
  const deadline = client.deadline()
  const got = await client.call(getAuthorizationRequest(reference), deadline)
  const held = read(authorizationSchema, got)
  if (held !== undefined) {
    if (held.custom_id !== asked.key) return unknown('answer_differs', { reference })
    return judge(deps, asked, held, held.supplementary_data?.related_ids?.order_id ?? held.id)
  }
  if (!isNotFound(got)) return noAnswer(got, reference)
  const said = await client.call(getOrderRequest(reference), deadline)
  const made = read(orderSchema, said)
  if (made === undefined) return noAnswer(said, reference)
  if (unitOf(made)?.custom_id !== asked.key) return unknown('answer_differs', { reference })
  const inside = authorizationIn(made)
  return inside === undefined ? { kind: 'absent' } : judge(deps, asked, inside, made.id)
}

async function draw(deps: OrderDeps, order: RailOrder, reference: string): Promise<RailOutcome> {
  const { client } = deps
  const value = valueText(order.amount, order.currency)
  const isSayable = isKey(order.key) && inexpressible(order) === undefined && isId(reference)
  if (!isSayable || value === undefined) return notSent('order_not_expressible')
  const deadline = client.deadline()
  const state = await stateOf(deps, reference, deadline)
  if (state.kind !== 'state') return state
  const { held, made } = state
  const [earlier] = capturesIn(made).filter(({ invoice_id }) => invoice_id === order.key)
  if (earlier !== undefined) return judgeDrawn(order, earlier, made)
  if (!isWithin(order, held, capturesIn(made))) return notSent('authorisation_exceeded')
  const { key, currency, note } = order
  const said = await client.call(drawRequest(reference, { key, currency, value, note }), deadline)
  const capture = read(captureSchema, said)
  return capture === undefined ? refusedBy(said) : judgeDrawn(order, capture)
}

function judgeDrawn(order: RailOrder, capture: Capture, made?: Order): RailOutcome {
  const { id: reference } = capture
  // Another's capture is not what to ask about later: the authorisation tells which is ours.
  if (capture.invoice_id !== order.key) return unknown('answer_differs')
  if (!isExactly(order, capture.amount)) return unknown('amount_differs', { reference })
  const refunds = made === undefined ? [] : refundsOf(made, reference)
  return judgeCapture(capture, { refunds, pendingAs: reference })
}

/** The authorisation and the order with its captures, before anything is asked of it: what is not known is not drawn. */
async function stateOf({ client }: OrderDeps, reference: string, deadline: Deadline) {
  const got = await client.call(getAuthorizationRequest(reference), deadline)
  const held = read(authorizationSchema, got)
  const orderId = held?.supplementary_data?.related_ids?.order_id
  if (held === undefined || orderId === undefined) return notSent('authorisation_not_read')
  const said = await client.call(getOrderRequest(orderId), deadline)
  const made = read(orderSchema, said)
  return made === undefined
    ? notSent('authorisation_not_read')
    : ({ kind: 'state', held, made } as const)
}

/** What was captured counts even where it was refunded; what was declined does not. */
function isWithin(
  order: RailOrder,
  { amount }: Authorization,
  captures: readonly Capture[],
): boolean {
  const held = sumOf(amount.value, amount.currency_code)
  if (held === undefined || held.currency !== order.currency) return false
  let sum: number = order.amount
  for (const capture of captures) {
    if (capture.status === 'DECLINED' || capture.status === 'FAILED') continue
    const taken = sumOf(capture.amount.value, capture.amount.currency_code)
    if (taken === undefined) return false
    sum += taken.amount
  }
  return sum <= held.amount
}

async function giveBack(
  { client }: OrderDeps,
  reference: string,
): ReturnType<RailAuthorisations['void']> {
  if (!isId(reference)) return notSent('order_not_expressible')
  const said = await client.call(voidRequest(reference), client.deadline())
  if (said.kind === 'said') {
    if (said.status === 204 || read(authorizationSchema, said)?.status === 'VOIDED') {
      return { kind: 'voided' }
    }
    if (errorIn(said.json)?.issues.includes('PREVIOUSLY_VOIDED')) return { kind: 'voided' }
  }
  return refusedBy(said)
}
