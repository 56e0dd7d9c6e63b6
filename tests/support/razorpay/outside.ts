/** What happens to the stand-in's account without its API: payers, banks, other people, and its own sums. */
import { randomBytes } from 'node:crypto'
import { type BookedPayment, said, type World } from './world.ts'

export interface Book {
  readonly totals: Record<string, number>
  readonly payments: number
  readonly refunds: number
}

/** Of what was asked for by this API: what moved less what came back, per currency, in minor units. */
export function bookOf(world: World): Book {
  const totals: Record<string, number> = {}
  const add = (currency: string, amount: number) => {
    totals[currency] = (totals[currency] ?? 0) + amount
  }
  const payouts = [...world.payouts.values()].filter(({ ours }) => ours)
  const left = ['processing', 'processed', 'reversed']
  const made = payouts.filter(({ view }) => left.includes(view.status))
  for (const { view } of made) add(view.currency, view.status === 'reversed' ? 0 : view.amount)
  const captured = [...world.payments.values()].filter(({ view, ours }) => ours && view.captured)
  for (const { view } of captured) add(view.currency, view.amount - view.amount_refunded)
  const ended = ['failed', 'rejected', 'cancelled']
  return {
    totals,
    payments: payouts.filter(({ view }) => !ended.includes(view.status)).length + captured.length,
    refunds: [...world.refunds.values()].filter(({ ours, status }) => ours && status !== 'failed')
      .length,
  }
}

export interface Attempt {
  /** `paid`: authorised, and captured where the rail does so by itself. `failed` may be authorised late all the same. */
  readonly ends: 'paid' | 'failed'
  readonly lateAfterSeconds?: number
  /** Default: what is due. */
  readonly amount?: number
}

/** What a payer does about an order or a payment link, by its id or by our key on it. */
export function attempt(world: World, reference: string, how: Attempt): string {
  const order = [...world.orders.values()].find(({ view, link: id }) => {
    const link = world.links.get(id ?? '')
    return [view.id, view.receipt, link?.id, link?.reference_id].includes(reference)
  })
  if (order === undefined) throw new TypeError('expected the reference of an order or a link')
  const link = world.links.get(order.link ?? '')
  const isOpen = order.view.status !== 'paid' && (link === undefined || link.status === 'created')
  if (!isOpen) throw new TypeError('expected an order or a link that is open')
  order.view.attempts += 1
  order.view.status = 'attempted'
  const payment = bookPayment(world, {
    amount: how.amount ?? order.view.amount,
    currency: order.view.currency,
    order: order.view.id,
    notes: link === undefined ? [] : link.notes,
    ours: true,
  })
  const { view } = payment
  if (how.ends === 'paid') {
    world.authorise(payment)
    return view.id
  }
  Object.assign(view, {
    status: 'failed',
    error_code: 'BAD_REQUEST_ERROR',
    error_description: 'Payment was not completed on time.',
    error_reason: 'payment_timed_out',
  })
  if (how.lateAfterSeconds !== undefined) payment.lateAt = world.now() + how.lateAfterSeconds
  world.emit('payment.failed', { payment: view })
  return view.id
}

function bookPayment(
  world: World,
  of: { amount: number; currency: string; order: string | null; notes: unknown; ours: boolean },
): BookedPayment {
  const payment: BookedPayment = {
    view: {
      id: world.id('pay'),
      entity: 'payment',
      amount: of.amount,
      currency: of.currency,
      status: 'created',
      order_id: of.order,
      invoice_id: null,
      international: of.currency !== 'INR',
      method: 'card',
      amount_refunded: 0,
      refund_status: null,
      captured: false,
      description: null,
      email: 'payer@example.com',
      contact: '+919900000000',
      notes: of.notes,
      fee: null,
      tax: null,
      error_code: null,
      error_description: null,
      error_reason: null,
      created_at: world.now(),
    },
    ours: of.ours,
  }
  world.payments.set(payment.view.id, payment)
  return payment
}

export interface Stray {
  readonly direction: 'out' | 'in'
  readonly amount: number
  readonly currency: string
}

/** Money that nobody asked this API for; answers the rail's id of it. */
export function stray(world: World, { direction, amount, currency }: Stray): string {
  if (direction === 'in') {
    const payment = bookPayment(world, { amount, currency, order: null, notes: [], ours: false })
    world.authorise(payment)
    return payment.view.id
  }
  const account = [...world.fundAccounts.keys()][0] ?? ''
  const view = {
    id: world.id('pout'),
    entity: 'payout' as const,
    fund_account_id: account,
    amount,
    currency,
    notes: [],
    fees: 590,
    tax: 90,
    status: 'processed',
    utr: randomBytes(6).toString('hex').toUpperCase(),
    mode: 'NEFT',
    purpose: 'payout',
    reference_id: null,
    narration: null,
    batch_id: null,
    status_details: said('payout_processed', 'Payout is processed', 'beneficiary_bank'),
    created_at: world.now(),
    fee_type: null,
  }
  world.balance -= amount + view.fees
  world.payouts.set(view.id, { view, ours: false, next: 'processed', held: false })
  world.emit('payout.processed', { payout: view })
  return view.id
}

/** A payout that was processed is reversed; a captured payment is refunded by somebody else. */
export function comeBack(world: World, key: string): void {
  world.settle()
  for (const { view } of world.payouts.values()) {
    if (view.reference_id !== key && view.id !== key) continue
    if (view.status !== 'processed') throw new TypeError('expected a payout that was processed')
    view.status = 'reversed'
    view.status_details = said('bank_account_frozen', 'The account is frozen', 'beneficiary_bank')
    world.balance += view.amount + view.fees
    world.emit('payout.reversed', { payout: view })
    return
  }
  for (const { view } of world.payments.values()) {
    const order = world.orders.get(view.order_id ?? '')
    const link = world.links.get(order?.link ?? '')
    const names = [view.id, order?.view.receipt, link?.reference_id]
    if (!view.captured || !names.includes(key)) continue
    const amount = view.amount - view.amount_refunded
    if (amount === 0) throw new TypeError('expected a payment that has not come back')
    Object.assign(view, { amount_refunded: view.amount, refund_status: 'full', status: 'refunded' })
    world.bookRefund(view, { amount, ours: false })
    return
  }
  throw new TypeError('expected the key of a payment')
}

/** The balance ran out before the bank had it. */
export function enqueue(world: World, key: string): void {
  for (const payout of world.payouts.values()) {
    if (payout.view.reference_id !== key) continue
    world.balance = 0
    payout.view.status = 'queued'
    payout.view.status_details = said('low_balance', 'The balance is low', 'business')
    world.emit('payout.queued', { payout: payout.view })
  }
}

/** Somebody captures everything that is authorised of an order, by its receipt. */
export function captureAll(world: World, receipt: string): void {
  for (const payment of world.payments.values()) {
    const order = world.orders.get(payment.view.order_id ?? '')
    const isOurs = order?.view.receipt === receipt
    if (isOurs && payment.view.status === 'authorized') world.capture(payment)
  }
}
