/**
 * Everything that the stand-in has on its books, its clock that can be moved, and what becomes due by it. It answers
 * nobody: operations change it, `settle` lets what is due happen.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Fault } from './faults.ts'

export interface Options {
  /** Of the account that payouts leave from, in paise. */
  readonly balance?: number
  /** Refuses a second order with one receipt: documented, and not known to be enforced. */
  readonly uniqueReceipts?: boolean
  /** What becomes of a refund's fraction: the test API cuts it off. */
  readonly refundFloats?: 'truncate' | 'refuse'
  /** False: this key may make no payouts. */
  readonly payoutsEnabled?: boolean
  /** Orders that do not say it are captured by the rail itself, which is Razorpay's default. */
  readonly autoCapture?: boolean
}

export interface Payout {
  readonly id: string
  readonly entity: 'payout'
  readonly fund_account_id: string
  amount: number
  readonly currency: string
  readonly notes: unknown
  readonly fees: number
  readonly tax: number
  status: string
  utr: string | null
  readonly mode: string
  readonly purpose: string
  readonly reference_id: string | null
  readonly narration: string | null
  readonly batch_id: null
  status_details: { description: string; source: string; reason: string }
  readonly created_at: number
  readonly fee_type: null
}

export interface BookedPayout {
  readonly view: Payout
  /** False for one that was not asked for by this API. */
  readonly ours: boolean
  /** What becomes of it at the next look, unless it is held until the clock is moved. */
  next: 'processed' | 'failed'
  held: boolean
}

export interface Order {
  readonly id: string
  readonly entity: 'order'
  readonly amount: number
  amount_paid: number
  amount_due: number
  readonly currency: string
  readonly receipt: string | null
  readonly offer_id: null
  status: 'created' | 'attempted' | 'paid'
  attempts: number
  readonly notes: unknown
  readonly created_at: number
}

export interface BookedOrder {
  readonly view: Order
  /** Minutes until an authorised payment of it goes back; undefined where the rail captures by itself. */
  readonly manualMinutes: number | undefined
  /** Set for the order of a payment link. */
  readonly link?: string
}

export interface Payment {
  readonly id: string
  readonly entity: 'payment'
  readonly amount: number
  readonly currency: string
  status: 'created' | 'authorized' | 'captured' | 'refunded' | 'failed'
  readonly order_id: string | null
  readonly invoice_id: null
  readonly international: boolean
  readonly method: string
  amount_refunded: number
  refund_status: null | 'partial' | 'full'
  captured: boolean
  readonly description: string | null
  readonly email: string
  readonly contact: string
  readonly notes: unknown
  fee: number | null
  tax: number | null
  error_code: string | null
  error_description: string | null
  error_reason: string | null
  readonly created_at: number
}

export interface BookedPayment {
  readonly view: Payment
  readonly ours: boolean
  /** When a failed one is authorised after all. */
  lateAt?: number
}

export interface Refund {
  readonly id: string
  readonly entity: 'refund'
  readonly amount: number
  readonly currency: string
  readonly payment_id: string
  readonly notes: unknown
  readonly receipt: string | null
  readonly acquirer_data: { arn: null }
  readonly created_at: number
  readonly batch_id: null
  status: 'pending' | 'processed' | 'failed'
  readonly speed_requested: string
  speed_processed: string
}

export interface Link {
  readonly id: string
  readonly accept_partial: false
  readonly amount: number
  amount_paid: number
  cancelled_at: number
  expired_at: number
  readonly created_at: number
  readonly currency: string
  readonly customer: unknown
  readonly description: string
  readonly expire_by: number
  readonly first_min_partial_amount: 0
  readonly notes: unknown
  readonly notify: unknown
  readonly order_id: string
  payments: null | { payment_id: string; amount: number; status: string; created_at: number }[]
  readonly reference_id: string
  readonly reminder_enable: boolean
  readonly short_url: string
  status: 'created' | 'partially_paid' | 'paid' | 'cancelled' | 'expired'
  updated_at: number
  readonly upi_link: boolean
  readonly user_id: string
}

interface Message {
  readonly headers: Record<string, string>
  readonly body: string
}

export const ALPHANUMERICS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

export class World {
  readonly payouts = new Map<string, BookedPayout>()
  readonly payoutKeys = new Map<string, { id: string; body: string; at: number }>()
  readonly contacts = new Map<string, { id: string; [field: string]: unknown }>()
  readonly fundAccounts = new Map<string, { id: string; [field: string]: unknown }>()
  readonly orders = new Map<string, BookedOrder>()
  readonly payments = new Map<string, BookedPayment>()
  readonly refunds = new Map<string, Refund & { ours: boolean; held: boolean }>()
  readonly refundKeys = new Map<string, { id: string; print: string }>()
  readonly links = new Map<string, Link>()
  readonly options: Required<Options>
  readonly accountNumber: string
  readonly queue: Message[] = []
  onMessage: (() => void) | undefined
  balance: number
  shortUrl: string | undefined
  webhookSecret = randomBytes(24).toString('base64url')
  #ahead = 0

  constructor(accountNumber: string, options: Options) {
    this.accountNumber = accountNumber
    this.options = {
      balance: 10 ** 13,
      uniqueReceipts: true,
      refundFloats: 'truncate',
      payoutsEnabled: true,
      autoCapture: true,
      ...options,
    }
    this.balance = this.options.balance
  }

  now(): number {
    return Math.floor(Date.now() / 1000) + this.#ahead
  }

  id(prefix: string): string {
    let text = ''
    for (const byte of randomBytes(14)) text += ALPHANUMERICS[byte % ALPHANUMERICS.length]
    return `${prefix}_${text}`
  }

  advance(seconds: number): void {
    this.#ahead += seconds
    for (const payout of this.payouts.values()) payout.held = false
    for (const refund of this.refunds.values()) refund.held = false
    this.settle()
  }

  /** A message of what is now: a snapshot, signed with the secret of this moment. */
  emit(event: string, payload: Readonly<Record<string, unknown>>): void {
    const entities = Object.entries(payload).map(([name, entity]) => [name, { entity }])
    const body = JSON.stringify({
      entity: 'event',
      account_id: 'acc_HeadgateStand1',
      event,
      contains: Object.keys(payload),
      payload: Object.fromEntries(entities),
      created_at: this.now(),
    })
    const signature = createHmac('sha256', this.webhookSecret).update(body).digest('hex')
    this.queue.push({
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Razorpay-Webhook/v1',
        'x-razorpay-event-id': this.id('evt').slice(4),
        'x-razorpay-signature': signature,
      },
      body,
    })
    this.onMessage?.()
  }

  /** What is due by the clock happens. */
  settle(): void {
    for (const payout of this.payouts.values()) this.#settlePayout(payout)
    for (const refund of this.refunds.values()) {
      if (refund.status === 'pending' && !refund.held) {
        refund.status = 'processed'
        this.emit('refund.processed', { refund: refundView(refund) })
      }
    }
    for (const payment of this.payments.values()) this.#settlePayment(payment)
    for (const link of this.links.values()) {
      if (link.status === 'created' && link.expire_by !== 0 && link.expire_by <= this.now()) {
        link.status = 'expired'
        link.expired_at = this.now()
        this.emit('payment_link.expired', { payment_link: link })
      }
    }
  }

  #settlePayout(payout: BookedPayout): void {
    const { view } = payout
    if (view.status === 'queued' && this.balance >= view.amount + view.fees) {
      this.begin(payout)
      return
    }
    if (view.status !== 'processing' || payout.held) return
    view.status = payout.next
    if (payout.next === 'processed') {
      view.utr = randomBytes(6).readUIntBE(0, 6).toString().padStart(12, '0').slice(0, 12)
      view.status_details = said('payout_processed', 'Payout is processed', 'beneficiary_bank')
    } else {
      this.balance += view.amount + view.fees
      view.status_details = said(
        'bank_account_invalid',
        'The account is closed',
        'beneficiary_bank',
      )
    }
    this.emit(`payout.${payout.next}`, { payout: view })
  }

  /** Takes the money from the balance. */
  begin({ view }: BookedPayout): void {
    this.balance -= view.amount + view.fees
    view.status = 'processing'
    view.status_details = said(
      'beneficiary_bank_confirmation_pending',
      'Payout is being processed by the bank',
      'beneficiary_bank',
    )
    this.emit('payout.initiated', { payout: view })
  }

  #settlePayment(payment: BookedPayment): void {
    const { view } = payment
    const order = this.orders.get(view.order_id ?? '')
    if (view.status === 'failed' && payment.lateAt !== undefined && payment.lateAt <= this.now()) {
      Object.assign(view, { error_code: null, error_description: null, error_reason: null })
      this.authorise(payment)
      return
    }
    const minutes = order?.manualMinutes
    if (view.status !== 'authorized' || minutes === undefined) return
    if (view.created_at + minutes * 60 > this.now()) return
    // Never captured: the rail gives the payer's money back.
    view.status = 'refunded'
    view.amount_refunded = view.amount
    view.refund_status = 'full'
    this.bookRefund(view, { amount: view.amount, ours: false })
  }

  authorise(payment: BookedPayment): void {
    payment.view.status = 'authorized'
    this.emit('payment.authorized', { payment: payment.view })
    const order = this.orders.get(payment.view.order_id ?? '')
    if (order?.manualMinutes === undefined) this.capture(payment)
  }

  capture({ view }: BookedPayment): void {
    Object.assign(view, { status: 'captured', captured: true, fee: 0, tax: 0 })
    this.emit('payment.captured', { payment: view })
    const order = this.orders.get(view.order_id ?? '')
    if (order === undefined) return
    Object.assign(order.view, { status: 'paid', amount_paid: view.amount, amount_due: 0 })
    this.emit('order.paid', { payment: view, order: order.view })
    const link = this.links.get(order.link ?? '')
    if (link === undefined) return
    const { id: payment_id, amount, created_at } = view
    link.payments = [{ payment_id, amount, status: 'captured', created_at }]
    Object.assign(link, { status: 'paid', amount_paid: amount, updated_at: this.now() })
    this.emit('payment_link.paid', { payment_link: link, order: order.view, payment: view })
  }

  bookRefund(
    payment: Payment,
    of: {
      amount: number
      ours: boolean
      pending?: boolean
      notes?: unknown
      receipt?: string | null
      speed?: string
    },
  ): Refund & { ours: boolean; held: boolean } {
    const refund: Refund & { ours: boolean; held: boolean } = {
      id: this.id('rfnd'),
      entity: 'refund',
      amount: of.amount,
      currency: payment.currency,
      payment_id: payment.id,
      notes: of.notes ?? [],
      receipt: of.receipt ?? null,
      acquirer_data: { arn: null },
      created_at: this.now(),
      batch_id: null,
      status: of.pending ? 'pending' : 'processed',
      speed_requested: of.speed ?? 'normal',
      speed_processed: 'normal',
      ours: of.ours,
      held: of.pending ?? false,
    }
    this.refunds.set(refund.id, refund)
    this.emit('refund.created', { refund: refundView(refund), payment })
    if (refund.status === 'processed') {
      this.emit('refund.processed', { refund: refundView(refund), payment })
    }
    return refund
  }
}

export const refundView = ({
  ours: _ours,
  held: _held,
  ...refund
}: Refund & { ours: boolean; held: boolean }): Refund => refund

export const said = (reason: string, description: string, source: string) => ({
  description,
  source,
  reason,
})

/** What an operation is given beside what was asked. */
export interface Ask {
  readonly body: unknown
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The id of its path. */
  readonly id: string
  readonly fault: Fault | undefined
}

export type Operation = (world: World, ask: Ask) => unknown

/** One page as Razorpay lists it: the newest first. */
export function pageOf<T extends { created_at: number }>(
  items: Iterable<T>,
  query: URLSearchParams,
) {
  const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise)
  const [from, to] = [number('from', 0), number('to', Number.MAX_SAFE_INTEGER)]
  const skip = number('skip', 0)
  const count = Math.min(number('count', 10), 100)
  const found = [...items]
    .reverse()
    .filter(({ created_at: at }) => at >= from && at <= to)
    .sort((a, b) => b.created_at - a.created_at)
    .slice(skip, skip + count)
  return { entity: 'collection', count: found.length, items: found }
}
