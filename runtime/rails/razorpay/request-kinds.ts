/** The two things by which a payer can be asked for money: how each is made, found by our key, and fetched by its id. */
import type { RailOrder } from '../../core/rail.ts'
import { type Clock, nowSeconds } from '../../core/time.ts'
import type { Exchange } from '../exchange.ts'
import type { Sdk } from './client.ts'
import {
  collectionOf,
  IDS,
  type Link,
  linkSchema,
  linksSchema,
  NOTE,
  type Order,
  orderSchema,
  type Said,
  saidIn,
} from './wire.ts'

/** What a payer is asked for, of either kind. */
export interface Request {
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
  readonly atSeconds: number
}

const ofOrder = ({ id, receipt, amount, currency, status, created_at: at }: Order): Request => ({
  id,
  key: receipt,
  amount,
  currency,
  status,
  order: id,
  payments: [],
  approveUrl: undefined,
  atSeconds: at,
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
  atSeconds: link.created_at,
})

/** https on one of Razorpay's own hosts, or nothing. */
function approveUrlOf(text: string): string | undefined {
  const url = URL.parse(text)
  const isOwn = url !== null && (url.hostname === 'rzp.io' || /\.razorpay\.com$/.test(url.hostname))
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.port === ''
  return isOwn && isPlain ? url.href : undefined
}

/** How a kind is made, found and fetched. */
export interface Kind {
  readonly id: RegExp
  make(sdk: Sdk, order: RailOrder, clock: Clock): Promise<unknown>
  made(got: Exchange): Said<Request>
  find(sdk: Sdk, key: string): Promise<unknown>
  found(got: Exchange): Said<readonly Request[]>
  fetch(sdk: Sdk, id: string): Promise<unknown>
}

const mapped = <T, U>(said: Said<T>, map: (value: T) => U): Said<U> =>
  said.kind === 'said' ? { kind: 'said', value: map(said.value) } : said

/** The longest that Razorpay waits for a capture, in minutes; then the payer has the money back. */
export const CAPTURE_MINUTES = 5 * 24 * 60

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

export const LINK_SECONDS = 24 * 3600
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

export const KINDS = { order: ORDERS, link: LINKS } as const

export type RequestKind = keyof typeof KINDS
