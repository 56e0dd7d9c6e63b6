/**
 * Orders and payment links: money that a payer agrees to give. Neither has an idempotency header, so our key is their receipt
 * or reference, and before anything is made Razorpay is asked whether it is there. An order is captured by us, exactly and
 * once; a link is captured by Razorpay. An order cannot be called back there: until somebody pays, it stays pending.
 */

import {
  type RailKnown,
  type RailLookup,
  type RailOrder,
  type RailOutcome,
  type RailPending,
  railStatusOf,
} from '../../core/rail.ts'
import { type Clock, nowSeconds, type Seconds } from '../../core/time.ts'
import type { Ask, Sdk } from './client.ts'
import { fetchPayment, paymentsOfOrder, settledBy } from './payments.ts'
import type { Desk } from './payouts.ts'
import {
  collectionOf,
  IDS,
  type Link,
  linkSchema,
  linksSchema,
  NOTE,
  type NoWord,
  type Order,
  orderSchema,
  type Payment,
  paymentSchema,
  type Said,
  saidIn,
  unknown,
} from './wire.ts'

/** What a payer is asked for, of either kind. */
interface Request {
  readonly id: string
  readonly key: string | null | undefined
  readonly amount: number
  readonly currency: string
  readonly status: string
  /** Whose payments are its own. */
  readonly order: string | undefined
  /** Ids of its payments, where it has no order that lists them. */
  readonly payments: readonly string[]
  readonly approveUrl: string | undefined
}

const ofOrder = ({ id, receipt, amount, currency, status }: Order): Request => ({
  id,
  key: receipt,
  amount,
  currency,
  status,
  order: id,
  payments: [],
  approveUrl: undefined,
})

const ofLink = (link: Link): Request => ({
  id: link.id,
  key: link.reference_id,
  amount: link.amount,
  currency: link.currency,
  status: link.status,
  order: link.order_id ?? undefined,
  payments: (link.payments ?? []).map(({ payment_id: id }) => id),
  approveUrl: approveUrlOf(link.short_url),
})

/** https on one of Razorpay's own hosts, or nothing. */
function approveUrlOf(text: string): string | undefined {
  const url = URL.parse(text)
  const isOwn = url !== null && (url.hostname === 'rzp.io' || /\.razorpay\.com$/.test(url.hostname))
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.port === ''
  return isOwn && isPlain ? url.href : undefined
}

/** How a kind is made, found and fetched. */
interface Kind {
  readonly id: RegExp
  make(sdk: Sdk, order: RailOrder, clock: Clock): Promise<unknown>
  made(got: Parameters<typeof saidIn>[1]): Said<Request>
  find(sdk: Sdk, key: string): Promise<unknown>
  found(got: Parameters<typeof saidIn>[1]): Said<readonly Request[]>
  fetch(sdk: Sdk, id: string): Promise<unknown>
}

const mapped = <T, U>(said: Said<T>, map: (value: T) => U): Said<U> =>
  said.kind === 'said' ? { kind: 'said', value: map(said.value) } : said

/** The longest that Razorpay waits for a capture, in minutes; then the payer has the money back. */
const CAPTURE_MINUTES = 5 * 24 * 60

const ORDERS: Kind = {
  id: IDS.order,
  make: ({ rq }, { key, amount, currency }) =>
    rq.post('/v1/orders', {
      amount,
      currency,
      receipt: key,
      notes: { [NOTE]: key },
      partial_payment: false,
      // Otherwise Razorpay captures what is authorised by itself, which is its default.
      payment: {
        capture: 'manual',
        capture_options: {
          automatic_expiry_period: 12,
          manual_expiry_period: CAPTURE_MINUTES,
          refund_speed: 'normal',
        },
      },
    }),
  made: (got) => mapped(saidIn(orderSchema, got), ofOrder),
  find: ({ api }, key) => api.orders.all({ receipt: key, count: 10 }),
  found: (got) => mapped(saidIn(collectionOf(orderSchema), got), (all) => all.map(ofOrder)),
  fetch: ({ api }, id) => api.orders.fetch(id),
}

const LINK_SECONDS = 24 * 3600
const DESCRIPTION_CHARS = 255

const LINKS: Kind = {
  id: IDS.link,
  make: ({ rq }, { key, amount, currency, note }, clock) =>
    rq.post('/v1/payment_links', {
      amount,
      currency,
      accept_partial: false,
      description: note.toWellFormed().slice(0, DESCRIPTION_CHARS).toWellFormed(),
      reference_id: key,
      expire_by: nowSeconds(clock) + LINK_SECONDS,
      // Razorpay writes to nobody.
      notify: { sms: false, email: false },
      reminder_enable: false,
      notes: { [NOTE]: key },
    }),
  made: (got) => mapped(saidIn(linkSchema, got), ofLink),
  find: ({ rq }, key) => rq.get('/v1/payment_links', { params: { reference_id: key, count: 10 } }),
  found: (got) => mapped(saidIn(linksSchema, got), (all) => all.map(ofLink)),
  fetch: ({ api }, id) => api.paymentLink.fetch(id),
}

const KINDS = { order: ORDERS, link: LINKS } as const

export type RequestKind = keyof typeof KINDS

type Found = Said<Request> | { readonly kind: 'absent' }

async function find({ ask }: Desk, kind: Kind, key: string, reference?: string): Promise<Found> {
  if (reference !== undefined && kind.id.test(reference)) {
    return kind.made(await ask((sdk) => kind.fetch(sdk, reference)))
  }
  const said = kind.found(await ask((sdk) => kind.find(sdk, key)))
  if (said.kind !== 'said') return said
  const [request, ...more] = said.value
  if (request === undefined) return { kind: 'absent' }
  return more.length === 0 ? { kind: 'said', value: request } : unknown('more_than_one')
}

/** Makes it, unless it is there. */
export async function request(
  desk: Desk,
  name: RequestKind,
  order: RailOrder,
): Promise<RailOutcome> {
  const kind = KINDS[name]
  const earlier = await find(desk, kind, order.key)
  // Nothing of the payment has been sent.
  if (earlier.kind === 'refused') return { kind: 'notSent', reason: 'lookup_refused' }
  if (earlier.kind === 'said') return judge(desk, earlier.value, order)
  if (earlier.kind !== 'absent') return { kind: 'notSent', reason: earlier.reason }
  const said = kind.made(await desk.ask((sdk) => kind.make(sdk, order, desk.clock)))
  if (said.kind === 'said') return judge(desk, said.value, order)
  if (said.kind !== 'refused') return said
  const found = await find(desk, kind, order.key)
  if (found.kind === 'absent' && said.status === 400) {
    return { kind: 'declined', reason: 'refused_by_rail' }
  }
  return found.kind === 'said' ? judge(desk, found.value, order) : unknown('key_in_use')
}

export async function lookUpRequest(
  desk: Desk,
  name: RequestKind,
  key: string,
  known: RailKnown | undefined,
): Promise<RailLookup> {
  const found = await find(desk, KINDS[name], key, known?.reference)
  if (found.kind === 'refused') return unknown('lookup_refused')
  if (found.kind !== 'said') return found
  if (found.value.key !== key) return unknown('answer_differs')
  return judge(desk, found.value, known?.order)
}

/** What stands of it, measured at what was asked where that is known. */
async function judge(
  desk: Desk,
  request: Request,
  order: Pick<RailOrder, 'key' | 'amount' | 'currency'> | undefined,
): Promise<RailOutcome> {
  const of = { reference: request.id, status: railStatusOf(request.status) }
  if (order !== undefined && request.key !== order.key) return unknown('answer_differs')
  const paid = await paymentsOf(desk.ask, request)
  if (paid.kind !== 'said') return noWordOn(paid, of)
  const captured = paid.value.filter((each) => each.captured)
  const [payment, ...more] = captured
  if (more.length > 0) return unknown('more_than_one_payment', of)
  if (payment !== undefined) return settledBy(desk.ask, payment)
  const isOther =
    order !== undefined && (request.amount !== order.amount || request.currency !== order.currency)
  if (isOther) return unknown('amount_differs', of)
  return unpaid(request, paid.value, { ...of, now: nowSeconds(desk.clock) })
}

const noWordOn = (
  said: NoWord | { readonly kind: 'refused' },
  of: { readonly reference: string; readonly status: string },
): RailOutcome => unknown(said.kind === 'refused' ? 'lookup_refused' : said.reason, of)

function unpaid(
  request: Request,
  payments: readonly Payment[],
  { now, ...of }: { readonly reference: string; readonly status: string; readonly now: Seconds },
): RailOutcome {
  const pending = (awaits: RailPending['awaits']): RailPending => ({
    kind: 'pending',
    awaits,
    ...of,
  })
  if (payments.some(({ status }) => status === 'authorized')) return pending('capture')
  switch (request.status) {
    case 'created':
    case 'attempted': {
      const { approveUrl } = request
      return { ...pending('payer'), ...(approveUrl === undefined ? {} : { approveUrl }) }
    }
    case 'cancelled':
    case 'expired':
      // What failed may be authorised for days: until then nothing is over.
      return payments.some((payment) => mayYetMove(payment, now))
        ? pending('rail')
        : { kind: 'declined', reason: request.status, status: of.status }
    default:
      return unknown('status_unrecognised', of)
  }
}

const mayYetMove = ({ status, created_at: at }: Payment, now: Seconds): boolean =>
  (status === 'created' || status === 'failed') && now - at < CAPTURE_MINUTES * 60

async function paymentsOf(
  ask: Ask,
  { order, payments }: Request,
): Promise<Said<readonly Payment[]>> {
  if (order !== undefined) return paymentsOfOrder(ask, order)
  const found: Payment[] = []
  for (const id of payments.slice(0, 10)) {
    const said = await fetchPayment(ask, id)
    if (said.kind !== 'said') return said
    found.push(said.value)
  }
  return { kind: 'said', value: found }
}

/** Captures what is authorised: all of it, once; that it had been captured before is a success. */
export async function completeRequest(
  desk: Desk,
  name: RequestKind,
  known: RailKnown,
): Promise<RailOutcome> {
  const { key, amount, currency } = known.order
  const stands = await lookUpRequest(desk, name, key, known)
  if (stands.kind === 'absent') return unknown('absent_at_rail')
  if (stands.kind !== 'pending' || stands.awaits !== 'capture') return stands
  const found = await find(desk, KINDS[name], key, stands.reference)
  if (found.kind !== 'said') return stands
  const paid = await paymentsOf(desk.ask, found.value)
  if (paid.kind !== 'said') return stands
  const payment = paid.value.find(({ status }) => status === 'authorized')
  if (payment === undefined) return lookedUp(desk, name, known)
  const of = { reference: stands.reference, status: railStatusOf(payment.status) }
  if (payment.amount !== amount || payment.currency !== currency)
    return unknown('amount_differs', of)
  const got = await desk.ask(({ api }) => api.payments.capture(payment.id, amount, currency))
  const said = saidIn(paymentSchema, got)
  if (said.kind === 'notSent') return stands
  if (said.kind === 'refused') return lookedUp(desk, name, known)
  if (said.kind !== 'said') return unknown(said.reason, of)
  const { value } = said
  if (value.id !== payment.id || !value.captured) return unknown('answer_differs', of)
  if (value.amount !== amount || value.currency !== currency) return unknown('amount_differs', of)
  return settledBy(desk.ask, value)
}

async function lookedUp(desk: Desk, name: RequestKind, known: RailKnown): Promise<RailOutcome> {
  const found = await lookUpRequest(desk, name, known.order.key, known)
  return found.kind === 'absent' ? unknown('absent_at_rail') : found
}

/** A link that nobody has paid is cancelled; what cannot be called back is told as it stands. */
export async function cancelRequest(
  desk: Desk,
  name: RequestKind,
  known: RailKnown,
): Promise<RailOutcome> {
  const stands = await lookedUp(desk, name, known)
  if (name === 'order' || stands.kind !== 'pending' || stands.awaits !== 'payer') return stands
  const { reference } = stands
  await desk.ask(({ api }) => api.paymentLink.cancel(reference))
  // Its answer says nothing that asking again does not say better.
  return lookedUp(desk, name, known)
}
