/** What Orders v2 and Payments v2 keep together: orders, and the authorisations, captures and refunds in them. */
import { isIssue, type Reply, refusal } from './refusals.ts'
import { type Ask, RequestIds } from './routes.ts'
import { amountOf, at, type Money, type World } from './world.ts'

export interface Authorization {
  readonly id: string
  readonly order: Order
  readonly money: Money
  readonly atMs: number
  readonly captures: Capture[]
  status: string
}

export interface Capture {
  readonly id: string
  readonly order: Order
  readonly money: Money
  readonly invoiceId: string | undefined
  readonly customId: string | undefined
  readonly isFinal: boolean
  readonly atMs: number
  readonly refunds: Refund[]
  status: 'COMPLETED' | 'PENDING' | 'DECLINED'
  /** Pending until the clock is moved. */
  held: boolean
}

export interface Refund {
  readonly id: string
  readonly capture: Capture
  readonly money: Money
  readonly invoiceId: string | undefined
  readonly customId: string | undefined
  readonly atMs: number
  status: 'COMPLETED' | 'PENDING'
  held: boolean
}

export interface Order {
  readonly id: string
  readonly intent: 'CAPTURE' | 'AUTHORIZE'
  /** As they came; an amount or a payee of them can be patched. */
  readonly unit: Record<string, unknown>
  money: Money
  readonly atMs: number
  readonly authorizations: Authorization[]
  readonly captures: Capture[]
  status: string
  approvedMs?: number
}

const HOUR = 3600 * 1000
const DAY = 24 * HOUR
/** Of an authorisation. */
export const VALID_MS = 29 * DAY
const APPROVAL_MS = 3 * HOUR
export const ORDER_KEYS_MS = 6 * HOUR
export const PAYMENT_KEYS_MS = 45 * DAY

/** Of an instrument in the vault: whether it can be charged. */
export type KnowsInstrument = (id: string) => boolean

export class Checkout {
  readonly world: World
  readonly knows: KnowsInstrument
  readonly orders = new Map<string, Order>()
  readonly #ids = new RequestIds()
  readonly #busyUntil = new Map<string, number>()

  constructor(world: World, knows: KnowsInstrument) {
    this.world = world
    this.knows = knows
    world.due.push(() => this.#happen())
  }

  captures = (): Capture[] => [...this.orders.values()].flatMap(({ captures }) => captures)
  refunds = (): Refund[] => this.captures().flatMap(({ refunds }) => refunds)
  authorizations = () => [...this.orders.values()].flatMap((order) => order.authorizations)

  /**
   * One request under its id: the same id again answers what became of the first, and nothing happens; while the first
   * hangs it is refused. What is scripted by header (`PayPal-Mock-Response`) refuses first.
   */
  once(ask: Ask, where: string, lifeMs: number, act: () => () => unknown): Reply {
    const mocked = at(parsed(ask.headers['paypal-mock-response']), 'mock_application_codes')
    if (typeof mocked === 'string' && isIssue(mocked)) throw refusal(mocked)
    const id = ask.headers['paypal-request-id']
    if (id === undefined) return { status: 201, json: act()() }
    if (id.length < 1 || id.length > 108)
      throw refusal('INVALID_STRING_LENGTH', '/paypal-request-id')
    const name = `${where} ${id}`
    const now = this.world.nowMs()
    if ((this.#busyUntil.get(name) ?? 0) > now) throw refusal('PREVIOUS_REQUEST_IN_PROGRESS')
    const earlier = this.#ids.earlier(name, now, lifeMs)
    if (earlier !== undefined) return earlier
    const show = act()
    this.#ids.keep(name, now, show)
    if (ask.fault === 'hang') this.#busyUntil.set(name, now + 60_000)
    return { status: 201, json: show() }
  }

  order(id: string): Order {
    const order = this.orders.get(id)
    if (!order) throw refusal('INVALID_RESOURCE_ID')
    return order
  }

  /** Books a capture. Throws what an instrument or a fault refuses. */
  capture(
    order: Order,
    of: Pick<Capture, 'money' | 'invoiceId' | 'customId' | 'isFinal'>,
    fault: Ask['fault'],
  ): Capture {
    if (fault === 'decline') throw refusal('INSTRUMENT_DECLINED')
    const held = fault === 'pending'
    const capture: Capture = {
      ...of,
      id: this.world.id(17),
      order,
      atMs: this.world.nowMs(),
      refunds: [],
      status: held ? 'PENDING' : 'COMPLETED',
      held,
    }
    order.captures.push(capture)
    this.world.payments += 1
    if (held) this.world.tell('PAYMENT.CAPTURE.PENDING', 'capture', captureOf(this.world, capture))
    else this.#book(capture)
    return capture
  }

  refund(capture: Capture, of: Pick<Refund, 'money' | 'invoiceId' | 'customId'>, held: boolean) {
    const atMs = this.world.nowMs()
    const id = this.world.id(17)
    const refund: Refund = {
      ...of,
      id,
      capture,
      atMs,
      status: held ? 'PENDING' : 'COMPLETED',
      held,
    }
    capture.refunds.push(refund)
    this.world.refunds += 1
    if (held) this.world.tell('PAYMENT.REFUND.PENDING', 'refund', refundOf(this.world, refund))
    else this.#bookRefund(refund)
    return refund
  }

  release(): void {
    for (const capture of this.captures()) {
      if (capture.held) {
        capture.held = false
        capture.status = 'COMPLETED'
        this.#book(capture)
      }
      for (const refund of capture.refunds.filter(({ held }) => held)) {
        refund.held = false
        refund.status = 'COMPLETED'
        this.#bookRefund(refund)
      }
    }
  }

  approve(id: string): boolean {
    const order = this.orders.get(id)
    if (order?.status !== 'CREATED') return false
    order.status = 'APPROVED'
    order.approvedMs = this.world.nowMs()
    this.world.tell('CHECKOUT.ORDER.APPROVED', 'checkout-order', orderOf(this.world, order))
    return true
  }

  /** PayPal takes a capture back: a bank or a dispute said so. */
  comeBack(key: string): boolean {
    const capture = this.captures().find(({ invoiceId }) => invoiceId === key)
    if (capture?.status !== 'COMPLETED') return false
    const minor = capture.money.minor - refundedOf(capture)
    if (minor <= 0) return false
    const money = { ...capture.money, minor }
    const refund: Refund = {
      id: this.world.id(17),
      capture,
      money,
      invoiceId: undefined,
      customId: undefined,
      atMs: this.world.nowMs(),
      status: 'COMPLETED',
      held: false,
    }
    capture.refunds.push(refund)
    this.world.move({ id: refund.id, code: 'T1106', money, status: 'S', of: capture.id })
    this.world.tell('PAYMENT.CAPTURE.REVERSED', 'refund', refundOf(this.world, refund))
    return true
  }

  #book(capture: Capture): void {
    const { id, money, invoiceId, customId } = capture
    this.world.move({
      id,
      code: 'T0006',
      money: { ...money, minor: -money.minor },
      status: 'S',
      ...(invoiceId === undefined ? {} : { invoiceId }),
      ...(customId === undefined ? {} : { customField: customId }),
    })
    this.world.tell('PAYMENT.CAPTURE.COMPLETED', 'capture', captureOf(this.world, capture))
  }

  #bookRefund(refund: Refund): void {
    const { id, money, invoiceId, capture } = refund
    const words = {
      ...(invoiceId === undefined ? {} : { invoiceId }),
      ...(capture.customId === undefined ? {} : { customField: capture.customId }),
    }
    this.world.move({ id, code: 'T1107', money, status: 'S', of: capture.id, ...words })
    this.world.tell('PAYMENT.CAPTURE.REFUNDED', 'refund', refundOf(this.world, refund))
  }

  #happen(): void {
    const now = this.world.nowMs()
    for (const order of this.orders.values()) {
      const isOver = order.approvedMs !== undefined && now - order.approvedMs >= APPROVAL_MS
      if (order.status === 'APPROVED' && isOver) {
        order.status = 'VOIDED'
        const gone = { order_id: order.id }
        this.world.tell('CHECKOUT.PAYMENT-APPROVAL.REVERSED', 'checkout-order', gone)
      }
      if (order.status === 'CREATED' && now - order.atMs >= APPROVAL_MS) order.status = 'VOIDED'
      for (const one of order.authorizations) {
        const isOpen = one.status === 'CREATED' || one.status === 'PARTIALLY_CAPTURED'
        if (isOpen && now - one.atMs >= VALID_MS) one.status = 'EXPIRED'
      }
    }
  }
}

export const refundedOf = ({ refunds }: Capture) =>
  refunds.reduce((sum, { money }) => sum + money.minor, 0)

const parsed = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** `minimal` unless the request says otherwise. */
export const preferred = (
  ask: Ask,
  whole: () => { id: string; status: string; links: unknown },
) => {
  if (ask.headers.prefer === 'return=representation') return whole()
  const { id, status, links } = whole()
  return { id, status, links }
}

const link = (world: World, path: string, rel: string, method = 'GET') => ({
  href: `${world.url}${path}`,
  rel,
  method,
})

const ids = (invoiceId: string | undefined, customId: string | undefined) => ({
  ...(invoiceId === undefined ? {} : { invoice_id: invoiceId }),
  ...(customId === undefined ? {} : { custom_id: customId }),
})

export function orderOf(world: World, order: Order) {
  const { id, intent, status, unit, money, authorizations, captures, atMs } = order
  const refunds = captures.flatMap((capture) => capture.refunds)
  const payments = {
    ...(authorizations.length === 0
      ? {}
      : { authorizations: authorizations.map((one) => authorizationOf(world, one)) }),
    ...(captures.length === 0 ? {} : { captures: captures.map((one) => captureOf(world, one)) }),
    ...(refunds.length === 0 ? {} : { refunds: refunds.map((one) => refundOf(world, one)) }),
  }
  const hasPayments = Object.keys(payments).length > 0
  return {
    id,
    intent,
    status,
    purchase_units: [
      {
        reference_id: 'default',
        ...unit,
        amount: amountOf(money),
        ...(hasPayments ? { payments } : {}),
      },
    ],
    create_time: world.iso(atMs),
    links: [
      link(world, `/v2/checkout/orders/${id}`, 'self'),
      link(world, `/checkoutnow?token=${id}`, 'approve'),
      link(world, `/v2/checkout/orders/${id}/${intent.toLowerCase()}`, 'capture', 'POST'),
    ],
  }
}

export function authorizationOf(world: World, one: Authorization) {
  const { id, status, money, atMs, order } = one
  return {
    id,
    status,
    amount: amountOf(money),
    ...ids(textOf(order.unit.invoice_id), textOf(order.unit.custom_id)),
    expiration_time: world.iso(atMs + VALID_MS),
    supplementary_data: { related_ids: { order_id: order.id } },
    create_time: world.iso(atMs),
    update_time: world.iso(),
    links: [link(world, `/v2/payments/authorizations/${id}`, 'self')],
  }
}

export function captureOf(world: World, capture: Capture) {
  const { id, money, invoiceId, customId, isFinal, atMs, order } = capture
  const status = wordOf(capture)
  return {
    id,
    status,
    ...(status === 'PENDING' ? { status_details: { reason: 'PENDING_REVIEW' } } : {}),
    amount: amountOf(money),
    ...ids(invoiceId, customId),
    final_capture: isFinal,
    supplementary_data: { related_ids: { order_id: order.id } },
    create_time: world.iso(atMs),
    update_time: world.iso(),
    links: [
      link(world, `/v2/payments/captures/${id}`, 'self'),
      link(world, `/v2/payments/captures/${id}/refund`, 'refund', 'POST'),
    ],
  }
}

function wordOf(capture: Capture): string {
  const refunded = refundedOf(capture)
  if (refunded === 0) return capture.status
  return refunded < capture.money.minor ? 'PARTIALLY_REFUNDED' : 'REFUNDED'
}

export function refundOf(
  world: World,
  { id, status, money, invoiceId, customId, atMs, capture }: Refund,
) {
  return {
    id,
    status,
    amount: amountOf(money),
    ...ids(invoiceId, customId),
    create_time: world.iso(atMs),
    update_time: world.iso(),
    links: [
      link(world, `/v2/payments/refunds/${id}`, 'self'),
      link(world, `/v2/payments/captures/${capture.id}`, 'up'),
    ],
  }
}

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined
