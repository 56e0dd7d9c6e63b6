/**
 * Payments to a merchant: an order whose payee is pinned, agreed to by a payer or charged to a saved instrument. The order
 * is made first and moves nothing; its id is known before a capture is asked for, so that a lost answer can be looked up.
 */
import type {
  RailKnown,
  RailLookup,
  RailOrder,
  RailOutcome,
  RailOutcomeOf,
} from '../../core/rail.ts'
import { railStatusOf } from '../../core/rail.ts'
import { type Clock, nowSeconds } from '../../core/time.ts'
import { declined, notSent, unknown } from '../words.ts'
import { accountOf, isId } from './accounts.ts'
import { errorIn, isNotFound, noAnswer, read, refusedBy } from './answers.ts'
import {
  authorizationSchema,
  captureSchema,
  capturesIn,
  isExactly,
  judgeCapture,
  type Order,
  orderSchema,
  refundsOf,
  unitOf,
} from './captures.ts'
import type { Deadline, PaypalClient, Said } from './client.ts'
import { valueText } from './money.ts'
import {
  getAuthorizationRequest,
  getCaptureRequest,
  getOrderRequest,
  orderRequest,
  takeOrderRequest,
} from './requests.ts'
import { findByKey } from './search.ts'

export interface OrderDeps {
  readonly client: PaypalClient
  readonly clock: Clock
  /** Of PayPal, or a stand-in's origin: where a payer may be sent. */
  readonly base: URL
  readonly instrument: string | undefined
}

/** Makes the order, and takes it where an instrument is charged; otherwise it waits for its payer. */
export async function payMerchant(deps: OrderDeps, order: RailOrder): Promise<RailOutcome> {
  const { client, instrument } = deps
  const deadline = client.deadline()
  const made = await makeOrder(deps, 'CAPTURE', order, deadline)
  if ('kind' in made) return made
  if (instrument === undefined || capturesIn(made).length > 0) {
    return judgePaid(deps, order, made.id, made)
  }
  return takeOrder(deps, order, made.id, deadline)
}

/**
 * The order under its key, new or as it stands. Losing it is no loss: nothing was asked of it, and nothing will be, so
 * that no money can have moved.
 */
export async function makeOrder(
  { client }: OrderDeps,
  intent: 'CAPTURE' | 'AUTHORIZE',
  order: Pick<RailOrder, 'key' | 'account' | 'amount' | 'currency'> & { readonly note?: string },
  deadline: Deadline,
): Promise<Order | RailOutcomeOf<'notSent' | 'declined' | 'unknown'>> {
  const to = accountOf(order.account)
  const value = valueText(order.amount, order.currency)
  if (to?.kind !== 'merchant' || value === undefined) return notSent('order_not_expressible')
  const { key, currency, note = '' } = order
  const asked = orderRequest(intent, { key, merchant: to.merchant, currency, value, note })
  const said = await client.call(asked, deadline)
  const made = read(orderSchema, said)
  if (made === undefined) {
    const refused = refusedBy(said)
    return refused.kind === 'unknown' ? notSent(`order_${refused.reason}`) : refused
  }
  if (isOf(order, made)) return made
  // What does not carry our key is not what to ask about later.
  const isOurs = unitOf(made)?.custom_id === key
  return unknown('answer_differs', isOurs ? { reference: made.id } : {})
}

/** Still what was made: an order can be changed by whoever has the account's credentials, until it is captured. */
function isOf(
  order: Pick<RailOrder, 'key' | 'account' | 'amount' | 'currency'>,
  made: Order,
): boolean {
  const unit = unitOf(made)
  const to = accountOf(order.account)
  return (
    unit !== undefined &&
    unit.custom_id === order.key &&
    unit.invoice_id === order.key &&
    to?.kind === 'merchant' &&
    unit.payee?.merchant_id === to.merchant &&
    isExactly(order, unit.amount)
  )
}

async function takeOrder(
  deps: OrderDeps,
  order: RailOrder,
  id: string,
  deadline: Deadline,
): Promise<RailOutcome> {
  const { client, instrument } = deps
  const asked = takeOrderRequest('capture', { id, key: order.key, instrument })
  const said = await client.call(asked, deadline)
  const taken = read(orderSchema, said)
  if (taken !== undefined) return judgePaid(deps, order, id, taken)
  const issues = said.kind === 'said' ? (errorIn(said.json)?.issues ?? []) : []
  // Another order has been captured under this key: a look-up must not be led to this one, which has not.
  if (issues.includes('DUPLICATE_INVOICE_ID')) return unknown('captured_elsewhere')
  // It was captured before, by a request whose answer we have not: what it says now is what counts.
  if (!issues.includes('ORDER_ALREADY_CAPTURED')) return refusedBy(said, id)
  const now = await client.call(getOrderRequest(id), deadline)
  const stands = read(orderSchema, now)
  return stands === undefined ? noAnswer(now, id) : judgePaid(deps, order, id, stands)
}

/** As `judgeOrder`, but it and its capture must be exactly what was asked. */
function judgePaid(deps: OrderDeps, order: RailOrder, reference: string, made: Order): RailOutcome {
  if (!isOf(order, made)) return unknown('answer_differs', { reference })
  const isWhole = capturesIn(made).every(
    ({ amount, invoice_id }) => isExactly(order, amount) && invoice_id === order.key,
  )
  if (!isWhole) return unknown('amount_differs', { reference })
  const outcome = judgeOrder(deps, order, reference, made)
  return outcome.kind === 'absent' ? unknown('not_captured', { reference }) : outcome
}

/** `reference` is the order that was asked about: another one says nothing, not even where to ask again. */
function judgeOrder(
  { base, instrument }: OrderDeps,
  order: RailOrder,
  reference: string,
  made: Order,
): RailLookup {
  const unit = unitOf(made)
  if (made.id !== reference || unit?.custom_id !== order.key)
    return unknown('answer_differs', { reference })
  const [capture, ...more] = capturesIn(made)
  if (more.length > 0) return unknown('answer_differs', { reference })
  if (capture !== undefined) {
    return judgeCapture(capture, { refunds: refundsOf(made, capture.id), pendingAs: reference })
  }
  const status = railStatusOf(made.status)
  if (status === 'VOIDED') return declined('voided', status)
  if (status === 'APPROVED') return { kind: 'pending', awaits: 'capture', reference, status }
  if (!['CREATED', 'SAVED', 'PAYER_ACTION_REQUIRED'].includes(status)) {
    return unknown('status_unexpected', { reference, status })
  }
  // Nobody is asked to agree where an instrument is charged: then no capture is there yet, or none ever will be.
  if (instrument !== undefined) return { kind: 'absent' }
  const approveUrl = approveUrlIn(made.links, base)
  const url = approveUrl === undefined ? {} : { approveUrl }
  return { kind: 'pending', awaits: 'payer', reference, status, ...url }
}

const PAYER_HOSTS = new Set(['www.paypal.com', 'www.sandbox.paypal.com'])

/** Where a payer agrees: PayPal's own site over https, or a stand-in's own origin where one stands in. */
export function approveUrlIn(
  links: readonly { readonly href: string; readonly rel: string }[],
  base: URL,
): string | undefined {
  const href = links.find(({ rel }) => rel === 'payer-action' || rel === 'approve')?.href
  const url = href === undefined ? null : URL.parse(href)
  if (url === null || url.username !== '' || url.password !== '') return undefined
  const isPaypal = url.protocol === 'https:' && url.port === '' && PAYER_HOSTS.has(url.hostname)
  const isStandIn = base.protocol === 'http:' && url.origin === base.origin
  return isPaypal || isStandIn ? url.href : undefined
}

/** Takes what was agreed to, once it is seen to be still what was asked. */
export async function completeMerchant(deps: OrderDeps, known: RailKnown): Promise<RailOutcome> {
  const { client } = deps
  const { order, reference } = known
  if (reference === undefined || !isId(reference)) return unknown('reference_needed')
  const deadline = client.deadline()
  const got = await client.call(getOrderRequest(reference), deadline)
  const made = read(orderSchema, got)
  if (made === undefined) return noAnswer(got, reference)
  const stands = judgePaid(deps, order, reference, made)
  const isAgreed = stands.kind === 'pending' && stands.awaits === 'capture'
  // Agreed to by a payer, so that no instrument is named.
  return isAgreed
    ? takeOrder({ ...deps, instrument: undefined }, order, reference, deadline)
    : stands
}

/** Money moves only by a capture of ours: an order that has none is ended by never being captured. */
export async function cancelMerchant(deps: OrderDeps, known: RailKnown): Promise<RailOutcome> {
  const { client } = deps
  const { order, reference } = known
  if (reference === undefined || !isId(reference)) return unknown('reference_needed')
  const got = await client.call(getOrderRequest(reference), client.deadline())
  const made = read(orderSchema, got)
  if (made === undefined) return noAnswer(got, reference)
  const stands = judgeOrder(deps, order, reference, made)
  if (stands.kind === 'absent') return unknown('not_captured', { reference })
  const isOpen = stands.kind === 'pending' && stands.awaits !== 'rail'
  return isOpen ? declined('not_captured', railStatusOf(made.status)) : stands
}

/** By the capture or the order that PayPal named, else by the authorisation, else by the account's list. */
export async function lookUpMerchant(deps: OrderDeps, known: RailKnown): Promise<RailLookup> {
  const { client } = deps
  const { order, reference, authorisation } = known
  const deadline = client.deadline()
  if (reference === undefined || !isId(reference)) {
    return authorisation === undefined
      ? listed(deps, known, deadline)
      : lookUpDraw(deps, order, authorisation, deadline)
  }
  const got = await client.call(getCaptureRequest(reference), deadline)
  if (!isNotFound(got)) return judgeFetched(deps, order, got, deadline)
  const asked = await client.call(getOrderRequest(reference), deadline)
  const made = read(orderSchema, asked)
  if (made !== undefined) return judgeOrder(deps, order, reference, made)
  if (!isNotFound(asked)) return noAnswer(asked, reference)
  // PayPal forgets an order that nobody agreed to; it is over when the list shows no payment by it either.
  const found = await listed(deps, known, deadline)
  return found.kind === 'absent' ? declined('order_expired') : found
}

async function judgeFetched(
  { client }: OrderDeps,
  order: RailOrder,
  got: Said,
  deadline: Deadline,
): Promise<RailLookup> {
  const capture = read(captureSchema, got)
  if (capture === undefined) return noAnswer(got)
  if (capture.invoice_id !== order.key) return unknown('answer_differs')
  const pendingAs = capture.id
  const orderId = capture.supplementary_data?.related_ids?.order_id
  if (!capture.status.includes('REFUNDED') || orderId === undefined) {
    return judgeCapture(capture, { pendingAs })
  }
  const asked = await client.call(getOrderRequest(orderId), deadline)
  const made = read(orderSchema, asked)
  if (made === undefined) return noAnswer(asked, capture.id)
  return judgeCapture(capture, { refunds: refundsOf(made, capture.id), pendingAs })
}

/** A draw whose answer was lost: among the captures of the order that the authorisation belongs to. */
async function lookUpDraw(
  { client }: OrderDeps,
  order: RailOrder,
  authorisation: string,
  deadline: Deadline,
): Promise<RailLookup> {
  if (!isId(authorisation)) return unknown('reference_needed')
  const got = await client.call(getAuthorizationRequest(authorisation), deadline)
  const orderId = read(authorizationSchema, got)?.supplementary_data?.related_ids?.order_id
  if (orderId === undefined) return noAnswer(got)
  const asked = await client.call(getOrderRequest(orderId), deadline)
  const made = read(orderSchema, asked)
  if (made === undefined) return noAnswer(asked)
  const captures = capturesIn(made).filter(({ invoice_id }) => invoice_id === order.key)
  const [capture, ...more] = captures
  if (capture === undefined) return { kind: 'absent' }
  if (more.length > 0) return unknown('answer_differs')
  return judgeCapture(capture, { refunds: refundsOf(made, capture.id), pendingAs: capture.id })
}

/** The list shows a payment by the id of its capture, which says the rest. */
async function listed(
  deps: OrderDeps,
  { order, submittedAtSeconds, reference }: RailKnown,
  deadline: Deadline,
): Promise<RailLookup> {
  const { client, clock, instrument } = deps
  const now = nowSeconds(clock)
  const of = { submittedAtSeconds, nowSeconds: now }
  const found = await findByKey(client, deadline, order.key, of)
  if (found.kind === 'found') {
    return judgeFetched(
      deps,
      order,
      await client.call(getCaptureRequest(found.id), deadline),
      deadline,
    )
  }
  if (found.kind === 'unclear') return unknown(found.reason, reference ? { reference } : {})
  // A charge to an instrument of somebody else's is not on this account's list, so that its silence proves nothing.
  const isProof = instrument === undefined || reference !== undefined
  return isProof ? found : unknown('not_listed')
}
