/** Orders, payments, captures, refunds and payment links, with every refusal that the documents name. */
import {
  amountOf,
  boolOf,
  currencyOf,
  type Fields,
  fieldsOf,
  notesOf,
  optionalText,
  Refusal,
  unknownId,
} from './refusal.ts'
import {
  type Ask,
  type BookedOrder,
  type BookedPayment,
  type Link,
  type Operation,
  type Payment,
  pageOf,
  refundView,
  type World,
} from './world.ts'

const CAPTURE_MINUTES = 3 * 24 * 60

function bookOrder(
  world: World,
  of: Pick<BookedOrder, 'manualMinutes' | 'link'> & {
    amount: number
    currency: string
    receipt: string | null
    notes: unknown
  },
): BookedOrder {
  const { amount, currency, receipt, notes, manualMinutes, link } = of
  const order: BookedOrder = {
    view: {
      id: world.id('order'),
      entity: 'order',
      amount,
      amount_paid: 0,
      amount_due: amount,
      currency,
      receipt,
      offer_id: null,
      status: 'created',
      attempts: 0,
      notes,
      created_at: world.now(),
    },
    manualMinutes,
    ...(link === undefined ? {} : { link }),
  }
  world.orders.set(order.view.id, order)
  return order
}

const createOrder: Operation = (world, { body, fault }) => {
  const optional = ['receipt', 'notes', 'partial_payment', 'first_payment_min_amount', 'payment']
  const fields = fieldsOf(body, { required: ['amount', 'currency'], optional })
  const currency = currencyOf(fields.currency)
  const amount = amountOf(fields.amount, { currency })
  const receipt = optionalText(fields.receipt, 'receipt', { most: 40 })
  boolOf(fields.partial_payment, 'partial_payment')
  const isUsed = [...world.orders.values()].some(({ view }) => view.receipt === receipt)
  if (receipt !== null && isUsed && world.options.uniqueReceipts) {
    throw new Refusal('Order with the same receipt already exists', { field: 'receipt' })
  }
  return bookOrder(world, {
    amount: fault === 'wrongAmount' ? amount + 10 : amount,
    currency,
    receipt,
    notes: notesOf(fields.notes),
    manualMinutes: manualMinutesOf(world, fields.payment),
  }).view
}

function manualMinutesOf(world: World, payment: unknown): number | undefined {
  if (payment === undefined) return world.options.autoCapture ? undefined : CAPTURE_MINUTES
  const { capture, capture_options: given } = fieldsOf(payment, {
    required: ['capture'],
    optional: ['capture_options'],
  })
  if (capture !== 'manual' && capture !== 'automatic') {
    throw new Refusal('The selected capture is invalid.', { field: 'capture' })
  }
  const optional = ['automatic_expiry_period', 'manual_expiry_period', 'refund_speed']
  const options = given === undefined ? {} : fieldsOf(given, { required: [], optional })
  const minutes = options.manual_expiry_period ?? CAPTURE_MINUTES
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 12 || minutes > 7200) {
    throw new Refusal('The manual expiry period is invalid', { field: 'manual_expiry_period' })
  }
  return capture === 'manual' ? minutes : undefined
}

const fetchOrder: Operation = (world, { id }) => orderOf(world, id).view

function orderOf(world: World, id: string): BookedOrder {
  const found = world.orders.get(id)
  if (found === undefined) throw unknownId()
  return found
}

const listOrders: Operation = (world, { query }) => {
  const receipt = query.get('receipt')
  const found = [...world.orders.values()]
    .map(({ view }) => view)
    .filter((view) => receipt === null || view.receipt === receipt)
  return pageOf(found, query)
}

const fetchOrderPayments: Operation = (world, { id }) => {
  orderOf(world, id)
  const found = [...world.payments.values()]
    .map(({ view }) => view)
    .filter(({ order_id: order }) => order === id)
  return pageOf(found, new URLSearchParams({ count: '100' }))
}

const fetchPayment: Operation = (world, { id }) => paymentOf(world, id).view

function paymentOf(world: World, id: string): BookedPayment {
  const found = world.payments.get(id)
  if (found === undefined) throw unknownId()
  return found
}

const listPayments: Operation = (world, { query }) =>
  pageOf(
    [...world.payments.values()].map(({ view }) => view),
    query,
  )

const capture: Operation = (world, { id, body, fault }) => {
  const payment = paymentOf(world, id)
  const { view } = payment
  const fields = fieldsOf(body, { required: ['amount', 'currency'] })
  const amount = amountOf(fields.amount, { currency: view.currency })
  if (fault === 'decline') throw new Refusal('The payment could not be captured', { reason: 'NA' })
  if (view.captured) throw new Refusal('This payment has already been captured')
  if (view.status !== 'authorized') {
    throw new Refusal(
      'Only payments which have been authorized and not yet captured can be captured',
    )
  }
  if (amount !== view.amount || fields.currency !== view.currency) {
    throw new Refusal('Capture amount must be equal to the amount authorized')
  }
  world.capture(payment)
  return fault === 'wrongAmount' ? { ...view, amount: amount + 10 } : view
}

const REFUND_FIELDS = { required: [], optional: ['amount', 'speed', 'notes', 'receipt'] }

const refund: Operation = (world, ask) => {
  const { id, body, fault } = ask
  const { view } = paymentOf(world, id)
  const fields = fieldsOf(body ?? {}, REFUND_FIELDS)
  const key = refundKeyOf(ask)
  const print = `${id} ${JSON.stringify(body)}`
  const earlier = key === undefined ? undefined : world.refundKeys.get(key)
  if (earlier !== undefined) {
    if (earlier.print !== print) {
      throw new Refusal(
        'Different request with the same idempotency key has already been processed.',
        { status: 409 },
      )
    }
    const found = world.refunds.get(earlier.id)
    if (found !== undefined) return refundView(found)
  }
  const amount = refundable(world, view, fields)
  // Razorpay's own words where the merchant's balance is too low for it.
  if (fault === 'decline') throw new Refusal('invalid request sent', { reason: 'NA', step: 'NA' })
  const booked = fault === 'wrongAmount' ? amount - 10 : amount
  view.amount_refunded += booked
  const isFull = view.amount_refunded === view.amount
  view.refund_status = isFull ? 'full' : 'partial'
  if (isFull) view.status = 'refunded'
  const made = world.bookRefund(view, {
    amount: booked,
    ours: true,
    pending: fault === 'pending',
    notes: notesOf(fields.notes),
    receipt: optionalText(fields.receipt, 'receipt', { most: 40 }),
    speed: String(fields.speed ?? 'normal'),
  })
  if (key !== undefined) world.refundKeys.set(key, { id: made.id, print })
  return refundView(made)
}

function refundKeyOf({ headers }: Ask): string | undefined {
  const key = headers['x-refund-idempotency']
  if (key !== undefined && !/^[A-Za-z0-9_-]{10,}$/.test(key)) {
    throw new Refusal('The idempotency key must be at least 10 characters')
  }
  return key
}

/** Everything that is left where no amount is given. */
function refundable(world: World, payment: Payment, fields: Fields): number {
  if (payment.status === 'refunded') {
    throw new Refusal('The payment has been fully refunded already')
  }
  if (!payment.captured) throw new Refusal('The payment status should be captured for refund')
  const left = payment.amount - payment.amount_refunded
  const floats = world.options.refundFloats
  const amount =
    fields.amount === undefined
      ? left
      : amountOf(fields.amount, { currency: payment.currency, floats })
  if (amount > left) {
    throw new Refusal('The refund amount provided is greater than amount captured')
  }
  const receipts = [...world.refunds.values()].map(({ receipt }) => receipt)
  if (typeof fields.receipt === 'string' && receipts.includes(fields.receipt)) {
    throw new Refusal('A refund with this receipt exists already', { field: 'receipt' })
  }
  return amount
}

const fetchRefund: Operation = (world, { id }) => {
  const found = world.refunds.get(id)
  if (found === undefined) throw unknownId()
  return refundView(found)
}

const listRefunds: Operation = (world, { query }) =>
  pageOf([...world.refunds.values()].map(refundView), query)

const listRefundsOfPayment: Operation = (world, { id, query }) => {
  paymentOf(world, id)
  const found = [...world.refunds.values()].filter(({ payment_id: payment }) => payment === id)
  return pageOf(found.map(refundView), query)
}

const LINK_FIELDS = {
  required: ['amount'],
  optional: [
    'currency',
    'accept_partial',
    'first_min_partial_amount',
    'upi_link',
    'description',
    'reference_id',
    'customer',
    'expire_by',
    'notify',
    'notes',
    'callback_url',
    'callback_method',
    'reminder_enable',
    'options',
  ],
}

const MOST_SECONDS = 6 * 31 * 24 * 3600

const createLink: Operation = (world, { body, fault }) => {
  const fields = fieldsOf(body, LINK_FIELDS)
  const currency = currencyOf(fields.currency ?? 'INR')
  const asked = amountOf(fields.amount, { currency })
  const reference = optionalText(fields.reference_id, 'reference_id', { most: 40 }) ?? ''
  const isUsed = [...world.links.values()].some(({ reference_id: other }) => other === reference)
  if (reference !== '' && isUsed) {
    throw new Refusal(
      `payment link with given reference_id (${reference}) already exists. Please create payment link with a different reference_id.`,
    )
  }
  if (boolOf(fields.upi_link, 'upi_link')) {
    throw new Refusal('UPI Payment Links is not supported in Test Mode')
  }
  const expiry = expiryOf(world, fields.expire_by)
  const amount = fault === 'wrongAmount' ? asked + 10 : asked
  const notes = notesOf(fields.notes, 255)
  const id = world.id('plink')
  const manualMinutes = world.options.autoCapture ? undefined : CAPTURE_MINUTES
  const order = bookOrder(world, {
    amount,
    currency,
    receipt: null,
    notes,
    manualMinutes,
    link: id,
  })
  const link: Link = {
    id,
    accept_partial: false,
    amount,
    amount_paid: 0,
    cancelled_at: 0,
    expired_at: 0,
    created_at: world.now(),
    currency,
    customer: fields.customer ?? [],
    description: optionalText(fields.description, 'description', { most: 2048 }) ?? '',
    expire_by: expiry,
    first_min_partial_amount: 0,
    notes,
    notify: fields.notify ?? { sms: false, email: false },
    order_id: order.view.id,
    payments: null,
    reference_id: reference,
    reminder_enable: boolOf(fields.reminder_enable, 'reminder_enable'),
    short_url: world.shortUrl ?? `https://rzp.io/i/${id.slice(-8)}`,
    status: 'created',
    updated_at: world.now(),
    upi_link: false,
    user_id: '',
  }
  world.links.set(id, link)
  return link
}

function expiryOf(world: World, value: unknown): number {
  if (value === undefined) return 0
  const field = 'expire_by'
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new Refusal('The expire_by must be an integer.', { field })
  }
  if (value < world.now() + 15 * 60) {
    throw new Refusal('timestamp must be atleast 15 minutes in future', { field })
  }
  if (value > world.now() + MOST_SECONDS) {
    throw new Refusal('timestamp must be within 6 months', { field })
  }
  return value
}

const fetchLink: Operation = (world, { id }) => linkOf(world, id)

function linkOf(world: World, id: string): Link {
  const found = world.links.get(id)
  if (found === undefined) throw unknownId()
  return found
}

/** A list of its own shape: no `entity`, no `count`. */
const listLinks: Operation = (world, { query }) => {
  const reference = query.get('reference_id')
  const found = [...world.links.values()].filter(
    ({ reference_id: other }) => reference === null || other === reference,
  )
  return { payment_links: pageOf(found, query).items }
}

const cancelLink: Operation = (world, { id }) => {
  const link = linkOf(world, id)
  if (link.status !== 'created') {
    throw new Refusal(`Payment link cannot be cancelled as it is ${link.status}`)
  }
  Object.assign(link, { status: 'cancelled', cancelled_at: world.now(), updated_at: world.now() })
  world.emit('payment_link.cancelled', { payment_link: link })
  return link
}

export const PAYMENT_OPERATIONS = {
  createOrder,
  fetchOrder,
  listOrders,
  fetchOrderPayments,
  fetchPayment,
  listPayments,
  capture,
  refund,
  fetchRefund,
  listRefunds,
  listRefundsOfPayment,
  createLink,
  fetchLink,
  listLinks,
  cancelLink,
}
